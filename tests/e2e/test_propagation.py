"""From one mark to all alike: looked at in a dialog, done as one batch, undone as one, at once and a day later."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation, Entity, Relation
from tests import factories
from tests.annotations.test_constraints import constrain
from work.models import Batch

from .desk import Desk
from .test_axe import sound
from .test_imports import worker
from .waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

# “air freight” stands at 40 further places.
LINES = [f"order {n} by air freight today" for n in range(31)] + [
    f"no {n} : air freight or air freight" for n in range(5)
]
LINES += ["Air Freight it is", *(f"pump , its motor {n}" for n in range(5))]
TEXT = "\n".join(LINES)


class Alike(Desk):
    @property
    def dialog(self):
        return self.page.locator("#alike")

    @property
    def places(self):
        return self.dialog.locator(".place")

    @property
    def apply(self):
        return self.dialog.locator(".button.primary")

    def mark_air_freight(self) -> None:
        """And select it."""
        self.drag(3, 4)
        self.pick("activ")
        self.press("Escape", "Tab")

    def ask(self) -> None:
        """For all alike of what is selected, by the key."""
        self.press("*")
        expect(
            self.places.first.or_(
                self.dialog.locator("[data-note]:not([hidden])").filter(has_not_text=re.compile("Looking|saved first"))
            )
        ).to_be_visible()

    def wait_for_a_worker(self) -> None:
        """What is asked for is begun, and nobody works on it."""
        self.press("Enter")
        expect(self.dialog.locator("[data-note]")).to_contain_text("Waiting for its turn")

    def toast(self, text: str):
        toast = self.page.locator(".toast").filter(has_text=text)
        expect(toast).to_be_visible()
        return toast

    def marked(self, label: str) -> int:
        return Entity.objects.filter(annotation__annotator=self.user, label__name=label, status="accepted").count()


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Alike:
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    sign_in(page, carol)
    return Alike(page, project, carol)


@pytest.fixture
def by_a_worker(monkeypatch):
    monkeypatch.setattr("work.models.batch.JOB_ITEMS", 3)


@pytest.fixture
def marked(desk) -> Alike:
    """The first “air freight” is marked, and selected."""
    desk.open()
    desk.mark_air_freight()
    return desk


@pytest.mark.database
def test_a_mark_goes_to_all_places_but_two_by_keys_alone(marked):
    desk, page = marked, marked.page
    desk.ask()
    expect(page.locator("#alike-head")).to_have_text("“air freight” as Activity")
    expect(desk.dialog.locator("[data-sum]")).to_have_text("40 places in 35 items")
    expect(desk.apply).to_contain_text("Mark 40 places")
    expect(desk.places.nth(0).locator("input")).to_be_focused()
    desk.press("Space", "ArrowDown", "ArrowDown", "Space")
    expect(desk.dialog.locator("[data-ticked]")).to_have_text("38 of 40 are ticked")
    desk.press("Enter")
    desk.toast("38 places marked")
    expect(desk.dialog).to_be_hidden()
    assert desk.marked("Activity") == 39
    unbegun = Annotation.objects.filter(annotator=desk.user, started_at=None)
    assert unbegun.count() == 33  # of 35 items with places two were left out
    # The focus is in the text again, and one step takes all of it back.
    desk.press("Control+z")
    desk.toast("38 places are as before")
    assert desk.marked("Activity") == 1 and not unbegun.exists()
    # That is told, and what was undone after it can be done again.
    desk.press("Control+z")
    assert desk.stored() == []
    desk.press("Control+y")
    assert desk.stored() == [(3, 4, "Activity")]
    desk.press("Control+y")
    desk.toast("38 places marked")
    expect(page.locator("#redo")).to_be_disabled()
    assert desk.marked("Activity") == 39
    desk.press("Control+z")
    desk.toast("38 places are as before")
    assert desk.marked("Activity") == 1


def test_this_item_shows_what_was_marked_in_it(desk):
    desk.open(32)
    desk.mark_air_freight()
    desk.ask()
    desk.dialog.locator("[name=items]").select_option("here")
    expect(desk.apply).to_contain_text("Mark 1 place")
    expect(desk.dialog.locator("[data-ticked]")).to_have_text("1 of 1 is ticked")
    desk.apply.click()
    desk.toast("1 place marked").get_by_role("button", name="Undo").wait_for()
    expect(desk.page.locator(".mark-name")).to_have_count(2)
    desk.page.locator(".toast").get_by_role("button", name="Undo").click()
    desk.toast("1 place is as before")
    expect(desk.page.locator(".mark-name")).to_have_count(1)


def test_the_list_that_is_walked_through_may_limit_it(desk):
    item = desk.project.dataset.items()[0]
    desk.page.goto(f"/projects/{desk.project.pk}/annotate/{item.pk}/?q=order&state=undone")
    expect(desk.page.locator("html[data-ready]")).to_be_attached()
    desk.mark_air_freight()
    desk.ask()
    desk.dialog.locator("[name=items]").select_option(label="Items with “order”, undone")
    expect(desk.apply).to_contain_text("Mark 30 places")


def test_the_dialog_says_where_and_which_of_the_places_are_meant(marked):
    desk = marked
    mark_otherwise(desk)
    desk.ask()
    expect(desk.apply).to_contain_text("Mark 37 places")
    where = desk.dialog.locator("[name=where]")
    where.focus()
    desk.press("ArrowDown")
    expect(desk.apply).to_contain_text("Mark 40 places")
    expect(where).to_be_focused()  # and not the first place, as when the dialog opens
    desk.dialog.get_by_label("Ignore case").check()
    expect(desk.apply).to_contain_text("Mark 41 places")
    desk.dialog.get_by_label("Ignore case").uncheck()
    expect(desk.apply).to_contain_text("Mark 40 places")
    desk.places.first.locator("input").focus()
    desk.press("Control+a")
    expect(desk.dialog.locator("[data-ticked]")).to_have_text("0 of 40 are ticked")
    expect(desk.apply).to_be_disabled()
    desk.press("Space", "ArrowDown", "Enter")
    desk.toast("1 place marked")
    assert desk.marked("Activity") == 2


@pytest.mark.database
def test_a_batch_is_undone_from_another_item_a_day_later(marked):
    desk, page = marked, marked.page
    desk.ask()
    desk.press("Enter")
    desk.toast("40 places marked")
    a_day_ago(Batch.objects.get())
    desk.open(20)
    desk.press("Tab", "s")
    desk.pick("tate")
    assert desk.stored(20) == [(3, 4, "State")]
    page.get_by_role("link", name="Batches").click()
    row = page.locator("#batches > li")
    expect(row).to_contain_text("Marked “air freight” as Activity")
    expect(row).to_contain_text("yesterday")
    settled(page)
    row.get_by_role("button", name="Undo").click()
    expect(page.locator("#dialog")).to_contain_text("takes back 39 of 40 places")
    expect(page.locator("#dialog")).to_contain_text("1 place was changed, removed or related since and stays as it is")
    desk.press("Enter")
    desk.toast("39 places are as before, 1 stays")
    expect(row).to_contain_text("undone just now")
    assert desk.marked("Activity") == 1 and desk.marked("State") == 1


def a_day_ago(batch: Batch) -> None:
    moved = batch.created_at - timedelta(days=1)
    Batch.objects.filter(pk=batch.pk).update(created_at=moved)
    for model in (Entity, Relation):
        model.objects.filter(batch=batch).update(updated_at=moved)


@pytest.mark.database
def test_a_relation_goes_where_the_same_words_stand_as_far_apart(desk):
    desk.open(38)
    for token, label in ((0, "physicalo"), (3, "drivingo")):
        desk.token(token).click()
        desk.pick(label)
    desk.press("Escape", "Tab", "r", "Tab", "Enter")
    desk.pick("haspart")
    desk.ask()
    expect(desk.page.locator("#alike-head")).to_have_text("“pump” hasPart “motor”")
    expect(desk.apply).to_contain_text("Mark 4 places")
    desk.press("Enter")
    desk.toast("4 places marked")
    assert Relation.objects.filter(annotation__annotator=desk.user).count() == 5
    assert desk.marked("DrivingObject") == 5
    a_day_ago(Batch.objects.get())
    desk.open(1)
    desk.page.get_by_role("link", name="Batches").click()
    expect(desk.page.locator("#batches > li")).to_contain_text("hasPart")
    settled(desk.page)
    desk.page.get_by_role("button", name="Undo").click()
    expect(desk.page.locator("#dialog")).to_contain_text("takes back 4 of 4 places")
    desk.page.locator("#dialog").get_by_role("button", name="Undo").click()
    desk.toast("4 places are as before")
    assert Relation.objects.count() == 1 and desk.marked("DrivingObject") == 1


def test_all_suggestions_that_say_the_same_are_decided_together(desk):
    suggest_in_twelve(desk)
    desk.open()
    for verb, status in (("Accept", "accepted"), ("Reject", "rejected")):
        desk.press("Escape", "Tab")
        desk.ask()
        expect(desk.apply).to_contain_text("Accept 12 suggestions")
        if verb == "Reject":
            desk.press("Delete")
        expect(desk.apply).to_contain_text(f"{verb} 12 suggestions")
        desk.press("Enter")
        desk.toast(f"12 places {status}")
        mine = Entity.objects.filter(annotation__annotator=desk.user)
        assert set(mine.values_list("status", flat=True)) == {status} and mine.count() == 12
        desk.press("Control+z")
        desk.toast("12 places are as before")
        expect(desk.page.locator(".mark-name.suggested")).to_have_count(1)


def suggest_in_twelve(desk: Alike) -> None:
    for number in range(1, 13):
        desk.suggest(("Activity", 3, 4), number=number)


def mark_otherwise(desk: Alike) -> None:
    """A word of three of the places."""
    for number in (2, 3, 4):
        own = Annotation.objects.create(item=desk.item(number), annotator=desk.user)
        own.entity_set.create(uid="state", label=desk.label("State"), start=4, end=4)


def test_what_a_rule_forbids_is_told_and_left_out(desk):
    constrain(desk.project, entities=[{"domain": "Activity", "excludes": ["State"]}], relations=None)
    mark_otherwise(desk)
    desk.open()
    desk.mark_air_freight()
    desk.ask()
    desk.dialog.locator("[name=where]").select_option(label="Also where other labels are")
    expect(desk.apply).to_contain_text("Mark 37 places")
    expect(desk.dialog.locator("[data-forbidden]")).to_contain_text("3 places left out: forbidden by a rule")
    expect(desk.dialog.locator("[data-forbidden] li")).to_contain_text("excludes")
    forbidden = desk.dialog.locator(".place.forbidden")
    expect(forbidden).to_have_count(3)
    expect(forbidden.first).to_contain_text("excludes")
    expect(forbidden.first.locator(".state")).to_have_text("begun")
    assert not forbidden.locator("input").count()
    desk.press("Enter")
    desk.toast("37 places marked")


def test_all_marks_that_say_the_same_are_removed_together(marked):
    desk = marked
    desk.ask()
    desk.press("Enter")
    desk.toast("40 places marked")
    desk.press("Tab")
    desk.ask()
    desk.press("Delete")
    expect(desk.dialog.locator("[data-sum]")).to_have_text("41 marks in 36 items")
    desk.press("Space")
    expect(desk.apply).to_contain_text("Remove 40 marks")
    desk.press("Enter")
    desk.toast("40 places removed")
    assert desk.marked("Activity") == 1
    desk.press("Control+z")
    desk.toast("40 places are as before")
    assert desk.marked("Activity") == 41


def test_a_large_one_is_done_and_undone_by_a_worker(marked, by_a_worker):
    desk, page = marked, marked.page
    desk.ask()
    desk.wait_for_a_worker()
    desk.dialog.locator("footer").get_by_role("button", name="Close").click()
    with worker():
        desk.toast("40 places marked")
        page.get_by_role("link", name="Batches").click()
        row = page.locator("#batches > li")
        expect(row).to_contain_text("40 places · all still as they were left")
        settled(page)
        row.get_by_role("button", name="Undo").click()
        page.locator("#dialog").get_by_role("button", name="Undo").click()
        desk.toast("is being undone")
        expect(row).to_contain_text("undone just now")
    assert desk.marked("Activity") == 1


def test_keys_change_nothing_while_it_is_stored_and_whoever_is_signed_out_is_told(desk, by_a_worker, problems):
    problems.expect("status of 401")
    suggest_in_twelve(desk)
    desk.open()
    desk.press("Tab")
    desk.ask()
    desk.wait_for_a_worker()
    desk.dialog.locator("[data-leave]").focus()
    desk.press("Control+a", "Delete")
    expect(desk.dialog.locator("[data-ticked]")).to_have_text("All 12 are ticked")
    expect(desk.apply).to_contain_text("Accept 12 suggestions")
    expect(desk.apply).to_be_disabled()
    desk.page.context.clear_cookies()
    desk.toast("You were signed out")
    expect(desk.dialog).to_be_hidden()
    expect(desk.page.get_by_text("places accepted")).to_be_hidden()


def test_whoever_signs_in_again_can_still_undo_and_redo_it(marked, problems):
    problems.expect("status of 401")
    desk, page = marked, marked.page
    desk.ask()
    desk.press("Enter")
    desk.toast("40 places marked")
    settled(page)
    signed_out = re.compile(r"/batches/(undo|redo)/$|/batches/\d+/(undo|redo)/$")
    for keys, told, count in (("Control+z", "40 places are as before", 1), ("Control+Shift+z", "40 places marked", 41)):
        page.route(signed_out, lambda route: route.fulfill(status=401, json={"error": "You were signed out."}))
        desk.press(keys)
        desk.toast("You were signed out")
        page.unroute(signed_out)
        page.locator(".toast .close, [data-toasts=one]").first.click()
        desk.press(keys)
        desk.toast(told)
        assert desk.marked("Activity") == count


@pytest.mark.own_context
def test_a_server_in_trouble_is_asked_less_often_how_far_it_is(marked, by_a_worker, problems):
    problems.expect("status of 503")
    desk, page = marked, marked.page
    page.clock.install()
    desk.ask()
    asked = []
    page.route(re.compile(r"/batches/\d+/$"), lambda route: (asked.append(route), route.fulfill(status=503)))
    desk.wait_for_a_worker()
    for _ in range(60):
        page.clock.run_for(500)
    assert 1 < len(asked) < 8  # of 60 half seconds


def test_nothing_is_selected_or_nothing_is_found(desk):
    desk.open(37)
    desk.press("*")
    desk.toast("Select a mark first")
    desk.token(2).click()
    desk.pick("state")
    desk.press("Escape", "Tab", "*")
    expect(desk.dialog).to_contain_text("The same stands nowhere else")
    expect(desk.apply).to_be_hidden()
    expect(desk.dialog.locator(".keys-hint")).to_be_hidden()
    expect(desk.dialog.locator("footer").get_by_role("button", name="Close")).to_be_focused()
    desk.press("Enter")
    expect(desk.page.locator(".text")).to_be_focused()


def test_the_server_is_away_and_comes_back(marked, problems):
    problems.expect("Failed to load resource")
    desk = marked
    desk.page.route("**/alike/**", lambda route: route.abort())
    desk.press("*")
    expect(desk.dialog.locator("[data-note]")).to_contain_text("cannot be reached")
    desk.page.unroute("**/alike/**")
    desk.dialog.get_by_role("button", name="Try again").click()
    expect(desk.apply).to_contain_text("Mark 40 places")
    expect(desk.places.first.locator("input")).to_be_focused()
    assert not desk.dialog.get_by_role("button", name="Try again").is_visible()


def test_the_screens_are_sound_for_all(marked):
    desk, page = marked, marked.page
    page.goto(f"/projects/{desk.project.pk}/annotate/batches/")
    expect(page.get_by_text("No batches yet")).to_be_visible()
    sound(page)
    desk.open()
    desk.press("Tab")
    desk.ask()
    desk.press("Space")
    sound(page)
    desk.press("Enter")
    desk.toast("39 places marked")
    page.goto(f"/projects/{desk.project.pk}/annotate/batches/")
    sound(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#dialog")).to_be_visible()
    sound(page)
    page.keyboard.press("Escape")
    page.locator("#search").fill("nothing like that")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.locator("#search").fill("ACTIV")
    expect(page.locator("#batches > li")).to_have_count(1)
