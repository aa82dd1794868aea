"""What is not saved yet outlives its page and is sent once, and by nobody else; undo goes back to the item where it happened."""

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Error, Page, expect

from datasets.models import Entity
from tests.e2e.desk import Desk
from tests.e2e.waiting import until
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

CHANGES = re.compile(r"/items/\d+/(entities|relations|done|operations)/")
KEPT = """async (person) => {
  const { countWaiting } = await import("/static/js/kept.js");
  return countWaiting(person);
}"""
NOTE_TOASTS = "window.said = []; addEventListener('toast', ({ detail }) => said.push(detail.text), true)"
NO_LOCKS = "Object.defineProperty(navigator, 'locks', { value: undefined })"
NO_STORE = "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError') } })"
IMPATIENT = (
    f"AbortSignal.timeout = ((timeout) => () => timeout.call(AbortSignal, {amount(300, 2000)}))(AbortSignal.timeout)"
)


def tab_of(desk: Desk) -> Desk:
    return Desk(desk.page.context.new_page(), desk.project, desk.user)


def cut(page: Page) -> None:
    page.route(CHANGES, lambda route: route.abort())


def kept(desk: Desk, count: int) -> None:
    """So many changes of theirs are kept in the browser."""
    until(lambda: desk.page.evaluate(KEPT, desk.user.pk) == count, f"{count} changes are not kept")


def kill(page: Page) -> None:
    with page.expect_event("crash"), suppress(Error):
        page.goto("chrome://crash")


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "plain HTTP"])
def test_what_a_killed_tab_left_is_sent_once_by_one_of_the_next(
    lasting_browser, sign_in, project, carol, problems, locks
):
    problems.expect("ERR_FAILED")
    with lasting_browser() as page:
        sign_in(page, carol)
        if not locks:
            page.context.add_init_script(NO_LOCKS)
        desk = Desk(page, project, carol)
        desk.open()
        cut(page)
        desk.mark(0, "state")
        desk.mark(3, "thermo")
        desk.press("Enter")
        desk.pick("activ")
        desk.press("Control+Enter")
        expect(page.locator("#saved")).to_have_text("4 not saved yet, trying again")
        sent: list[str] = []
        page.context.on("request", lambda request: CHANGES.search(request.url) and sent.append(request.url))
        page.context.add_init_script(NOTE_TOASTS)
        others = [tab_of(desk) for _ in range(2)]
        others[0].open(2)  # a tab that lives keeps what it has
        kept(others[0], 4)
        assert others[0].page.evaluate("said") == []
        kill(page)
        sent.clear()
        for other in others:
            other.open(2)
        kept(others[0], 0)
        assert others[0].work(1).entity_set.count() == 2
        assert len(sent) == 3  # two of them together
        said = [words for other in others for words in other.page.evaluate("said")]
        assert said == ["4 changes of item 1 from your last visit were saved."]


def test_a_browser_that_is_started_again_saves_what_it_kept(lasting_browser, sign_in, project, carol, problems):
    problems.expect("ERR_FAILED", "503")
    with lasting_browser() as page:
        sign_in(page, carol)
        desk = Desk(page, project, carol)
        desk.open()
        lost = []
        page.route(CHANGES, lambda route: (lost or lost.append(route.fetch().status), route.abort()))
        desk.mark(0, "state")
        desk.mark(3, "thermo")
        expect(page.locator("#saved")).to_have_text("2 not saved yet, trying again")
        kept(desk, 2)
    assert Entity.objects.count() == 1  # stored, but the browser never heard of it
    with lasting_browser() as page:
        sign_in(page, carol)
        desk = Desk(page, project, carol)
        page.route(CHANGES, lambda route: route.fulfill(status=503))
        desk.open()
        expect(page.locator("#saved")).to_have_text("2 not saved yet, trying again")
        assert desk.names() == ["State", "Thermostat"]
        page.unroute(CHANGES)
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(page.locator(".toast.success")).to_have_text(
            re.compile("^2 changes of item 1 from your last visit were saved")
        )
        assert desk.stored() == [(0, 0, "State"), (3, 3, "Thermostat")]
        expect(page.locator(".toast.warning")).to_have_count(0)


