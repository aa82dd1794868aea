"""What keys do on the annotation screen, by what is selected."""

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation
from tests.annotations.test_constraints import constrain
from tests.e2e.desk import Desk

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def labelled(desk: Desk) -> list[str]:
    return desk.page.locator(".mark-name > :first-child").all_text_contents()


def test_letters_search_a_label_for_what_is_selected_and_command_nothing(desk):
    desk.press("n", "p", "o", "a", "t")  # nothing is selected
    desk.ready(1)
    expect(desk.page.locator("#picker input")).to_have_value("npoat")  # a label for every selection is searched
    expect(desk.page.locator(".picker-note")).to_contain_text("every selection to come")
    desk.press("Escape", "Shift+Space")
    expect(desk.page.locator("#toasts")).to_contain_text("Nothing is suggested in this item.")
    desk.press("ArrowRight", "p")
    desk.pick("hysical")
    desk.press("a")  # it is selected: another label is searched for it
    desk.pick("ctivity")
    assert labelled(desk) == ["Activity"]
    desk.press("3")
    assert labelled(desk) == ["State"]
    desk.page.locator("#label-tree [data-label]", has_text="Activity").click()
    assert labelled(desk) == ["Activity"]
    desk.press("Control+z", "Control+z", "Control+z")
    assert labelled(desk) == ["PhysicalObject"]
    desk.press("ArrowRight", "o")
    desk.pick("bject")  # PhysicalObject
    desk.press("r", "Tab", "Enter")
    desk.pick("haspart")
    desk.press("p")
    desk.pick("atient")
    (relation,) = desk.related()
    assert relation[1] == "hasPatient"
    desk.press("Escape", "n", "Escape", "Control+Enter")
    desk.ready(2)
    desk.press("PageUp")
    desk.ready(1)
    desk.press("o", "a")
    expect(desk.page.locator("#done-note")).to_be_visible()
    desk.press("Alt+Enter")
    expect(desk.page.locator("#done-note")).to_be_hidden()
    desk.press("Control+a")
    expect(desk.page.locator(".word-box")).to_have_count(1)
    desk.press("s")
    desk.pick("tate")
    assert (0, 6, "State") in desk.stored()
    assert Annotation.objects.get(annotator=desk.user).done_at is None


def test_keys_that_decide_count_once_however_long_they_are_held(desk):
    mine = desk.suggest(*(("State", n, n) for n in range(4)), user=desk.user)
    desk.open()

    def decided():
        return list(mine.entity_set.order_by("start").values_list("status", flat=True))

    def hold(key):
        for _ in range(3):
            desk.page.keyboard.down(key)
        desk.page.keyboard.up(key)

    desk.press("Tab")
    hold("Delete")
    hold(" ")
    desk.saved()
    assert decided() == ["rejected", "accepted", "suggested", "suggested"]
    desk.press("Escape", "Home")
    hold("Enter")
    expect(desk.page.locator("#picker")).to_be_visible()
    assert len(decided()) == 4
    desk.press("Escape", "Escape")
    desk.page.keyboard.down("Control")
    hold("Enter")
    desk.page.keyboard.up("Control")
    expect(desk.page.locator("#undecided-dialog")).to_be_visible()  # its button was not pressed by the same key
    mine.refresh_from_db()
    assert mine.done_at is None


def test_what_is_said_of_a_step_goes_with_the_next_one(desk):
    desk.suggest(*(("State", n, n) for n in range(3)), user=desk.user)
    desk.open()
    desk.press("Shift+Space")
    told = desk.page.locator(".toast", has_text="3 suggestions accepted.")
    expect(told).to_be_visible()
    desk.press("Control+z")
    expect(told).to_have_count(0)


def test_arrows_held_with_shift_move_the_ends_of_the_selected_mark(desk):
    asked = []
    desk.page.on("request", lambda request: request.url.endswith("/resize/") and asked.append(request.post_data_json))
    desk.token(2).click()
    desk.pick("phys")
    desk.press("Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft", "Alt+Shift+ArrowLeft")
    assert desk.stored() == [(1, 4, "PhysicalObject")]
    assert [(body["start"], body["end"]) for body in asked] == [(1, 4)]
    desk.press("Control+z")
    assert desk.stored() == [(2, 2, "PhysicalObject")]
    desk.press("Control+y", "Control+Shift+ArrowRight", "Control+Shift+ArrowRight", "Control+Shift+ArrowRight", "Home")
    assert desk.stored() == [(4, 4, "PhysicalObject")]  # the start stops at the end, and the next key does not wait
    desk.press("Control+z", "Tab", "Shift+ArrowRight", "Escape")
    assert desk.stored() == [(1, 4, "PhysicalObject")]
    mine = desk.suggest(("State", 0, 0), user=desk.user)
    desk.open()
    desk.press("Tab", "Shift+ArrowRight")
    assert labelled(desk) == ["State", "PhysicalObject"]
    assert (0, 1, "State") in desk.stored()
    assert mine.entity_set.get(uid="given-0").status == "accepted"
    desk.press("Control+z")
    assert (0, 0, "State") in desk.stored()
    assert mine.entity_set.get(uid="given-0").status == "suggested"
    expect(desk.page.locator(".mark-name").first).to_have_text("State ?")


