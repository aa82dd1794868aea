"""A text is corrected in a browser with keys alone, looked at before it is stored, and taken back."""

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation, Item
from tests import factories
from tests.e2e.test_axe import serious
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("page_of", ["dataset", "project"])
def test_a_typo_is_corrected_from_a_table_with_keys_alone_and_undone(page, sign_in, alice, carol, page_of):
    project = factories.project(by=alice, annotators=[carol], text="the pupm leaks\nb\n")
    item = project.dataset.items()[0]
    annotation = Annotation.objects.create(item=item, annotator=carol)
    label = project.entity_ontology.items().first()
    annotation.add_entity(uid="e", label=label, start=1, end=1)
    sign_in(page, alice)
    page.goto(project.dataset.get_absolute_url() if page_of == "dataset" else f"/projects/{project.pk}/items/")
    settled(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("e")
    text, dialog = page.get_by_label("Text", exact=True), page.locator("#dialog")
    expect(text).to_be_focused()
    expect(text).to_have_value("the pupm leaks")
    page.keyboard.press("Control+a")
    page.keyboard.type("the pump leaks", delay=30)
    expect(dialog).to_contain_text("1 mark changes its words")
    expect(dialog.locator("td").last).to_have_text("carol")
    settled(page)
    assert not serious(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#items")).to_contain_text("the pump leaks")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#items")).to_contain_text("the pupm leaks")
    assert Item.objects.get(pk=item.pk).text_version == 3
