"""A constraint set is built in the browser, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation
from resources.models import ConstraintSet
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.e2e.waiting import settled
from tests.factories import item
from tests.resource_sets import document_of, make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def entities(alice):
    return factories.ontology(owner=alice, name="Maintenance entities")


@pytest.fixture
def show(page, sign_in, alice):
    """``show(entities, relations=None)``: a set of rules for these labels is made and opened by alice."""

    def show(entities, relations=None, **fields) -> ConstraintSet:
        kind = "relation_constraints" if relations else "entity_constraints"
        rules = make(kind, owner=alice, entities=entities, relations=relations, **fields)
        sign_in(page, alice)
        page.goto(rules.get_absolute_url())
        return rules

    return show


def test_rules_are_built_by_mouse(page, show, entities):
    rules = show(entities, document=[])
    page.get_by_role("button", name="Add the first rule").click()
    expect(page.get_by_role("heading", name="Add a rule: for which label?")).to_be_visible()
    page.locator("#dialog").get_by_role("button", name="Activity").click()
    dialog = page.locator("#dialog")
    expect(dialog.get_by_role("heading", name="“Activity” excludes")).to_be_visible()
    dialog.get_by_role("button", name="PhysicalObject").click()
    dialog.get_by_role("button", name="State").click()
    expect(dialog.locator("[aria-pressed=true]")).to_have_count(2)
    dialog.get_by_role("button", name="Done").click()
    expect(page.locator(".rule")).to_contain_text("Activity and 1 below")
    page.get_by_role("button", name="Limit what Activity can contain").click()
    expect(dialog.get_by_role("heading", name="“Activity” can contain")).to_be_visible()
    dialog.get_by_role("button", name="Nothing may stand inside").click()
    expect(dialog).not_to_be_visible()
    expect(page.locator(".rule")).to_contain_text("nothing")
    page.get_by_role("button", name="Take State out of “excludes”").click()
    expect(page.locator("#facts")).to_contain_text("1 rule")
    settled(page)
    assert document_of(rules) == [{"domain": "Activity", "excludes": ["PhysicalObject"], "can_contain": []}]
    page.get_by_role("button", name="Undo change").click()
    expect(page.locator(".rule")).to_contain_text("State")
    page.get_by_role("button", name="Remove the rule for Activity").click()
    expect(page.get_by_text("No rules yet")).to_be_visible()
    page.locator(".toast").get_by_role("button", name="Undo").last.click()
    expect(page.locator(".rule")).to_contain_text("State")
    page.get_by_role("button", name="History").click()
    expect(page.locator("#dialog")).to_contain_text("Remove")


def test_a_document_is_checked_before_it_is_stored(page, sign_in, alice, problems, entities):
    sign_in(page, alice)
    page.goto("/constraints/")
    page.get_by_role("link", name="New constraints").first.click()
    page.get_by_label("Name", exact=True).fill("Maintenance rules")
    page.get_by_label("Entity labels of").select_option("Maintenance entities")
    page.get_by_text("Paste JSON").click()
    page.get_by_role("button", name="Load this example").click()
    problems.expect("422")
    page.get_by_role("button", name="Check only").click()
    expect(page.locator("#report")).to_contain_text("“Location” is not a label of “Maintenance entities”")
    text = page.locator("#id_text")
    text.fill(text.input_value().replace("Location", "Activity"))
    page.get_by_role("button", name="Check only").click()
    expect(page.locator("#report")).to_contain_text("2 rules can be stored. 1 place looks like a mistake")
    page.get_by_role("button", name="Create constraints").click()
    expect(page.locator(".rule")).to_have_count(2)
    settled(page)
    page.get_by_role("button", name="Checks").click()
    expect(page.locator("#dialog")).to_contain_text("Rule 1 excludes “Activity” here")
    page.get_by_role("link", name="Rule 2: PhysicalObject").click()
    expect(page.locator("#dialog")).not_to_be_visible()
    expect(page.locator(".rule").nth(1)).to_be_focused()
    page.locator("#add-rule").click()
    expect(page.locator("#pick-search")).to_be_focused()
    page.keyboard.type("activ")
    page.keyboard.press("Enter")
    expect(page.locator(".rule").first).to_be_focused()
    page.reload()
    expect(page.locator(".rule").first).to_be_focused()


def test_rules_are_built_by_keyboard(page, show, alice, entities):
    rules = show(entities, factories.ontology(owner=alice, kind="relation", name="Maintenance relations"), document=[])
    page.locator("#add-rule").focus()
    page.keyboard.press("Enter")
    heading = page.locator("#dialog h2")
    for name, next_heading in (
        ("haspat", "“hasPatient” leads from which label?"),
        ("act", "“hasPatient from Activity” leads to"),
    ):
        expect(page.locator("#pick-search")).to_be_focused()
        page.keyboard.type(name)
        page.keyboard.press("Enter")  # before the answer to what was typed
        expect(heading).to_have_text(next_heading)
    expect(page.locator("#pick-search")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#choices button").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#choices button").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).not_to_be_visible()
    expect(page.locator(".rule")).to_contain_text("PhysicalObject")
    page.keyboard.press("Control+z")
    expect(page.locator(".rule")).to_contain_text("nowhere")
    page.keyboard.press("Control+Shift+z")
    expect(page.locator(".rule")).to_contain_text("PhysicalObject")
    assert document_of(rules) == [
        {"relation": "hasParticipant/hasPatient", "domain": "Activity", "range": ["PhysicalObject"]}
    ]


def test_labels_are_picked_one_after_the_other_by_keyboard(page, show, entities):
    rules = show(entities, document=[{"domain": "Activity", "excludes": []}])
    page.get_by_role("button", name="Add a label to what Activity excludes").click()
    pressed = page.locator("#choices [aria-pressed=true]")
    expect(page.locator("#pick-search")).to_be_focused()
    page.keyboard.type("stat")
    page.keyboard.press("Enter")
    expect(pressed).to_have_text("State")
    page.keyboard.press("Enter")
    settled(page)
    expect(pressed).to_have_text("State")
    page.keyboard.type("repl")
    page.keyboard.press("Enter")
    expect(pressed).to_have_text("Replace")
    pressed.focus()
    page.keyboard.type("sta")
    expect(page.locator("#pick-search")).to_have_value("sta")
    assert document_of(rules) == [{"domain": "Activity", "excludes": ["State", "Activity/Replace"]}]


def test_somebody_elses_change_is_not_overwritten(page, problems, show, bob, entities):
    rules = show(entities)
    problems.expect("409")
    physical, field = item(entities, "PhysicalObject").uid, "can_contain"
    rules.add_label(physical, field, item(entities, "Replace").uid, by=bob)
    page.get_by_role("button", name="no limit").first.click()
    expect(page.locator(".toast")).to_contain_text("Somebody changed this list meanwhile")
    expect(page.get_by_role("button", name="Take Replace out of “can contain”")).to_be_visible()
    rules.drop_label(physical, field, item(entities, "Replace").uid, by=bob)
    page.get_by_role("button", name="Take Thermostat out of “can contain”").click()
    expect(page.get_by_role("button", name="Take Replace out of “can contain”")).to_have_count(0)
    assert document_of(rules)[0]["can_contain"] == ["PhysicalObject"]


def test_a_projects_rules_tell_how_often_they_are_broken(page, sign_in, alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    constrain(project, entities=[], relations=None)
    (rules,) = project.constraint_sets()
    annotation = Annotation.start(project.dataset.items().first(), carol)
    for name in ("State", "Activity"):
        annotation.add_entity(uid=f"mark-{name}", label=item(project.entity_ontology, name), start=0, end=0)
    state, activity = (item(project.entity_ontology, name).uid for name in ("State", "Activity"))
    rules.add_rule(activity, can_contain=[], by=alice)
    rules.add_rule(state, excludes=[activity], by=alice)
    sign_in(page, alice)
    page.goto(rules.get_absolute_url())
    expect(page.locator(f"#breaks-{state}")).to_have_text("broken 1 time")
    expect(page.locator(f"#breaks-{activity}")).to_be_hidden()
    page.get_by_role("button", name="Remove the rule for Activity").click()
    expect(page.locator(".rule")).to_have_count(1)
    expect(page.locator(f"#breaks-{state}")).to_have_text("broken 1 time")
    page.locator(f"#breaks-{state}").click()
    expect(page.get_by_role("heading", name="Broken rules")).to_be_visible()
    expect(page.locator("main")).to_contain_text("“State” cannot share words with “Activity”")
    page.get_by_role("link", name="Item 1").click()
    expect(page.locator(".mark-name")).to_have_count(2)


def test_a_duplicate_is_named_at_once(page, show, entities):
    show(entities, document=[], name="Old rules")
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Duplicate…").click()
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("New rules")  # replaces what is proposed
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="New rules", exact=True)).to_be_visible()
    assert ConstraintSet.objects.filter(name="New rules").exists()
