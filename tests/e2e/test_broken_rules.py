"""From a project with marks that break its constraints to their places: the form, the report, the mark."""

import pytest
from playwright.sync_api import Page, expect

from datasets.models import Annotation
from tests import factories
from tests.e2e.test_axe import serious
from tests.resource_sets import make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
RULES = [{"domain": "PhysicalObject", "excludes": [], "can_contain": ["State"]}]


def test_a_later_rule_leads_to_the_marks_that_break_it(page: Page, sign_in, alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    annotation = Annotation.objects.create(item=project.dataset.items()[1], annotator=carol)
    for uid, name in (("a", "PhysicalObject"), ("b", "Thermostat")):
        label = project.entity_ontology.items().get(name=name)
        annotation.entity_set.create(uid=uid, label=label, start=1, end=2 if uid == "a" else 1, status="accepted")
    blueprint = project.entity_ontology.copied_from
    make(
        "entity_constraints", owner=alice, entities=blueprint, relations=None, document=RULES, name="Maintenance rules"
    )
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/")
    page.get_by_role("button", name="Choose entity constraints…").click()
    dialog = page.locator("#dialog")
    dialog.get_by_label("Constraints").select_option(index=1)
    expect(dialog.get_by_text("Existing marks break these constraints 1 time.")).to_be_visible()
    assert not serious(page)
    dialog.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("link", name="see where").click()
    expect(page.get_by_role("heading", name="Broken rules")).to_be_visible()
    assert not serious(page)
    page.get_by_role("link", name="carol").click()
    page.get_by_role("link", name="Item 2").click()
    expect(page.locator(".mark-name.selected")).to_have_text("PhysicalObject")
    expect(page.locator(".tint.broken")).to_have_count(2)
    expect(page.locator("#broken-here")).to_contain_text("can contain")
    assert not serious(page)
    page.get_by_role("link", name="All broken rules").click()
    expect(page.get_by_role("heading", name="Broken rules")).to_be_visible()
