"""The matrix of a constraint set, by mouse and by keys, and rules that are learned from marks."""

import re

import pytest
from playwright.sync_api import expect

from tests import factories, resource_sets
from tests.datasets import marked
from tests.e2e.editing import Late
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
    page.get_by_role("link", name="Matrix", exact=True).click()
    told, rows = page.locator("#cell"), page.locator("table.matrix tbody tr")
    expect(rows.first).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("Tab")
    for _ in range(40):
        if page.evaluate("document.activeElement.matches('td')"):
            break
        page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
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

    page.locator("table.matrix td[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Go to rule 1").first.click()
    expect(page.locator(".rule:target")).to_contain_text("PhysicalObject")

    relations = resource_sets.make("relation_constraints", owner=alice, **ontologies)
    page.goto(f"/constraints/{relations.pk}/matrix/")
    page.get_by_label("Relation").select_option(label="hasParticipant/hasPatient · 1 rule")
    expect(names).to_have_text(["PhysicalObject", "Activity"])
    rows.nth(0).locator("td").nth(0).focus()
    for key in ("ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(told).to_contain_text("“hasPatient” cannot lead from “PhysicalObject”")
    assert not serious(page)


@pytest.fixture
def empty(page, sign_in, alice):
    """The matrix of a kind of constraints without rules."""

    def open_it(kind):
        sign_in(page, alice)
        ontologies = {
            "entities": factories.ontology(owner=alice),
            "relations": factories.ontology(owner=alice, kind="relation"),
        }
        constraints = resource_sets.make(f"{kind}_constraints", owner=alice, document=[], **ontologies)
        page.goto(f"/constraints/{constraints.pk}/matrix/")
        return constraints

    return open_it


def cell(page, row, column):
    return page.locator("table.matrix tbody tr").nth(row).locator("td").nth(column)


def saved(page):
    expect(page.locator("#matrix-saved")).to_have_text("All saved")


OWN = {kind: re.compile(rf"^{kind} own$") for kind in ("excluded", "inside", "leads")}


def test_cells_of_entities_by_click_and_by_keys(page, empty):
    constraints = empty("entity")
    cell(page, 0, 1).click()
    expect(cell(page, 0, 1)).to_have_class(OWN["excluded"])
    expect(cell(page, 1, 0)).to_have_class(OWN["excluded"])  # it holds both ways
    expect(page.locator("#cell")).to_contain_text("cannot share words")
    for key in ("ArrowRight", "2", "Enter"):
        page.keyboard.press(key)
    expect(cell(page, 0, 2)).to_have_class(OWN["inside"])
    expect(cell(page, 0, 0)).to_have_class(re.compile("^outside"))  # its row has a limit now
    saved(page)
    assert resource_sets.document_of(constraints) == [
        {"domain": "PhysicalObject", "excludes": ["Activity"], "can_contain": ["State"]}
    ]
    page.keyboard.press("Delete")
    expect(cell(page, 0, 2)).to_have_class(re.compile("^outside"))
    expect(cell(page, 0, 2)).to_be_focused()
    saved(page)
    for key in ("Control+z", "Control+z"):
        page.keyboard.press(key)
        settled(page)
    expect(cell(page, 0, 2)).to_have_class("free")
    cell(page, 1, 0).click()
    expect(cell(page, 1, 0)).to_have_class(
        OWN["inside"]
    )  # “2” is still chosen; it takes the place of what was excluded
    expect(cell(page, 0, 1)).to_have_class("free")


def test_cells_of_relations_by_click_and_by_keys(page, empty):
    constraints = empty("relation")
    expect(page.locator("#matrix .tools")).to_contain_text("No rule limits “hasPart”")
    cell(page, 0, 1).click()
    expect(cell(page, 0, 1)).to_have_class(OWN["leads"])
    expect(cell(page, 2, 2)).to_have_class("barred")
    for key in ("ArrowDown", "Space"):
        page.keyboard.press(key)
    expect(cell(page, 1, 1)).to_have_class(OWN["leads"])
    page.keyboard.press("Delete")
    expect(cell(page, 1, 1)).to_have_class(re.compile("^barred"))
    saved(page)
    assert resource_sets.document_of(constraints) == [
        {"relation": "hasPart", "domain": "PhysicalObject", "range": ["Activity"]},
        {"relation": "hasPart", "domain": "Activity", "range": []},
    ]
    activity = page.locator("table.matrix tbody th").nth(1).get_attribute("data-uid")
    expect(page).to_have_url(re.compile(f"cell={activity}-{activity}"))  # a moment after it was chosen
    page.reload()
    expect(cell(page, 1, 1)).to_be_focused()
    assert not serious(page)


def test_what_is_set_while_answers_are_late_is_what_is_stored_in_the_end(page, empty):
    constraints = empty("entity")
    late = Late(page, "**/matrix/cell/set/**")
    cell(page, 0, 1).click()
    late.made()
    for key in ("Enter", "Enter", "ArrowRight", "Enter", "Control+z"):  # off, on, the next one, and that taken back
        page.keyboard.press(key)
    expect(page.locator("#matrix-saved")).to_have_text("Saving 5 changes…")
    expect(cell(page, 0, 2)).to_have_class(re.compile("^excluded own waiting"))
    late.arrive()
    saved(page)
    expect(cell(page, 0, 2)).to_have_class("free")
    expect(cell(page, 0, 1)).to_have_class(OWN["excluded"])
    assert resource_sets.document_of(constraints) == [{"domain": "PhysicalObject", "excludes": ["Activity"]}]


def test_what_was_set_without_a_connection_is_marked_and_sent_again(page, empty, problems):
    problems.expect("ERR_FAILED", "htmx:sendError", ": undefined")
    constraints = empty("entity")
    page.route("**/matrix/**", lambda route: route.abort())
    cell(page, 0, 1).click()
    cell(page, 0, 2).click()
    expect(page.locator("#matrix-saved")).to_have_text("2 changes not saved yet, trying again")
    expect(page.locator("td.failing")).to_have_count(2)
    page.unroute("**/matrix/**")
    saved(page)
    expect(page.locator("td.failing")).to_have_count(0)
    assert resource_sets.document_of(constraints) == [{"domain": "PhysicalObject", "excludes": ["Activity", "State"]}]


def test_a_refused_cell_goes_back_with_the_reason(page, sign_in, alice, problems):
    problems.expect("422")
    sign_in(page, alice)
    constraints = resource_sets.make(
        "entity_constraints", owner=alice, entities=factories.ontology(owner=alice), relations=None
    )
    page.goto(f"/constraints/{constraints.pk}/matrix/")
    inherited = cell(page, 1, 3)
    expect(inherited).to_have_class("excluded")
    page.keyboard.press("Tab")
    page.get_by_label("may stand inside").check()
    inherited.click()
    expect(page.locator(".toast.error")).to_contain_text("As long as that holds, it cannot be allowed here")
    expect(inherited).to_have_class("excluded")
    page.keyboard.press("Delete")
    expect(page.locator("#toasts")).to_contain_text("This cell has no rule of its own")


def test_from_a_rule_to_its_row_and_back_to_its_place(page, sign_in, alice):
    sign_in(page, alice)
    constraints = resource_sets.make(
        "entity_constraints", owner=alice, entities=factories.ontology(owner=alice), relations=None
    )
    page.goto(f"/constraints/{constraints.pk}/")
    page.get_by_role("link", name="The rule for Replace in the matrix").click()
    expect(page.locator("tbody th.crossing .name")).to_have_text("Replace")
    expect(page.locator("td[aria-selected]")).to_be_focused()
    page.get_by_role("navigation", name="This set").get_by_role("link", name="Rules").click()
    expect(page.locator(".rule", has_text="Replace").last).to_be_focused()


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
