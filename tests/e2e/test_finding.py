"""Finding an item in a browser: the list as a page and beside the text, the way through a list, what is left for later."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests import factories
from tests.annotations.own_work import mark, work
from tests.e2e.desk import Desk
from tests.e2e.test_axe import serious, sound
from tests.e2e.waiting import settled
from work.models import Comment, Flag

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "".join(f"{'pump' if n % 3 == 1 else 'valve'} no {n} is leaking\n" for n in range(1, 61))


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Desk:
    """Sixty texts, every third a pump; some of the first are begun, done, or have suggestions."""
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    work(project, carol, {1: "done", 2: "begun", 4: "done", 5: "suggested"})
    sign_in(page, carol)
    return Desk(page, project, carol)


def rows(page: Page):
    return page.locator(".own-items tbody tr")


def open_list(desk: Desk, query: str = "") -> None:
    desk.page.goto(f"/projects/{desk.project.pk}/annotate/items/{query}")


@pytest.mark.database
def test_the_list_is_searched_filtered_and_sorted_and_its_address_is_shared(desk):
    page, items = desk.page, desk.project.dataset.items()
    for number in (19, 20, 21):
        Flag.put(items[number - 1], desk.user, kind="issue", why="Which one?")
    open_list(desk)
    expect(rows(page)).to_have_count(50)
    desk.press("/")
    page.keyboard.type("PUMP")
    expect(rows(page)).to_have_count(20)
    page.get_by_label("State").select_option("undone")
    expect(rows(page)).to_have_count(18)
    expect(page).to_have_url(re.compile(r"\?q=PUMP&state=undone$"))
    page.get_by_role("link", name="No.").click()
    expect(rows(page).first).to_contain_text("pump no 58")
    page.reload()
    expect(rows(page).first).to_contain_text("pump no 58")
    expect(page.get_by_role("searchbox")).to_have_value("PUMP")
    page.get_by_label("With", exact=True).select_option("issue")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("pump no 19")
    page.get_by_role("link", name="pump no 19 ").click()
    desk.ready(19)


@pytest.mark.database
def test_previous_and_next_walk_the_list_that_an_item_was_opened_from(desk):
    page = desk.page
    open_list(desk, "?q=pump&state=undone")
    page.get_by_role("link", name="pump no 7 ").click()
    desk.ready(7)
    expect(page.locator(".walk")).to_contain_text("in “pump”, undone: 1 of 18")
    desk.press("PageDown")
    desk.ready(10)
    expect(page.locator(".walk")).to_contain_text("2 of 18")
    desk.press("Control+Enter")
    desk.ready(13)
    desk.press("Control+z")
    desk.ready(10)
    expect(page.locator(".walk")).to_contain_text("2 of 18")  # asked for once it is stored
    desk.press("Control+Enter")
    desk.ready(13)
    desk.press("PageUp")
    desk.ready(10)  # it was the one before when the page was fetched
    expect(page.locator(".walk")).to_contain_text("not one of 17")
    desk.press("PageUp")
    desk.ready(7)
    page.locator(".walk a").click()
    desk.ready(7)
    expect(page.locator(".walk")).to_have_count(0)
    desk.press("PageDown")
    desk.ready(8)


def test_the_list_opens_beside_the_text_by_keys(desk):
    page = desk.page
    desk.open(56)
    desk.press("/")
    current = page.locator("tr[aria-current]")
    expect(current).to_contain_text("valve no 56")
    expect(current).to_be_in_viewport()
    page.keyboard.type("pump")
    expect(rows(page)).to_have_count(20)
    expect(page).to_have_url(re.compile(r"/annotate/\d+/$"))
    desk.press("ArrowDown", "ArrowDown", "ArrowDown", "Enter")
    desk.ready(7)
    expect(page.locator(".walk")).to_contain_text("3 of 20")
    desk.press("/")
    expect(page.get_by_role("searchbox")).to_have_value("pump")
    page.locator("#items-drawer").get_by_role("link", name="Length").click()
    expect(rows(page).first).to_contain_text("pump no 10")
    desk.press("Escape")
    expect(page.locator("#items-drawer")).to_be_hidden()
    desk.press("ArrowRight", "Enter")  # the keys are the text's again
    expect(page.locator("#picker")).to_be_visible()


def test_a_number_leads_to_its_item(desk):
    desk.open(1)
    desk.press("#")
    desk.page.keyboard.type("33")
    desk.press("Enter")
    desk.ready(33)
    desk.press("#")
    desk.page.keyboard.type("99")
    desk.press("Enter")
    field = desk.page.locator("#jump-to")
    expect(field).to_be_focused()
    assert field.evaluate("field => field.validationMessage") == "There is no item 99; the last is 60."
    desk.page.keyboard.press("Backspace")
    desk.press("Enter")
    desk.ready(9)


@pytest.mark.database
def test_an_item_that_is_left_for_later_comes_last(desk):
    page, project = desk.page, desk.project
    work(project, desk.user, {n: "done" for n in range(1, 61) if n not in (1, 4, 10, 20, 30)})
    desk.open(10)
    desk.press("Alt+PageDown")
    desk.ready(20)
    desk.press("Shift+PageDown")
    desk.ready(30)
    desk.press("Shift+PageDown")
    desk.ready(20)  # not the one that was left
    page.locator("#skip").click()
    desk.ready(30)
    desk.press("Control+Enter")
    desk.ready(10)
    desk.press("Control+Enter")
    desk.ready(20)
    desk.press("Alt+PageDown")  # the same item again
    desk.ready(20)
    expect(page.locator(".messages")).to_contain_text("All others are done")
    open_list(desk)
    page.get_by_role("link", name="1 item left for later").click()
    expect(rows(page)).to_have_count(1)
    settled(page)
    page.get_by_role("button", name="For later").click()
    expect(page.get_by_role("button", name="For later")).to_have_count(0)
    page.reload()
    expect(page.locator("#items")).to_contain_text("No item of yours left for later")


def test_a_mark_is_found_in_the_list_and_selected_in_its_item(desk):
    page = desk.page
    mark(desk.project, desk.user, 7, "Thermostat", 0, 1)
    page.goto(f"/projects/{desk.project.pk}/")
    expect(page.locator("#own-work")).to_contain_text("done today")
    page.locator("#own-work").get_by_role("link", name="What you marked").click()
    expect(page.locator(".own-marks tbody tr")).to_have_count(4)
    settled(page)
    page.get_by_label("Label, or a part of its name").fill("thermo")
    expect(page.locator(".own-marks tbody tr")).to_have_count(1)
    page.get_by_role("link", name="pump no").click()
    desk.ready(7)
    expect(page.locator(".tint.selected").first).to_be_visible()


@pytest.mark.parametrize("width", [1300, 760])
def test_no_column_is_cut_off_beside_the_text(desk, carol, width):
    """However much is said in the others."""
    page, item = desk.page, desk.project.dataset.items()[1]
    for place, name in enumerate(("Activity", "PhysicalObject", "Thermostat", "SensingObject")):
        mark(desk.project, carol, 2, name, start=place, end=place)
    for kind in Flag.Kind.values:
        Flag.put(item, carol, kind=kind)
    Comment.begin(item, carol, by=carol, text="Why?")
    page.set_viewport_size({"width": width, "height": 800})
    desk.open(1)
    desk.press("/")
    expect(rows(page).first).to_be_visible()
    table = page.locator("#items-drawer .table-scroll")
    assert table.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_the_screens_are_sound_for_all(desk):
    page = desk.page
    for path in (
        *(f"annotate/items/{query}" for query in ("", "?q=pump&state=undone&sort=-changed", "?q=nowhere")),
        *(f"annotate/marks/{query}" for query in ("", "?q=pump&label=State", "?q=nowhere")),
        "",
    ):
        page.goto(f"/projects/{desk.project.pk}/{path}")
        sound(page)
    desk.open(2)
    for width in (1400, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.locator("#open-items").click()
        expect(rows(page).first).to_be_visible()
        assert not serious(page)
        desk.press("Escape")


def test_in_a_narrow_window_the_text_has_more_room_than_what_is_counted(desk, page):
    made = mark(desk.project, desk.user, 3).annotation.entity_set
    for n, name in enumerate(("SensingObject", "Thermostat", "DrivingObject")):
        made.create(uid=f"long-{n}", start=n, end=n, label=desk.label(name))
    for width in (1000, 900, 720):
        page.set_viewport_size({"width": width, "height": 700})
        open_list(desk)
        columns = {
            name: page.locator(f".own-items td.{name}").first.bounding_box()["width"]
            for name in ("text", "labels-used")
        }
        assert columns["text"] > 1.5 * columns["labels-used"], (width, columns)
        expect(page.locator(".own-items .length:visible")).to_have_count(0)
