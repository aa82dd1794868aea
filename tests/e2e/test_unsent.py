"""What an annotation screen could not send is seen on whatever page comes next, and sent from there, once."""

import re

import pytest
from playwright.sync_api import expect

from datasets.models import Entity
from tests.e2e.desk import Desk
from tests.e2e.test_unsaved import KEPT
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

ADDRESSES = re.compile(r"/items/\d+/(entities|relations|done|operations)/")
WAIT = "2 changes of Pumps are not sent yet: the server cannot be reached."


@pytest.fixture
def cut(desk, problems):
    """Of a browser in which nothing can be sent."""
    problems.expect("ERR_FAILED")
    desk.page.context.route(ADDRESSES, lambda route: route.abort())
    return desk.page.context


def leave(desk: Desk) -> None:
    """Two marks, and the tab is closed."""
    desk.mark(0, "state")
    desk.mark(3, "thermo")
    expect(desk.page.locator("#saved")).to_have_text("2 not saved yet, trying again")
    until(lambda: kept(desk.page, desk.user) == 2, "the marks are not kept")
    desk.page.close()


def kept(page, user) -> int:
    return page.evaluate(KEPT, user.pk)


def test_what_waits_is_seen_on_other_pages_and_sent_from_there(desk, cut, carol):
    leave(desk)
    home = cut.new_page()
    home.goto("/")
    expect(home.locator(".unsent")).to_contain_text(WAIT)
    home.goto("/help/")
    expect(home.locator(".unsent")).to_contain_text(WAIT)
    cut.unroute(ADDRESSES)
    home.get_by_role("button", name="Send now").click()
    expect(home.locator(".toast.success")).to_contain_text("2 changes of Pumps from your last visit were saved.")
    expect(home.locator(".unsent")).to_have_count(0)
    assert kept(home, carol) == 0
    assert sorted(Entity.objects.values_list("start", flat=True)) == [0, 3]


def test_it_is_sent_by_itself_when_the_network_is_back(desk, cut):
    leave(desk)
    home = cut.new_page()
    home.goto("/")
    expect(home.locator(".unsent")).to_contain_text(WAIT)
    cut.unroute(ADDRESSES)
    home.evaluate("dispatchEvent(new Event('online'))")
    expect(home.locator(".unsent")).to_have_count(0)
    assert Entity.objects.count() == 2


def test_nobody_else_sees_or_sends_it(desk, cut, sign_in, alice, carol):
    leave(desk)
    cut.unroute(ADDRESSES)
    home = cut.new_page()
    sign_in(home, alice)
    home.goto("/")
    home.evaluate("dispatchEvent(new Event('focus'))")
    expect(home.locator(".unsent")).to_have_count(0)
    assert kept(home, carol) == 2 and not Entity.objects.exists()


def test_an_annotation_screen_that_is_open_keeps_its_own(desk, cut, carol):
    desk.mark(0, "state")
    expect(desk.page.locator("#saved")).to_have_text("1 not saved yet, trying again")
    home = cut.new_page()
    home.goto("/")
    expect(home.locator(".unsent")).to_have_count(0)
    sent = []
    home.on("request", lambda request: ADDRESSES.search(request.url) and sent.append(request.url))
    home.evaluate("dispatchEvent(new Event('focus'))")
    home.wait_for_timeout(700)
    assert sent == [] and kept(home, carol) == 1
    desk.page.close()  # and gives it up with its end
    until(lambda: home.evaluate("dispatchEvent(new Event('focus'))") and sent, "it is not taken over")


def test_what_is_refused_is_told_with_its_words_and_its_item(desk, cut, problems):
    problems.expect("422")
    leave(desk)
    desk.switch_off("State")
    cut.unroute(ADDRESSES)
    home = cut.new_page()
    home.goto("/")
    refused = home.locator(".toast.error")
    expect(refused).to_contain_text("Not saved: “left” as State. ")
    expect(home.locator(".unsent")).to_have_count(0)
    assert [mark.label.name for mark in Entity.objects.all()] == ["Thermostat"]
    refused.get_by_role("button", name="Item 1").click()
    expect(home.locator(".item-bar > b")).to_have_text("1")
