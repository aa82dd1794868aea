"""Reading a tree: search, branches, levels, and the keys of a tree."""

import re

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation
from tests import factories
from tests.e2e.editing import Editor, wide

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_search_shows_matches_in_their_branches_and_steps_through_them(editor, page):
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("ing")
    expect(page.locator("#matches")).to_have_text("3 matches")  # two names, and an example term of the item above them
    assert editor.names() == ["PhysicalObject", "SensingObject", "DrivingObject"]
    expect(editor.row("SensingObject").locator("mark")).to_have_text("ing")
    expect(editor.row("PhysicalObject").locator(".note mark")).to_have_text("ing")
    editor.press("Enter")  # to a name first
    expect(page.locator("#matches")).to_have_text("2 of 3 matches")
    expect(page.locator("#details h2")).to_contain_text("SensingObject")
    editor.press("Enter", "Shift+Enter")
    expect(page.locator("#matches")).to_have_text("2 of 3 matches")
    editor.press("Escape")
    expect(page.locator("#search")).to_have_value("")
    expect(editor.item("SensingObject")).to_be_focused()
    assert "Activity" in editor.names() and not page.locator("#tree mark").count()
    editor.stays()


def test_a_search_without_matches_offers_to_add_it(editor, page):
    nothing = page.locator("#nothing-found")
    page.locator("#search").fill("Pumpy")
    expect(page.locator("#matches")).to_have_text("Nothing found")
    expect(nothing).to_contain_text("Nothing found for “Pumpy”")
    expect(page.get_by_text("No items yet")).to_be_hidden()
    nothing.get_by_role("button", name="Clear").click()
    expect(nothing).to_be_hidden()
    expect(editor.row("State")).to_be_visible()
    editor.select("SensingObject")
    page.locator("#search").fill("Pumpy")
    nothing.get_by_role("button", name="Add it as a label below “SensingObject”").click()
    expect(editor.name_field).to_have_value("Pumpy")
    editor.press("Enter", "Escape")
    expect(editor.shown("Pumpy")).to_be_visible()
    assert factories.item(editor.ontology, "Pumpy").parent.name == "SensingObject"
    editor.stays()


def test_with_nothing_selected_the_details_are_an_overview_that_leads_to_filters(editor, page):
    overview = page.locator("#details-none")
    expect(overview.locator("h2")).to_have_text("Overview")
    overview.get_by_role("link", name="Without description").click()
    expect(page.locator("#matches")).to_have_text("6 matches")
    assert page.url.endswith("?only=undescribed")
    overview.get_by_role("link", name="Level 2").click()
    expect(page.locator("#filters")).to_have_text("Level 2 ×")
    expect(page.locator("#matches")).to_have_text("3 matches")
    page.locator("#search").fill("driv")
    expect(page.locator("#matches")).to_have_text("1 match")
    page.reload()
    expect(page.locator("#matches")).to_have_text("1 match")
    assert editor.names() == ["PhysicalObject", "DrivingObject"]
    page.locator("#search").fill("")
    expect(page.locator("#matches")).to_have_text("3 matches")
    page.locator("#filters button").click()
    expect(editor.row("State")).to_be_visible()
    assert "?" not in page.url
    editor.select("State")
    editor.press("Escape")
    expect(overview.locator("h2")).to_have_text("Overview")
    expect(page.locator("#tree [aria-selected]")).to_have_count(0)
    editor.select("Activity")
    editor.details.get_by_role("button", name="Back to the overview").click()
    expect(overview.locator("h2")).to_have_text("Overview")
    assert "item=" not in page.url


