"""Several short items on a page of the workspace."""

import re

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation
from tests import factories
from tests.e2e.desk import Desk
from tests.e2e.test_axe import serious
from tests.e2e.waiting import until
from work.models import Flag

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "".join(f"replace pump {n} now\n" for n in range(1, 13))
REFUSED = {"error": "The label is switched off.", "done": False, "revision": 1, "urls": {}}


class Page(Desk):
    """Of many items."""

    def at_item(self, number: int) -> None:
        expect(self.page.locator("article[aria-current]")).to_have_attribute("aria-label", f"Item {number}")
        expect(self.page.locator(".item-bar > b")).to_have_text(str(number))

    def article(self, number: int):
        return self.page.locator(f"article[aria-label='Item {number}']")

    def at(self, number: int) -> None:
        """The item that is worked on, for eyes, for keys, and for ears."""
        self.at_item(number)
        expect(self.article(number).locator(".text")).to_be_focused()

    def at_words(self, number: int, words: str) -> None:
        self.at_item(number)
        expect(self.page.locator("#said")).to_have_text(words)

    def token_of(self, number: int, i: int):
        return self.article(number).locator(f".tok[data-i='{i}']")

    def has_names(self, number: int, *names: str) -> None:
        expect(self.article(number).locator(".mark-name")).to_have_text(names)

    def done(self) -> list[int]:
        found = Annotation.objects.filter(annotator=self.user, done_at__isnull=False)
        return sorted(position + 1 for position in found.values_list("item__position", flat=True))


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Page:
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    carol.choose_comfort("on_page", "10")
    sign_in(page, carol)
    return Page(page, project, carol).open()


def test_a_page_of_ten_items_is_annotated_by_keys(desk):
    loads = []
    desk.page.on("framenavigated", lambda frame: loads.append(frame.url))
    expect(desk.page.locator("#open-items")).to_contain_text("Items 1 to 10 of 12")
    expect(desk.page.locator("article")).to_have_count(10)
    for number in range(1, 11):
        desk.at(number)
        desk.press("ArrowRight", "a")
        desk.pick("ctivity")
        desk.press("ArrowRight", "p")
        desk.pick("hysical")
        if number == 3:
            desk.press("Escape", "Tab", "r", "1")
            desk.pick("haspart")
            expect(desk.article(3).locator(".arc")).to_have_count(1)
        if number == 4:  # beyond the last word, and back before the first: then undone where it happened
            desk.press("ArrowRight", "ArrowRight", "ArrowRight")
            desk.at(5)
            expect(desk.page.locator("#said")).to_have_text("Item 5, 0 marks. replace")
            desk.press("ArrowUp")
            desk.at(4)
            desk.press("End", "ArrowDown")
            desk.at(5)
            expect(desk.article(5).locator(".word-box")).to_have_count(1)
            expect(desk.page.locator("#said")).to_have_text(re.compile(r"\. now$"))
            desk.press("Shift+Tab")
            desk.at(4)
            desk.press("PageDown", "PageDown", "Control+z")
            desk.at(4)
            desk.has_names(4, "Activity")
            desk.press("Control+y")
            desk.has_names(4, "Activity", "PhysicalObject")
        desk.press("Control+Enter")
        if number < 10:
            desk.at(number + 1)
            expect(desk.article(number).locator(".state.done")).to_be_visible()
    desk.ready(11)
    expect(desk.page.locator("article")).to_have_count(2)
    assert len(loads) == 1
    desk.saved()
    assert desk.done() == list(range(1, 11))
    for number in range(1, 11):
        assert desk.stored(number) == [(0, 0, "Activity"), (1, 1, "PhysicalObject")]
    desk.press("PageUp")
    desk.ready(1)
    for number in range(1, 11):
        desk.has_names(number, "Activity", "PhysicalObject")
    expect(desk.article(3).locator(".arc")).to_have_count(1)
    expect(desk.page.locator("article .state.done")).to_have_count(10)
    desk.press(
        "PageDown", "Control+z", "Control+z"
    )  # the page was left since: what is undone is looked for by its item
    desk.at(10)
    desk.has_names(10, "Activity")
    desk.saved()
    assert desk.done() == list(range(1, 10))


