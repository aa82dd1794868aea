"""The command palette, and the buttons that copy."""

import re

import pytest
from playwright.sync_api import expect

from tests import factories
from tests.e2e.test_axe import serious
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


class Palette:
    def __init__(self, page):
        self.page, self.box, self.hits = page, page.locator("#palette"), page.locator("#palette .hit")
        self.field, self.note = page.locator("#palette input"), page.locator("#palette [role=status]")
        self.chosen = page.locator("#palette [aria-selected=true]")

    def open(self):
        self.page.wait_for_load_state()  # it may have come only just now
        self.page.keyboard.press("Control+k")
        expect(self.field).to_be_focused()
        return self

    def type(self, text):
        with self.page.expect_response(re.compile(r"/find/\?q=")):
            self.field.press_sequentially(text)
        return self


@pytest.fixture
def ontology(alice):
    return factories.ontology(owner=alice)


@pytest.fixture
def palette(page, sign_in, alice, ontology):
    sign_in(page, alice)
    page.goto("/")
    settled(page)
    return Palette(page)


def test_a_label_is_found_and_recent_choices_come_first(palette, page, ontology):
    palette.open().type("thermo")
    expect(palette.chosen).to_have_text(re.compile("Thermostat.*PhysicalObject/SensingObject"))
    expect(palette.field).to_have_attribute("aria-activedescendant", re.compile("palette-0"))
    page.keyboard.press("Enter")
    expect(page.locator("#details h2")).to_contain_text("Thermostat")
    palette.open()
    expect(palette.hits.first).to_contain_text("Thermostat")
    expect(palette.box.get_by_role("group").first).to_have_attribute("aria-label", "Recent")
    palette.type("nothing of that")
    expect(palette.note).to_have_text("Nothing found for “nothing of that”")
    assert not serious(page)
    page.keyboard.press("Escape")
    expect(palette.box).to_be_hidden()
    expect(page.locator("h1")).to_have_text("entity labels")


def test_enter_before_the_answer_waits_for_it(palette, page):
    held = []
    page.route(re.compile(r"/find/\?q="), lambda route: held.append(route))
    palette.open()
    with page.expect_request(re.compile("/find/")):
        palette.field.fill("driving")
    expect(palette.note).to_have_text("Looking …")
    page.keyboard.press("Enter")
    held.pop().continue_()
    expect(page.locator("#details h2")).to_contain_text("DrivingObject")


def test_it_does_what_the_page_offers_and_lets_no_key_through(palette, page, ontology):
    page.goto(ontology.get_absolute_url())
    settled(page)
    page.locator("#tree li").first.focus()
    palette.open()
    assert not serious(page)
    palette.type("dupl?")
    page.keyboard.press("Delete")
    expect(page.locator("dialog[open]")).to_have_count(1)
    page.keyboard.press("Backspace")
    expect(palette.chosen).to_contain_text("Duplicate…")
    page.keyboard.press("Enter")
    expect(page.locator("#dialog h2")).to_have_text(re.compile("Duplicate"))
    page.keyboard.press("Control+k")
    expect(palette.box).to_be_hidden()  # one dialog at a time
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()
    page.get_by_role("button", name="Go to, or do").click()
    palette.field.fill("theme dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_annotators_are_offered_nothing_that_they_may_not_do_and_it_fits_a_phone(page, sign_in, alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    sign_in(page, carol)
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto(f"/projects/{project.pk}/annotate/{project.dataset.items()[0].pk}/")
    expect(page.locator("html[data-ready]")).to_be_attached()
    palette = Palette(page).open()
    titles = palette.hits.locator(".title").all_text_contents()
    assert {"Home", "Projects", "Sign out", "Keys", "Done"} <= set(titles)
    assert not {"Ontologies", "Datasets", "New project"} & set(titles)
    assert page.evaluate("document.documentElement.scrollWidth") <= max(360, page.evaluate("innerWidth"))
    box = palette.box.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    palette.type("x")
    page.keyboard.press("Escape")
    expect(page.locator("#picker")).to_be_hidden()


def test_pages_and_members_of_the_project_and_answers_are_found_where_one_is_in_it(palette, page, alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    for place in (
        project.get_absolute_url(),
        project.dataset.get_absolute_url(),
        project.entity_ontology.get_absolute_url(),
    ):
        page.goto(place)
        settled(page)
        palette.open().type("settin")
        expect(palette.chosen).to_have_text("SettingsPumps")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Settings")
        page.evaluate("localStorage.clear()")  # what was chosen would be found first
    palette.open().type("carol")
    expect(palette.box.get_by_role("group", name="People").get_by_role("option")).to_have_text(
        "carolannotator in Pumps: items"
    )
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Whose")).to_have_value(str(carol.pk))
    settled(page)
    palette.open().type("synchronise")
    expect(palette.box.get_by_role("group", name="Help").get_by_role("option").first).to_be_visible()
    assert not serious(page)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/help/#"))


@pytest.mark.parametrize("is_allowed", [True, False])
def test_names_and_ids_are_copied(page, sign_in, alice, ontology, is_allowed):
    sign_in(page, alice)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not is_allowed:
        page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden'))")
    item = factories.item(ontology, "Thermostat")
    page.goto(f"{ontology.get_absolute_url()}?item={item.uid}")
    for what, text in (("full name", "PhysicalObject/SensingObject/Thermostat"), ("id", item.uid)):
        button = page.get_by_role("button", name=f"Copy the {what}")
        button.click()
        expect(button).to_have_text("Copied")
        expect(page.locator("#toasts [aria-live]")).to_have_text(f"Copied: {text}")
        assert page.evaluate("navigator.clipboard.readText()") == text
    expect(button).to_be_focused()


def test_the_way_to_it_and_the_menu_of_the_account_are_in_sight_at_every_width(page, sign_in, alice):
    sign_in(page, alice)
    for width in (360, 640, 700, 900, 949, 950, 1200):
        page.set_viewport_size({"width": width, "height": 700})
        page.goto("/projects/")
        end = page.locator(".topbar .end").bounding_box()
        assert end["x"] + end["width"] <= width - 12
