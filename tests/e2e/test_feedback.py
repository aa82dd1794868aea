"""What every page says: toasts, the line while an answer is late, and what becomes of keys typed before a dialog has come."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from annotation_service.models import Job
from tests import factories
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SAY = "all => all.forEach((detail) => document.dispatchEvent(new CustomEvent('toast', {detail})))"


def say(page: Page, *texts: str, kind: str = "info") -> None:
    page.evaluate(SAY, [{"text": text, "kind": kind} for text in texts])


def hold(page: Page, pattern: str) -> list[Route]:
    """The requests that match wait until they are continued."""
    held: list[Route] = []
    page.route(re.compile(pattern), lambda route: held.append(route))
    return held


@pytest.fixture
def still(page, sign_in, alice):
    """Opens a page on which time passes only by ``page.clock.run_for``."""

    def still(path: str) -> Page:
        sign_in(page, alice)
        page.clock.install()
        page.goto(path)
        settled(page)
        page.clock.pause_at(page.evaluate("Date.now() + 1000"))
        return page

    return still


@pytest.fixture
def home(still):
    return still("/")


@pytest.fixture
def still_editor(still, alice):
    return still(factories.ontology(owner=alice).get_absolute_url())


@pytest.mark.own_context
def test_one_toast_is_shown_and_the_others_are_a_list(home):
    toasts, bar = home.locator(".toast"), home.locator(".toasts-bar")
    say(home, "First", kind="error")
    expect(bar).to_be_hidden()
    say(home, "Second")
    say(home, "Third")
    expect(toasts.filter(visible=True)).to_have_text(re.compile("Third"))
    expect(home.locator("#toasts [aria-live]")).to_have_text("Third")
    home.get_by_role("button", name="2 more").click()
    expect(toasts.filter(visible=True)).to_have_text([re.compile(text) for text in ("Third", "Second", "First")])
    toasts.nth(1).get_by_role("button", name="Dismiss").click()
    expect(toasts).to_have_count(2)
    home.get_by_role("button", name="Dismiss all").click()
    expect(toasts).to_have_count(0)
    expect(bar).to_be_hidden()


@pytest.mark.own_context
def test_toasts_go_by_themselves_but_not_errors_and_not_under_the_hand(home):
    toasts = home.locator(".toast")
    say(home, "Failed", kind="error")
    say(home, "Stored", kind="success")
    home.keyboard.press("F8")
    expect(toasts.first.get_by_role("button")).to_be_focused()
    home.clock.run_for(30_000)
    expect(toasts).to_have_count(2)
    home.keyboard.press("Escape")
    expect(toasts).to_have_text([re.compile("Failed")])
    expect(toasts.get_by_role("button")).to_be_focused()
    home.locator("h1").click()
    say(home, "Stored", "Stored, too", kind="success")
    home.clock.run_for(8_000)
    expect(toasts).to_have_text([re.compile("Stored"), re.compile("Failed")])  # shown only now
    home.clock.run_for(8_000)
    expect(toasts).to_have_text([re.compile("Failed")])


def test_toasts_can_be_reached_over_a_dialog_and_stay_when_it_closes(page, sign_in, alice):
    ontology = factories.ontology(owner=alice)
    sign_in(page, alice)
    page.goto(ontology.get_absolute_url())
    page.get_by_role("button", name="Paste list…").click()
    expect(page.locator("#pasted")).to_be_focused()
    say(page, "Failed", kind="error")
    page.keyboard.press("F8")
    expect(page.locator(".toast button")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".toast")).to_have_count(0)
    expect(page.locator("#pasted")).to_be_focused()
    say(page, "Failed again", kind="error")
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()
    expect(page.locator(".toast")).to_be_visible()


@pytest.mark.own_context
def test_a_line_is_shown_while_an_answer_is_late(still_editor):
    page = still_editor
    line = page.locator("#waiting")
    for ask, pattern in (
        (lambda: page.get_by_role("button", name="Checks").click(), "/checks/"),
        (
            lambda: (page.keyboard.press("Escape"), page.locator("#search").fill("pump"), page.clock.run_for(120)),
            "/find/",
        ),
    ):
        held = hold(page, pattern)
        with page.expect_request(re.compile(pattern)):
            ask()
        page.clock.run_for(190)
        expect(line).to_be_hidden()
        page.clock.run_for(20)
        expect(line).to_be_visible()
        while held:
            held.pop().continue_()
        expect(line).to_be_hidden()


@pytest.mark.own_context
def test_no_line_is_shown_for_what_the_page_asks_for_by_itself(still_editor):
    page = still_editor
    held = hold(page, "/version/")
    with page.expect_request(re.compile("/version/")):
        page.evaluate("dispatchEvent(new Event('focus'))")
    page.clock.run_for(1000)
    expect(page.locator("#waiting")).to_be_hidden()
    held.pop().continue_()


@pytest.mark.own_context
def test_the_line_is_shown_while_the_next_page_is_late_but_not_for_a_file(still_editor):
    page = still_editor
    line = page.locator("#waiting")
    page.locator("summary", has_text="Download").click()
    with page.expect_download():
        page.get_by_role("link", name="JSON").click()
    page.clock.run_for(1000)
    expect(line).to_be_hidden()
    page.locator("h1").click()
    page.evaluate("dispatchEvent(new Event('beforeunload'))")  # while a page is late, Playwright sees nothing
    page.clock.run_for(250)
    expect(line).to_be_visible()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow'))")
    expect(line).to_be_hidden()


def test_a_job_that_one_may_no_longer_see_is_asked_for_once_more(page, sign_in, alice, bob, problems):
    problems.expect("404", "Response Status Error")
    job = Job.objects.create(kind="copy", title="Copy", by=alice)
    sign_in(page, alice)
    page.goto(f"/jobs/{job.pk}/")
    expect(page.locator("main")).to_contain_text("Waiting for its turn")
    asked = []
    page.on("request", lambda request: "/progress/" in request.url and asked.append(request))
    Job.objects.update(by=bob)
    expect(page.get_by_role("alert")).to_contain_text("you have no access to it")
    before = len(asked)
    page.wait_for_timeout(1500)
    assert len(asked) == before
    expect(page.locator(".toast")).to_have_count(0)


def test_what_is_typed_before_a_dialog_has_come_is_for_the_dialog(page, sign_in, alice):
    ontology = factories.ontology(owner=alice)
    sign_in(page, alice)
    page.goto(ontology.get_absolute_url())
    page.locator("#tree li").first.focus()
    held = hold(page, "/edit/$")
    with page.expect_request(re.compile("/edit/$")):
        page.evaluate("void htmx.ajax('GET', location.pathname + 'edit/', '#dialog')")
    page.keyboard.type("Pumpss?")
    page.keyboard.press("Delete")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    held.pop().continue_()
    name = page.locator("#dialog [name=name]")
    expect(name).to_have_value("Pumps")
    page.keyboard.type("!")
    expect(name).to_have_value("Pumps!")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