def test_nobody_else_sees_or_sends_what_waits_and_signing_out_tells_of_it(
    desk, sign_in, alice, carol, project, problems
):
    problems.expect("ERR_FAILED", "401")
    cut(desk.page)
    desk.mark(0, "state")
    expect(desk.page.locator("#saved")).to_have_text("1 not saved yet, trying again")
    desk.page.goto("/projects/")  # nothing is lost, so nothing is asked
    desk.page.locator("details.menu summary[aria-label^='Your account']").click()
    desk.page.get_by_role("button", name="Sign out").click()
    expect(desk.page.locator(".toast.warning")).to_contain_text("1 change is not saved on the server yet.")
    desk.page.get_by_role("button", name="Sign out now").click()
    expect(desk.page.locator(".topbar")).to_have_count(0)
    desk.page.unroute(CHANGES)
    sign_in(desk.page, alice)
    desk.open()
    assert desk.names() == []
    kept(desk, 1)
    expect(desk.page.locator(".toast")).to_have_count(0)
    assert not Entity.objects.exists()
    sign_in(desk.page, carol)
    desk.open(2)
    expect(desk.page.locator(".toast.success")).to_contain_text("1 change of item 1")
    sign_in(desk.page, alice)  # in another tab, while this page is open
    desk.mark(1, "activ")
    expect(desk.page.locator("#saved")).to_have_text("1 not saved yet: sign in again")
    sign_in(desk.page, carol)
    desk.return_to()
    assert desk.stored(2) == [(1, 1, "Activity")]
    assert {mark.annotation.annotator for mark in Entity.objects.all()} == {carol}


def test_whatever_the_server_says_is_seen_and_nothing_is_lost(page, sign_in, project, carol, problems):
    problems.expect("500", "403", "507")
    page.add_init_script(IMPATIENT)
    sign_in(page, carol)
    desk = Desk(page, project, carol)
    desk.open()
    answers = [
        (lambda route: route.fulfill(status=500, body="<h1>Server Error</h1>"), "1 not saved yet, trying again"),
        (lambda route: None, "1 not saved yet, trying again"),  # no answer at all
        (lambda route: route.fulfill(status=507), "1 not saved yet: no room left on the server, trying again"),
        (lambda route: route.fulfill(status=403, body="<h1>Forbidden</h1>"), "1 not saved yet: sign in again"),
    ]
    for token, (answer, said) in enumerate(answers):
        page.route(CHANGES, answer)
        desk.mark(token, "state")
        expect(page.locator("#saved")).to_have_text(said)
        page.unroute(CHANGES)
        page.evaluate("dispatchEvent(new Event('online'))")
        assert len(desk.stored()) == token + 1
    kept(desk, 0)


def test_a_browser_that_keeps_nothing_says_so_once_and_asks_before_it_is_left(desk, problems):
    problems.expect("ERR_FAILED")
    desk.page.add_init_script(NO_STORE)
    desk.open()
    desk.mark(0, "state")
    expect(desk.page.locator(".toast.warning")).to_contain_text("no room to keep what is not saved yet")
    desk.open(2)
    desk.mark(0, "state")
    assert desk.stored(2) == [(0, 0, "State")]
    expect(desk.page.locator(".toast")).to_have_count(0)
    cut(desk.page)
    desk.mark(1, "state")
    expect(desk.page.locator("#saved")).to_contain_text("1 not saved yet")
    asked = []
    desk.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    desk.page.goto("/projects/")
    assert asked == ["beforeunload"]


def test_what_was_changed_elsewhere_is_seen_after_a_refusal_with_more_to_be_saved(
    desk, other_page, sign_in, alice, carol, problems
):
    problems.expect("422")
    elsewhere = Desk(other_page, desk.project, carol)
    sign_in(other_page, carol)
    elsewhere.open()
    elsewhere.mark(3, "thermo")
    elsewhere.saved()
    desk.switch_off("State")
    held = []
    desk.page.route("**/entities/add/", lambda route: route.continue_() if held else held.append(route))
    desk.mark(0, "state")
    desk.mark(1, "activ")
    held[0].continue_()
    expect(desk.page.locator(".mark-name", has_text="Thermostat")).to_be_visible()
    assert desk.names() == ["Activity", "Thermostat"]


