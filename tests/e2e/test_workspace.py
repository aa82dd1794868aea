"""The annotation screen in a browser: with the mouse, with keys alone, and when the network fails."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Route, expect

from datasets.models import Annotation, Item
from tests import factories
from tests.e2e.desk import Desk, Held
from tests.e2e.test_axe import serious

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.mark.database
def test_words_are_marked_by_dragging_and_by_clicking(desk):
    desk.token(0).click()
    desk.press("Escape", "Escape")
    expect(desk.page.locator(".word-box, .mark-name")).to_have_count(0)
    expect(desk.page.locator("#picker")).to_be_hidden()
    desk.drag(1, 2)
    desk.pick("sens")
    desk.mark(3, "thermo")
    desk.token(4).click()
    desk.token(5).click(modifiers=["Shift"])
    desk.pick("state")
    desk.drag(5, 3)  # backwards, over the words of two marks
    desk.pick("phys")
    assert desk.stored() == [
        (1, 2, "SensingObject"),
        (3, 3, "Thermostat"),
        (3, 5, "PhysicalObject"),
        (4, 5, "State"),
    ]
    tops = {name.inner_text(): name.bounding_box()["y"] for name in desk.page.locator(".mark-name").all()}
    assert tops["SensingObject"] == tops["Thermostat"] == tops["State"] < tops["PhysicalObject"]
    desk.token(4).dblclick()  # inside other marks
    desk.pick("activ")
    assert (4, 4, "Activity") in desk.stored()


@pytest.mark.database
def test_keys_alone_are_enough(desk):
    desk.press("ArrowRight", "ArrowRight", "Shift+ArrowRight", "s")  # the letter looks for a label already
    desk.pick("ensing")
    desk.press("ArrowRight", "Enter", "3")  # a leaf of the top level is taken by its number
    desk.press("ArrowRight", "1", "1", "Enter")  # into PhysicalObject, into SensingObject, which is taken itself
    assert desk.stored() == [(1, 2, "SensingObject"), (3, 3, "State"), (4, 4, "SensingObject")]
    desk.press("Escape", "Tab", "r", "Tab", "Enter")
    desk.pick("haspart")
    assert desk.related() == [(1, "hasPart", 3)]
    desk.press("Escape", "Tab", "Tab", "Delete")
    assert desk.stored() == [(1, 2, "SensingObject"), (4, 4, "SensingObject")]
    assert desk.related() == []
    desk.press("Control+Enter")
    desk.ready(2)
    desk.press("PageUp")
    desk.ready(1)
    desk.press("Alt+Enter", "ArrowRight", "Enter")
    desk.pick("activ")
    assert (0, 0, "Activity") in desk.stored()


def test_a_mark_is_relabelled_and_removed(desk):
    desk.mark(0, "state")
    desk.page.get_by_role("button", name="State").first.click()
    desk.page.get_by_role("button", name="Change label").click()
    desk.pick("replace")
    assert desk.stored() == [(0, 0, "Replace")]
    desk.token(0).click()
    desk.page.get_by_role("button", name="Remove").click()
    assert desk.stored() == []


def test_undo_and_redo(desk):
    desk.mark(0, "state")
    desk.mark(4, "activ")
    desk.press("r")
    desk.mark(0, "haspart")
    assert desk.related() == [(4, "hasPart", 0)]
    desk.token(0).click()
    desk.press("Delete")
    assert desk.related() == []
    desk.press("Control+z")
    assert desk.related() == [(4, "hasPart", 0)]
    desk.press("Control+z", "Control+z")
    assert desk.stored() == [(0, 0, "State")]
    desk.press("Control+y")
    assert desk.stored() == [(0, 0, "State"), (4, 4, "Activity")]


def test_done_makes_an_item_read_only_until_it_is_reopened(desk):
    page = desk.page
    page.locator("#done").click()
    desk.ready(2)
    expect(page.locator("#done-count")).to_have_text("1")
    page.locator("#next").click()
    desk.ready(3)
    desk.press("PageUp")
    desk.ready(2)
    desk.press("PageUp")
    desk.ready(1)
    expect(page.locator("#done-note")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.get_by_role("button", name="Next undone")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    desk.resize(1400, 800)
    desk.drag(1, 2)
    expect(page.locator("#picker")).to_be_hidden()
    desk.press("Delete")
    expect(page.locator(".toast")).to_contain_text("Reopen it")
    page.locator("#reopen").click()
    expect(page.locator(".toast")).to_have_count(0)
    desk.drag(1, 2)
    desk.pick("state")
    assert desk.stored() == [(1, 2, "State")]
    page.get_by_role("button", name="Guidelines").click()
    expect(page.get_by_text("Mark every object.")).to_be_visible()


@pytest.mark.database
def test_what_cannot_be_sent_is_sent_again_and_stored_once(desk, problems):
    problems.expect("ERR_FAILED", "ERR_INTERNET_DISCONNECTED")
    lost = []

    def lose_the_answer(route: Route) -> None:
        if not lost:
            lost.append(route.fetch().status)  # stored, but the browser never hears of it
        route.abort()

    changes = re.compile(r"/(entities/add|operations)/$")
    desk.page.route(changes, lose_the_answer)
    desk.mark(0, "state")
    desk.mark(3, "thermo")
    expect(desk.page.locator("#saved")).to_have_text(re.compile("2 not saved yet, trying again"))
    desk.page.unroute(changes)
    desk.page.evaluate("dispatchEvent(new Event('online'))")
    assert desk.stored() == [(0, 0, "State"), (3, 3, "Thermostat")]
    assert lost == [200]


def test_what_is_refused_is_taken_back_and_the_reason_stays_until_it_is_dismissed(desk, problems):
    problems.expect("422")
    desk.switch_off("State")
    desk.mark(0, "state")
    expect(desk.page.locator(".toast.error")).to_contain_text("switched off")
    expect(desk.page.locator(".mark-name")).to_have_count(0)
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator("#saved")).to_have_class("saved warn")
    desk.page.locator(".toast.error").get_by_role("button", name="Dismiss").click()
    desk.saved()


def test_a_refusal_is_said_until_the_next_change_is_saved(desk, problems):
    problems.expect("422")
    desk.switch_off("State")
    desk.mark(0, "state")
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    desk.mark(3, "thermo")
    assert desk.stored() == [(3, 3, "Thermostat")]


def test_an_item_is_not_done_when_a_change_before_that_was_refused(desk, problems):
    problems.expect("422")
    desk.at_hand(2)
    desk.switch_off("State")
    held = Held(desk.page, "**/entities/add/")
    desk.mark(0, "state")
    desk.press("Control+Enter")
    expect(desk.page.locator("#done-count")).to_have_text("1")
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator("#done-count")).to_have_text("0")
    desk.page.get_by_role("button", name="Item 1", exact=True).click()
    desk.ready(1)
    expect(desk.page.locator("#done-note")).to_be_hidden()
    assert not Annotation.objects.filter(done_at__isnull=False).exists()


def test_a_list_of_labels_follows_its_mark_to_another_uid_and_goes_when_that_is_refused(desk, problems):
    problems.expect("422")
    held = Held(desk.page, "**/entities/add/")
    desk.mark(0, "state")
    desk.press("Enter")
    expect(desk.page.locator("#picker")).to_be_visible()
    mine = Annotation.objects.create(item=desk.item(1), annotator=desk.user)
    mine.entity_set.create(uid="made-elsewhere", label=desk.label("State"), start=0, end=0)
    held.release()
    desk.saved()
    desk.pick("thermo")
    assert desk.stored() == [(0, 0, "Thermostat")]
    desk.switch_off("State")
    desk.page.unroute("**/entities/add/")
    held = Held(desk.page, "**/entities/add/")
    desk.mark(3, "state")
    desk.press("Enter")
    expect(desk.page.locator("#picker")).to_be_visible()
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator("#picker")).to_be_hidden()
    expect(desk.page.locator("#main .text")).to_be_focused()
    assert desk.names() == ["Thermostat"]


def test_a_refusal_takes_back_what_was_done_to_a_mark_that_the_server_knew(desk, problems):
    problems.expect("422")
    desk.switch_off("Activity")
    held = Held(desk.page, "**/entities/add/")
    desk.mark(0, "state")
    desk.press("Enter")
    desk.pick("activ")
    assert desk.names() == ["Activity"]
    mine = Annotation.objects.create(item=desk.item(1), annotator=desk.user)
    mine.entity_set.create(uid="made-elsewhere", label=desk.label("State"), start=0, end=0)
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    assert desk.names() == ["State"]
    desk.press("Escape", "Tab", "Delete")
    assert desk.stored() == []


def test_work_of_an_ended_session_is_saved_after_signing_in_again(desk, sign_in, problems):
    problems.expect("401")
    desk.page.context.clear_cookies(name="sessionid")
    desk.mark(0, "state")
    expect(desk.page.locator(".toast.error")).to_contain_text("signed out")
    expect(desk.page.locator("#saved")).to_have_text("1 not saved yet: sign in again")
    sign_in(desk.page, desk.user)
    desk.return_to()
    assert desk.stored() == [(0, 0, "State")]
    expect(desk.page.locator(".toast")).to_have_count(0)


def test_work_without_any_cookie_is_saved_after_signing_in_again(desk, sign_in, problems):
    problems.expect("403", "401")
    desk.page.context.clear_cookies()
    desk.mark(0, "state")
    expect(desk.page.locator(".toast.error")).to_contain_text("signed out")
    desk.press("Control+Enter")
    expect(desk.page.locator("#saved")).to_have_text("2 not saved yet: sign in again")
    desk.press("PageUp")
    desk.ready(1)
    assert desk.names() == ["State"]
    desk.press("PageDown")
    tab = desk.page.context.new_page()
    sign_in(tab, desk.user)
    tab.goto("/projects/")
    desk.return_to()
    desk.ready(2)
    desk.saved()
    annotation = Annotation.objects.get(annotator=desk.user)
    assert annotation.done_at is not None
    assert annotation.entity_set.get().label.name == "State"


def test_spans_are_right_around_characters_of_any_width(page, sign_in, alice, carol):
    texts = [[each, "one", each, each * 3, "two"] for each in ("👩‍🔧", "e\u0301", "𝔘𝔫𝔦", "مكيف")]
    lines = "".join(f"  {'  '.join(words)}\n" for words in texts)
    desk = Desk(page, factories.project(by=alice, annotators=[carol], text=lines), carol)
    sign_in(page, carol)
    for number, words in enumerate(texts, start=1):
        desk.open(number)
        assert page.locator(".tok").all_inner_texts() == words
        assert page.locator(".sheet .text").evaluate("node => node.textContent") == " ".join(words)
        desk.drag(1, 2)
        desk.pick("state")
        desk.press(".")
        expect(page.locator("[data-original] mark")).to_have_text(f"one  {words[0]}")
        assert desk.stored(number) == [(1, 2, "State")]
        assert page.locator(".mark-name").get_attribute("title") == f"State: one {words[0]}"


def test_the_picker_stays_small_with_many_labels(desk_about, page, alice):
    labels = [{"name": f"Branch {n}", "children": [{"name": f"Leaf {n}.{m}"} for m in range(99)]} for n in range(100)]
    desk = desk_about(factories.dataset(owner=alice), labels)
    desk.token(0).click()
    assert page.locator(".option").count() == 100
    page.keyboard.type("leaf")
    assert page.locator(".option").count() == 200
    expect(page.locator(".picker-note")).to_contain_text("700 more. Type to narrow the list.")
    page.keyboard.type(" 98.9")
    desk.press("Enter")
    assert desk.stored() == [(0, 0, "Leaf 98.9")]


def test_a_manager_reads_but_does_not_mark(desk, sign_in, alice):
    desk.mark(0, "state")
    desk.saved()
    sign_in(desk.page, alice)
    desk.page.goto(f"/projects/{desk.project.pk}/marks/carol/")
    desk.ready(1)
    expect(desk.page.locator("#reading")).to_contain_text("the marks of carol")
    expect(desk.page.locator(".mark-name")).to_have_text("State")
    expect(desk.page.locator("#done")).to_have_count(0)
    desk.token(3).click()
    expect(desk.page.locator("#picker")).to_be_hidden()
    desk.page.keyboard.type("plant")
    expect(desk.page.locator(".toast")).to_have_count(0)  # there is nothing to refuse
    desk.press("?")
    expect(desk.page.locator("#keys")).to_contain_text("to the next mark")
    expect(desk.page.locator("#keys")).not_to_contain_text("reject")
    desk.press("Escape", "PageDown")
    desk.ready(2)


def test_marks_with_a_files_own_ids_are_told_apart(desk):
    """An entity and a relation of a file may have the same id, and an id may be any text."""
    given, part = desk.suggest(("State", 0, 0), ("State", 3, 3)), desk.project.relation_ontology.items()[0]
    first, second = given.entity_set.order_by("start")
    for mark, uid in ((first, "r1"), (second, "a/b ?")):
        mark.uid = uid
        mark.save(update_fields=["uid"])
    given.relation_set.create(uid="r1", label=part, source=second, target=first, status="suggested")
    desk.open()
    desk.page.locator("#relations .relation").click()
    expect(desk.page.locator(".arc.lit")).to_have_count(1)
    expect(desk.page.locator(".mark-name.selected")).to_have_count(0)
    desk.press("Space")
    assert desk.related() == [(3, part.name, 0)]
    desk.token(3).click()
    desk.press("Space", "Delete")
    expect(desk.page.locator(".mark-name")).to_have_count(1)
    desk.saved()
    desk.press("Control+z")
    expect(desk.page.locator(".mark-name")).to_have_count(2)
    expect(desk.page.locator("#relations .relation")).to_have_count(1)
    assert [start for start, *_ in desk.stored()] == [0, 3]
    assert desk.related() == [(3, part.name, 0)]


def test_undo_makes_what_was_decided_about_a_suggestion_a_suggestion_again(desk):
    given, part = desk.suggest(("State", 0, 0), ("State", 3, 3)), desk.project.relation_ontology.items()[0]
    source, target = given.entity_set.order_by("start")
    given.relation_set.create(uid="r", label=part, source=source, target=target, status="suggested", origin="given")
    desk.open()
    relation = desk.page.locator("#relations .relation")

    def take_back() -> None:
        desk.press("Control+z")
        assert desk.names() == ["State ?", "State ?"]
        expect(relation).to_contain_text(f"{part.name} ?")

    desk.press("Tab", "Space")
    assert desk.names() == ["State", "State ?"]
    take_back()
    desk.press("Escape", "Tab")
    desk.page.get_by_role("button", name="Reject Del").click()
    assert desk.names() == ["State ?"]
    take_back()
    relation.click()
    desk.press("Space")
    assert desk.names() == ["State", "State"]
    take_back()
    desk.press("Control+y")
    assert desk.names() == ["State", "State"]
    take_back()
    desk.saved()
    desk.open()
    assert desk.names() == ["State ?", "State ?"]
    expect(relation).to_contain_text(f"{part.name} ?")


def test_a_relation_is_accepted_together_with_its_ends(desk):
    given, part = desk.suggest(*(("State", n, n) for n in (0, 3, 5))), desk.project.relation_ontology.items()[0]
    source, target, _ = given.entity_set.order_by("start")
    given.relation_set.create(uid="given-rel", label=part, source=source, target=target, status="suggested")
    desk.open()
    assert desk.names() == ["State ?"] * 3
    desk.page.locator("#relations .relation").click()
    desk.press("Space")
    assert desk.names() == ["State", "State", "State ?"]
    assert desk.related() == [(0, part.name, 3)]
    desk.open()
    assert desk.names() == ["State", "State", "State ?"]


def test_undo_brings_back_what_has_a_label_that_was_switched_off_meanwhile(desk):
    for token, name in ((0, "state"), (3, "thermo")):
        desk.mark(token, name)
    desk.press("Escape", "Tab", "Delete")
    desk.press("Escape", "Tab", "Enter")
    desk.pick("activ")
    assert desk.stored() == [(3, 3, "Activity")]
    for name in ("State", "Thermostat"):
        desk.switch_off(name)
    desk.press("Control+z", "Control+z")
    assert desk.stored() == [(0, 0, "State"), (3, 3, "Thermostat")]


def test_done_on_an_item_that_was_removed_meanwhile_leads_on(desk, problems):
    problems.expect("404")
    desk.mark(0, "state")
    desk.saved()
    first, second, _ = desk.project.dataset.items()
    desk.at_hand(3)
    Annotation.objects.create(item=second, annotator=desk.user).finish()
    Item.objects.filter(pk=first.pk).update(removed_at=timezone.now())
    desk.press("Control+Enter")
    expect(desk.page.locator(".text")).to_contain_text("replace engine oil")  # not done when it was fetched
    expect(desk.page.locator("#done-note")).to_be_visible()
    expect(desk.page.locator(".toast")).to_contain_text("Item 1 was removed")
    assert Annotation.objects.get(item=first).entity_set.count() == 1


def test_a_mark_on_an_item_that_was_removed_meanwhile_is_refused_before_done_leads_on(desk, problems):
    problems.expect("404")
    desk.at_hand(3)
    Item.objects.filter(pk=desk.item(1).pk).update(removed_at=timezone.now())
    held = Held(desk.page, "**/entities/add/")
    desk.mark(0, "state")
    desk.press("Control+Enter")
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator(".toast.error")).to_contain_text("was removed")
    expect(desk.page.locator(".text")).to_contain_text("replace engine oil")


def test_another_tab_shows_what_was_done_in_the_first_when_it_is_returned_to(desk):
    tab = desk.page.context.new_page()
    other = Desk(tab, desk.project, desk.user)
    other.open()
    desk.page.evaluate("BroadcastChannel.prototype.postMessage = () => {}")  # as from another device
    desk.mark(0, "state")
    desk.saved()
    assert other.names() == []
    other.return_to()
    expect(tab.locator(".mark-name")).to_have_text("State")
    tab.locator(".mark-name").click()
    other.press("Delete")
    other.saved()
    desk.return_to()
    expect(desk.page.locator(".mark-name")).to_have_count(0)


def test_what_is_not_saved_yet_is_not_replaced_by_what_the_server_has(desk, problems):
    held = Held(desk.page, "**/entities/add/")
    asked = Held(desk.page, "**/marks/")
    desk.return_to()
    desk.mark(0, "state")
    asked.release()
    desk.page.wait_for_timeout(300)
    assert desk.names() == ["State"]
    held.release()
    assert desk.stored() == [(0, 0, "State")]


def test_a_label_that_is_off_stays_on_its_marks_and_is_not_offered(desk):
    desk.mark(0, "state")
    desk.saved()
    desk.switch_off("State")
    desk.open()
    assert desk.names() == ["State off"]
    desk.token(3).click()
    assert "State" not in desk.page.locator(".option .name").all_inner_texts()
    desk.page.keyboard.type("state")
    expect(desk.page.locator(".option")).to_have_count(0)


def test_a_suggestion_whose_label_is_off_cannot_be_accepted(desk):
    desk.suggest(("State", 0, 0))
    desk.switch_off("State")
    desk.open()
    desk.press("Tab")
    expect(desk.page.get_by_role("button", name="Reject Del")).to_be_visible()
    expect(desk.page.get_by_role("button", name="Accept Space")).to_be_hidden()
    desk.press("Space")
    expect(desk.page.locator(".toast")).to_contain_text("“State” of a suggestion is switched off")
    assert not Annotation.objects.filter(annotator=desk.user).exists()


def test_tokens_without_a_place_in_the_text_are_joined_by_spaces(desk):
    desk.set_words("air", "-", "conditioner")
    desk.open()
    assert desk.page.locator(".sheet .text").evaluate("node => node.textContent") == "air - conditioner"
    desk.drag(0, 2)
    desk.pick("state")
    assert desk.stored() == [(0, 2, "State")]


def test_what_is_read_is_the_cleaned_text_and_the_original_is_one_key_away(desk, desk_about, sign_in, alice, page):
    cleaned = factories.dataset(
        owner=alice,
        name="Cleaned",
        text="İLEFT*  🚀 Air-Con\t(*REAR*) is  leaking, replace!\n",
        lowercase=True,
        remove_characters="*",
        tokeniser="punkt",
    )
    desk.open()
    desk.press(".")
    expect(page.locator(".toast")).to_contain_text("This is the original text")
    desk = desk_about(cleaned)
    original = page.locator(".original > p")
    assert page.locator(".sheet .text").text_content() == "i̇left 🚀 air-con (rear) is leaking, replace!"
    desk.token(4).click()  # “rear”, after “(”
    desk.pick("state")
    expect(original).to_be_hidden()
    desk.press(".")
    expect(original.locator("mark")).to_have_text("REAR")
    assert original.text_content() == "İLEFT*  🚀 Air-Con\t(*REAR*) is  leaking, replace!"
    desk.press("ArrowLeft", "ArrowLeft")
    expect(original.locator("mark")).to_have_text("Air-Con")
    desk.press("Escape", ".")
    expect(original).to_be_hidden()
    page.locator("[data-original] > summary").click()
    expect(original.locator("mark")).to_have_count(0)
    expect(page.locator(".sheet .text")).to_be_focused()
    desk.press("ArrowRight")
    expect(original.locator("mark")).to_have_count(1)
    assert desk.stored() == [(4, 4, "State")]
    page.locator(".mark-name").click()
    desk.press("r")  # a project without relations
    expect(page.locator(".toast")).to_contain_text("no relation labels")
    sign_in(page, alice)
    page.goto(f"/datasets/{cleaned.pk}/items/{cleaned.items()[0].pk}/")
    expect(original).to_be_hidden()
    desk.press(".")
    expect(original).to_have_text("İLEFT*  🚀 Air-Con (*REAR*) is leaking, replace!")


@pytest.mark.parametrize("tokens", [["one", "\u200b", "two"], ["\u200b", "\u200b"]])
def test_a_token_without_width_is_marked_and_related_like_others(desk, tokens):
    desk.set_words(*tokens)
    desk.open()
    desk.press("ArrowRight", "Enter")
    desk.pick("activ")
    desk.press("ArrowRight", "Enter")
    desk.pick("state")
    desk.press("r", "Tab", "Enter")
    desk.pick("haspart")
    assert desk.related() == [(1, "hasPart", 0)]
    desk.press("ArrowUp", "ArrowDown", "Escape", "Tab")
    assert desk.names() == ["Activity", "State"]
    expect(desk.page.locator("#mark-actions")).to_be_visible()
    expect(desk.page.locator(".arc")).to_have_count(1)


def test_the_controls_of_a_long_item_stay_in_sight(desk):
    desk.set_words(*["word"] * 1700)
    desk.open()
    desk.press("End")
    expect(desk.token(1699)).to_be_in_viewport()
    for name in ("done", "previous", "next"):
        box = desk.page.locator(f"#{name}").bounding_box()
        assert 0 < box["y"] < 100
    desk_box = desk.page.locator(".desk").bounding_box()
    assert desk.page.locator(".item-bar").bounding_box()["y"] == desk_box["y"]  # no text slips out above it
    desk.press("Home")
    bar, first = desk.page.locator(".item-bar").bounding_box(), desk.token(0).bounding_box()
    assert first["y"] >= bar["y"] + bar["height"]


def test_the_top_labels_are_all_in_sight(desk_about, page, alice):
    desk = desk_about(factories.dataset(owner=alice), [{"name": f"Label {n}"} for n in range(16)])
    desk.mark(0, "label 3")  # the card about the label is there too
    expect(page.locator("#label-card")).not_to_be_empty()
    for row in page.locator("#label-tree .row").all():
        expect(row).to_be_in_viewport(ratio=1)


def test_a_short_text_stands_where_the_eyes_are_between_its_neighbours(desk, page):
    page.set_viewport_size({"width": 1440, "height": 1200})
    around, tops = page.locator(".neighbour"), set()
    for number, texts, are_below in (
        (1, ["2 replace engine oil"], [True]),
        (3, ["2 replace engine oil"], [False]),
        (2, ["1 left air conditioner thermostat not working replace", "3 check coolant level"], [False, True]),
    ):
        desk.open(number)
        expect(around).to_have_text(texts)
        top = desk.token(0).bounding_box()["y"]
        assert [each.bounding_box()["y"] > top for each in around.all()] == are_below
        tops.add(top)
    assert len(tops) == 1 and 300 < top < 480
    assert not serious(page)
    assert page.get_by_role("link", name="coolant").count() == 0  # a screen reader has the other links
    around.last.click()
    desk.ready(3)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(around).to_be_hidden()
    page.wait_for_function(
        "() => { const { top } = document.querySelector('.tok')?.getBoundingClientRect() ?? {};"
        " return top > 150 && top < 320; }"
    )
