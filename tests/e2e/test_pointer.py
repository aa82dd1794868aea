"""What the mouse and a finger do on the annotation screen."""

import pytest
from playwright.sync_api import expect

from tests.annotations.test_constraints import constrain
from tests.e2e.conftest import watched_page
from tests.e2e.desk import Desk
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def middle(locator) -> tuple[float, float]:
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pull(desk: Desk, edge: str, token: int) -> None:
    """Drag a handle of the selected mark to a token."""
    mouse = desk.page.mouse
    mouse.move(*middle(desk.page.locator(f"#{edge}-handle")))
    mouse.down()
    mouse.move(*middle(desk.token(token)), steps=5)
    mouse.up()


def test_the_ends_of_the_selected_mark_are_dragged(desk):
    desk.drag(1, 3)
    desk.pick("thermostat")
    desk.token(1).dblclick()
    desk.pick("thermostat")  # of two marks on the same words each has its own handles
    pull(desk, "end", 2)
    assert desk.stored() == [(1, 2, "Thermostat"), (1, 3, "Thermostat")]
    pull(desk, "end", 3)
    expect(desk.page.locator(".toast")).to_contain_text("is marked as “Thermostat” already")
    assert desk.stored() == [(1, 2, "Thermostat"), (1, 3, "Thermostat")]
    pull(desk, "start", 5)  # it stops at the end
    assert desk.stored() == [(1, 3, "Thermostat"), (2, 2, "Thermostat")]
    desk.press("Control+z", "Control+z")
    assert desk.stored() == [(1, 1, "Thermostat"), (1, 3, "Thermostat")]
    for edge in ("start", "end"):
        box = desk.page.locator(f"#{edge}-handle").bounding_box()
        assert min(box["width"], box["height"]) >= 24
    constrain(desk.project, entities=[{"domain": "Thermostat", "excludes": ["State"]}], relations=[])
    desk.token(4).click()
    desk.pick("state")
    desk.saved()
    desk.open()
    desk.token(4).click()
    desk.page.mouse.move(*middle(desk.page.locator("#start-handle")))
    desk.page.mouse.down()
    desk.page.mouse.move(*middle(desk.token(3)), steps=5)
    expect(desk.page.locator("#mode")).to_contain_text("cannot share words")  # said before it is let go
    desk.page.mouse.up()
    expect(desk.page.locator(".toast")).to_contain_text("cannot share words")
    assert (4, 4, "State") in desk.stored()


def test_three_clicks_select_a_line_and_the_picker_goes_with_it(desk):
    text = " ".join(f"word{n}" for n in range(900))
    item = desk.project.dataset.items()[0]
    item.offsets, item.tokens = None, text.split()
    item.save(update_fields=["offsets", "tokens"])
    desk.open()
    page = desk.page
    page.mouse.click(*middle(desk.token(40)), click_count=3)
    expect(page.locator(".word-box")).to_have_count(1)
    line, first = page.locator(".word-box").bounding_box(), desk.token(0).bounding_box()
    assert abs(line["x"] - first["x"]) < 5 and line["width"] > 600
    picker = page.locator("#picker")
    gap = picker.bounding_box()["y"] - line["y"]
    page.mouse.move(*middle(desk.token(2)))
    page.mouse.wheel(0, 60)
    page.wait_for_function("() => document.querySelector('.desk').scrollTop === 60")
    page.wait_for_function(
        "(gap) => { const y = (each) => document.querySelector(each).getBoundingClientRect().y;"
        " return Math.abs(y('#picker') - y('.word-box') - gap) < 2; }",
        arg=gap,
    )
    desk.pick("state")
    ((start, end, _),) = desk.stored()
    assert start <= 40 <= end < 900
    pull_to_the_edge(desk, middle(desk.token(end + 40)))
    page.mouse.up()
    desk.pick("activity")
    marked = desk.stored()[1]
    assert marked[0] == end + 40
    assert marked[1] > marked[0] + 100  # further than what was in sight
    page.locator(".desk").evaluate("desk => desk.scrollTo(0, 0)")
    desk.press("Escape", "Tab")
    pull_to_the_edge(desk, middle(page.locator("#end-handle")))
    page.mouse.up()
    assert desk.stored()[0][1] > end + 100


