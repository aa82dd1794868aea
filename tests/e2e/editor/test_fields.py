"""The fields of an item: what saves, what cancels, and where the focus goes."""

import pytest
from playwright.sync_api import expect

from tests.e2e.editing import Late, wide

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_escape_leaves_everything_as_it_was(editor, page):
    before = editor.stored()
    editor.go("State")
    editor.press("F2")
    expect(editor.name_field).to_be_focused()
    page.keyboard.type("Condition")
    editor.press("Control+z")  # which belongs to the field
    expect(editor.name_field).to_be_focused()
    expect(page.locator("#undo-button")).to_be_disabled()
    editor.press("Escape")
    expect(editor.item("State")).to_be_focused()
    expect(editor.row("State").locator(".name")).to_have_text("State")
    editor.press("Control+Enter")
    expect(editor.name_field).to_be_focused()
    page.keyboard.type("Good")
    editor.press("Escape")
    expect(editor.item("State")).to_be_focused()
    expect(editor.name_field).to_have_count(0)
    for field in ("textarea", "input[name=add]"):
        editor.tab_to(editor.details.locator(field))
        page.keyboard.type("Words.")
        editor.press("Escape")
        expect(editor.item("State")).to_be_focused()
        expect(editor.details.locator(field)).to_have_value("")
    editor.settled()
    assert editor.stored() == before
    editor.stays()


def test_a_name_is_saved_on_leaving_its_field(editor, page):
    uid = editor.uid("State")
    editor.go("State")
    editor.press("F2")
    expect(editor.name_field).to_be_focused()
    page.keyboard.type("Condition")
    editor.row("Activity").locator(".name").click()
    expect(page.locator(f"#row-{uid} .name")).to_have_text("Condition")
    expect(editor.item("Activity")).to_be_focused()
    expect(editor.details.locator("h2:visible")).to_contain_text("Activity")
    editor.button("+ Child").click()
    expect(editor.name_field).to_be_focused()
    page.keyboard.type("Inspect")
    editor.button("+ Child").click()  # saves the one, begins the next
    expect(editor.shown("Inspect")).to_be_visible()
    expect(editor.name_field).to_be_focused()
    page.locator("#search").click()  # nothing was typed: nothing is added
    expect(editor.name_field).to_have_count(0)
    assert editor.ontology.facts().size == 8
    editor.stays()


def test_an_invalid_value_keeps_its_field_open_with_the_reason(editor, page, problems):
    problems.expect("422 (Unprocessable")
    editor.go("State")
    editor.press("F2")
    editor.type("a/b")
    expect(page.locator("#tree .row-edit")).to_contain_text("“/”")
    expect(editor.name_field).to_have_value("a/b")
    expect(editor.name_field).to_be_focused()
    editor.press("Escape")
    expect(editor.row("State").locator(".name")).to_have_text("State")
    editor.press("Control+Shift+Enter")
    editor.type_one("Activity")
    expect(page.locator("#tree .new-item .note.bad")).not_to_be_empty()
    expect(editor.name_field).to_have_value("Activity")
    editor.press("Escape")
    term = editor.details.locator("input[name=add]")
    editor.tab_to(term)
    page.keyboard.insert_text("x" * 201)
    editor.press("Enter")
    expect(editor.details.locator(".errors")).to_be_visible()
    expect(term).to_have_value("x" * 201)
    editor.press("Escape")
    expect(editor.details.locator(".errors")).to_have_count(0)
    expect(term).to_have_value("")
    editor.stays()


def test_what_is_typed_is_saved_when_another_item_is_chosen_at_once(editor, page):
    editor.select("State")
    editor.details.locator("textarea").fill("How a thing is.")
    editor.row("Activity").locator(".name").click()
    expect(editor.details.locator("h2:visible")).to_contain_text("Activity")
    expect(page.locator("#undo-button")).to_contain_text("Undo describe")
    assert editor.ontology.items().get(name="State").description == "How a thing is."
    editor.select("State")
    expect(editor.details).to_contain_text("by alice (describe)")
    editor.stays()


