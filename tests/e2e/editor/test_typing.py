"""Labels typed one after another, without waiting for the server and without the mouse."""

import pytest
from playwright.sync_api import expect

from tests.e2e.editing import wide
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def tree(*sizes, above="L"):
    """Names with their levels, in tree order: so many at each level."""
    for number in range(sizes[0] if sizes else 0):
        name = f"{above}{number}"
        yield len(above), name
        yield from tree(*sizes[1:], above=name)


THIRTY = list(tree(2, 2, 2, 2))  # 2 + 4 + 8 + 16

PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def empty(edit):
    return edit([])


def levels(editor):
    return [(row.level, row.name) for row in editor.stored()]


def stored_and_shown(editor, wanted):
    expect(editor.page.locator("#tree .new-item")).to_have_count(0, timeout=120_000)
    until(lambda: levels(editor) == wanted, "something else is stored")
    editor.in_step()


@pytest.mark.parametrize("delay", [0, 40], ids=["at once", "as people type"])
def test_a_tree_is_typed_without_the_mouse(empty, page, delay):
    wanted = THIRTY if not delay else THIRTY[:12]
    empty.tab_to(page.get_by_role("button", name="Add the first item"))
    empty.press("Enter")
    now = 1
    for level, name in wanted:
        keys = "Tab" if level > now else "Shift+Tab"
        empty.press(*[keys] * abs(level - now))
        page.keyboard.type(name, delay=delay)
        empty.press("Enter")
        now = level
    empty.press("Enter")
    stored_and_shown(empty, wanted)
    expect(empty.shown(wanted[-1][1]).last).to_be_visible()
    assert page.evaluate("document.activeElement.querySelector('.name').textContent") == wanted[-1][1]
    assert empty.ontology.changes.count() == len(wanted)
    empty.press("Control+z")
    stored_and_shown(empty, wanted[:-1])
    empty.press("Control+z")
    stored_and_shown(empty, wanted[:-2])


def test_rows_that_come_after_what_was_typed_beside_them_show_it_once(edit, page):
    held = []
    page.route("**/children/", lambda route: held.append(route))
    editor = edit(wide(10, 60))
    editor.focus("T0")
    with page.expect_request("**/children/"):
        editor.press("Insert")
    editor.type("Pump")
    page.keyboard.type("Valve")
    expect(editor.shown("Pump")).to_be_visible()
    held.pop().continue_()
    expect(editor.row("C0.59")).to_be_visible()
    editor.press("Enter", "Escape")
    expect(editor.shown("Valve")).to_be_visible()
    expect(editor.item("Valve")).to_be_focused()
    assert editor.visible_names()[59:64] == ["C0.58", "C0.59", "Pump", "Valve", "T1"]


def test_a_refused_name_waits_with_what_is_below_it(empty, page, problems):
    problems.expect("422 (Unprocessable")
    page.get_by_role("button", name="Add the first item").click()
    page.keyboard.type("Pump\na/b\n")
    empty.press("Tab")
    page.keyboard.type("Below\n")
    empty.press("Escape")
    refused = page.locator("#tree .new-item [aria-invalid=true]")
    expect(refused).to_be_focused()
    expect(page.locator("#tree .note.bad")).to_contain_text("“/”")
    assert levels(empty) == [(1, "Pump")]
    refused.fill("Valve")
    empty.press("Enter")
    empty.press("Enter")
    stored_and_shown(empty, [(1, "Pump"), (1, "Valve"), (2, "Below")])


def test_a_row_that_is_given_up_leaves_what_is_below_it(empty, page, problems):
    problems.expect("422 (Unprocessable")
    page.get_by_role("button", name="Add the first item").click()
    page.keyboard.type("a/b\n")
    empty.press("Tab")
    page.keyboard.type("Below\n")
    empty.press("Escape")
    expect(page.locator("#tree .new-item [aria-invalid=true]")).to_be_focused()
    empty.press("Escape")
    stored_and_shown(empty, [(1, "Below")])


def test_tab_and_shift_tab_change_the_level(editor, page):
    editor.go("State")
    editor.press("Shift+Insert")
    page.keyboard.type("Wor")
    editor.press("Tab")
    page.keyboard.type("n")
    editor.press("Enter", "Shift+Tab")
    page.keyboard.type("Place\n")
    editor.press("Enter")
    items = editor.ontology.items()
    until(lambda: items.filter(name="Place").exists(), "Place was not added")
    expect(editor.item("Place")).to_be_focused()
    assert items.get(name="Worn").parent.name == "State" and items.get(name="Place").level == 1
    editor.in_step()


def test_enter_does_not_rename_what_was_reached_by_typing(editor, page):
    editor.tab_to(page.locator("#tree li[tabindex='0']"))
    page.keyboard.type("State\n")
    expect(editor.item("State")).to_be_focused()
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    expect(editor.name_field).to_have_count(0)
    editor.press("F2")
    expect(editor.name_field).to_be_focused()


def test_several_lines_are_pasted_into_the_preview(editor, page):
    for place, name in (("an item", "Worn"), ("a new row", "Torn"), ("nothing", "Born")):
        editor.go("State")
        if place == "a new row":
            editor.press("Insert")
        elif place == "nothing":
            page.locator("h1").click()
        page.evaluate(PASTE, f"{name}\n  Scratched\n")
        where = "at the top level" if place == "nothing" else "below “State”"
        expect(editor.dialog.locator("h2")).to_contain_text(where)
        expect(editor.dialog.locator("#preview")).to_contain_text("Scratched")
        editor.dialog.get_by_role("button", name="Add", exact=True).click()
        expect(editor.shown(name)).to_be_attached()
        editor.in_step()
        assert editor.ontology.items().get(name=name).level == (1 if place == "nothing" else 2)
