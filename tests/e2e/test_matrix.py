"""The matrix of a constraint set, by mouse and by keys, and rules that are learned from marks."""

import re

import pytest
from playwright.sync_api import expect

from tests import factories, resource_sets
from tests.datasets import marked
from tests.e2e.test_axe import serious
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_the_matrix_by_mouse_and_by_keys(page, sign_in, alice):
    sign_in(page, alice)
    ontologies = {
        "entities": factories.ontology(owner=alice),
        "relations": factories.ontology(owner=alice, kind="relation"),
    }
    constraints = resource_sets.make("entity_constraints", owner=alice, **ontologies)
    page.goto(f"/constraints/{constraints.pk}/")
    page.get_by_role("link", name="Matrix").click()
    told, rows = page.locator("#cell"), page.locator("table.matrix tbody tr")
    rows.nth(0).locator("td").nth(3).click()
    expect(told).to_contain_text("“PhysicalObject” cannot share words with “Activity”")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("“SensingObject” cannot share words with “Replace”")
    expect(rows.nth(1).locator("td").nth(4)).to_be_focused()
    assert not serious(page)

    names = rows.locator(".name")
    expect(names).to_have_text(["PhysicalObject", "SensingObject", "Thermostat", "Activity", "Replace", "State"])
    page.get_by_role("link", name="PhysicalObject: 2 labels below").click()
    expect(names).to_have_text(["PhysicalObject", "Activity", "Replace", "State"])
    page.get_by_role("link", name="PhysicalObject: 2 labels below").press("Enter")
    expect(names).to_have_count(6)
    rows.nth(0).locator(".more").click()
    expect(names).to_contain_text(["DrivingObject"])
    # The table is part of the tab order once, whatever was opened.
    expect(page.locator("table.matrix td[tabindex='0']")).to_have_count(1)
    page.go_back()
    expect(names).to_have_count(6)

    rows.nth(0).locator("td").nth(3).click()
    page.get_by_role("link", name="Go to rule 1").click()
    expect(page.locator(".rule:target")).to_contain_text("PhysicalObject")

    relations = resource_sets.make("relation_constraints", owner=alice, **ontologies)
    page.goto(f"/constraints/{relations.pk}/matrix/")
    page.get_by_label("Relation").select_option(label="hasParticipant/hasPatient · 1 rule")
    expect(names).to_have_text(["PhysicalObject", "Activity"])
    rows.nth(0).locator("td").nth(0).click()
    expect(told).to_contain_text("“hasPatient” cannot lead from “PhysicalObject”")
    assert not serious(page)


def test_learning_rules_from_marks(page, sign_in, alice):
    sign_in(page, alice)
    dataset = marked.dataset(owner=alice, items=[])
    for position in range(12):
        item = marked.add(dataset, position, "left thermostat not working")
        marked.mark(item, "State", 0, 3)
        marked.mark(item, "PhysicalObject", 0, 1)
    marked.mark(item, "Activity", 2, 2)
    constraints = resource_sets.make(
        "entity_constraints", owner=alice, entities=dataset.entity_ontology, relations=None, document=[]
    )
    page.goto(f"/constraints/{constraints.pk}/")
    page.get_by_role("link", name="learn rules from marks").click()
    assert not serious(page)
    page.get_by_label("Learn from").select_option(label="Marked")
    page.get_by_role("button", name="Propose rules").click()
    foot = page.locator("#lesson-foot")
    expect(foot).to_contain_text("Add 2 rules None of 13 pairs")
    assert not serious(page)
    page.get_by_role("checkbox", name=re.compile("^Activity")).uncheck()
    expect(foot).to_contain_text("With them, 1 of 13 pairs breaks")
    page.locator(".rule header").get_by_role("checkbox", name="PhysicalObject").uncheck()
    expect(foot).to_contain_text("Add 1 rule")
    settled(page)
    page.get_by_role("button", name="1 time: show some").click()
    expect(page.locator("#dialog")).to_contain_text("left thermostat not working contains not")
    assert not serious(page)
    page.keyboard.press("Escape")
    foot.get_by_role("button").click()
    expect(page.locator(".message")).to_contain_text("1 rule was learned")
    expect(page.locator(".rule")).to_have_count(1)
    assert resource_sets.document_of(constraints) == [
        {"domain": "State", "excludes": [], "can_contain": ["PhysicalObject"]}
    ]
    page.locator("[data-step=undo]").click()
    expect(page.locator(".rule")).to_have_count(0)
