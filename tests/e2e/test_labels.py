"""Ways to a label that save keys: numbers beyond nine, a label for every selection, shortcuts, what these words had before."""

import pytest
from playwright.sync_api import expect

from projects.models import Membership
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.e2e.test_axe import serious
from tests.e2e.test_picker import Picker
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def desk(page, sign_in, project, carol) -> Picker:
    constrain(project, entities=[{"domain": "PhysicalObject", "excludes": ["Activity"]}], relations=None)
    sign_in(page, carol)
    return Picker(page, project, carol).open()


def test_a_sticky_label_marks_every_selection_until_escape(desk, page):
    chip = page.locator("#sticky")
    page.keyboard.type("act")  # with nothing selected
    desk.press("Enter")
    expect(chip).to_contain_text("Marking with Activity")
    desk.token(0).click()
    desk.drag(1, 2)
    desk.press("ArrowRight", "Enter")
    assert desk.stored() == [(0, 0, "Activity"), (1, 2, "Activity"), (3, 3, "Activity")]
    desk.token(4).click(click_count=2)  # the second click finds the mark that the first one made
    desk.press("Escape", "ArrowRight", "s")  # letters look for another label all the same
    desk.press("Escape")
    expect(chip).to_be_hidden()
    desk.drag(5, 6)
    desk.page.keyboard.type("phys")
    desk.press("Control+Enter")  # marked, and every selection to come
    expect(chip).to_contain_text("Marking with PhysicalObject")
    assert (5, 6, "PhysicalObject") in desk.stored()
    desk.token(0).dblclick()
    expect(page.locator(".toast").first).to_contain_text("“PhysicalObject” cannot share words with “Activity”")
    expect(page.locator(".word-box")).to_have_count(1)
    desk.press("PageDown")
    desk.ready(2)
    expect(chip).to_be_visible()
    assert not serious(page)
    desk.token(1).click()
    assert desk.stored(2) == [(1, 1, "PhysicalObject")]
    chip.click()
    expect(chip).to_be_hidden()
    row = page.locator("#label-tree .row", has=page.get_by_role("button", name="State", exact=True))
    row.hover()
    row.get_by_role("button", name="Pin State").click()
    expect(chip).to_contain_text("Marking with State")
    desk.switch_off("State")
    desk.open(2)
    expect(page.locator(".toast")).to_contain_text("“State” was switched off")
    expect(chip).to_be_hidden()


def test_shortcuts_give_labels_to_words_marks_and_relations(desk, page):
    desk.press("ArrowRight", "s", "t", "Alt+Shift+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 is now State.")
    expect(page.locator(".option .shortcut")).to_have_text("Alt 3")
    assert not serious(page)
    desk.press("Escape", "Alt+3", "ArrowRight", "Alt+3")
    desk.token(2).click()  # which opens the list
    desk.press("Alt+5")
    expect(page.locator(".toast").first).to_contain_text("Alt+5 has no label yet")
    desk.press("Alt+3")
    assert desk.stored() == [(0, 0, "State"), (1, 1, "State"), (2, 2, "State")]
    desk.press("Delete")
    desk.press("ArrowRight", "a", "c", "t", "Alt+Shift+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 is now Activity. It was State.")
    desk.press("Escape")
    expect(page.locator("#label-tree .shortcut:visible")).to_have_text("Alt 3")
    desk.press("Escape", "Tab", "Alt+3")  # the mark that is selected
    assert desk.stored() == [(0, 0, "Activity"), (1, 1, "State")]
    desk.open()
    desk.press("Tab", "r", "Tab", "Enter")
    desk.pick("haspart")
    desk.press("Enter")
    page.keyboard.type("patient")
    desk.press("Alt+Shift+0")
    expect(page.locator(".toast").first).to_contain_text("Alt+0 is now hasPatient.")
    desk.press("Escape", "Alt+0")
    assert desk.related() == [(0, "hasPatient", 1)]
    desk.press("Escape", "Home", "Alt+5")
    expect(page.locator(".toast").first).to_contain_text("Alt+5 has no label yet")
    desk.press("Enter")
    page.keyboard.type("act")
    desk.press("Alt+Shift+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 has no label any more.")
    shortcuts = Membership.objects.get(project=desk.project, user=desk.user).shortcuts
    assert shortcuts["entity"] == {}
    assert list(shortcuts["relation"]) == ["0"]


def test_a_shortcut_that_is_not_kept_is_taken_back(desk, page, problems):
    problems.expect("ERR_FAILED")
    page.route("**/shortcuts/", lambda route: route.abort())
    desk.press("ArrowRight", "s", "t", "Alt+Shift+3")
    expect(page.locator(".toast.error")).to_contain_text("not kept: the server cannot be reached")
    desk.press("Escape", "ArrowRight", "Alt+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 has no label yet")
    assert desk.names() == []


NAMES = ["Pump", *(f"L{n}" for n in range(2, 10)), "Tenth", "L11", "Twelfth"]


def test_labels_beyond_nine_have_two_digits_and_stand_above_them_once_they_were_used(desk_about, page, alice):
    texts = factories.dataset(owner=alice, text="check pump and pump again\nPUMP and valve\n")
    desk = desk_about(texts, [{"name": name} for name in NAMES], Picker)
    desk.press("ArrowRight", "1", "2")
    desk.press("ArrowRight", "1")
    expect(page.locator(".option:not(.apart)")).to_have_count(2)  # 10 and 11: the twelfth, used last, stands above
    assert not serious(page)
    desk.press("9")
    desk.expect_note("There is no 19 here.")
    desk.press("1", "Backspace", "0", "1")
    assert desk.stored() == [(0, 0, "Twelfth"), (1, 1, "Pump")]
    desk.open(2)
    with page.expect_response("**/words/?*"):
        desk.press("ArrowRight")  # asked already when they are selected
    expect(page.locator(".word-box")).to_have_count(1)
    desk.press("Enter")
    expect(page.locator(".option", has_text="Pump")).to_contain_text("1× by you")
    assert desk.list() == ["Twelfth", *NAMES[:-1]]
    assert desk.digits() == [f"{n:02}" for n in range(1, 12)]
    assert desk.pointed() == "Pump"
    desk.press("Enter")
    assert desk.stored(2) == [(0, 0, "Pump")]


def test_what_these_words_had_moves_no_row_when_it_is_known_late(desk, page):
    label = desk.label("Activity").uid
    held = []
    page.route("**/words/?*", lambda route: held.append(route))
    desk.token(0).click()
    before = desk.list()
    desk.press("ArrowDown")
    until(lambda: len(held) == 1, "The words are not asked for.")
    held.pop().fulfill(json={"own": {}, "given": {label: 3}, "project": {}})
    expect(page.locator(".option", has_text="3× given")).to_have_count(1)
    assert desk.list() == before
    expect(page.locator(".option[aria-selected=true]")).to_contain_text("Activity")
    page.keyboard.type("a")
    assert desk.list()[0] == "Activity"
    page.keyboard.press("Backspace")
    assert desk.list() == before
    assert desk.pointed() == "Activity"
    page.unroute("**/words/?*")