def test_it_is_told_when_somebody_else_was_there_meanwhile(desk, other_page, sign_in, alice, carol, problems):
    problems.expect("ERR_FAILED", "422")
    elsewhere = Desk(other_page, desk.project, carol)
    sign_in(other_page, carol)
    desk.mark(0, "state")
    desk.saved()
    elsewhere.open()
    desk.mark(3, "thermo")
    desk.saved()
    elsewhere.token(5).click()
    elsewhere.pick("replace")
    expect(elsewhere.page.locator(".toast")).to_contain_text(
        "This item was changed in another tab or on another device"
    )
    assert elsewhere.names() == ["Replace", "State", "Thermostat"]
    desk.label("State").rename("Condition", by=alice)
    elsewhere.mark(1, "activ")
    expect(elsewhere.page.locator(".mark-name", has_text="Condition")).to_be_visible()
    elsewhere.press("Control+z")
    elsewhere.saved()
    cut(desk.page)
    desk.mark(4, "activ")
    expect(desk.page.locator("#saved")).to_contain_text("1 not saved yet")
    elsewhere.press("Escape", "Tab", "Delete")
    elsewhere.saved()
    desk.page.close()
    desk = tab_of(desk)
    desk.open(2)
    expect(
        desk.page.locator(".toast.success", has_text="1 change of item 1 from your last visit was saved")
    ).to_be_attached()
    desk.page.locator(".toast.warning").get_by_role("button", name="Item 1").click()
    desk.ready(1)
    assert desk.names() == ["Activity", "Replace", "Thermostat"]
    cut(desk.page)
    desk.mark(1, "activ")
    expect(desk.page.locator("#saved")).to_contain_text("1 not saved yet")
    elsewhere.press("Control+Enter")
    elsewhere.ready(2)
    desk.page.close()
    desk = tab_of(desk)
    desk.open(3)
    refused = desk.page.locator(".toast.error", has_text="Not saved: 1 change of item 1. This item is done.")
    refused.get_by_role("button", name="Item 1").click()
    desk.ready(1)
    expect(desk.page.locator("#done-note")).to_be_visible()
    kept(desk, 0)


def test_undo_goes_back_to_the_item_where_it_happened(desk):
    saved = desk.stored
    desk.mark(0, "state")
    desk.press("Control+Enter")
    desk.ready(2)
    desk.mark(1, "activ")
    assert saved(2) == [(1, 1, "Activity")]
    desk.press("Control+z")
    assert saved(2) == []
    desk.press("Control+z")
    desk.ready(1)
    expect(desk.page.locator(".toast")).to_contain_text("Undone in item 1")
    expect(desk.page.locator("#done-note")).to_be_hidden()
    assert desk.work(1).done_at is None
    desk.press("Control+z")
    assert saved(1) == []
    expect(desk.page.locator("#undo")).to_be_disabled()
    desk.press("Control+y", "Control+y")
    expect(desk.page.locator("#done-note")).to_be_visible()
    assert saved(1) == [(0, 0, "State")]
    assert desk.work(1).done_at
    desk.press("Control+y")
    desk.ready(2)
    expect(desk.page.locator(".toast")).to_contain_text("Done again in item 2")
    assert saved(2) == [(1, 1, "Activity")]
    tab = tab_of(desk)
    tab.open(2)
    tab.press("Tab", "Enter")
    tab.pick("state")
    tab.saved()
    desk.return_to()
    expect(desk.page.locator(".mark-name")).to_have_text("State")
    desk.press("Control+z")  # what was done here is no more
    expect(desk.page.locator(".toast").first).to_contain_text("1 change cannot be undone any more")
    desk.press("Control+z")
    desk.ready(1)
