"""Flags and comments in a browser: an annotator asks, a manager answers, and nothing that is typed is lost."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Route, expect

from tests.e2e.desk import Desk
from tests.e2e.test_axe import serious
from tests.e2e.waiting import until
from work.models import Answer, Comment, Flag

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def managers_page(other_page, sign_in, alice):
    sign_in(other_page, alice)
    return other_page


def mark(desk: Desk) -> None:
    desk.drag(1, 2)
    desk.pick("Physical")
    desk.saved()


def ask(desk: Desk, words: str) -> None:
    desk.press("Alt+c")
    expect(desk.page.locator(".comment-form textarea")).to_be_focused()
    desk.page.keyboard.type(words)
    desk.press("Control+Enter")
    expect(desk.page.locator(".comment-form")).to_be_hidden()


def focus_is_on_the_text(page: Page) -> None:
    expect(page.locator(".sheet > .text")).to_be_focused()


def test_a_comment_is_asked_answered_and_resolved(page, desk, managers_page, project, carol):
    mark(desk)
    page.locator(".mark-name").click()
    ask(desk, "Is this one thing? r 1 2")
    focus_is_on_the_text(page)
    expect(page.locator(".mark-name")).to_have_count(1)  # what was typed was no command
    comment = Comment.objects.get()
    assert (comment.words, comment.person) == ("air conditioner", carol)
    expect(page.locator("#open-comments")).to_have_text("1 open")

    managers_page.goto(f"/projects/{project.pk}/")
    managers_page.get_by_role("link", name="1 waits for you").click()
    managers_page.wait_for_url("**/comments/**")  # with its scripts
    managers_page.locator(".comment").get_by_role("textbox").fill("Yes, as a whole.")
    managers_page.keyboard.press("Control+Enter")
    expect(managers_page.locator(".comment .said").last).to_contain_text("Yes, as a whole.")
    expect(managers_page.locator(".comment")).to_be_focused()
    managers_page.locator(".comment > .about").click()
    managers_page.wait_for_url(re.compile(rf"/marks/{carol.pk}/\d+/#"))
    expect(managers_page.locator(".tint.selected")).to_have_count(1)

    desk.open()
    expect(page.locator(".comment .said").last).to_contain_text("Yes, as a whole.")
    page.locator(".comment > .about").click()
    expect(page.locator("#mark-actions")).to_be_visible()
    page.locator(".comment").get_by_role("button", name="Resolve").click()
    expect(page.locator(".comment")).to_contain_text("Resolved by carol")
    expect(page.locator("#open-comments")).to_be_hidden()
    focus_is_on_the_text(page)
    assert not Comment.objects.open().exists()
    page.get_by_role("button", name="Reopen").click()
    expect(page.locator("#open-comments")).to_have_text("1 open")


def test_a_comment_outlives_its_mark(page, desk):
    mark(desk)
    page.locator(".mark-name").click()
    page.locator("#mark-actions").get_by_role("button", name="Comment").click()
    page.keyboard.type("Right?")
    desk.press("Control+Enter")
    expect(page.locator(".comment > .about")).to_have_text("air conditioner")
    page.locator(".comment > .about").click()
    desk.press("Delete")
    desk.saved()
    page.locator(".comment > .about").click()
    expect(page.locator(".toast")).to_contain_text("This mark is not there any more.")


def test_an_item_is_flagged_and_found_by_its_flag(page, desk, managers_page, project):
    desk.press("Alt+f", "u")
    page.keyboard.type("two machines")
    desk.press("Enter")
    focus_is_on_the_text(page)
    badge = page.locator(".flag")
    expect(badge).to_have_text("⚑ Uncertain")
    assert Flag.objects.get().why == "two machines"
    badge.focus()
    told = "element => getComputedStyle(element, '::after').content"
    until(lambda: "two machines" in badge.evaluate(told), "the reason is shown")

    managers_page.goto(f"/projects/{project.pk}/comments/")
    managers_page.get_by_label("Flags").select_option("uncertain")
    managers_page.get_by_placeholder("Text, comment or reason").fill("machines")
    expect(managers_page.locator("#found .card")).to_have_count(1)
    managers_page.wait_for_url(re.compile(r"q=machines"))
    managers_page.get_by_role("link", name="Item 1").click()
    expect(managers_page.locator(".flag")).to_have_text("⚑ Uncertain")

    badge.click()
    page.locator("[data-kind=uncertain] button").click()
    expect(page.locator(".flag")).to_have_count(0)
    page.locator("[data-kind=uncertain] button").click()  # again: it comes back with its reason
    expect(page.locator("[data-kind=uncertain] input")).to_have_value("two machines")
    desk.press("Escape")
    focus_is_on_the_text(page)
    until(lambda: Flag.objects.filter(why="two machines").exists(), "the flag is back")


def test_what_is_typed_is_kept_when_saving_fails_and_when_the_item_is_left(page, desk, problems):
    problems.expect("htmx:", "507", "Failed to load resource")
    reasons = iter(["unreachable", "full"])

    def refuse(route: Route) -> None:
        if next(reasons) == "full":
            route.fulfill(status=507, content_type="text/plain", body="There is no room left on the server’s disk.")
        else:
            route.abort()

    page.route("**/comments/", refuse)
    desk.press("Alt+c")
    page.keyboard.type("Is this one thing?")
    failure = page.locator(".comment-form [data-failure]")
    for reason in ("cannot be reached", "no room left"):
        desk.press("Control+Enter")
        expect(failure).to_contain_text(reason)
        expect(failure).to_contain_text("What you typed is kept.")
    expect(page.locator(".comment-form textarea")).to_have_value("Is this one thing?")
    expect(page.locator(".toast")).to_have_count(0)
    page.unroute("**/comments/")

    desk.open(2)
    expect(page.locator(".comment-form")).to_be_hidden()
    desk.open(1)
    expect(page.locator(".comment-form textarea")).to_have_value("Is this one thing?")
    desk.press("Alt+c", "Control+Enter")
    expect(page.locator(".comment")).to_contain_text("Is this one thing?")
    desk.open(1)
    expect(page.locator(".comment-form")).to_be_hidden()


def test_who_was_signed_out_finds_what_they_wrote_after_signing_in(page, desk, sign_in, carol):
    Session.objects.all().delete()
    desk.press("Alt+c")
    page.keyboard.type("Is this one thing?")
    desk.press("Control+Enter")
    page.wait_for_url(re.compile("/accounts/login/"))
    sign_in(page, carol)
    desk.open()
    expect(page.locator(".comment-form textarea")).to_have_value("Is this one thing?")
    assert not Comment.objects.exists()


def test_the_draft_of_an_answer_survives_what_others_do_with_the_comment(page, desk, alice, carol, project):
    item = desk.item(1)
    for words in ("First", "Second"):
        Comment.begin(item, carol, by=alice, text=words)
    desk.open()
    field = page.get_by_label("Answer to alice").first
    field.fill("Half an ans")
    page.reload()
    expect(field).to_have_value("Half an ans")
    field.press("End")
    page.keyboard.type("wer")
    desk.press("Control+Enter")
    expect(page.locator(".comment").first).to_contain_text("Half an answer")
    expect(field).to_have_value("")
    assert Answer.objects.get().text == "Half an answer"


def test_a_flag_that_cannot_be_saved_keeps_its_reason(page, desk, problems):
    problems.expect("Failed to load resource")
    page.route("**/flags/", lambda route: route.abort())
    desk.press("Alt+f", "i")
    page.keyboard.type("garbled")
    desk.press("Enter")
    expect(page.locator("#flag-menu [data-failure]")).to_contain_text("cannot be reached")
    page.unroute("**/flags/")
    desk.press("Enter")
    expect(page.locator(".flag")).to_have_text("⚑ Issue")
    assert Flag.objects.get().why == "garbled"


def test_what_one_wrote_is_changed_and_deleted(page, desk, problems):
    problems.expect("422")
    desk.press("Alt+c", "Control+Enter")
    expect(page.locator(".comment-form [data-failure]")).to_contain_text("write something first")
    page.keyboard.type("Which oll?")
    desk.press("Control+Enter")
    expect(page.locator(".comment")).to_have_count(1)
    page.get_by_text("Change or delete").click()
    page.get_by_label("Your words").fill("Which oil?")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".said")).to_contain_text("Which oil?")
    expect(page.get_by_text("Change or delete")).to_be_focused()
    page.keyboard.press("Enter")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".comment")).to_have_count(0)
    expect(page.locator("#no-comments")).to_be_visible()


def test_a_manager_asks_about_a_mark_while_reading(desk, managers_page, project, carol):
    mark(desk)
    managers_page.goto(f"/projects/{project.pk}/marks/{carol.pk}/{desk.item(1).pk}/")
    expect(managers_page.locator("html[data-ready]")).to_be_attached()
    managers_page.locator(".mark-name").click()
    managers_page.keyboard.press("Alt+c")
    managers_page.keyboard.type("Is this right?")
    managers_page.keyboard.press("Control+Enter")
    expect(managers_page.locator(".comment > .about")).to_have_text("air conditioner")
    comment = Comment.objects.get()
    assert (comment.person, comment.author.username) == (carol, "alice")
    desk.page.goto(f"/projects/{project.pk}/annotate/{desk.item(1).pk}/#comment-{comment.pk}")
    desk.page.reload()
    expect(desk.page.locator(f"#comment-{comment.pk}")).to_be_focused()
    expect(desk.page.locator(".tint.selected")).to_have_count(1)


def test_the_screens_have_no_serious_problem(page, desk, managers_page, project, carol, alice):
    mark(desk)
    page.locator(".mark-name").click()
    ask(desk, "One thing?")
    Comment.objects.get().answer("Yes.", by=alice)
    Flag.put(desk.item(1), carol, kind="issue", why="Two machines")
    resolved = Comment.begin(desk.item(1), carol, by=carol, text="Oil?")
    resolved.resolve(by=alice)
    desk.open()
    desk.press("Alt+c")
    assert not serious(page)
    desk.press("Escape", "Alt+f")
    expect(page.locator("#flag-menu[open]")).to_be_attached()
    assert not serious(page)
    for address in ("", "comments/", "comments/?q=nothing", f"marks/{carol.pk}/{desk.item(1).pk}/"):
        managers_page.goto(f"/projects/{project.pk}/{address}")
        assert not serious(managers_page), address
