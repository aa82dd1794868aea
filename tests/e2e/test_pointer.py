"""What the mouse and a finger do on the annotation screen."""

import pytest
from playwright.sync_api import expect

from tests.annotations.test_constraints import constrain
from tests.e2e.test_workspace import Desk, desk

__all__ = ["desk"]
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
    desk.open()
    desk.token(4).click()
    desk.page.mouse.move(*middle(desk.page.locator("#start-handle")))
    desk.page.mouse.down()
    desk.page.mouse.move(*middle(desk.token(3)), steps=5)
    expect(desk.page.locator("#mode")).to_contain_text("cannot share words")  # said before it is let go
    desk.page.mouse.up()
    expect(desk.page.locator(".toast")).to_contain_text("cannot share words")
    assert (4, 4, "State") in desk.stored()
