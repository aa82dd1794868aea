"""Each operation of the editor, with the mouse and with keys alone, and undone by both. That each can be done again, too, is
tested without a browser."""

from collections.abc import Callable
from itertools import zip_longest

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.editing import Editor, Stored

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

Rows = dict[str, Stored]
Operation = tuple[Callable[[Editor], None], Callable[[Editor], None], Callable[[Rows, Rows], bool]]

BRANCH = ["PhysicalObject", "SensingObject", "Thermostat", "DrivingObject"]
LIST = "Object\n  Pump\n  Valve\nState\n  Worn"


def differ(before: Rows, after: Rows, field: str) -> list[str]:
    return [name for name, row in after.items() if getattr(row, field) != getattr(before[name], field)]


# --- Adding, renaming --------------------------------------------------------------------------------------------------


def type_good(editor: Editor) -> None:
    editor.type_one("Good")
    expect(editor.shown("Good")).to_be_visible()
    expect(editor.item("Good")).to_be_focused()


def add_by_mouse(button: str, beside: str = "") -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        if beside:
            editor.select(beside)
        editor.page.get_by_role("button", name=button).click()
        type_good(editor)

    return act


def add_by_keys(beside: str, key: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.go(beside) if beside else editor.tab_to(editor.page.locator("#add-top"))
        editor.press(key)
        type_good(editor)

    return act


def rename_by_mouse(editor: Editor) -> None:
    editor.row("Thermostat").locator(".name").dblclick()
    editor.type("Sensor")


def rename_by_keys(key: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        uid = editor.uid("Thermostat")
        editor.go("Thermostat")
        editor.press("ArrowUp", "ArrowDown", key)  # Enter renames only what was not reached by typing
        editor.type("Sensor")
        expect(editor.page.locator(f"#i-{uid}")).to_be_focused()

    return act


# --- Details -----------------------------------------------------------------------------------------------------------


def describe_by_mouse(editor: Editor) -> None:
    editor.select("State")
    editor.details.locator("textarea").click()
    editor.page.keyboard.type("How a thing is.")
    editor.page.locator("#search").click()  # leaving the field saves it


def describe_by_keys(editor: Editor) -> None:
    editor.go("State")
    editor.tab_to(editor.details.locator("textarea"))
    editor.page.keyboard.type("How a thing is.")
    editor.press("Control+Enter")
    expect(editor.item("State")).to_be_focused()


def add_term_by_mouse(editor: Editor) -> None:
    editor.select("PhysicalObject")
    editor.details.locator("input[name=add]").click()
    editor.page.keyboard.type("valve")
    editor.page.locator("#search").click()


def add_term_by_keys(editor: Editor) -> None:
    editor.go("PhysicalObject")
    editor.tab_to(editor.details.locator("input[name=add]"))
    editor.page.keyboard.type("valve")
    editor.press("Enter")
    expect(editor.details.locator("input[name=add]")).to_be_focused()
    expect(editor.details.locator(".chips-input > span")).to_have_count(3)
    editor.press("Escape")
    expect(editor.item("PhysicalObject")).to_be_focused()


def drop_term_by_mouse(editor: Editor) -> None:
    editor.select("PhysicalObject")
    editor.button("Remove “pump”").click()


def drop_term_by_keys(editor: Editor) -> None:
    editor.go("PhysicalObject")
    editor.tab_to(editor.button("Remove “pump”"))
    editor.press("Enter")
    expect(editor.details.locator(".chips-input > span")).to_have_count(1)
    expect(editor.details.locator("input[name=add]")).to_be_focused()
    editor.press("Escape")


# --- Colours and switches ------------------------------------------------------------------------------------------------


def color_by_mouse(name: str, *, branch: bool = False, free: bool = False) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.select(name)
        if name == "PhysicalObject":
            editor.details.locator("input[name=branch]").set_checked(branch)
        if free:
            editor.details.locator("input[type=color]").fill("#aa3355")  # the browser's own window cannot be tested
        else:
            editor.details.locator(".palette button").nth(6).click()

    return act


def color_by_keys(name: str, *, branch: bool = False, free: bool = False) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.go(name)
        field = editor.details.locator("input[name=branch]")
        if name == "PhysicalObject" and not branch:
            editor.tab_to(field)
            editor.press("Space")
        place = (
            editor.details.locator("input[type=color]") if free else editor.details.locator(".palette button").nth(6)
        )
        editor.tab_to(place, "Shift+Tab" if name == "PhysicalObject" and not branch else "Tab")
        place.fill("#aa3355") if free else editor.press("Enter")
        expect(editor.page.locator("#undo-button")).to_contain_text("recolour")
        editor.settled()
        if not free:
            expect(place).to_be_focused()

    return act


def switch_by_mouse() -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.select("PhysicalObject")
        editor.button("Switch off…").click()
        editor.dialog.get_by_role("button", name="Switch off").click()
        expect(editor.dialog).to_be_hidden()

    return act


def switch_by_keys() -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.go("PhysicalObject")
        editor.press("Delete")
        expect(editor.dialog.get_by_role("button", name="Switch off")).to_be_focused()
        editor.press("Enter")
        expect(editor.dialog).to_be_hidden()
        expect(editor.item("PhysicalObject")).to_be_focused()

    return act


# --- Many at once ------------------------------------------------------------------------------------------------------


def paste_button(editor: Editor, below: str) -> Locator:
    place = editor.details if below else editor.page.locator(".tools")
    return place.get_by_role("button", name="Paste list…")


def pasted(editor: Editor) -> None:
    expect(editor.dialog).to_be_hidden()
    expect(editor.item("Worn")).to_be_focused()  # the first of them in the tree


def paste_by_mouse(text: str, told: str, below: str = "") -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        if below:
            editor.select(below)
        paste_button(editor, below).click()
        editor.page.locator("#pasted").fill(text)
        expect(editor.page.locator("#preview")).to_contain_text(told)
        editor.dialog.get_by_role("button", name="Add").click()
        pasted(editor)

    return act


def paste_by_keys(text: str, told: str, below: str = "") -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        if below:
            editor.go(below)
        editor.tab_to(paste_button(editor, below))
        editor.press("Enter")
        expect(editor.page.locator("#pasted")).to_be_focused()
        editor.page.keyboard.insert_text(text)
        expect(editor.page.locator("#preview")).to_contain_text(told)
        editor.tab_to(editor.dialog.get_by_role("button", name="Add"))
        editor.press("Enter")
        pasted(editor)

    return act


def selected(editor: Editor, count: int) -> None:
    expect(editor.page.locator("#selected-count")).to_have_text(f"{count} selected")


def switch_several_by_mouse(editor: Editor) -> None:
    editor.select("State")
    editor.row("Replace").locator(".name").click(modifiers=["ControlOrMeta"])
    selected(editor, 2)
    expect(editor.details.locator("h2:visible")).to_have_text("2 items selected")
    editor.button("Switch off").click()
    editor.dialog.get_by_role("button", name="Switch off").click()


def switch_several_by_keys(editor: Editor) -> None:
    editor.go("State")
    editor.press("Control+ArrowUp", "Control+Space")
    selected(editor, 2)
    expect(editor.details.locator("h2:visible")).to_have_text("2 items selected")
    editor.tab_to(editor.button("Switch off"))
    editor.press("Enter")
    expect(editor.dialog.get_by_role("button", name="Switch off")).to_be_focused()
    editor.press("Enter")


def recolor_several_by_mouse(editor: Editor) -> None:
    editor.select("SensingObject")
    editor.row("DrivingObject").locator(".name").click(modifiers=["Shift"])
    selected(editor, 3)
    editor.page.locator("#several input[type=color]").fill("#aa3355")


def recolor_several_by_keys(editor: Editor) -> None:
    editor.go("SensingObject")
    editor.press("Shift+ArrowDown", "Shift+ArrowDown")
    selected(editor, 3)
    picker = editor.page.locator("#several input[type=color]")
    editor.tab_to(picker)
    picker.fill("#aa3355")


# --- Moving ------------------------------------------------------------------------------------------------------------


def drag(editor: Editor) -> None:
    editor.row("State").drag_to(editor.row("Activity"))


def move_to_by_mouse(editor: Editor) -> None:
    editor.select("State")
    editor.button("Move to…").click()
    editor.page.locator("#pick-search").fill("sens")
    expect(editor.page.locator("#choices button")).to_have_count(1)
    editor.page.locator("#choices button").click()
    expect(editor.dialog).to_be_hidden()


def move_to_by_keys(editor: Editor) -> None:
    editor.go("State")
    editor.tab_to(editor.button("Move to…"))
    editor.press("Enter")
    expect(editor.page.locator("#pick-search")).to_be_focused()
    editor.page.keyboard.type("sens")
    expect(editor.page.locator("#choices button")).to_have_count(1)
    editor.settled()
    editor.press("Tab", "Enter")
    expect(editor.dialog).to_be_hidden()
    expect(editor.item("State")).to_be_focused()


def choose_several(editor: Editor, *others: str) -> None:
    for name in others:
        editor.row(name).locator(".name").click(modifiers=["Control"])
    expect(editor.page.locator("#selected-count")).to_have_text(f"{len(others) + 1} selected")
    editor.settled()


def drag_several(editor: Editor) -> None:
    editor.select("SensingObject")
    choose_several(editor, "Thermostat", "State")
    editor.row("State").drag_to(editor.row("Activity"))
    expect(editor.page.locator("#toasts")).to_contain_text("2 labels were moved below “Activity”.")
    editor.settled()
    editor.press("Escape")


def move_several_by_keys(editor: Editor) -> None:
    editor.go("SensingObject")
    editor.press("Shift+ArrowDown", *["Control+ArrowDown"] * 4, "Control+Space")
    expect(editor.page.locator("#selected-count")).to_have_text("3 selected")
    editor.settled()
    editor.press("ContextMenu", "m", "m", "m", "Enter")
    expect(editor.page.locator("#pick-search")).to_be_focused()
    editor.page.keyboard.type("activ")
    editor.press("Enter")
    expect(editor.dialog).to_be_hidden()
    editor.settled()
    editor.press("Escape")


def drag_before(editor: Editor) -> None:
    editor.row("State").drag_to(editor.row("Activity"), target_position={"x": 80, "y": 3})


def alt(key: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.go("State")
        editor.press(f"Alt+{key}")
        editor.settled()
        expect(editor.item("State")).to_be_focused()

    return act


def names(rows: Rows) -> list[str]:
    return list(rows)


def level(rows: Rows, name: str) -> int:
    return rows[name].level if name in rows else 0


def new_below(name: str, parent: str, wanted_level: int) -> Callable[[Rows, Rows], bool]:
    """One item more, last below its parent, or at the end of the top level."""

    def check(before: Rows, after: Rows) -> bool:
        order = names(after)
        follows = not parent or parent in order[: order.index(name)]
        return len(after) == len(before) + 1 and level(after, name) == wanted_level and follows

    return check


def changes(field: str, *wanted: str) -> Callable[[Rows, Rows], bool]:
    return lambda before, after: differ(before, after, field) == list(wanted)


OPERATIONS: dict[str, Operation] = {
    "add a child": (
        add_by_mouse("+ Child", "State"),
        add_by_keys("State", "Control+Enter"),
        new_below("Good", "State", 2),
    ),
    "add a sibling": (
        add_by_mouse("+ Sibling", "Replace"),
        add_by_keys("Replace", "Control+Shift+Enter"),
        new_below("Good", "Replace", 2),
    ),
    "add at the top": (add_by_mouse("+ Top-level item"), add_by_keys("", "Enter"), new_below("Good", "State", 1)),
    "rename": (
        rename_by_mouse,
        rename_by_keys("F2"),
        lambda before, after: names(after) == [name.replace("Thermostat", "Sensor") for name in before],
    ),
    "describe": (describe_by_mouse, describe_by_keys, changes("description", "State")),
    "add a term": (add_term_by_mouse, add_term_by_keys, changes("example_terms", "PhysicalObject")),
    "remove a term": (drop_term_by_mouse, drop_term_by_keys, changes("example_terms", "PhysicalObject")),
    "colour of the palette": (color_by_mouse("State"), color_by_keys("State"), changes("color", "State")),
    "colour of one's own": (
        color_by_mouse("State", free=True),
        color_by_keys("State", free=True),
        lambda before, after: after["State"].color == "#AA3355" and differ(before, after, "color") == ["State"],
    ),
    "colour of only one item": (
        color_by_mouse("PhysicalObject"),
        color_by_keys("PhysicalObject"),
        changes("color", "PhysicalObject"),
    ),
    "colour of a branch": (
        color_by_mouse("PhysicalObject", branch=True),
        color_by_keys("PhysicalObject", branch=True),
        changes("color", *BRANCH),
    ),
    "switch a branch off": (switch_by_mouse(), switch_by_keys(), changes("active", *BRANCH)),
    "paste a list": (
        paste_by_mouse(LIST, "4 items will be added, 1 item is there already"),
        paste_by_keys(LIST, "4 items will be added, 1 item is there already"),
        lambda before, after: (
            [name for name in after if name not in before] == ["Worn", "Object", "Pump", "Valve"]
            and [level(after, name) for name in ("Worn", "Object", "Pump", "Valve")] == [2, 1, 2, 2]
        ),
    ),
    "paste below an item": (
        paste_by_mouse("Worn", "1 item will be added", below="State"),
        paste_by_keys("Worn", "1 item will be added", below="State"),
        new_below("Worn", "State", 2),
    ),
    "switch several off": (switch_several_by_mouse, switch_several_by_keys, changes("active", "Replace", "State")),
    "recolour several": (recolor_several_by_mouse, recolor_several_by_keys, changes("color", *BRANCH[1:])),
    "move into an item": (drag, alt("ArrowRight"), lambda before, after: level(after, "State") == 2),
    "move to a place that is searched": (
        move_to_by_mouse,
        move_to_by_keys,
        lambda before, after: level(after, "State") == 3,
    ),
    "move several": (
        drag_several,
        move_several_by_keys,
        lambda before, after: (
            names(after)
            == ["PhysicalObject", "DrivingObject", "Activity", "Replace", "SensingObject", "Thermostat", "State"]
        ),
    ),
    "move before a sibling": (
        drag_before,
        alt("ArrowUp"),
        lambda before, after: names(after) == [*BRANCH, "State", "Activity", "Replace"],
    ),
}


NAMES = list(OPERATIONS)


@pytest.mark.parametrize("names", [NAMES[n : n + 6] for n in range(0, len(NAMES), 6)], ids=lambda names: names[0])
def test_operations_by_mouse_and_by_keys_alone(moving, editor, names):
    """Six in one page: each is taken back, the last done again, and what was opened or selected for it is nobody’s hindrance."""
    before = editor.stored()
    for name in names:
        by_mouse, by_keys, check = OPERATIONS[name]
        for act, undo in [
            (by_mouse, editor.page.locator("#undo-button").click),
            (by_keys, lambda: editor.press("Control+z")),
        ]:
            act(editor)
            after = editor.changed(before)
            changed = [(old, new) for old, new in zip_longest(before, after) if old != new]
            assert check({row.name: row for row in before}, {row.name: row for row in after}), (name, changed)
            undo()
            assert editor.changed(after) == before, name
        editor.press("Escape")
    editor.page.locator("#redo-button").click()
    assert editor.changed(before) == after
    editor.stays()
