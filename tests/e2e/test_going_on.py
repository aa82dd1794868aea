"""The next item is there: pages of the way take each other's place without a load, also while the server is slow or away."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.desk import Desk, Held
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

MARKER = "window.isSamePage = true"
IS_SAME = "() => window.isSamePage === true"
KEPT = """async ([person, place, address]) => {
  const { keptPage } = await import("/static/js/kept.js");
  return Boolean(await keptPage(person, place, address));
}"""


def has_kept(desk: Desk, number: int) -> bool:
    address = f"/projects/{desk.project.pk}/annotate/{desk.item(number).pk}/"
    return desk.page.evaluate(KEPT, [desk.user.pk, f"project {desk.project.pk}", address])


@pytest.fixture
def going(desk: Desk) -> Desk:
    """At the first item, with the other two at hand."""
    until(lambda: has_kept(desk, 3), "the third item is not at hand")
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
    assert going.stored(2) == [(1, 1, "State")] and going.stored(1) == []
