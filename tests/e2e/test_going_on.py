"""The next item is there: pages of the way take each other's place without a load, also while the server is slow or away."""

import re

import pytest
from playwright.sync_api import Route, expect

from datasets.models import Annotation, TextCorrection
from datasets.models.correction import cut_anew
from projects.models import Project
from tests import factories
from tests.e2e.desk import Desk, Held
from tests.e2e.test_unsaved import CHANGES
from tests.e2e.waiting import until
from tests.soak import amount
from work.models import Comment, Flag

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

MARKER = "window.isSamePage = true"
IS_SAME = "() => window.isSamePage === true"
# The number of the item in the first frame after a key, and how long that took.
PRESS = """(key) => new Promise((done) => {
  const began = performance.now();
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { ...key, bubbles: true, cancelable: true }));
  requestAnimationFrame(() => setTimeout(() => done([performance.now() - began, document.querySelector("#number").textContent])));
})"""


@pytest.fixture
def going(desk: Desk) -> Desk:
    """At the first item, with the other two at hand."""
    desk.at_hand(3)
    desk.page.evaluate(MARKER)
    return desk


def stays(desk: Desk) -> None:
    assert desk.page.evaluate(IS_SAME), "the page was loaded"


def test_the_next_item_takes_the_place_of_this_one(going):
    page = going.page
    title = page.title()
    going.press("PageDown")
    going.ready(2)
    stays(going)
    expect(page.locator(".text")).to_have_count(1)
    expect(page.locator(".text")).to_have_text("replace engine oil")
    expect(page.locator(".text")).to_be_focused()
    expect(page.locator("#open-items")).to_contain_text("Item 2 of 3")
    expect(page.locator("#said")).to_have_text(re.compile("^Item 2 of 3. Item 2"))
    assert page.title() == title.replace("1", "2", 1)
    assert page.url.endswith(f"/annotate/{going.item(2).pk}/")
    going.mark(1, "state")
    assert going.names() == ["State"]
    page.go_back()
    going.ready(1)
    assert going.names() == []
    page.go_forward()
    going.ready(2)
    assert going.names() == ["State"]
    expect(page.locator(".text")).to_be_focused()
    stays(going)
    assert going.stored(2) == [(1, 1, "State")]


def test_whoever_goes_on_by_keys_arrives_at_the_first_word_without_a_mark(going):
    going.press("PageDown")
    going.ready(2)
    expect(going.page.locator("#said")).to_have_text(re.compile("^Item 2 of 3. .* replace$"))
    going.press("s")
    going.pick("tate")
    going.press("PageUp", "PageDown")
    going.ready(2)
    going.press("ArrowRight")  # from the second word
    expect(going.page.locator("#said")).to_have_text("oil")
    going.page.locator("#previous").click()
    going.ready(1)
    expect(going.page.locator(".word-box")).to_have_count(0)
    stays(going)
    assert going.stored(2) == [(0, 0, "State")]


def test_done_goes_on_before_it_is_saved(going):
    page = going.page
    held: list[Route] = []
    page.route(CHANGES, lambda route: held.append(route))
    going.mark(0, "state")
    milliseconds, number = page.evaluate(PRESS, {"key": "Enter", "ctrlKey": True})
    assert number == "2" and milliseconds < amount(500, 5000)
    going.ready(2)
    stays(going)
    expect(page.locator("#done-count")).to_have_text("1")
    going.press("PageUp")  # what is on its way is seen
    going.ready(1)
    assert going.names() == ["State"]
    expect(page.locator("#done-note")).to_be_visible()
    page.route(CHANGES, lambda route: route.fallback() if held else route.continue_())
    held.pop().continue_()
    assert going.stored(1) == [(0, 0, "State")]
    assert going.work(1).done_at
    expect(page.locator("#done-note")).to_be_visible()
    assert going.names() == ["State"]


def test_what_is_refused_after_its_item_was_left_is_told_and_not_shown_there(going, problems):
    problems.expect("422")
    page = going.page
    held = Held(page, re.compile(r"/items/\d+/entities/"))
    going.mark(0, "state")
    going.switch_off("State")
    going.press("PageDown")
    going.ready(2)
    held.release()
    expect(page.locator(".toast.error")).to_contain_text("1 change of item 1")
    page.get_by_role("button", name="Item 1", exact=True).click()
    going.ready(1)
    expect(page.locator(".mark-name")).to_have_count(0)
    stays(going)