def test_what_is_added_during_a_search_is_shown(editor, page):
    page.locator("#search").fill("phys")
    expect(page.locator("#matches")).to_have_text("1 match")
    editor.row("PhysicalObject").click(button="right")
    page.get_by_role("menuitem", name="Add an item below").click()
    editor.type("Pump")
    page.keyboard.type("Physics")
    editor.press("Enter", "Escape")
    expect(page.locator("#matches")).to_have_text("2 of 2 matches · 1 new, not among them")
    expect(editor.item("Physics")).to_be_focused()
    assert editor.names() == ["PhysicalObject", "Pump", "Physics"]
    page.locator("#search").fill("physi")
    expect(page.locator("#tree mark").first).to_have_text("Physi")
    assert editor.names() == ["PhysicalObject", "Pump", "Physics"]
    page.locator("#search").press("Escape")
    expect(editor.row("State")).to_be_visible()
    expect(editor.row("Pump")).to_be_visible()


def test_open_branches_and_scroll_survive_a_reload(edit, page):
    editor = edit(wide(10, 60))
    editor.focus("T3")
    editor.press("ArrowRight")
    expect(editor.row("C3.59")).to_be_attached()
    editor.row("C3.40").scroll_into_view_if_needed()
    top = page.evaluate("scrollY")
    assert top > 0
    page.reload()
    expect(editor.row("C3.59")).to_be_attached()
    page.wait_for_function("(top) => Math.abs(scrollY - top) < 3", arg=top)
    assert not page.locator(f"#kids-{editor.uid('T4')}").count()


def test_a_branch_with_closed_ones_is_selected_after_one_request(edit, page, problems):
    editor = edit([{"name": "All", "children": wide(10, 60)}])
    asked = []

    def answer(route):
        asked.append(route.request.url)
        route.fulfill(status=500) if len(asked) == 1 else route.fallback()

    editor.select("All")
    page.route(re.compile(r"/items/(\w+/children/|\?levels=.*)$"), answer)
    problems.expect("500 (Internal Server Error)")
    editor.button("Select branch").click()
    expect(page.locator(".toast.error")).to_contain_text("could not be fetched")
    editor.settled()
    expect(page.locator("#selection")).to_be_hidden()
    assert len(asked) == 1
    editor.button("Select branch").click()
    expect(page.locator("#selected-count")).to_have_text("611 selected")
    expect(editor.row("C9.59")).to_be_visible()
    expect(editor.row("All")).to_have_count(1)
    assert len(asked) == 2


def test_one_branch_alone_can_be_shown(editor, page):
    editor.go("PhysicalObject")
    editor.tab_to(editor.button("Only this branch"))
    editor.press("Enter")
    expect(page.locator("#branch")).to_contain_text("PhysicalObject")
    expect(editor.row("Activity")).to_have_count(0)
    expect(editor.item("PhysicalObject")).to_be_focused()
    editor.press("Control+Enter")
    editor.type_one("Pump")
    expect(editor.item("PhysicalObject").locator(".count").first).to_have_text("4")
    editor.stays()
    page.reload()
    page.evaluate("window.sameDocument = true")
    assert editor.names() == ["PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Pump"]
    editor.tab_to(page.get_by_role("button", name="All items"))
    editor.press("Enter")
    expect(editor.row("Activity")).to_be_visible()
    assert "branch=" not in page.url
    editor.stays()


def test_several_items_are_selected_by_keys(editor, page):
    editor.focus("PhysicalObject")
    editor.press("Control+a")
    expect(page.locator("#selected-count")).to_have_text("3 selected")
    editor.press("Escape")
    expect(page.locator("#selection")).to_be_hidden()
    editor.press("Shift+ArrowDown", "Shift+ArrowDown")
    expect(page.locator("#selected-count")).to_have_text("3 selected")
    editor.press("Control+ArrowDown", "Control+Space")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#selection")).to_be_hidden()


def test_branches_open_and_close_one_by_one_all_and_to_a_level(editor, page):
    everything = ["PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Activity", "Replace", "State"]
    tops = ["PhysicalObject", "Activity", "State"]
    page.get_by_role("button", name="Collapse all").click()
    assert editor.visible_names() == tops
    editor.row("Activity").locator(".twisty").click()
    assert editor.visible_names() == ["PhysicalObject", "Activity", "Replace", "State"]
    page.get_by_text("Levels", exact=True).click()
    page.get_by_role("button", name="Show 2 levels").click()
    assert editor.visible_names() == [name for name in everything if name != "Thermostat"]
    page.get_by_role("button", name="Expand all").click()
    assert editor.visible_names() == everything
    editor.tab_to(page.get_by_role("button", name="Collapse all"), "Tab")
    editor.press("Enter")
    assert editor.visible_names() == tops
    editor.stays()


