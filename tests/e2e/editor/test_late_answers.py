"""Answers come late, and not in their turn: nothing typed is lost, and the screen shows what is stored."""

import pytest
from playwright.sync_api import expect

from tests.e2e.editing import Late, wide

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def description(editor):
    return editor.details.locator("textarea")


def test_details_from_before_a_change_are_not_shown_after_it(editor, page):
    details = Late(page, f"**/items/{editor.uid('State')}/")
    editor.row("State").locator(".name").dblclick()
    details.made()
    editor.type("Condition")
    expect(editor.shown("Condition")).to_be_visible()
    details.arrive()
    expect(editor.details.locator("h2:visible")).to_contain_text("Condition")
    editor.in_step()


def test_a_late_overview_does_not_replace_the_details_of_what_was_selected_meanwhile(editor, page):
    editor.select("State")
    overview = Late(page, "**/overview/")
    editor.press("Escape")
    overview.made()
    editor.press("ArrowUp", "ArrowDown")
    expect(editor.item("State")).to_have_attribute("aria-selected", "true")
    page.wait_for_timeout(400)  # the pause after which details are fetched: those of this item are there already
    overview.arrive()
    editor.settled()
    expect(editor.details.locator("h2:visible")).to_contain_text("State")


def test_late_details_of_several_do_not_replace_those_of_the_one_that_is_selected_again(editor, page):
    editor.select("State")
    details = Late(page, "**/items/several/")
    editor.press("Shift+ArrowUp")
    details.made()
    editor.press("Escape")
    details.arrive()
    editor.settled()
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    expect(page.locator("#selection")).to_be_hidden()


def test_what_is_found_late_does_not_take_away_a_row_that_is_typed_meanwhile(editor, page):
    found = Late(page, "**/find/**")
    page.locator("#search").fill("State")
    found.made()
    page.get_by_role("button", name="+ Top-level item").click()
    page.keyboard.type("Ta")
    found.arrive()
    editor.settled()
    page.keyboard.type("sk")
    expect(editor.name_field).to_have_value("Task")
    editor.press("Enter", "Escape")
    expect(page.locator("#matches")).to_contain_text("1 match · 1 new, not among them")
    assert editor.names() == ["State", "Task"]


def test_what_was_typed_and_left_while_its_field_was_being_saved_is_saved(editor, page):
    editor.select("State")
    first = Late(page, "**/describe/")
    description(editor).fill("Half a sen")
    editor.press("Tab")
    first.made()
    description(editor).fill("Half a sentence")
    page.locator("#search").click()
    first.arrive()
    until_described(editor, "State", "Half a sentence")
    expect(description(editor)).to_have_value("Half a sentence")


def test_what_is_typed_stays_when_the_answer_of_a_new_name_brings_the_details(editor, page):
    editor.select("State")
    answer = Late(page, "**/rename/")
    editor.press("F2")
    editor.type("Condition")
    answer.made()
    description(editor).click()
    page.keyboard.type("How a thing is.")
    answer.arrive()
    expect(editor.details.locator("h2:visible")).to_contain_text("Condition")
    expect(description(editor)).to_be_focused()
    expect(description(editor)).to_have_value("How a thing is.")
    page.locator("#search").click()
    until_described(editor, "Condition", "How a thing is.")


def refused_on_leaving(editor, page, bob, problems):
    """The answer to what is typed at “State”, which somebody else has described, and left for “Activity”."""
    problems.expect("409 (Conflict)")
    editor.select("State")
    editor.ontology.items().get(name="State").describe("Theirs", by=bob)
    answer = Late(page, "**/describe/")
    description(editor).fill("Mine")
    editor.row("Activity").locator(".name").click()
    answer.made()
    return answer


def test_an_item_stays_when_what_was_typed_there_is_refused_after_choosing_another(editor, page, bob, problems):
    answer = refused_on_leaving(editor, page, bob, problems)
    answer.arrive()
    expect(editor.details.locator("[role=alert]")).to_contain_text("Theirs")
    expect(description(editor)).to_have_value("Mine")
    expect(editor.item("State")).to_have_attribute("aria-selected", "true")
    editor.button("Use mine").click()
    until_described(editor, "State", "Mine")


def test_what_is_typed_for_the_next_label_does_not_go_into_the_refused_text_of_the_one_before(
    editor, page, bob, problems
):
    answer = refused_on_leaving(editor, page, bob, problems)
    editor.details.locator("textarea").click(force=True)
    expect(editor.details.locator(".coming textarea")).to_be_focused()
    page.keyboard.type("What is")
    answer.arrive()
    expect(editor.details.locator("[role=alert]")).to_contain_text("Theirs")
    page.keyboard.type(" done")
    expect(description(editor)).to_have_value("Mine")
    until_described(editor, "Activity", "What is")


def test_a_name_being_typed_stays_when_an_answer_brings_its_row(editor, page):
    editor.select("State")
    answer = Late(page, "**/color/")
    editor.details.locator(".palette button").nth(6).click()
    answer.made()
    editor.focus("State")
    editor.press("F2")
    expect(editor.name_field).to_be_focused()
    page.keyboard.type("Condi")
    answer.arrive()
    expect(page.locator("#undo-button")).to_contain_text("Undo recolour")
    page.keyboard.type("tion")
    editor.press("Enter")
    expect(editor.shown("Condition")).to_be_visible()
    editor.in_step()


def test_the_whole_tree_comes_although_one_branch_was_still_being_fetched(editor, page):
    editor.select("PhysicalObject")
    editor.button("Only this branch").click()
    expect(editor.row("Activity")).to_have_count(0)
    tree = Late(page, "**/tree/")
    page.reload()  # and SensingObject opened again
    tree.made()
    page.get_by_role("button", name="All items").click()
    tree.arrive()
    expect(editor.row("Activity")).to_be_visible()
    assert "branch=" not in page.url


def test_a_branch_that_is_opened_while_the_tree_is_fetched_stays_open(edit, page, bob):
    editor = edit(wide(4, 200))
    editor.ontology.items().get(name="T3").rename("Theirs", by=bob)
    tree = Late(page, "**/tree/")
    editor.focus("T0")
    editor.press("ArrowRight")  # its answer tells that there is something new
    tree.made()
    editor.focus("T1")
    editor.press("ArrowRight")
    expect(editor.row("C1.199")).to_be_attached()
    tree.arrive()
    expect(editor.shown("Theirs")).to_be_attached()
    expect(editor.item("T1")).to_have_attribute("aria-expanded", "true")
    expect(editor.row("C0.199")).to_be_attached()
    expect(editor.row("C1.199")).to_be_attached()


def until_described(editor, name, text):
    expect(editor.page.locator("#undo-button")).to_contain_text("Undo describe")
    editor.settled()
    assert editor.ontology.items().get(name=name).description == text


@pytest.mark.parametrize("is_before", [True, False], ids=["before the move is stored", "before the tree is shown"])
def test_whoever_goes_on_to_another_label_while_one_is_moved_stays_there(moving, editor, page, is_before):
    editor.select("State")
    answer = Late(page, "**/move/" if is_before else "**/tree/")
    editor.press("Alt+ArrowUp")
    answer.made()
    editor.row("Activity").locator(".name").click()
    expect(description(editor)).to_be_editable()
    description(editor).fill("Done by people")
    answer.arrive()
    editor.settled()
    expect(description(editor)).to_be_focused()
    editor.press("Tab")
    until_described(editor, "Activity", "Done by people")
    expect(editor.item("Activity")).to_have_attribute("aria-selected", "true")
    editor.in_step()
