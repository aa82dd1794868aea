"""People in a browser: invited by link and by mail they make accounts and annotate; one leaves and returns, one loses a right."""

import re

import pytest
from django.core import mail
from django.core.cache import cache
from playwright.sync_api import Page, expect

from annotation_service.models import User
from tests import factories
from tests.e2e.desk import Desk
from tests.e2e.test_axe import serious
from tests.e2e.waiting import settled
from tests.people import PASSWORD

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def project(alice):
    cache.clear()
    return factories.project(by=alice, text="replace engine oil\ncheck coolant level\n")


def make_account(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account and accept").click()
    expect(
        page.get_by_text("Welcome to “Pumps”. You are an annotator in it. You have 2 items to annotate.")
    ).to_be_visible()


def annotate(page: Page, project) -> None:
    desk = Desk(page, project, User.objects.latest("pk"))
    desk.open()
    desk.drag(0, 0)
    desk.pick("Activity")
    desk.saved()


def test_people_come_by_link_and_mail_work_leave_return_and_lose_a_right(
    page, other_page, sign_in, alice, carol, project, problems
):
    people = f"/projects/{project.pk}/people/"
    sign_in(page, alice)
    page.goto(people)
    # By name, with the keyboard alone.
    page.get_by_label("Names").press_sequentially("car")
    expect(page.get_by_role("option", name="carol")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Names")).to_have_value("carol, ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove carol")).to_be_visible()
    # By link and by mail.
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("Link", exact=True).input_value()
    page.get_by_label("Mail addresses").fill("nina@example.org")
    page.get_by_role("button", name="Invite by mail").click()
    expect(page.get_by_text("Invited: nina@example.org.")).to_be_visible()
    assert not serious(page)
    make_account(other_page, link, "lin")
    annotate(other_page, project)
    other_page.goto("about:blank")  # what the annotation screen still asks for is not asked without a session
    other_page.context.clear_cookies()
    make_account(other_page, re.search(r"http\S+", mail.outbox[-1].body)[0], "nina")
    annotate(other_page, project)
    # Nina leaves and is added again: her mark is there.
    other_page.goto(project.get_absolute_url())
    other_page.locator("summary", has_text="More").click()
    other_page.get_by_role("button", name="Leave the project…").click()
    other_page.get_by_role("button", name="Leave", exact=True).click()
    expect(other_page.get_by_text("You have left “Pumps”")).to_be_visible()
    page.goto(people)
    page.get_by_role("button", name="Add nina again").click()
    expect(page.get_by_role("button", name="Remove nina")).to_be_visible()
    other_page.goto(project.get_absolute_url())
    other_page.get_by_role("link", name="Annotate").click()
    expect(other_page.locator(".mark-name")).to_have_count(1)
    # A right that is taken away is felt at the next click.
    page.get_by_role("button", name="Change the role of nina").click()
    page.get_by_label("Observer").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="nina Observer")).to_be_visible()
    settled(page)
    problems.expect("403")
    other_page.reload()
    expect(other_page.get_by_text("Only managers and annotators of the project annotate in it.")).to_be_visible()
