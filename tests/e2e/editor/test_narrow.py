"""The editor on a telephone: the details are a sheet over the tree."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def narrow(editor, page):
    page.set_viewport_size({"width": 360, "height": 740})
    return editor


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_sheet_opens_over_the_tree_and_closes(narrow, page):
    sheet = page.locator("#details.sheet")
    expect(sheet).to_have_count(0)
    assert fits(page)
    back = sheet.get_by_role("button", name="Back to the overview")
    for close in (back.click, lambda: page.keyboard.press("Escape"), page.go_back):
        narrow.select("Thermostat")
        expect(sheet).to_be_visible()
        expect(back).to_be_focused()
        expect(narrow.row("Thermostat")).to_be_in_viewport(ratio=1)
        row, top = narrow.row("Thermostat").bounding_box(), sheet.bounding_box()["y"]
        assert row["y"] + row["height"] <= top and fits(page)
        narrow.select("State")
        close()
        expect(sheet).to_have_count(0)
        expect(narrow.item("State")).to_be_focused()
        expect(page).to_have_url(re.compile(rf"/{narrow.ontology.pk}/$"))
    narrow.stays()


def test_back_closes_the_dialog_before_the_sheet(narrow, page):
    narrow.select("State")
    narrow.button("Switch off").click()
    expect(page.locator("#dialog h2")).to_be_visible()
    page.go_back()
    expect(page.locator("#dialog h2")).to_have_count(0)
    expect(page.locator("#details.sheet")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?item="))
    page.go_back()
    expect(page.locator("#details.sheet")).to_have_count(0)
    narrow.stays()


def test_the_next_details_have_the_focus_although_the_overview_is_late(narrow, page):
    narrow.select("State")
    held = []
    page.route("**/overview/", lambda route: held.append(route))
    page.keyboard.press("Escape")
    expect(page.locator("#details.sheet")).to_have_count(0)
    narrow.row("Thermostat").locator(".name").click()
    held[0].continue_()
    expect(page.locator("#details.sheet").get_by_role("button", name="Back to the overview")).to_be_focused()
    expect(narrow.details.locator("h2")).to_contain_text("Thermostat")
