"""Each operation of the editor, with the mouse and with keys alone; undone and done again."""

from collections.abc import Callable
from itertools import zip_longest

import pytest
from playwright.sync_api import expect

from tests.e2e.editing import Editor, Stored

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

Rows = dict[str, Stored]
Operation = tuple[Callable[[Editor], None], Callable[[Editor], None], Callable[[Rows, Rows], bool]]

BRANCH = ["PhysicalObject", "SensingObject", "Thermostat", "DrivingObject"]
LISTS = {
    "indented": "Object\n  Pump\n  Valve\nState\n  Worn",
    "paths": "Object/Pump\nObject/Valve\nState/Worn",
    "JSON": """[{"name": "Object", "children": [{"name": "Pump"}, {"name": "Valve"}]},
                {"name": "State", "children": [{"name": "Worn"}]}]""",
}


def differ(before: Rows, after: Rows, field: str) -> list[str]:
    return [name for name, row in after.items() if getattr(row, field) != getattr(before[name], field)]


# --- Adding, renaming --------------------------------------------------------------------------------------------------


def add_by_mouse(button: str, beside: str = "") -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        if beside:
            editor.select(beside)
        editor.page.get_by_role("button", name=button).click()
        editor.type_one("Good")
        expect(editor.shown("Good")).to_be_visible()
        expect(editor.item("Good")).to_be_focused()

    return act


