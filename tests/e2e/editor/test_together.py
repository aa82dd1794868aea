"""Two people in one ontology: neither loses what they type, each sees what the other did."""

import random

import pytest
from playwright.sync_api import expect

from annotation_service.inputs import Refused
from tests import factories
from tests.e2e.editing import Editor
from tests.e2e.waiting import until
from tests.soak import SOAK, amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_refused_undo_tells_the_reason(editor, page, bob, problems):
    problems.expect("422 (Unprocessable")
    editor.focus("State")
    editor.press("F2")
    editor.type("Condition")
    expect(page.locator("#undo-button")).to_contain_text("Undo rename")
    editor.ontology.items().get(name="Condition").rename("Situation", by=bob)
    editor.press("Control+z")
    expect(page.locator(".toast.error")).to_contain_text("bob")
    expect(page.locator("#tree")).to_contain_text("Situation")


def test_keeping_their_name_shows_it_everywhere(editor, page, bob, problems):
    editor.row("State").locator(".name").click()
    expect(page.locator("#details h2")).to_contain_text("State")
    state = editor.ontology.items().get(name="State")
    problems.expect("409 (Conflict)")
    editor.press("F2")
    expect(editor.name_field).to_be_focused()
    state.rename("Theirs", by=bob)
    editor.type("Mine")
    page.get_by_role("button", name="Keep theirs").click()
    expect(page.locator(f"#row-{state.uid} .name")).to_have_text("Theirs")
    expect(page.locator("#details h2")).to_contain_text("Theirs")
    expect(page.locator(f"#i-{state.uid}")).to_be_focused()


def test_my_removal_of_a_term_wins_over_somebody_elses_addition(editor, page, bob, problems):
    editor.select("PhysicalObject")
    thing = editor.ontology.items().get(name="PhysicalObject")
    problems.expect("409 (Conflict)")
    thing.set_example_terms(["pump", "bearing", "valve"], by=bob)
    editor.button("Remove “pump”").click()
    expect(page.locator("#undo-button")).to_contain_text("Undo set example terms")
    assert thing.again().example_terms == ["bearing", "valve"]


@pytest.fixture
def other(editor, other_page, sign_in, sam) -> Editor:
    sign_in(other_page, sam)
    return Editor(other_page, editor.ontology).open()


def test_a_change_by_somebody_else_appears_and_what_is_typed_stays(editor, other, page):
    editor.select("State")
    editor.details.locator("textarea").fill("Half a sen")
    other.focus("Activity")
    other.press("F2")
    other.type("Action")
    expect(other.page.locator("#tree")).to_contain_text("Action")
    assert "Activity" in editor.names()
    editor.row("PhysicalObject").locator(".twisty").click()
    editor.details.locator("textarea").press("End")
    page.keyboard.type("tence")
    page.locator("#search").click()  # leaves the field, which saves it
    expect(page.locator("#undo-button")).to_contain_text("Undo describe")
    expect(page.locator("#tree")).to_contain_text("Action")
    expect(editor.details.locator("textarea")).to_have_value("Half a sentence")
    editor.stays()
    other.stays()


@pytest.mark.own_context
def test_somebody_who_only_looks_sees_what_others_change(page, sign_in, alice, bob):
    page.clock.install()
    sign_in(page, alice)
    editor = Editor(page, factories.ontology(owner=alice, name="Maintenance")).open()
    editor.select("State")
    description = editor.details.locator("textarea")
    description.fill("Half a sen")
    item = editor.ontology.items().get(name="Activity")
    for name, look in (
        ("Action", lambda: page.evaluate("window.dispatchEvent(new Event('focus'))")),
        ("Deed", lambda: page.clock.fast_forward(31_000)),
    ):
        item.again().rename(name, by=bob)
        look()
        expect(page.locator("#tree")).to_contain_text(name)
        expect(description).to_have_value("Half a sen")
        expect(description).to_be_focused()


def test_what_is_typed_in_a_dialog_and_in_a_new_row_stays_when_others_change_something(editor, page, bob):
    page.get_by_role("button", name="Paste list…").click()
    page.locator("#pasted").press_sequentially("Half a li")
    editor.ontology.items().get(name="Activity").rename("Action", by=bob)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#tree")).to_contain_text("Action")
    expect(page.locator("#pasted")).to_have_value("Half a li")
    expect(page.locator("#pasted")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("#add-top").click()
    editor.name_field.press_sequentially("Half a na")
    editor.ontology.items().get(name="State").rename("Condition", by=bob)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#tree")).to_contain_text("Condition")
    expect(editor.name_field).to_have_value("Half a na")
    expect(editor.name_field).to_be_focused()


def test_the_same_field_shows_both_values_and_a_choice(editor, other, problems):
    problems.expect("409 (Conflict)")
    conflict = editor.details.locator("[role=alert]")
    for name, choice, wanted in (("State", "Use mine", "Mine"), ("Activity", "Keep theirs", "Theirs")):
        for each in (editor, other):
            each.select(name)
        editor.details.locator("textarea").fill("Mine")
        other.details.locator("textarea").fill("Theirs")
        other.press("Control+Enter")
        until(lambda name=name: description(editor, name) == "Theirs", "theirs is not stored")
        editor.press("Control+Enter")
        expect(conflict).to_contain_text("Theirs")
        expect(editor.details.locator("textarea")).to_have_value("Mine")
        editor.tab_to(conflict.get_by_role("button", name=choice))
        editor.press("Enter")
        expect(conflict).to_have_count(0)
        expect(editor.details.locator("textarea")).to_have_value(wanted)
        assert description(editor, name) == wanted
    editor.stays()


def description(editor: Editor, name: str) -> str:
    return editor.ontology.items().get(name=name).description


def test_an_item_that_somebody_else_moves_takes_its_open_branch_along(moving, editor, other, page, sam):
    editor.select("Replace")
    item = editor.ontology.items().get(name="Activity")
    item.move(to=editor.ontology.items().get(name="State"), by=sam)
    editor.press("F2")
    editor.type("Swap")
    expect(page.locator(f"#kids-{editor.uid('State')} #i-{item.uid}")).to_be_attached()
    expect(editor.shown("Swap")).to_be_visible()
    expect(editor.item("Swap")).to_be_focused()
    editor.in_step()
    editor.stays()


def test_whatever_somebody_else_moved_adds_up(moving, editor, page, sam):
    """The page makes its tree like the newer one, whichever way the items went."""
    chance = random.Random(None if SOAK else 1)
    page.get_by_role("button", name="Expand all").click()
    for i in range(amount(12, 200)):
        for _ in range(chance.randint(1, 4)):
            items = [*editor.ontology.items(), None]
            item, place = chance.choice(items[:-1]), chance.choice(items)
            try:
                if chance.random() < 0.7:
                    siblings = (place or editor.ontology.root).children.all()
                    item.move(to=place, before=chance.choice([*siblings, None]), by=sam)
                else:
                    editor.ontology.add_item(f"New {i}", parent=place, by=sam)
            except Refused:
                pass  # below itself, or the same name twice
        page.evaluate("document.dispatchEvent(new CustomEvent('ontologyChanged', { detail: {} }))")
        editor.in_step()
    editor.stays()
