"""axe finds no serious or critical problem on the screens, in both themes."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests import factories
from tests.annotations.test_constraints import constrain
from tests.e2e.editing import Editor
from tests.e2e.waiting import settled
from tests.factories import item
from tests.resource_sets import make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

AXE = Axe()
# A fading colour has no contrast of its own.
STILL = "document.getAnimations().forEach((animation) => animation.finish())"


# Only colours differ between the themes.
RULES = {"light": {}, "dark": {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}}


SERIOUS = ("serious", "critical")


def serious(page: Page, impacts: tuple[str, ...] = SERIOUS) -> list[str]:
    settled(page)
    found = [(theme, violation) for theme in RULES for violation in violations(page, theme)]
    page.emulate_media(color_scheme="light")
    return [
        f"{theme}: {violation['impact']}: {violation['help']}: {node['html'][:200]} {node['any'][:1]}"
        for theme, violation in found
        for node in violation["nodes"]
        if violation["impact"] in impacts
    ]


def violations(page: Page, theme: str) -> list[dict]:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.evaluate(STILL)
    return AXE.run(page, options={"resultTypes": ["violations"], "preload": False, **RULES[theme]}).response[
        "violations"
    ]


def fits(page: Page, width: int = 360) -> None:
    """Nothing is cut on a screen that is so narrow."""
    size = page.viewport_size
    page.set_viewport_size({"width": width, "height": 740})
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)  # marks are drawn anew
    page.set_viewport_size(size)


def sound(page: Page) -> None:
    """For all, on every screen."""
    assert not serious(page), page.url
    fits(page)


def test_the_tree_editor(page, sign_in, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    sign_in(page, alice)
    ontology = factories.ontology(owner=alice)
    ontology.items().get(name="Thermostat").switch(False, by=alice)
    editor = Editor(page, ontology).open()
    assert not serious(page)
    editor.select("PhysicalObject")
    editor.press("Control+a")
    expect(page.locator("#selection")).to_be_visible()
    assert not serious(page)
    editor.press("Escape", "F2")
    expect(editor.name_field).to_be_focused()
    assert not serious(page)
    editor.press("Escape", "Delete")
    expect(editor.dialog).to_be_visible()
    assert not serious(page)
    editor.press("Escape", "?")
    expect(page.locator("#keys")).to_be_visible()
    assert not serious(page)
    editor.press("Escape")
    for name in ("History", "Checks", "Paste list…"):
        page.locator(".tools").get_by_role("button", name=name).click()
        expect(editor.dialog).to_be_visible()
        editor.settled()
        if name == "Paste list…":
            page.locator("#pasted").fill("State\n  Worn\n a/b\n")
            expect(page.locator("#preview .problems")).to_be_visible()
        assert not serious(page), name
        editor.press("Escape")
    editor.button("Move to…").click()
    expect(page.locator(".places")).to_be_visible()
    assert not serious(page)
    editor.press("Escape")
    page.locator("#search").fill("ing")
    expect(page.locator("#tree mark").first).to_be_visible()
    assert not serious(page)
    page.locator("#filter-menu summary").click()
    page.locator("#filter-menu").get_by_role("button", name="Switched off").click()
    expect(page.locator("#nothing-found")).to_be_visible()
    page.locator("#filter-menu summary").click()
    assert not serious(page)


def test_the_pages_of_a_manager(page, sign_in, alice, carol):
    sign_in(page, alice)
    project = factories.project(by=alice, annotators=[carol])
    codebook = f"/ontologies/{project.ontology_set.first().pk}/codebook/"
    for place in ["/", "/ontologies/", "/ontologies/new/", "/datasets/", "/projects/", "/projects/new/", codebook]:
        answer = page.goto(place)
        assert answer.ok, place
        assert not serious(page), place


def test_signing_in(page):
    page.goto("/accounts/login/")
    assert not serious(page)


def test_the_annotation_screen(desk, page):
    """Nothing moderate either: people spend their days here."""

    def problems() -> list[str]:
        return serious(page, (*SERIOUS, "moderate"))

    constrain(desk.project)
    desk.open()
    assert not problems()
    page.locator("#waiting").evaluate("line => line.showPopover()")  # as while an answer is late
    assert not problems()
    page.locator("#waiting").evaluate("line => line.hidePopover()")
    desk.token(0).click()
    expect(page.locator("#picker")).to_be_visible()
    assert not problems()
    desk.pick("Physical")
    expect(page.locator(".mark-name")).to_have_text("PhysicalObject")
    assert not problems()
    desk.token(0).dblclick()
    desk.press("2")
    expect(page.locator(".option.dim")).to_have_count(1)
    assert not problems()
    desk.press("Escape", "Escape")
    page.locator(".mark-name").click()
    expect(page.locator("#mark-actions")).to_be_visible()
    assert not problems()
    desk.press("?")
    expect(page.locator("#keys")).to_be_visible()
    assert not problems()


def test_the_screens_of_constraints(page, sign_in, alice, labels):
    sign_in(page, alice)
    rules = make("entity_constraints", owner=alice, **labels)
    item(labels["entities"], "State").switch(False, by=alice)
    rules.add_rule(item(labels["entities"], "Thermostat").uid, can_contain=[], by=alice)
    page.goto("/constraints/")
    assert not serious(page)
    page.goto("/constraints/new/")
    page.get_by_text("Paste JSON").click()
    assert not serious(page)
    page.goto(rules.get_absolute_url())
    expect(page.locator(".rule")).to_have_count(4)
    assert not serious(page)
    page.get_by_label("Add a label to what").first.click()
    expect(page.locator("#dialog h2")).to_have_text("“PhysicalObject” excludes")
    assert not serious(page)
    for name in ("History", "Checks"):
        page.keyboard.press("Escape")
        page.get_by_role("button", name=name).click()
        expect(page.locator("#dialog h2")).to_have_text(name)
        assert not serious(page)


def test_the_screens_of_preannotations(page, sign_in, alice, labels, settings):
    settings.PREANNOTATION_RESOURCES = True
    sign_in(page, alice)
    pairs = make("relation_preannotations", owner=alice, **labels)
    item(labels["entities"], "PhysicalObject").switch(False, by=alice)
    page.goto("/preannotations/")
    assert not serious(page)
    page.goto("/preannotations/new/")
    page.get_by_text("JSON, or rows of a table").click()
    assert not serious(page)
    page.goto(pairs.get_absolute_url())
    page.get_by_label("Select row 1").check()
    assert not serious(page)
    page.get_by_role("button", name="replace").first.click()
    expect(page.locator(".cell-form")).to_be_visible()
    assert not serious(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add a row").click()
    expect(page.locator("#dialog h2")).to_have_text("Add a row")
    assert not serious(page)
    document = [{"surface_form": "engine", "label": "State"}]
    project = factories.project(by=alice)
    project.put_set(make("entity_preannotations", owner=alice, document=document, **labels), by=alice)
    page.goto(f"/projects/{project.pk}/preannotations/entity/figures/")
    expect(page.locator("#rows tbody tr")).to_have_count(2)
    assert not serious(page)