def test_undo_pressed_three_times_takes_back_three_operations(editor, page, alice):
    before = editor.stored()
    for name in ("Good", "Bad", "Worn"):
        editor.ontology.add_item(name, parent=editor.ontology.items().get(name="State"), by=alice)
    page.reload()
    page.evaluate("window.sameDocument = true")
    page.get_by_role("button", name="Expand all").click()
    editor.focus("Worn")
    editor.press("Control+z", "Control+z", "Control+z")
    expect(page.locator("#redo-button")).to_contain_text("Redo add")
    expect(editor.item("State")).to_be_focused()  # what stood nearest
    editor.changed([])
    assert editor.stored() == before
    editor.press("Control+Shift+z", "Control+Shift+z", "Control+Shift+z")
    expect(editor.shown("Worn")).to_be_attached()
    editor.stays()


def test_details_that_an_undo_overtakes_give_way(editor, page, alice):
    gone = editor.ontology.add_item("Worn", parent=editor.ontology.items().get(name="State"), by=alice)
    page.reload()
    page.get_by_role("button", name="Expand all").click()
    held = []
    page.route(f"**/items/{gone.uid}/", lambda route: held.append(route))
    with page.expect_request(f"**/items/{gone.uid}/"):
        editor.row("Worn").locator(".name").click()
    editor.press("Control+z")
    expect(page.locator("#redo-button")).to_contain_text("Redo add")
    with page.expect_response(lambda answer: answer.status == 204):
        held.pop().continue_()
    expect(editor.item("State")).to_be_focused()
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    expect(page.locator(".toast")).not_to_contain_text("does not exist")


def test_what_is_typed_right_after_the_key_goes_into_the_field(editor, page):
    editor.go("State")
    editor.press("F2", *"Zed0", "Enter")
    expect(page.locator("#undo-button")).to_contain_text("Undo rename")
    expect(editor.item("Zed0")).to_be_focused()
    editor.press("Insert", *"q0", "Enter", "Escape")
    expect(editor.shown("q0")).to_be_visible()
    expect(editor.item("q0")).to_be_focused()
    editor.in_step()


def test_an_item_is_added_below_a_branch_that_was_never_opened(edit, page):
    editor = edit(wide(4, 200))
    children = Late(page, "**/children/")
    editor.focus("T0")
    editor.press("Insert", *"Escaped", "Escape")
    editor.focus("T1")
    editor.press("Insert", *"New")
    children.made(2)
    children.arrive()
    for i in range(2):
        expect(editor.row(f"C{i}.199")).to_be_attached()
    expect(editor.name_field).to_be_focused()
    editor.type_one("er")
    expect(editor.shown("Newer")).to_be_attached()
    expect(editor.item("Newer")).to_be_focused()
    assert editor.names().count("C1.199") == 1
    assert "Escaped" not in editor.names()


def test_what_could_not_be_sent_is_sent_by_itself_wherever_one_is_then(editor, page, problems):
    problems.expect("ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")
    editor.select("State")
    page.context.set_offline(True)
    editor.details.locator("textarea").fill("How a thing is.")
    editor.press("Control+Enter")
    expect(page.locator("#unsent")).to_have_text("1 not saved yet, trying again")
    editor.row("Activity").locator(".name").click()
    page.context.set_offline(False)
    expect(page.locator("#unsent")).to_be_empty()
    expect(editor.details.locator("h2:visible")).to_have_text("Activity")
    assert editor.ontology.items().get(name="State").description == "How a thing is."
    assert editor.ontology.items().get(name="Activity").description == ""


def test_offline_the_details_are_those_of_what_is_selected_or_none(editor, page, problems):
    problems.expect("ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")
    editor.select("Thermostat")
    page.context.set_offline(True)
    editor.row("State").locator(".name").click()
    expect(editor.details.locator("h2:visible")).to_have_text("State")
    expect(editor.details).to_contain_text("as soon as the server answers")
    editor.details.get_by_label("Description").last.fill("typed early")
    page.context.set_offline(False)
    expect(editor.details).not_to_contain_text("as soon as the server answers")
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    expect(editor.details.get_by_label("Description")).to_have_value("typed early")