def test_the_keys_of_a_tree(editor, page):
    page.get_by_role("button", name="Collapse all").click()
    editor.tab_to(page.locator("#tree li[tabindex='0']"))
    for key, focused in [
        ("End", "State"),
        ("Home", "PhysicalObject"),
        ("ArrowRight", "PhysicalObject"),  # opens
        ("ArrowRight", "SensingObject"),
        ("ArrowDown", "DrivingObject"),
        ("ArrowDown", "Activity"),
        ("ArrowUp", "DrivingObject"),
        ("ArrowLeft", "PhysicalObject"),
        ("ArrowLeft", "PhysicalObject"),  # closes
        ("ArrowDown", "Activity"),
        ("*", "Activity"),
        ("ArrowDown", "Replace"),
        ("s", "State"),
    ]:
        editor.press(key)
        expect(editor.item(focused)).to_be_focused()
    assert editor.visible_names() == [name for name in editor.names() if name != "Thermostat"]
    expect(editor.details.locator("h2:visible")).to_contain_text("State")
    page.wait_for_timeout(750)  # what is typed after a pause is another name
    page.keyboard.type("dr")
    expect(editor.item("DrivingObject")).to_be_focused()
    expect(editor.item("DrivingObject")).to_have_attribute("aria-selected", "true")
    expect(editor.details.locator("h2:visible")).to_contain_text("DrivingObject")
    assert page.locator("#tree li[tabindex='0']").count() == 1
    editor.press("?")
    expect(page.locator("#keys")).to_be_visible()
    editor.press("Escape")
    expect(editor.item("DrivingObject")).to_be_focused()


def test_branches_of_a_large_tree_are_fetched_when_they_are_opened(edit, page):
    editor = edit(wide(4, 200))
    assert editor.names() == ["T0", "T1", "T2", "T3"]
    editor.select("T1")
    editor.details.locator(".palette button").nth(6).click()  # with what is not on the screen yet
    expect(page.locator(".toast")).to_contain_text("201 items")
    color = f"--c:{editor.ontology.items().get(name='C1.0').color}"
    editor.focus("T1")
    editor.press("ArrowRight")
    expect(editor.row("C1.0").locator(".swatch")).to_have_attribute("style", color)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(editor.row("C1.0").locator(".swatch")).not_to_have_attribute("style", color)
    editor.focus("T0")
    editor.press("*")
    for i in range(4):
        expect(editor.item(f"T{i}")).to_have_attribute("aria-expanded", "true")
        expect(editor.row(f"C{i}.199")).to_be_attached()
    editor.press("Delete")  # a branch that is not on the screen as a whole is switched, too
    expect(editor.dialog).to_be_visible()
    editor.press("Enter")
    expect(editor.row("C0.199")).to_contain_text("off")
    editor.stays()


# --- What stands beside the names ------------------------------------------------------------------------------------------


@pytest.fixture
def marked(page, sign_in, alice, carol) -> Editor:
    """A copy in a project: marks with “PhysicalObject”, “Thermostat” twice, and “Replace”, which is off with its branch."""
    sign_in(page, alice)
    project = factories.project(by=alice, annotators=[carol])
    labels = {item.name: item for item in project.entity_ontology.items()}
    annotation = Annotation.objects.create(item=project.dataset.items()[0], annotator=carol)
    for i, name in enumerate(["PhysicalObject", "Thermostat", "Thermostat", "Replace"]):
        annotation.entity_set.create(uid=f"mark{i}", label=labels[name], start=i, end=i)
    labels["Activity"].switch(False, by=alice)
    return Editor(page, project.entity_ontology).open()


