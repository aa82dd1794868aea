"""The page of a dataset in a browser: filtering, selecting, removing and restoring, one item, its fields, statistics."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from datasets.models import Item
from tests.datasets import marked
from tests.e2e.test_axe import serious, sound
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def dataset(page, sign_in, alice):
    """Sixty texts, every fifth a pump; the first item has marks."""
    items = [f"{'pump' if n % 5 == 1 else 'valve'} no {n}" for n in range(1, 61)]
    made = marked.dataset(owner=alice, items=items)
    first = made.items()[0]
    marked.relate(
        marked.mark(first, "PhysicalObject", 0, 0), marked.mark(first, "PhysicalObject/DrivingObject", 0, 2), "hasPart"
    )
    sign_in(page, alice)
    return made


def rows(page: Page):
    return page.locator(".items tbody tr")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def selected(page: Page):
    return page.locator("#selected-count")


def dialog(page: Page):
    return page.locator("#dialog")


def toast(page: Page, words: str):
    return page.locator(".toast", has_text=words)


def test_filtering_keeps_the_field_and_the_address(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/")
    expect(rows(page)).to_have_count(50)
    press(page, "/")
    page.keyboard.type("pump")
    expect(rows(page)).to_have_count(12)
    expect(page).to_have_url(re.compile(r"/\?q=pump$"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="with “pump”")).to_contain_text("12 items")
    page.get_by_label("Marks").select_option("With entities")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?q=pump&has=entities$"))
    page.reload()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Marks")).to_have_value("entities")
    page.get_by_label("Marks").select_option("Without entities")
    expect(rows(page)).to_have_count(11)
    page.get_by_role("link", name="No.").click()
    expect(rows(page).first).to_contain_text("pump no 56")
    expect(page).to_have_url(re.compile(r"\?q=pump&has=none&sort=-number$"))
    settled(page)
    page.get_by_role("searchbox").fill("nowhere")
    expect(page.get_by_text("No item with “nowhere”")).to_be_visible()
    page.get_by_role("link", name="Show all items").click()
    expect(rows(page)).to_have_count(50)


def test_what_the_filter_shows_is_downloaded(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/")
    page.get_by_role("searchbox").fill("pump")
    page.get_by_text("Download these").click()
    with page.expect_download() as started:
        page.locator("#items").get_by_role("link", name="JSON Lines").click()
    found = [json.loads(line) for line in Path(started.value.path()).read_text().splitlines()]
    assert [item["original"] for item in found] == [f"pump no {n}" for n in range(1, 61, 5)]
    assert [len(item["entities"]) for item in found] == [2] + [0] * 11


def test_back_leads_to_the_filter_before(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/")
    page.get_by_role("searchbox").fill("no 6")
    expect(rows(page)).to_have_count(2)
    rows(page).last.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Item 60")).to_be_visible()
    page.go_back()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_role("searchbox")).to_have_value("no 6")
    page.go_back()
    expect(rows(page)).to_have_count(50)
    expect(page.get_by_role("searchbox")).to_have_value("")
    settled(page)
    press(page, "/", *"no 6")
    expect(rows(page)).to_have_count(2)
    page.get_by_role("checkbox", name="Select item").first.check()
    page.locator("#selection").get_by_role("button", name="Remove…").click()
    expect(dialog(page)).to_contain_text("Remove item 6?")


def test_items_are_selected_removed_and_taken_back(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/")
    boxes = page.get_by_role("checkbox", name="Select item")
    boxes.nth(1).check()
    boxes.nth(3).click(modifiers=["Shift"])
    expect(selected(page)).to_have_text("3 selected")
    boxes.nth(2).uncheck()
    expect(selected(page)).to_have_text("2 selected")
    page.locator("#selection").get_by_role("button", name="Remove…").click()
    expect(dialog(page)).to_contain_text("Remove 2 items?")
    dialog(page).get_by_role("button", name="Remove").click()
    expect(rows(page).nth(1)).to_contain_text("valve no 3")
    expect(page.locator(".page-head")).to_contain_text("58 items")
    expect(page.get_by_role("link", name="Bin 2")).to_be_visible()
    expect(page.locator("#selection")).to_be_hidden()
    toast(page, "2 items are in the bin.").get_by_role("button", name="Restore").click()
    expect(rows(page).nth(1)).to_contain_text("valve no 2")
    expect(page.locator(".page-head")).to_contain_text("60 items")


def test_all_that_match_are_removed_and_restored_from_the_bin(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/?q=valve")
    page.get_by_label("Select all items on this page").check()
    expect(selected(page)).to_have_text("48 selected")
    page.goto(f"/datasets/{dataset.pk}/")
    page.get_by_label("Select all items on this page").check()
    expect(selected(page)).to_have_text("50 selected")
    page.get_by_role("button", name="Select all 60").click()
    expect(selected(page)).to_have_text("60 selected")
    page.locator("#selection").get_by_role("button", name="Remove…").click()
    expect(dialog(page)).to_contain_text("all items of the dataset")
    expect(dialog(page)).to_contain_text("3 marks go with them")
    dialog(page).get_by_role("button", name="Cancel").click()
    page.wait_for_function("() => !history.state?.dialog")
    expect(page).to_have_url(f"/datasets/{dataset.pk}/")  # the address of the dialog is left after it
    page.goto(f"/datasets/{dataset.pk}/?q=pump")
    page.get_by_role("button", name="Remove 12…").click()
    dialog(page).get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.get_by_role("link", name="Bin 12").click()
    expect(rows(page)).to_have_count(12)
    expect(rows(page).first).to_contain_text("30 days left")
    settled(page)
    page.get_by_role("checkbox", name="Select item 1", exact=True).check()
    page.locator("#selection").get_by_role("button", name="Restore").click()
    expect(rows(page)).to_have_count(11)
    page.get_by_label("Select all items on this page").check()
    page.locator("#selection").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("The bin is empty")).to_be_visible()
    assert dataset.items().count() == 60


def test_a_selection_stays_on_other_pages_and_in_another_order_of_the_same_filter(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/")
    page.get_by_role("checkbox", name="Select item 2", exact=True).check()
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("checkbox", name="Select item 60", exact=True).check()
    expect(selected(page)).to_have_text("2 selected, 1 on other pages")
    page.get_by_role("link", name="No.").click()
    expect(rows(page).first).to_contain_text("valve no 60")
    expect(page.get_by_role("checkbox", name="Select item 60", exact=True)).to_be_checked()
    expect(selected(page)).to_have_text("2 selected, 1 on other pages")
    settled(page)
    page.locator("#selection").get_by_role("button", name="Remove…").click()
    expect(dialog(page)).to_contain_text("Remove 2 items?")
    dialog(page).get_by_role("button", name="Remove").click()
    expect(page.locator(".page-head")).to_contain_text("58 items")
    expect(page.locator("#selection")).to_be_hidden()
    assert not dataset.items().filter(position__in=[1, 59]).exists()

    page.get_by_label("Select all items on this page").check()
    page.get_by_role("button", name="Select all 58").click()
    page.get_by_role("link", name="Next page").click()
    expect(rows(page)).to_have_count(8)
    expect(selected(page)).to_have_text("58 selected")
    expect(page.get_by_role("checkbox", name="Select item 1", exact=True)).to_be_checked()
    settled(page)
    press(page, "Escape")
    expect(page.locator("#selection")).to_be_hidden()
    page.get_by_role("checkbox", name="Select item 1", exact=True).check()
    expect(selected(page)).to_have_text("1 selected")
    page.get_by_role("searchbox").fill("pump")
    expect(rows(page)).to_have_count(12)
    expect(page.locator("#selection")).to_be_hidden()


def test_the_table_by_keys_alone(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/")
    press(page, "/", "ArrowDown", "ArrowDown", "Space", "Shift+ArrowDown", "Shift+ArrowDown")
    expect(selected(page)).to_have_text("3 selected")
    press(page, "ArrowUp", "Space")
    expect(selected(page)).to_have_text("2 selected")
    press(page, "Escape")
    expect(page.locator("#selection")).to_be_hidden()
    press(page, "Space", "Delete")
    expect(dialog(page)).to_contain_text("Remove item 3?")
    press(page, "Enter")
    expect(toast(page, "1 item is in the bin.")).to_be_visible()
    expect(rows(page).nth(2)).to_contain_text("valve no 4")
    expect(rows(page).nth(2).get_by_role("link")).to_be_focused()
    press(page, "ArrowRight")
    expect(rows(page).first).to_contain_text("valve no 52")
    settled(page)
    press(page, "ArrowLeft")
    expect(rows(page).first).to_contain_text("pump no 1")
    settled(page)
    rows(page).nth(1).get_by_role("link").focus()
    press(page, "Enter")
    expect(page.get_by_role("heading", name="Item 2")).to_be_visible()
    settled(page)
    press(page, "ArrowRight")
    expect(page.get_by_role("heading", name="Item 4")).to_be_visible()  # the third is in the bin
    settled(page)
    press(page, "ArrowLeft")
    expect(page.get_by_role("heading", name="Item 2")).to_be_visible()
    settled(page)
    press(page, "ArrowLeft")
    expect(page.get_by_role("heading", name="Item 1")).to_be_visible()


def test_one_item_and_its_fields(page: Page, dataset, problems):
    problems.expect("409")
    first = dataset.items()[0]
    page.goto(f"/datasets/{dataset.pk}/")
    rows(page).first.get_by_role("link").click()
    expect(page.locator(".marked-box")).to_have_count(2)
    settled(page)
    expect(page.get_by_label("Relations")).to_contain_text("hasPart")
    page.get_by_role("button", name="Edit fields…").click()
    dialog(page).get_by_label("External id").fill("WO 7")
    dialog(page).get_by_label("Name").first.fill("author")
    dialog(page).get_by_label("Value").first.fill("Anna")
    dialog(page).get_by_role("button", name="+ Field").click()
    press(page, *"hours")
    dialog(page).get_by_label("Value").last.fill("2.5")
    dialog(page).get_by_label("Type").last.select_option("JSON")
    dialog(page).get_by_role("button", name="Save").click()
    expect(toast(page, "Item 1 is saved.")).to_be_visible()
    expect(page.locator(".page-head")).to_contain_text("WO 7")
    expect(page.locator(".facts-list")).to_contain_text("2.5")
    first.refresh_from_db()
    assert first.extra_fields == {"author": "Anna", "hours": 2.5}

    page.get_by_role("button", name="Edit fields…").click()
    dialog(page).get_by_role("button", name="Remove this field").first.click()
    first.edit(external_id="WO 7", extra_fields={"author": "Ben"})  # somebody else meanwhile
    dialog(page).get_by_role("button", name="Save").click()
    expect(dialog(page)).to_contain_text("Changed meanwhile.")
    expect(dialog(page)).to_contain_text('{"author": "Ben"}')
    dialog(page).get_by_role("button", name="Use mine").click()
    expect(toast(page, "Item 1 is saved.").last).to_be_visible()
    expect(dialog(page)).to_be_hidden()
    first.refresh_from_db()
    assert first.extra_fields == {"hours": 2.5}


def test_many_fields_with_odd_names_stay_as_they_are_when_another_one_is_added(page: Page, dataset):
    first = dataset.items()[0]
    fields = {"": "", " ": 1, "two\r\nlines": "a\r\nb", "other\nend": "x"} | {f"field {n}": n for n in range(400)}
    first.edit(external_id="", extra_fields=fields)
    page.goto(f"/datasets/{dataset.pk}/items/{first.pk}/")
    page.get_by_role("button", name="Edit fields…").click()
    expect(dialog(page).get_by_label("Name").nth(2)).to_have_value("two↵lines")
    dialog(page).get_by_label("Name").last.fill("author")
    dialog(page).get_by_label("Value").last.fill("Anna")
    dialog(page).get_by_role("button", name="Save").click()
    expect(toast(page, "Item 1 is saved.")).to_be_visible()
    first.refresh_from_db()
    assert first.extra_fields == {**fields, "author": "Anna"}


def test_an_item_is_removed_and_restored_on_its_own_page(page: Page, dataset):
    item = dataset.items()[0]
    page.goto(f"/datasets/{dataset.pk}/items/{item.pk}/")
    page.get_by_role("button", name="Remove…").click()
    expect(dialog(page)).to_contain_text("3 marks go with it")
    dialog(page).get_by_role("button", name="Remove").click()
    expect(page.get_by_text("In the bin.", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Edit fields…")).to_be_hidden()
    page.locator(".one-item").get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Edit fields…")).to_be_visible()
    assert Item.objects.filter(pk=item.pk).exists()


def test_statistics_come_after_the_page_and_lead_to_the_items(page: Page, dataset):
    page.goto(f"/datasets/{dataset.pk}/statistics/")
    expect(page.locator(".histogram i")).to_have_count(1)
    page.get_by_text("As a table").click()
    expect(page.get_by_role("cell", name="60")).to_be_visible()
    expect(page.get_by_text("5 of 7 labels are not used")).to_be_visible()
    page.get_by_role("link", name="DrivingObject").click()
    expect(rows(page)).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="pump", exact=True).click()
    expect(rows(page)).to_have_count(12)


def test_the_screens_are_sound_for_all(page: Page, dataset):
    item = dataset.items()[0]
    dataset.remove(dataset.items().filter(position=5), by=dataset.owner)
    for address in ("", "?bin=1", "?q=nowhere", "statistics/", f"items/{item.pk}/"):
        page.goto(f"/datasets/{dataset.pk}/{address}")
        sound(page)
    page.get_by_role("button", name="Edit fields…").click()
    expect(dialog(page)).to_be_visible()
    assert not serious(page)
    page.goto(f"/datasets/{dataset.pk}/?has=none")
    page.get_by_label("Select all items on this page").check()
    press(page, "Delete")
    expect(dialog(page)).to_be_visible()
    assert not serious(page)