def test_an_item_that_was_taken_away_meanwhile_is_told_once_it_is_done(going, problems):
    problems.expect("404")
    page = going.page
    dataset = going.project.dataset
    dataset.remove(dataset.items().filter(pk=going.item(2).pk), by=going.project.created_by)
    going.press("PageDown")
    going.ready(2)
    going.press("Control+Enter")
    expect(page.locator(".toast")).to_contain_text("Item 2 was removed")


def test_what_changed_elsewhere_is_seen_on_entering(going, carol):
    page = going.page
    other = Desk(page.context.new_page(), going.project, carol).open(2)
    other.mark(0, "state")
    other.saved()
    going.press("PageDown")
    going.ready(2)
    expect(page.locator(".mark-name")).to_have_text(["State"])
    going.press("PageUp")
    going.ready(1)
    other.mark(1, "activ")
    other.saved()
    going.press("PageDown")
    going.ready(2)
    expect(page.locator(".mark-name")).to_have_count(2)
    stays(going)


def test_without_the_network_work_goes_on_through_what_was_fetched(going, problems):
    problems.expect("ERR_INTERNET_DISCONNECTED")
    page = going.page
    page.context.set_offline(True)
    expect(page.locator("#away")).to_contain_text("Do not reload")
    going.mark(0, "state")
    going.press("Control+Enter")
    going.ready(2)
    going.mark(1, "state")
    going.press("Control+Enter")
    going.ready(3)
    going.mark(1, "state")
    going.press("Control+Enter")
    expect(page.locator(".toast.warning")).to_contain_text("was not fetched before the connection was lost")
    going.ready(3)
    going.press("PageUp", "PageUp")
    going.ready(1)
    assert going.names() == ["State"]
    stays(going)
    page.context.set_offline(False)
    expect(page.locator("#away")).to_be_hidden()
    assert [going.stored(number) for number in (1, 2, 3)] == [[(0, 0, "State")], [(1, 1, "State")], [(1, 1, "State")]]


def test_many_items_are_taken_along_and_are_for_nobody_else(desk, sign_in, alice, carol, problems):
    page = desk.page
    desk.press("/")
    page.get_by_role("button", name="Take 50 items along").click()
    expect(page.locator("#taken")).to_have_text("2 items are here")
    assert desk.has_fetched(3)
    page.keyboard.press("Escape")
    page.evaluate("document.querySelector('[data-signs-out]').requestSubmit()")
    expect(page.locator(".topbar")).to_have_count(0)
    assert not desk.has_fetched(2) and not desk.has_fetched(3)


def test_whoever_else_signs_in_sees_their_own_marks(going, sign_in, alice, carol):
    going.mark(0, "state")
    going.saved()
    sign_in(going.page, alice)
    going.press("PageDown", "PageDown")  # pages of before, which were fetched for carol
    going.page.reload()
    for number in (2, 1):
        going.press("PageUp")
        going.ready(number)
    assert going.names() == []


def test_a_text_that_was_corrected_meanwhile_is_seen_on_entering(going, alice):
    item = going.item(2)
    TextCorrection.make(item, cut_anew(item, "replace the engine oil"), by=alice, was_version=item.text_version)
    going.press("PageDown")
    going.ready(2)
    expect(going.page.locator(".text")).to_have_text("replace the engine oil")
    expect(going.page.locator(".toast")).to_contain_text("The text of this item was corrected")
    going.press("PageUp")
    going.ready(1)
    going.press("PageDown")
    going.ready(2)
    expect(going.page.locator(".text")).to_have_text("replace the engine oil")


def test_undo_goes_back_to_the_item_and_the_words_that_it_is_about(going):
    going.mark(1, "state")
    going.press("PageDown")
    going.ready(2)
    going.press("Control+z")
    going.ready(1)
    expect(going.page.locator(".mark-name")).to_have_count(0)
    expect(going.page.locator(".toast")).to_contain_text("Undone in item 1")
    stays(going)
    going.press("Enter")
    going.pick("activ")
    assert going.stored(1) == [(1, 1, "Activity")]
    going.press("Control+z")
    assert going.stored(1) == []


def test_an_item_of_the_list_is_gone_to_in_place(going):
    page = going.page
    going.press("/")
    page.locator("#items .row-link").nth(2).click()
    going.ready(3)
    expect(page.locator("#items-drawer")).to_be_hidden()
    expect(page.locator("#sheets .text")).to_be_focused()
    stays(going)