def pull_to_the_edge(desk: Desk, start: tuple[float, float]) -> None:
    """Drag from a place to the lower edge of the desk, until the text has moved on far."""
    mouse = desk.page.mouse
    mouse.move(*start)
    mouse.down()
    mouse.move(start[0] + 200, start[1] + 60, steps=4)
    mouse.move(start[0] + 200, 790, steps=4)
    desk.page.wait_for_function("() => document.querySelector('.desk').scrollTop > 500")


@pytest.fixture
def touched(browser, live_server, problems, sign_in, project, carol):
    with watched_page(browser, live_server, problems, has_touch=True) as page:
        page.set_viewport_size({"width": 360, "height": 480})
        sign_in(page, carol)
        yield Desk(page, project, carol).open()


class Finger:
    def __init__(self, page) -> None:
        self.session = page.context.new_cdp_session(page)

    def send(self, kind: str, *places) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def drag(self, start, end) -> None:
        self.send("touchStart", start)
        for step in range(1, 6):
            self.send("touchMove", tuple(a + (b - a) * step / 5 for a, b in zip(start, end, strict=True)))

    def lift(self) -> None:
        self.send("touchEnd")


def test_a_finger_selects_marks_resizes_and_undoes(touched):
    desk, page = touched, touched.page
    finger, boxes = Finger(page), page.locator(".word-box")
    finger.send("touchStart", middle(desk.token(1)))
    expect(boxes).to_have_count(1)  # it holds still
    finger.send("touchMove", middle(desk.token(2)))
    expect(page.locator("#said")).to_have_text("air conditioner")
    assert page.evaluate("scrollY") == 0
    finger.lift()
    expect(page.locator("#picker input")).to_have_attribute("inputmode", "none")
    words, picker = (page.locator(each).bounding_box() for each in (".word-box", "#picker"))
    assert words["y"] + words["height"] <= picker["y"] and picker["y"] + picker["height"] <= 480
    expect(page.locator(".picker-note")).to_be_hidden()  # no hints about keys
    desk.pick("sens")
    assert desk.stored() == [(1, 2, "SensingObject")]
    desk.press("Escape")
    desk.token(2).tap()
    expect(page.locator("#mark-actions")).to_be_visible()
    for button in page.locator("#mark-actions button:visible").all():
        assert button.bounding_box()["height"] >= 36
    finger.drag(middle(page.locator("#end-handle")), middle(desk.token(3)))
    expect(page.locator("#said")).to_have_text("air conditioner thermostat")
    finger.lift()
    assert desk.stored() == [(1, 3, "SensingObject")]
    # The browser makes no click of a tap that comes too soon after a drag.
    page.evaluate("addEventListener('click', () => { window.isTapped = true; }, { once: true })")
    until(
        lambda: page.locator(".item-bar > .facts").tap() or page.evaluate("window.isTapped"), "No tap became a click."
    )
    short, long = (
        page.get_by_role("button", name=f"{words}, SensingObject")
        for words in ("air conditioner", "air conditioner thermostat")
    )
    page.get_by_role("button", name="Undo").tap()
    expect(short).to_be_visible()
    page.get_by_role("button", name="Redo").tap()
    long.tap()
    page.get_by_role("button", name="Remove").tap()
    expect(long).to_have_count(0)
    assert desk.stored() == []
    desk.press("Escape")
    x, y = middle(desk.token(2))
    finger.drag((x, y), (x, y - 120))  # at once: a swipe
    finger.lift()
    page.wait_for_function("() => scrollY > 40")
    expect(boxes).to_have_count(0)
    expect(page.locator("#picker")).to_be_hidden()
