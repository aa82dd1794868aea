"""Dialogs have addresses: they open in their page, and the browser's Back closes them."""

import re

import pytest
from playwright.sync_api import expect

from tests import factories
from tests.resource_sets import make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def heading(page):
    return page.locator("#dialog h2")


def test_back_closes_and_forward_opens_again(editor, page):
    editor.select("State")
    here = page.url
    page.get_by_role("button", name="History").click()
    expect(heading(page)).to_have_text("History")
    expect(page).to_have_url(re.compile(r"/history/$"))
    page.go_back()
    expect(heading(page)).to_have_count(0)
    expect(page).to_have_url(here)
    page.go_forward()
    expect(heading(page)).to_have_text("History")
    page.keyboard.press("Escape")
    expect(page).to_have_url(here)
    editor.button("Switch off").click()
    expect(page).to_have_url(re.compile(r"/active/$"))
    page.locator("#dialog").get_by_role("button", name="Switch off").last.click()
    expect(editor.row("State")).to_contain_text("off")
    expect(page).to_have_url(here)
    editor.stays()


def test_back_closes_a_dialog_to_which_no_address_leads(editor, page):
    editor.select("State")
    editor.row("Activity").click(modifiers=["Control"])
    expect(editor.details).to_contain_text("2 items selected")
    here = page.url
    editor.button("Switch off").click()
    expect(heading(page)).to_be_visible()
    expect(page).to_have_url(here)
    page.go_back()
    expect(heading(page)).to_have_count(0)
    expect(page).to_have_url(here)
    editor.stays()


def test_an_address_opens_its_dialog_in_the_page(editor, page):
    start = page.url
    page.goto(f"{start}items/{editor.uid('State')}/paste/")
    page.evaluate("window.sameDocument = true")
    expect(heading(page)).to_have_text("Paste a list below “State”")
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    expect(page.locator("#pasted")).to_be_focused()
    page.reload()
    page.evaluate("window.sameDocument = true")
    page.locator("#pasted").fill("New one")
    page.locator("#dialog").get_by_role("button", name="Add").click()
    expect(page.locator("#tree")).to_contain_text("New one")
    expect(heading(page)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"\?item="))
    editor.stays()


def test_what_a_dialog_leads_to_takes_its_place(page, sign_in, alice):
    sign_in(page, alice)
    things = [factories.ontology(owner=alice), factories.dataset(owner=alice), factories.project(by=alice)]
    rules = make(
        "entity_constraints", owner=alice, entities=factories.ontology(owner=alice), relations=None, document=[]
    )
    for thing in (*things, rules):
        url = thing.get_absolute_url()
        page.goto(f"{url}edit/")
        page.locator("#dialog [name=name]").fill("Another name")
        page.locator("#dialog").get_by_role("button", name="Save").click()
        expect(page.locator("h1")).to_have_text("Another name")
        expect(heading(page)).to_have_count(0)
        page.go_back()
        expect(page).to_have_url(re.compile(f"{url}$"))
        expect(heading(page)).to_have_count(0)


def test_the_columns_of_a_pasted_table_are_chosen_by_keys_and_stored_in_one_step(editor, page):
    page.get_by_role("button", name="Paste list…").click()
    page.locator("#pasted").fill("Label;Text;Parent;Colour\nGauge;Shows a value.;State;#AA0000\nState;;;\n")
    preview = page.locator("#preview")
    expect(preview).to_contain_text("1 item will be added, 1 item is there already")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Label")
    expect(page.get_by_label("Description", exact=True)).to_have_value("")
    page.get_by_label("Description", exact=True).focus()
    page.keyboard.type("Text")
    expect(preview.locator(".planned")).to_contain_text("Shows a value.")
    expect(page.get_by_label("Description", exact=True)).to_be_focused()
    page.get_by_label("This is no table").check()
    expect(preview).to_contain_text("Label;Text;Parent;Colour")
    page.get_by_label("This is no table").uncheck()
    expect(preview).to_contain_text("1 item will be added")
    page.get_by_label("Description", exact=True).select_option("Text")
    expect(preview.locator(".planned")).to_contain_text("Shows a value.")
    page.locator("#dialog").get_by_role("button", name="Add").click()
    expect(page.locator("#tree")).to_contain_text("Gauge")
    expect(editor.details).to_contain_text("Shows a value.")
    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator("#tree")).not_to_contain_text("Gauge")
    editor.stays()