def test_undo_of_two_resizes_brings_back_what_broke_a_rule_before(desk):
    mine = Annotation.objects.create(item=desk.item(1), annotator=desk.user)
    for name, start, end in (("Thermostat", 1, 3), ("State", 3, 4)):
        mine.entity_set.create(uid=name, label=desk.label(name), start=start, end=end)
    constrain(desk.project, entities=[{"domain": "Thermostat", "excludes": ["State"]}], relations=[])
    desk.open()
    for end in (2, 1):
        desk.press("Home", "Escape", "Tab", "Shift+ArrowLeft")
        assert desk.stored() == [(1, end, "Thermostat"), (3, 4, "State")]
    desk.press("Control+z", "Control+z")
    assert desk.stored() == [(1, 3, "Thermostat"), (3, 4, "State")]
    expect(desk.page.locator(".toast")).to_have_count(0)


def selected(desk: Desk) -> str:
    return desk.page.locator("#said").text_content().partition(",")[0]


def test_tab_goes_on_from_the_source_of_a_relation(desk):
    for token in (0, 2, 4, 5):
        desk.mark(token, "PhysicalObject")
    for key, next_one in (("Tab", "not"), ("Shift+Tab", "left")):
        desk.press("Escape", "Tab", "Tab", "r", "3" if key == "Tab" else "2")
        desk.pick("hasPart")
        desk.press(key)
        assert selected(desk) == next_one


def test_a_key_leads_to_the_next_word_without_a_mark(desk):
    desk.mark(1, "PhysicalObject")
    desk.mark(2, "State")
    desk.press("Home", "Control+ArrowRight")
    assert selected(desk) == "thermostat"
    desk.press("Control+ArrowLeft")
    assert selected(desk) == "left"
    desk.press("Control+ArrowLeft")
    assert selected(desk) == "Every word is marked from here to the beginning."
    desk.press("Escape", "Tab", "Control+ArrowRight", "p")
    desk.pick("hysical")
    assert (3, 3, "PhysicalObject") in desk.stored()


def test_it_goes_past_what_is_no_word(desk):
    desk.set_words("pump", ",", "—", "3", "...", "seal", ".")
    desk.open().press("Home", "Control+ArrowRight")
    assert selected(desk) == "3"
    desk.press("Control+ArrowRight")
    assert selected(desk) == "seal"
    desk.press("Control+ArrowRight")
    assert selected(desk) == "Every word is marked from here to the end."


def test_whoever_leaves_a_jump_keeps_the_sticky_label(desk):
    desk.mark(0, "State")
    desk.press("Escape")
    desk.page.keyboard.type("act")
    desk.press("Enter", ",", "Escape")
    expect(desk.page.locator("#mode")).to_be_hidden()
    expect(desk.page.locator("#sticky")).to_contain_text("Activity")
    desk.press("Escape")
    expect(desk.page.locator("#sticky")).to_be_hidden()


def test_a_mark_in_sight_is_reached_by_its_number(desk):
    desk.suggest(*(("State", n % 7, n % 7) for n in range(3)), user=desk.user)
    desk.open().press("End", ",")
    expect(desk.page.locator(".mark-name[data-number]")).to_have_count(3)
    expect(desk.page.locator("#mode")).to_contain_text("type its number")
    desk.press("x", "2")
    assert selected(desk) == "air"
    expect(desk.page.locator(".mark-name[data-number]")).to_have_count(0)
    expect(desk.page.locator("#mode")).to_be_hidden()
    desk.press("End", ",", "Escape")
    assert selected(desk) == "replace"


def test_one_key_accepts_all_and_goes_on(desk):
    mine = desk.suggest(("State", 0, 0), ("State", 1, 1), user=desk.user)
    desk.open().press("Control+Shift+Enter")
    desk.ready(2)
    desk.press("Control+Shift+Enter")
    desk.ready(3)
    desk.saved()
    assert set(mine.entity_set.values_list("status", flat=True)) == {"accepted"}
    assert Annotation.objects.filter(annotator=desk.user, done_at=None).count() == 0
