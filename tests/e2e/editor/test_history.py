"""The history and the checks of an ontology: each step leads somewhere."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_step_of_the_history_is_seen_and_reverted(editor, page, alice):
    editor.ontology.items().get(name="State").rename("Condition", by=alice)
    editor.ontology.items().get(name="Activity").rename("Action", by=alice)
    page.get_by_role("button", name="History").click()
    entry = page.locator(".history-list > li", has_text="“Condition”")
    expect(entry.locator(".differences")).to_have_text("State → Condition")
    entry.get_by_role("button", name="Revert").click()
    expect(page.locator(".history-list > li").first).to_contain_text("Revert rename")
    page.locator("#dialog [data-close]").click()
    expect(page.locator("#tree")).to_contain_text("State")
    expect(page.locator("#tree")).to_contain_text("Action")
    page.keyboard.press("Control+z")
    expect(page.locator("#tree")).to_contain_text("Condition")
    page.get_by_role("button", name="History").click()
    entries = page.locator(".history-list > li")
    expect(entries.first).to_contain_text("Undo revert rename")
    expect(entries.first.get_by_role("button")).to_have_count(0)
    expect(entries.nth(1)).to_contain_text("undone")
    expect(entries.nth(1).get_by_role("button")).to_have_count(0)
    editor.press("Escape")
    expect(page.get_by_role("button", name="History")).to_be_focused()
    editor.stays()


def test_labels_that_look_alike_get_distinct_colours_in_one_step(edit, page):
    editor = edit([{"name": name, "color": "#339C6D"} for name in ("A", "B", "C")])
    page.get_by_role("button", name="Checks").click()
    expect(editor.dialog.locator(".check")).to_contain_text("“A”, “B” and “C” at the top level")
    editor.dialog.get_by_role("button", name="Give them distinct colours").click()
    expect(editor.dialog).to_contain_text("Nothing found")
    page.keyboard.press("Escape")
    editor.in_step()
    assert len({row.color for row in editor.stored()}) == 3
    editor.undo("recolour")
    expect(page.locator("#tree .row .swatch[style='--c:#339C6D']")).to_have_count(3)
    editor.in_step()


def test_checks_lead_to_their_items_by_keys(edit, page):
    editor = edit(
        [
            {"name": "A", "children": [{"name": "Pump"}, {"name": "Valve"}]},
            {"name": "B", "children": [{"name": "pump"}]},
        ]
    )
    expect(page.locator("#check-count")).not_to_be_empty()
    page.get_by_role("button", name="Collapse all").click()
    editor.tab_to(page.get_by_role("button", name="Checks"))
    editor.press("Enter")
    wanted = editor.dialog.locator(".check", has_text="differ only in case").get_by_role("button", name="pump").last
    expect(wanted).to_be_visible()
    editor.tab_to(wanted)
    editor.press("Enter")
    expect(editor.item("pump")).to_be_focused()
    expect(editor.details.locator("h2:visible")).to_contain_text("pump")
    editor.stays()