def test_a_row_tells_the_marks_of_its_branch_open_or_closed(marked, page):
    def usage():
        return {name: marked.row(name).locator(".usage").text_content() for name in ("PhysicalObject", "SensingObject")}

    expect(marked.row("Thermostat").locator(".usage")).to_have_text("2")
    assert usage() == {"PhysicalObject": "3", "SensingObject": "2"}
    page.get_by_role("button", name="Collapse all").click()
    expect(marked.row("Thermostat")).to_be_hidden()
    assert usage() == {"PhysicalObject": "3", "SensingObject": "2"}
    expect(marked.row("Activity").locator(".usage")).to_have_text("1 kept")
    expect(marked.row("State").locator(".usage")).to_have_count(0)
    told = "3 marks, 1 of them with this label itself"
    expect(marked.row("PhysicalObject").locator(".usage > span")).to_have_attribute("title", told)
    expect(marked.item("PhysicalObject")).to_have_accessible_description(told)
    expect(page.locator("#tree-head")).to_contain_text("Marks")
    page.set_viewport_size({"width": 360, "height": 700})
    expect(marked.row("PhysicalObject").locator(".gloss")).to_be_hidden()
    right = marked.row("PhysicalObject").locator(".usage").evaluate("e => e.getBoundingClientRect().right")
    assert 320 < right <= 360 >= page.evaluate("document.documentElement.scrollWidth")


def test_a_blueprint_tells_its_own_datasets_from_projects(marked, page, alice):
    blueprint = marked.ontology.copied_from
    dataset = factories.dataset(owner=alice)
    label = factories.item(blueprint, "State")
    factories.annotation(dataset.items()[0]).entity_set.create(label=label, uid="a", start=0, end=0)
    editor = Editor(page, blueprint).open()
    cells = "cells => cells.map((cell) => cell.textContent)"
    expect(editor.row("State").locator(".usage")).to_have_text("1")
    assert editor.row("State").locator(".usage > span").evaluate_all(cells) == ["1", ""]
    assert editor.row("PhysicalObject").locator(".usage > span").evaluate_all(cells) == ["", "3"]
    expect(editor.item("State")).to_have_accessible_description("in datasets 1 mark; in projects 0 marks")


def test_the_grey_text_follows_what_is_edited(editor, page):
    page.set_viewport_size({"width": 1920, "height": 800})
    expect(editor.row("PhysicalObject").locator(".gloss")).to_have_text("Things that can be touched.")
    editor.select("State")
    expect(editor.row("State").locator(".gloss")).to_have_count(0)
    terms = editor.details.locator("input[name=add]")
    terms.fill("broken, worn")
    terms.press("Enter")
    expect(editor.row("State").locator(".gloss")).to_have_text("broken, worn")
    editor.details.locator("textarea").fill("How it is.\nAnd more.")
    editor.details.locator("textarea").press("Control+Enter")
    expect(editor.row("State").locator(".gloss")).to_have_text("How it is.")
    editor.stays()


def test_the_bar_above_the_tree_names_what_is_scrolled_away(edit, page):
    deep = {"name": "Middle", "children": [{"name": f"Leaf {n}"} for n in range(100)]}
    editor, path = edit([{"name": "Top", "children": [deep]}, {"name": "Other"}]), page.locator("#path")
    page.get_by_role("button", name="Expand all").click()
    expect(editor.row("Leaf 99")).to_be_attached()
    expect(path).to_be_hidden()
    figures = page.locator("#tree-head .usage")
    place = figures.bounding_box()["x"]
    editor.row("Leaf 60").evaluate("row => row.scrollIntoView({ block: 'start' })")
    expect(path.get_by_role("button")).to_have_text(["Top", "Middle"])
    expect(page.locator("#tree-head")).to_be_in_viewport()
    assert figures.bounding_box()["x"] == place
    path.get_by_role("button", name="Middle").click()
    expect(editor.item("Middle")).to_be_focused()
    expect(editor.row("Middle")).to_be_in_viewport(ratio=1)
    expect(path.get_by_role("button")).to_have_text(["Top"])
    above = (
        "row => row.getBoundingClientRect().top - document.querySelector('#tree-head').getBoundingClientRect().bottom"
    )
    assert editor.row("Middle").evaluate(above) >= 0  # not under the bar
    editor.stays()


