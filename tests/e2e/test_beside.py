"""What stands beside the text of the annotation screen: how the selected words were labelled before, the item's extra fields."""

import pytest
from playwright.sync_api import expect

from annotation_service.db import store
from projects.models import Project
from tests import factories
from tests.e2e.test_axe import serious
from tests.e2e.test_picker import Picker

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def desk(page, sign_in, alice, carol, dave) -> Picker:
    """“pump” was marked by carol, with “broken” in another item by dave."""
    text = "pump leaks\npump broken\npump\n"
    project = factories.project(by=alice, annotators=[carol, dave], text=text)
    first, second, third = project.dataset.items()
    for item, person, name in ((first, carol, "State"), (second, dave, "Activity"), (third, carol, "State")):
        label = factories.item(project.entity_ontology, name)
        item.annotation_set.create(annotator=person).entity_set.create(uid=f"m{item.pk}", start=0, end=0, label=label)
    store(first, extra_fields={"site": "Perth <b>", "depth": 12})
    sign_in(page, carol)
    return Picker(page, project, carol)


def test_how_words_were_labelled_before_stands_beside_them(desk, page, sign_in, alice):
    desk.open()
    before = page.locator("#words-before")
    desk.token(1).click()
    desk.press("Escape")
    expect(before).to_be_empty()
    desk.token(0).click()
    desk.press("Escape", "Home")
    expect(before.get_by_role("heading")).to_have_text("“pump” before")
    expect(before.locator("li")).to_have_text(["State2 by you"])  # what others did is theirs
    expect(page.locator("#label-card h2")).to_have_text(" State")
    assert not serious(page)
    page.locator("#words-before a").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.go_back()
    desk.ready(1)
    desk.press("Tab")  # the mark over the same words
    expect(before.locator("li")).to_have_count(1)
    desk.press("ArrowRight")
    expect(before).to_be_empty()
    desk.press("Escape", "Tab", "Delete")  # what was done a moment ago counts
    desk.saved()
    desk.press("End", "Home")
    expect(before.locator("li")).to_have_text(["State1 by you"])
    fields = page.locator("[data-fields]")
    fields.get_by_text("2 extra fields").click()
    expect(fields.locator("dd")).to_have_text(["Perth <b>", "12"])
    desk.press("PageDown")
    desk.ready(2)
    expect(fields).to_have_count(0)


def test_words_without_spaces_between_them_are_found_again(desk, page, alice, carol):
    texts = factories.dataset(owner=alice, name="Glued", text="set (pump) now\n(pump) again\n", tokeniser="punkt")
    ontology = desk.project.entity_ontology
    desk.project = Project.create(name="Glued", by=alice, dataset=texts, entity_ontology=ontology, annotators=[carol])
    own = desk.project.dataset.items()[1].annotation_set.create(annotator=carol)
    own.entity_set.create(uid="1", start=0, end=2, label=factories.item(desk.project.entity_ontology, "State"))
    desk.open()
    desk.drag(1, 3)
    desk.press("Escape")
    page.locator("#words-before a").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_somebody_who_reads_all_marks_sees_what_others_did(desk, page, sign_in, alice):
    sign_in(page, alice)
    desk.open()
    desk.press("Home")
    expect(page.locator("#words-before li")).to_have_text(["State2 by others", "Activity1 by others"])
