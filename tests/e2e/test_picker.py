"""The picker obeys the constraints of the project, and so do the other ways to mark and relate on the screen."""

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from resources.models import ConstraintSet
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.e2e.desk import Desk
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

ENTITIES = [
    {"domain": "PhysicalObject", "excludes": ["Activity"]},
    {"domain": "State", "excludes": [], "can_contain": ["Thermostat", "State"]},
]
RELATIONS = [
    {"relation": "hasPart", "domain": "PhysicalObject", "range": ["PhysicalObject"]},
    {"relation": "hasParticipant", "domain": "Activity", "range": ["PhysicalObject"]},
    {"relation": "hasPatient", "domain": "PhysicalObject", "range": ["State"]},
]
EXCLUDED = (
    "“Activity” cannot share words with “SensingObject”: rule 1 of “entity constraints” excludes “Activity” for every"
    " “PhysicalObject”."
)


class Picker(Desk):
    def digits(self) -> list[str]:
        """From top to bottom, of the rows that have some."""
        return self.page.locator(".option > kbd:first-child").all_text_contents()

    def list(self) -> list[str]:
        """The names in the list, those that are greyed in brackets."""
        expect(self.page.locator("#picker")).to_be_visible()
        return self.page.locator(".option").evaluate_all(
            "rows => rows.map((row) => { const name = row.querySelector('.name').textContent;"
            " return row.ariaDisabled ? `(${name})` : name; })"
        )

    def pointed(self) -> str:
        return self.page.locator(".option[aria-selected=true] .name").text_content()

    def expect_note(self, text: str) -> None:
        expect(self.page.locator(".picker-note")).to_have_text(text)

    @contextmanager
    def new_rules(self):
        """What is done makes the page ask for other rules."""
        with self.page.expect_response(re.compile("/rules/")):
            yield
        self.page.wait_for_timeout(100)

    def mark(self, token: int, name: str) -> None:
        super().mark(token, name)
        self.press("Escape")


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Picker:
    text = "left air conditioner thermostat not working\n"
    project = factories.project(by=alice, annotators=[carol], text=text)
    constrain(project, entities=ENTITIES, relations=RELATIONS)
    sign_in(page, carol)
    # What words were labelled before is told when it is known; here the order of the labels depends on nothing but the rules.
    page.route("**/words/?*", lambda route: route.fulfill(json={"own": {}, "given": {}, "project": {}}))
    return Picker(page, project, carol).open()


def test_what_is_not_allowed_keeps_its_digit_with_the_reason_and_cannot_be_taken(desk):
    desk.drag(1, 3)
    desk.pick("sens")
    desk.token(2).dblclick()
    assert desk.list() == ["SensingObject", "PhysicalObject", "(Activity)", "State"]  # the first was used last
    assert desk.digits() == ["1", "2", "3"]
    barred = desk.page.locator(".option", has_text="Activity")
    expect(barred).to_contain_text("not with SensingObject")
    desk.press("2")
    desk.expect_note(EXCLUDED)
    desk.press("Enter")
    barred.click(force=True)
    expect(desk.page.locator("#picker")).to_be_visible()
    desk.page.keyboard.type("act")
    assert desk.list() == ["(Activity)"]
    desk.press("Enter")
    desk.expect_note(EXCLUDED)
    desk.press("Escape")
    assert desk.names() == ["SensingObject"]
    desk.press("Escape", "Home", "ArrowRight", "ArrowRight")
    desk.page.locator("#label-tree").get_by_role("button", name="Activity", exact=True).click()
    expect(desk.page.locator(".toast")).to_contain_text(EXCLUDED)
    assert desk.names() == ["SensingObject"]
    desk.token(2).dblclick()
    desk.pick("a")  # of those that have it, the first that is allowed
    assert (2, 2, "PhysicalObject") in desk.stored()


def test_a_label_above_an_allowed_one_leads_to_it(desk):
    desk.drag(2, 4)
    desk.pick("state")
    desk.token(3).dblclick()
    assert desk.list() == ["(PhysicalObject)", "(Activity)", "State"]
    assert desk.pointed() == "State"  # used last
    desk.press("1")
    assert desk.list() == ["(PhysicalObject)", "(SensingObject)", "(DrivingObject)"]
    expect(desk.page.locator("#picker")).to_contain_text("not inside State")
    desk.press("1", "1")
    assert desk.stored() == [(2, 4, "State"), (3, 3, "Thermostat")]


def test_changing_a_label_obeys_the_relations_at_it(desk):
    desk.mark(0, "physical")
    desk.mark(3, "thermo")
    desk.press("Tab", "r")
    desk.token(3).click()
    expect(desk.page.locator(".arc")).to_have_count(1)  # the only allowed one is taken at once
    assert desk.related() == [(0, "hasPart", 3)]
    desk.press("Escape", "Home", "Escape", "Tab", "Enter")
    desk.page.keyboard.type("a")
    assert desk.list() == ["Thermostat", "PhysicalObject", "(Activity)", "(Replace)", "(State)"]
    expect(desk.page.locator(".option").last).to_contain_text("forbidden by hasPart")


