"""The menu of an item, and the buttons in its row."""

import pytest
from playwright.sync_api import expect

from tests.e2e.typists import line

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

# The pointer leaves in the same frame in which an answer comes; what had been put off until its end is done then.
LEAVE_WHEN_ROWS_CHANGED = """async () => {
  document.dispatchEvent(new Event("tree:changed"));
  document.querySelector("#tree").dispatchEvent(new Event("pointerleave"));
  for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
}"""


def test_everything_about_an_item_stands_in_its_menu(editor, page):
    menu = page.get_by_role("menu")
    editor.row("SensingObject").click(button="right")
    expect(editor.details.locator("h2:visible")).to_contain_text("SensingObject")
    expect(menu).to_have_attribute("aria-label", "Actions of SensingObject")
    expect(menu.get_by_role("menuitem", name="Add an item below")).to_be_focused()
    assert menu.get_by_role("menuitem", name="Close").is_visible()
    assert not menu.get_by_role("menuitem", name="Switch on").is_visible()
    editor.press("ArrowUp", "ArrowDown", "ArrowDown", "End", "Home", "r")
    expect(menu.get_by_role("menuitem", name="Rename")).to_be_focused()
    editor.press("Escape")
    expect(menu).to_be_hidden()
    expect(editor.item("SensingObject")).to_be_focused()
    for key in ["Shift+F10", "ContextMenu"]:
        editor.press("ArrowDown", key)
        expect(menu).to_be_visible()
        editor.press("Tab")
        expect(menu).to_be_hidden()
    expect(editor.item("DrivingObject")).to_be_focused()
    editor.press("Shift+F10", "r", "Enter")
    expect(editor.name_field).to_have_value("DrivingObject")
    editor.type("Vehicle")
    expect(editor.shown("Vehicle")).to_be_visible()
    editor.settled()
    editor.row("Vehicle").click(button="right")
    menu.get_by_role("menuitem", name="Undo").click()
    expect(editor.shown("DrivingObject")).to_be_visible()
    editor.stays()


def test_the_menu_keeps_what_is_selected(editor, page):
    editor.focus("PhysicalObject")
    editor.press("Shift+ArrowDown", "Shift+ArrowDown")
    editor.row("SensingObject").click(button="right")
    expect(page.locator("#selected-count")).to_have_text("3 selected")
    page.get_by_role("menu").get_by_role("menuitem", name="Select too").click()
    expect(page.locator("#selected-count")).to_have_text("2 selected")
    editor.row("State").click(button="right")
    expect(page.locator("#selection")).to_be_hidden()


def test_several_items_are_shown_and_edited_together(editor, page):
    pane = page.locator("#details-several")
    editor.focus("PhysicalObject")
    editor.press("Shift+ArrowDown", "Shift+ArrowDown")
    expect(pane.locator("h2")).to_have_text("3 items selected")
    expect(pane).to_contain_text("2 without description")
    pane.locator("input[name=add]").fill("valve, seal")
    pane.locator("input[name=add]").press("Enter")
    expect(pane.locator(".token-list")).to_contain_text("valve")
    expect(pane).to_contain_text("They differ in 2 terms.")
    pane.locator(".palette button").nth(4).click()
    expect(pane).to_contain_text("All the same")
    editor.item("SensingObject").focus()
    editor.press("Delete")
    expect(editor.dialog).to_contain_text("Switch 3 items off?")
    expect(editor.dialog).to_contain_text("4 items go off, everything below them among them.")
    editor.press("Enter")
    expect(pane).to_contain_text("all off")
    expect(editor.row("DrivingObject")).to_contain_text("off")
    pane.get_by_role("button", name="Select only one again").click()
    expect(editor.details.locator("#details-none, [data-uid]")).to_be_visible()
    editor.stays()


def test_the_row_under_the_pointer_or_with_the_focus_has_buttons(editor, page):
    buttons = page.locator("#row-actions")
    expect(buttons).to_be_hidden()
    editor.row("Activity").hover()
    assert abs(buttons.bounding_box()["y"] - editor.row("Activity").bounding_box()["y"]) < 1
    buttons.get_by_role("button", name="Add an item below").click()
    editor.type_one("Inspect")
    expect(editor.shown("Inspect")).to_be_visible()
    editor.row("State").hover()
    buttons.get_by_role("button", name="Switch").click()
    editor.dialog.get_by_role("button", name="Switch off").click()
    expect(editor.row("State")).to_contain_text("off")
    buttons.get_by_role("button", name="Colour").click()
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    expect(editor.details.locator(".palette button").first).to_be_focused()
    page.mouse.move(0, 0)
    expect(buttons).to_be_hidden()
    editor.row("State").hover()
    page.evaluate(LEAVE_WHEN_ROWS_CHANGED)
    expect(buttons).to_be_hidden()
    page.mouse.move(0, 0)
    editor.focus("Activity")
    editor.press("ArrowDown")
    assert abs(buttons.bounding_box()["y"] - editor.row("Replace").bounding_box()["y"]) < 1
    editor.press("Tab")
    expect(buttons.get_by_role("button", name="All actions")).to_be_focused()
    editor.press("Enter")
    expect(page.get_by_role("menu")).to_have_attribute("aria-label", "Actions of Replace")
    editor.press("Escape", "ArrowUp")
    expect(editor.item("Activity")).to_be_focused()
    editor.stays()


def test_the_place_of_several_is_typed_fast_and_answered_late(moving, editor, page):
    """Enter takes the match for all that was typed, although the dialog and its places come 400 ms after they are asked for."""
    editor.select("Replace")
    editor.press("Shift+ArrowDown")
    expect(page.locator("#selected-count")).to_have_text("2 selected")
    editor.settled()
    with line.slow(400):
        editor.press("ContextMenu", "m", "m", "m", "Enter")
        page.keyboard.type("thermo", delay=30)
        editor.press("Enter")
        expect(page.locator("#toasts")).to_contain_text("2 labels were moved below “Thermostat”.")
    assert [row.name for row in editor.stored() if row.level == 4] == ["Replace", "State"]


def test_keys_move_all_that_are_selected_and_go_on_with_them(moving, editor, page):
    editor.select("Activity")
    editor.press("Shift+ArrowDown", "Shift+ArrowDown")  # with what is below it
    expect(page.locator("#selected-count")).to_have_text("3 selected")
    editor.press("Alt+ArrowUp")
    expect(page.locator("#toasts")).to_contain_text("2 labels were moved before “PhysicalObject”.")
    editor.in_step()
    assert editor.names()[:3] == ["Activity", "Replace", "State"]
    expect(page.locator("#selected-count")).to_have_text("3 selected")
    editor.press("Alt+ArrowDown")
    expect(page.locator("#toasts")).to_contain_text("2 labels were moved after “PhysicalObject”.")
    editor.in_step()
    assert editor.names()[-3:] == ["Activity", "Replace", "State"]
