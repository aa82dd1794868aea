"""Ways to a label that save keys: numbers beyond nine, a label for every selection, shortcuts, what these words had before."""

import pytest
from playwright.sync_api import expect

from projects.models import Membership
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.e2e.test_axe import serious
from tests.e2e.test_picker import Picker
from tests.e2e.test_workspace import TEXT

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Picker:
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    constrain(project, entities=[{"domain": "PhysicalObject", "excludes": ["Activity"]}], relations=None)
    sign_in(page, carol)
    desk = Picker(page, project, carol)
    desk.open()
    return desk


def test_a_sticky_label_marks_every_selection_until_escape(desk, page):
    chip = page.locator("#sticky")
    page.keyboard.type("act")  # with nothing selected
    desk.press("Enter")
    expect(chip).to_contain_text("Marking with Activity")
    desk.token(0).click()
    desk.drag(1, 2)
    desk.press("ArrowRight", "Enter")
    assert desk.stored() == [(0, 0, "Activity"), (1, 2, "Activity"), (3, 3, "Activity")]
    desk.token(4).click(click_count=2)  # the second click finds the mark that the first one made
    desk.press("Escape", "ArrowRight", "s")  # letters look for another label all the same
    desk.press("Escape")
    expect(chip).to_be_hidden()
    desk.drag(5, 6)
    desk.page.keyboard.type("phys")
    desk.press("Control+Enter")  # marked, and every selection to come
    expect(chip).to_contain_text("Marking with PhysicalObject")
    assert (5, 6, "PhysicalObject") in desk.stored()
    desk.token(0).dblclick()
    expect(page.locator(".toast").first).to_contain_text("“PhysicalObject” cannot share words with “Activity”")
    expect(page.locator(".word-box")).to_have_count(1)
    desk.press("PageDown")
    desk.ready(2)
    expect(chip).to_be_visible()
    assert not serious(page)
    desk.token(1).click()
    assert desk.stored(2) == [(1, 1, "PhysicalObject")]
    chip.click()
    expect(chip).to_be_hidden()
    row = page.locator("#label-tree .row", has=page.get_by_role("button", name="State", exact=True))
    row.hover()
    row.get_by_role("button", name="Pin State").click()
    expect(chip).to_contain_text("Marking with State")
    factories.item(desk.project.entity_ontology, "State").switch(False, by=desk.project.created_by)
    desk.open(2)
    expect(page.locator(".toast")).to_contain_text("“State” was switched off")
    expect(chip).to_be_hidden()


def test_shortcuts_give_labels_to_words_marks_and_relations(desk, page):
    desk.press("ArrowRight", "s", "t", "Alt+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 is now State.")
    expect(page.locator(".option .shortcut")).to_have_text("Alt 3")
    assert not serious(page)
    desk.press("Escape", "Alt+3", "ArrowRight", "Alt+3")
    assert desk.stored() == [(0, 0, "State"), (1, 1, "State")]
    desk.press("ArrowRight", "a", "c", "t", "Alt+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 is now Activity. It was State.")
    desk.press("Escape")
    expect(page.locator("#label-tree .shortcut:visible")).to_have_text("Alt 3")
    desk.press("Escape", "Tab", "Alt+3")  # the mark that is selected
    assert desk.stored() == [(0, 0, "Activity"), (1, 1, "State")]
    desk.open()
    desk.press("Tab", "r", "Tab", "Enter")
    desk.pick("haspart")
    desk.press("Enter")
    page.keyboard.type("patient")
    desk.press("Alt+0")
    expect(page.locator(".toast").first).to_contain_text("Alt+0 is now hasPatient.")
    desk.press("Escape", "Alt+0")
    assert desk.related() == [(0, "hasPatient", 1)]
    desk.press("Escape", "Home", "Alt+5")
    expect(page.locator(".toast").first).to_contain_text("Alt+5 has no label yet")
    desk.press("Enter")
    page.keyboard.type("act")
    desk.press("Alt+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 has no label any more.")
    shortcuts = Membership.objects.get(project=desk.project, user=desk.user).shortcuts
    assert shortcuts["entity"] == {}
    assert list(shortcuts["relation"]) == ["0"]


def test_a_shortcut_that_is_not_kept_is_taken_back(desk, page, problems):
    problems.expect("ERR_FAILED")
    page.route("**/shortcuts/", lambda route: route.abort())
    desk.press("ArrowRight", "s", "t", "Alt+3")
    expect(page.locator(".toast.error")).to_contain_text("not kept: the server cannot be reached")
    desk.press("Escape", "ArrowRight", "Alt+3")
    expect(page.locator(".toast").first).to_contain_text("Alt+3 has no label yet")
    assert desk.names() == []