def add_by_keys(beside: str, *keys: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.go(beside)
        editor.press(*keys)
        editor.type_one("Good")
        expect(editor.shown("Good")).to_be_visible()
        expect(editor.item("Good")).to_be_focused()

    return act


def add_top_by_keys(editor: Editor) -> None:
    editor.tab_to(editor.page.locator("#add-top"))
    editor.press("Enter")
    editor.type_one("Good")
    expect(editor.shown("Good")).to_be_visible()
    expect(editor.item("Good")).to_be_focused()


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


def switch_by_mouse(editor: Editor) -> None:
    editor.select("PhysicalObject")
    editor.button("Switch off…").click()
    editor.dialog.get_by_role("button", name="Switch off").click()
    expect(editor.dialog).to_be_hidden()


def switch_by_keys(editor: Editor) -> None:
    editor.go("PhysicalObject")
    editor.press("Delete")
    expect(editor.dialog.get_by_role("button", name="Switch off")).to_be_focused()
    editor.press("Enter")
    expect(editor.dialog).to_be_hidden()
    expect(editor.item("PhysicalObject")).to_be_focused()


def switch_alone_by_mouse(editor: Editor) -> None:
    editor.select("PhysicalObject")
    editor.button("Switch off…").click()
    editor.dialog.get_by_text("Only this item").click()
    editor.dialog.get_by_role("button", name="Switch off").click()


def switch_alone_by_keys(editor: Editor) -> None:
    editor.go("PhysicalObject")
    editor.press("Delete")
    expect(editor.dialog.get_by_role("button", name="Switch off")).to_be_focused()
    editor.press("Shift+Tab", "Shift+Tab", "ArrowDown")
    expect(editor.dialog.get_by_role("radio", name="Only this item")).to_be_checked()
    editor.press("Enter")


# --- Many at once ------------------------------------------------------------------------------------------------------


def paste_by_mouse(text: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.page.locator(".tools").get_by_role("button", name="Paste list…").click()
        editor.page.locator("#pasted").fill(text)
        expect(editor.page.locator("#preview")).to_contain_text("4 items will be added, 1 item is there already")
        editor.dialog.get_by_role("button", name="Add").click()
        expect(editor.dialog).to_be_hidden()
        expect(editor.item("Worn")).to_be_focused()  # the first of them in the tree

    return act


def paste_by_keys(text: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.tab_to(editor.page.locator(".tools").get_by_role("button", name="Paste list…"))
        editor.press("Enter")
        expect(editor.page.locator("#pasted")).to_be_focused()
        editor.page.keyboard.insert_text(text)
        expect(editor.page.locator("#preview")).to_contain_text("4 items will be added, 1 item is there already")
        editor.tab_to(editor.dialog.get_by_role("button", name="Add"))
        editor.press("Enter")
        expect(editor.dialog).to_be_hidden()
        expect(editor.item("Worn")).to_be_focused()  # the first of them in the tree

    return act


def paste_below_by_mouse(editor: Editor) -> None:
    editor.select("State")
    editor.button("Paste list…").click()
    editor.page.locator("#pasted").fill("Worn")
    expect(editor.page.locator("#preview")).to_contain_text("1 item will be added")
    editor.dialog.get_by_role("button", name="Add").click()


def paste_below_by_keys(editor: Editor) -> None:
    editor.go("State")
    editor.tab_to(editor.button("Paste list…"))
    editor.press("Enter")
    expect(editor.page.locator("#pasted")).to_be_focused()
    editor.page.keyboard.insert_text("Worn")
    expect(editor.page.locator("#preview")).to_contain_text("1 item will be added")
    editor.tab_to(editor.dialog.get_by_role("button", name="Add"))
    editor.press("Enter")


def selected(editor: Editor, count: int) -> None:
    expect(editor.page.locator("#selected-count")).to_have_text(f"{count} selected")


def switch_several_by_mouse(editor: Editor) -> None:
    editor.select("State")
    editor.row("Replace").locator(".name").click(modifiers=["ControlOrMeta"])
    selected(editor, 2)
    expect(editor.details.locator("h2")).to_have_text("2 items selected")
    editor.button("Switch off").click()
    editor.dialog.get_by_role("button", name="Switch off").click()


def switch_several_by_keys(editor: Editor) -> None:
    editor.go("State")
    editor.press("Control+ArrowUp", "Control+Space")
    selected(editor, 2)
    expect(editor.details.locator("h2")).to_have_text("2 items selected")
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


def recolor_branch_by_mouse(editor: Editor) -> None:
    editor.select("PhysicalObject")
    editor.button("Select branch").click()
    selected(editor, 4)
    editor.page.locator("#several input[type=color]").fill("#aa3355")


def recolor_branch_by_keys(editor: Editor) -> None:
    editor.go("PhysicalObject")
    editor.tab_to(editor.button("Select branch"))
    editor.press("Enter")
    selected(editor, 4)
    picker = editor.page.locator("#several input[type=color]")
    expect(picker).to_be_visible()
    editor.tab_to(picker)
    picker.fill("#aa3355")


# --- Moving ------------------------------------------------------------------------------------------------------------


def drag(editor: Editor) -> None:
    editor.row("State").drag_to(editor.row("Activity"))


def move_to_by_mouse(editor: Editor) -> None:
    editor.select("State")
    editor.button("Move to…").click()
    editor.page.locator("#place").fill("sens")
    expect(editor.page.locator("#places button")).to_have_count(1)
    editor.page.locator("#places button").click()
    expect(editor.dialog).to_be_hidden()


def move_to_by_keys(editor: Editor) -> None:
    editor.go("State")
    editor.tab_to(editor.button("Move to…"))
    editor.press("Enter")
    expect(editor.page.locator("#place")).to_be_focused()
    editor.page.keyboard.type("sens")
    expect(editor.page.locator("#places button")).to_have_count(1)
    editor.settled()
    editor.press("Tab", "Enter")
    expect(editor.dialog).to_be_hidden()
    expect(editor.item("State")).to_be_focused()


def drag_before(editor: Editor) -> None:
    editor.row("State").drag_to(editor.row("Activity"), target_position={"x": 80, "y": 3})


def alt(key: str) -> Callable[[Editor], None]:
    def act(editor: Editor) -> None:
        editor.go("State")
        editor.press(f"Alt+{key}")

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
    "add a child with Insert": (
        add_by_mouse("+ Child", "Replace"),
        add_by_keys("Replace", "Insert"),
        new_below("Good", "Replace", 3),
    ),
    "add a sibling": (
        add_by_mouse("+ Sibling", "Replace"),
        add_by_keys("Replace", "Control+Shift+Enter"),
        new_below("Good", "Replace", 2),
    ),
    "add at the top": (add_by_mouse("+ Top-level item"), add_top_by_keys, new_below("Good", "State", 1)),
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
    "switch a branch off": (switch_by_mouse, switch_by_keys, changes("active", *BRANCH)),
    "switch one item off": (switch_alone_by_mouse, switch_alone_by_keys, changes("active", "PhysicalObject")),
    **{
        f"paste a list ({kind})": (
            paste_by_mouse(text),
            paste_by_keys(text),
            lambda before, after: (
                [name for name in after if name not in before] == ["Worn", "Object", "Pump", "Valve"]
                and [level(after, name) for name in ("Worn", "Object", "Pump", "Valve")] == [2, 1, 2, 2]
            ),
        )
        for kind, text in LISTS.items()
    },
    "paste below an item": (paste_below_by_mouse, paste_below_by_keys, new_below("Worn", "State", 2)),
    "switch several off": (switch_several_by_mouse, switch_several_by_keys, changes("active", "Replace", "State")),
    "recolour several": (recolor_several_by_mouse, recolor_several_by_keys, changes("color", *BRANCH[1:])),
    "recolour a selected branch": (recolor_branch_by_mouse, recolor_branch_by_keys, changes("color", *BRANCH)),
    "move into an item": (drag, alt("ArrowRight"), lambda before, after: level(after, "State") == 2),
    "move to a place that is searched": (
        move_to_by_mouse,
        move_to_by_keys,
        lambda before, after: level(after, "State") == 3,
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
    """Six in one page: each is taken back, and what was opened or selected for it is nobody's hindrance."""
    for name in names:
        by_mouse, by_keys, check = OPERATIONS[name]
        before = editor.stored()
        for act, steps in [(by_mouse, ["#undo-button", "#redo-button", "#undo-button"]), (by_keys, ["Control+z"])]:
            act(editor)
            after = editor.changed(before)
            changed = [(old, new) for old, new in zip_longest(before, after) if old != new]
            assert check({row.name: row for row in before}, {row.name: row for row in after}), (name, changed)
            for step in steps:
                now = editor.stored()
                editor.page.locator(step).click() if step.startswith("#") else editor.press(step)
                editor.changed(now)
                assert editor.stored() == (after if now == before else before), name
        editor.press("Escape")
    editor.stays()