def test_a_relation_s_list_holds_only_allowed_labels_and_counts_the_others(desk):
    for token, name in enumerate(("physical", "state", "activity")):
        desk.mark(token, name)
    desk.token(2).click()
    desk.press("r")
    desk.token(0).click()
    assert desk.related() == [(2, "hasParticipant", 0)]  # below it, hasPatient has rules of its own
    desk.token(0).click()
    desk.press("r")
    desk.token(1).click()
    assert (0, "hasPatient", 1) in desk.related()
    desk.token(1).click()
    desk.press("r")
    expect(desk.page.locator(".toast")).to_contain_text("No relation can lead from “air” to another mark here.")
    ConstraintSet.mark_deleted(ConstraintSet.objects.filter(project=desk.project))
    constrain(desk.project, entities=None, relations=RELATIONS[:1])
    with desk.new_rules():
        desk.return_to()
    desk.token(1).click()
    desk.press("r")
    desk.token(0).click()
    assert desk.list() == ["hasParticipant", "hasPatient"]
    assert desk.digits() == ["1", "2"]
    assert desk.pointed() == "hasPatient"
    desk.expect_note("1 label is hidden: not allowed here.")
    desk.press("2")
    assert (1, "hasPatient", 0) in desk.related()


def test_a_set_that_was_changed_is_felt_at_the_next_action(desk, problems):
    problems.expect("422")
    ConstraintSet.mark_deleted(ConstraintSet.objects.filter(project=desk.project))
    constrain(desk.project, entities=[{"domain": "State", "excludes": ["PhysicalObject"]}], relations=None)
    desk.drag(1, 2)
    with desk.new_rules():
        desk.pick("physical")
    desk.token(2).dblclick()
    assert desk.list() == ["PhysicalObject", "Activity", "(State)"]
    desk.press("Escape", "Escape")
    ConstraintSet.mark_deleted(ConstraintSet.objects.filter(project=desk.project))
    constrain(desk.project, entities=ENTITIES, relations=None)
    desk.token(2).dblclick()
    with desk.new_rules():
        desk.pick("activity")  # still offered
    expect(desk.page.locator(".toast.error")).to_contain_text(EXCLUDED.replace("SensingObject", "PhysicalObject"))
    assert desk.names() == ["PhysicalObject"]
    desk.token(2).dblclick()
    assert desk.list() == ["PhysicalObject", "(Activity)", "State"]


def test_a_suggestion_that_cannot_be_accepted_says_why(desk):
    desk.suggest(("Activity", 1, 1))
    desk.open()
    desk.drag(0, 2)
    desk.pick("sens")
    desk.press("Escape")
    desk.mark(4, "physical")
    desk.token(1).click()
    desk.press("r")
    expect(desk.page.locator(".toast").first).to_contain_text("No relation can lead from “air” to another mark here.")
    desk.press("Space")
    expect(desk.page.locator(".toast").first).to_contain_text(EXCLUDED)
    assert "Activity ?" in desk.names()
    desk.token(0).dblclick()
    assert "(Activity)" in desk.list()
    ConstraintSet.mark_deleted(ConstraintSet.objects.filter(project=desk.project))
    with desk.new_rules():
        desk.press("2", "Enter")  # who tries in vain finds out that the rules were loosened
    desk.press("Escape", "Escape")
    desk.token(1).click()
    desk.press("Space")
    assert "Activity" in desk.names()
    desk.saved()


def test_a_rule_that_a_manager_takes_out_is_felt_at_the_next_action(desk, other_page, sign_in, alice):
    desk.drag(1, 3)
    desk.pick("sens")
    desk.token(2).dblclick()
    assert "(Activity)" in desk.list()
    desk.press("Escape", "Escape")
    sign_in(other_page, alice)
    other_page.goto(ConstraintSet.objects.get(project=desk.project, kind="entity").get_absolute_url())
    excluded = other_page.get_by_role("button", name="Take Activity out of “excludes”")
    excluded.click()
    expect(excluded).to_have_count(0)
    settled(other_page)
    with desk.new_rules():
        desk.mark(5, "state")
    desk.token(2).dblclick()
    assert "(Activity)" not in desk.list()
    desk.page.keyboard.type("replace")
    desk.press("Enter")
    assert (2, 2, "Replace") in desk.stored()


def test_of_a_short_tree_more_of_what_was_used_last_is_shown(desk_about, page, alice):
    names = [f"Pump{n}" for n in range(12)]
    tree = [{"name": "Pumps", "children": [{"name": name} for name in names]}, {"name": "Other"}]
    desk = desk_about(factories.dataset(owner=alice, text="a b c d e f g h i j k l m\n"), tree, Picker)
    for n, name in enumerate(names):
        desk.mark(n, name)
    desk.token(12).click()
    assert desk.list() == [*names[:1:-1], "Pumps", "Other"]


LONG = [{"name": "Equipment", "children": [{"name": f"Machine{n}"} for n in range(60)]}]


def test_the_list_takes_the_room_below_the_words_and_a_level_names_its_parent_once(desk_about, page, alice):
    desk = desk_about(factories.dataset(owner=alice, text="check pump\n"), LONG, Picker)
    page.set_viewport_size({"width": 1400, "height": 1200})
    desk.press("ArrowRight", "1")
    assert desk.list() == ["Equipment", *(f"Machine{n}" for n in range(60))]
    assert desk.digits() == ["↵", *(f"{n:02}" for n in range(1, 61))]
    assert page.locator("#picker").inner_text().count("Equipment") == 1
    word, picker, last = (page.locator(each).bounding_box() for each in (".word-box", "#picker", ".option >> nth=20"))
    assert picker["y"] > word["y"] + word["height"]
    assert 1190 - 8 <= picker["y"] + picker["height"] <= 1200
    assert last["y"] + last["height"] < 1200  # within the window, more than twenty rows
    desk.press("ArrowUp")
    expect(page.locator(".option").last).to_be_in_viewport(ratio=0.9)