# --- Filters ---------------------------------------------------------------------------------------------------------------


def choose(page, name):
    page.locator("#filter-menu summary").click()
    page.locator("#filter-menu").get_by_role("button", name=name).click()


def test_filters_add_up_are_seen_and_can_be_shared(editor, page, alice):
    factories.item(editor.ontology, "Activity").switch(False, by=alice)
    choose(page, "Switched off")
    expect(page.locator("#matches")).to_have_text("2 matches")
    choose(page, "Without description")
    expect(page.locator("#filters button")).to_have_text(["Switched off ×", "Without description ×"])
    choose(page, "Changed in the last 7 days")
    choose(page, "Changed today")  # instead
    expect(page.locator("#filters button")).to_have_count(3)
    page.locator("#search").fill("repl")
    expect(page.locator("#matches")).to_have_text("1 match")
    shared = page.url
    page.locator("#filters").get_by_role("button", name="Changed today").click()
    expect(page.locator("#filters button")).to_have_text(["Switched off ×", "Without description ×"])
    expect(page.locator("#filters button").first).to_be_focused()
    page.locator("#filter-menu summary").click()
    expect(page.locator("[data-filter=off]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-filter=since-today]")).to_have_attribute("aria-pressed", "false")
    editor.stays()
    page.goto(shared)
    expect(page.locator("#filters button")).to_have_text(["Switched off ×", "Without description ×", "Changed today ×"])
    expect(page.locator("#matches")).to_have_text("1 match")
    assert editor.names() == ["Activity", "Replace"]


def test_a_filter_without_labels_says_which_and_is_cleared(editor, page):
    choose(page, "Switched off")
    nothing = page.locator("#nothing-found")
    expect(nothing).to_contain_text("No label with the filter “Switched off”")
    expect(nothing.get_by_role("button", name="Add it")).to_be_hidden()
    page.locator("#search").fill("pump")
    expect(nothing).to_contain_text("Nothing found for “pump” with the filter “Switched off”")
    nothing.get_by_role("button", name="Clear").click()
    expect(editor.row("State")).to_be_visible()
    expect(page.locator("#filters button")).to_have_count(0)
    assert "only=" not in page.url


def test_what_is_added_behind_a_filter_is_shown_and_told(editor, page, alice):
    factories.item(editor.ontology, "Activity").switch(False, by=alice)
    choose(page, "Switched off")
    expect(page.locator("#matches")).to_have_text("2 matches")
    page.get_by_role("button", name="+ Top-level item").click()
    editor.type_one("Pump")
    expect(page.locator("#matches")).to_contain_text("2 matches · 1 new, not among them")
    assert editor.names() == ["Activity", "Replace", "Pump"]
    page.locator("#filters button").click()
    expect(editor.row("State")).to_be_visible()
    expect(editor.row("Pump")).to_be_visible()


def test_what_was_changed_since_the_last_visit(editor, page, alice):
    expect(page.locator("#since-visit")).to_be_hidden()
    page.goto("/")
    left = "Object.entries(localStorage).find(([key]) => key.startsWith('left:'))[0]"
    page.evaluate(f"localStorage.setItem({left}, '2020-01-01T00:00Z')")
    tab = page.context.new_page()
    tab.goto(f"/ontologies/{editor.ontology.pk}/")
    choose(tab, "Changed since my last visit")
    expect(tab.locator("#filters button")).to_have_text(["Changed since 1 Jan 2020, 00:00 UTC ×"])
    expect(tab.locator("#matches")).to_have_text("7 matches")
    tab.close()