def test_the_mouse_enters_an_item_and_what_is_refused_in_another_one_is_taken_back(desk, problems, live_server):
    page = desk.page
    desk.token_of(2, 1).click()
    desk.at_words(2, "pump")
    desk.pick("hysical")
    desk.token_of(2, 0).click()
    desk.pick("activ")
    page.locator("#flag-menu > summary").click()
    page.keyboard.type("uGarbled")
    desk.article(3).locator(".page-item-head").click(
        position={"x": 700, "y": 5}
    )  # what is typed belongs to the item that is left
    desk.at(3)
    expect(page.locator("#flags .flag")).to_have_count(0)
    page.keyboard.press("Alt+c")
    page.keyboard.type("One thing?")
    desk.saved()
    held = []
    page.route("**/entities/add/", lambda route: held.append(route))
    desk.token_of(3, 1).click()
    with page.expect_request("**/entities/add/"):
        desk.pick("state")
    desk.token_of(4, 2).click()
    expect(page.locator(".comment-form:visible")).to_have_count(0)
    page.keyboard.press("Escape")
    problems.expect("status of 422")
    held.pop().fulfill(status=422, json=REFUSED)
    expect(page.locator(".toast.error")).to_contain_text("Not saved: 1 change of item 3. The label is switched off.")
    expect(desk.article(3).locator(".mark-name")).to_have_count(0)
    desk.at(4)
    page.unroute("**/entities/add/")
    page.locator(".toast.error").get_by_role("button", name="Item 3").click()
    desk.at(3)
    expect(page.locator(".comment-form:visible textarea")).to_have_value("One thing?")
    # A relation stays in its item, and so does a selection.
    source, target = desk.article(2).locator(".mark-name").all()
    source.click()
    desk.at(2)
    page.keyboard.press("r")
    desk.token_of(5, 1).click()
    expect(page.locator("#toasts")).to_contain_text("A relation stays within its item.")
    desk.at(2)
    target.click()
    desk.pick("haspart")
    page.keyboard.press("Escape")
    start, end = desk.token_of(5, 1).bounding_box(), desk.token_of(6, 2).bounding_box()
    page.mouse.move(start["x"] + 4, start["y"] + 4)
    page.mouse.down()
    page.mouse.move(end["x"] + 4, end["y"] + 4, steps=4)
    page.mouse.up()
    desk.pick("state")
    assert desk.stored(5) == [(1, 2, "State")]
    # Nor does it go along when the item is left while the button is down.
    page.keyboard.press("Escape")
    start, end = desk.token_of(5, 1).bounding_box(), desk.token_of(6, 2).bounding_box()
    page.mouse.move(start["x"] + 4, start["y"] + 4)
    page.mouse.down()
    page.mouse.move(start["x"] + 60, start["y"] + 4, steps=4)
    page.keyboard.press("PageDown")
    page.mouse.move(end["x"] + 4, end["y"] + 4, steps=4)
    page.mouse.up()
    desk.at(6)
    expect(page.locator("#picker")).to_be_hidden()
    flags = Flag.objects.filter(item__position=1, kind="uncertain", why="Garbled")
    until(flags.exists, "the flag is stored")
    desk.saved()
    shown = [desk.article(number).locator(".mark-name").all_text_contents() for number in range(1, 11)]
    page.reload()
    desk.at(1)
    for number, names in enumerate(shown, 1):
        desk.has_names(number, *names)
    desk.article(2).locator(".text").click()
    expect(desk.article(2).locator(".arc")).to_have_count(1)
    expect(page.locator("#relations > li")).to_have_count(1)
    expect(page.locator("#flags .flag")).to_have_attribute("data-why", "Garbled")
    desk.article(2).locator(".mark-name", has_text="PhysicalObject").click()
    page.keyboard.press("*")
    expect(page.locator("#alike [data-sum]")).to_have_text("10 places in 10 items")
    page.locator("#alike [name=items]").select_option("page")
    expect(page.locator("#alike [data-sum]")).to_have_text("8 places in 8 items")
    page.locator("#alike [data-leave]").click()
    page.locator("#find").evaluate("form => form.hidden")
    assert not serious(page)


def test_how_many_stand_on_a_page_is_chosen_and_works_on_a_narrow_screen(desk):
    page = desk.page
    desk.suggest(("State", 0, 0), number=9)
    page.set_viewport_size({"width": 360, "height": 700})
    desk.open()
    desk.press("Alt+ArrowDown")  # to the only suggestion of the page
    desk.at(9)
    expect(page.locator("#undecided-count")).to_have_text("1 suggestion")
    desk.press("Space", "PageUp", "F3")
    page.keyboard.type("pump 7")
    expect(page.locator("article[aria-current]")).to_have_attribute("aria-label", "Item 7")
    page.keyboard.press("Escape")
    desk.at(7)
    desk.press("s")
    desk.pick("tate")
    desk.press("*")
    expect(page.locator("#alike-head")).to_contain_text("“pump 7”")
    page.keyboard.press("Escape")
    desk.saved()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert not serious(page)
    page.locator("#comfort > summary").click()
    page.locator("[data-comfort=on_page] button[value='5']").click()
    expect(page.locator("article")).to_have_count(5)
    desk.ready(7)
    desk.has_names(7, "State")
    page.locator("#comfort > summary").click()
    page.locator("[data-comfort=on_page] button[value='1']").click()
    expect(page.locator("article")).to_have_count(1)
    expect(page.locator(".page-item-head")).to_have_count(0)
    desk.ready(7)
    desk.press("PageDown")
    desk.ready(8)
    page.goto(f"{page.url}?on_page=20")
    expect(page.locator("article")).to_have_count(5)  # the last ones
    desk.press("Control+Enter", "Control+Enter", "Control+Enter", "Control+Enter", "Control+Enter")
    desk.ready(1)  # the address still says how many
    expect(page.locator("article")).to_have_count(12)