def test_where_nothing_was_fetched_it_says_so_and_stays(page, sign_in, project, carol, problems):
    problems.expect("ERR_FAILED")
    sign_in(page, carol)
    is_fetch = re.compile(r"/annotate/(\d+/)?(\?.*)?$")
    page.route(is_fetch, lambda route: route.abort() if route.request.resource_type == "fetch" else route.continue_())
    desk = Desk(page, project, carol).open()
    page.evaluate(MARKER)
    for key in ("PageDown", "Shift+PageDown"):
        desk.press(key)
        expect(page.locator(".toast.warning")).to_contain_text("was not fetched before the connection was lost")
        page.locator(".toast.warning [data-toasts=one]").click()
        desk.ready(1)
    expect(page.locator("#away")).to_be_visible()
    page.unroute(is_fetch)
    desk.press("PageDown")
    desk.ready(2)
    expect(page.locator("#away")).to_be_hidden()
    stays(desk)


def test_when_more_items_are_given_the_last_one_leads_on(page, sign_in, project, carol):
    Project.objects.filter(pk=project.pk).update(calibration=2)
    sign_in(page, carol)
    desk = Desk(page, project, carol).open(2)
    page.evaluate(MARKER)
    expect(page.locator("#calibration")).to_be_visible()
    desk.press("Control+Enter")
    desk.ready(1)
    desk.press("Control+Enter")
    desk.ready(3)
    expect(page.locator("#calibration")).to_be_hidden()
    expect(page.locator("#where")).to_have_text(re.compile("of 3"))
    desk.press("PageUp")
    desk.ready(2)
    expect(page.locator("#where")).to_have_text(re.compile("of 3"))
    desk.press("PageDown")
    desk.ready(3)
    stays(desk)


@pytest.fixture
def long_way(desk_about, alice) -> Desk:
    """At the first of eight items, with the next two at hand."""
    text = "".join(f"check pump {n}\n" for n in range(1, 9))
    desk = desk_about(factories.dataset(owner=alice, text=text), [{"name": "State"}], Desk)
    desk.at_hand(3)
    desk.page.evaluate(MARKER)
    return desk


def test_whoever_arrives_late_stays_there(long_way):
    """An item that was not at hand is entered once, when everything is saved, and not again at each save."""
    page = long_way.page
    held = Held(page, "**/entities/add/")
    long_way.mark(0, "state")
    long_way.press("/")
    page.locator("#items .row-link").nth(6).click()
    page.wait_for_timeout(300)
    expect(page.locator("#number")).to_have_text("1")
    held.release()
    page.unroute("**/entities/add/")
    long_way.ready(7)
    held = Held(page, "**/entities/add/")
    long_way.mark(1, "state")
    long_way.token(2).click()
    page.keyboard.type("st")
    held.release()
    expect(page.locator("#saved:not([aria-busy=true])")).to_have_text("✓ all saved")
    page.wait_for_timeout(300)
    expect(page.locator("#picker input:visible")).to_have_value("st")
    stays(long_way)


def test_what_is_asked_about_an_item_goes_with_it(going):
    going.suggest(("State", 0, 0), number=2)
    going.open(2)
    going.at_hand(3)
    going.press("PageDown")
    going.ready(3)
    going.press("PageUp")
    going.ready(2)
    page = going.page
    going.press("Control+Enter")
    expect(page.locator("#undecided-dialog")).to_be_visible()
    page.go_back()
    going.ready(3)
    expect(page.locator("dialog[open]")).to_have_count(0)
    assert not Annotation.objects.filter(done_at__isnull=False).exists()


def test_a_comment_that_was_begun_and_a_flag_that_was_set_late_are_there_on_return(going):
    page = going.page
    held = Held(page, "**/flags/")
    going.press("Alt+f")
    page.keyboard.press("Enter")
    going.press("Escape", "Alt+c")
    page.keyboard.type("Is it")  # and on at once
    page.locator("#next").click()
    going.ready(2)
    held.release()
    expect(page.locator("#flags .flag")).to_have_count(0)
    until(lambda: Flag.objects.exists(), "the flag is stored")
    page.keyboard.press("PageUp")
    going.ready(1)
    expect(page.locator("#flags .flag")).to_have_count(1)
    expect(page.locator(".comment-form:visible textarea")).to_have_value("Is it")


def test_what_others_said_since_a_page_was_fetched_is_seen_on_return(going, carol):
    page = going.page
    going.press("PageDown")
    going.ready(2)
    Comment.begin(going.item(1), carol, by=carol, text="Which pump?")
    page.evaluate("() => { const { now } = Date; Date.now = () => now.call(Date) + 600_000; }")
    going.press("PageUp")
    going.ready(1)
    expect(page.locator(".comment:visible")).to_contain_text("Which pump?")
    stays(going)
