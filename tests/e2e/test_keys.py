"""What keys do on the annotation screen, by what is selected."""

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation
from tests.e2e.test_workspace import Desk, desk

__all__ = ["desk"]
pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def labelled(desk: Desk) -> list[str]:
    return desk.page.locator(".mark-name > :first-child").all_text_contents()


def test_letters_search_a_label_for_what_is_selected_and_command_nothing(desk):
    desk.press("n", "p", "o", "a", "t")  # nothing is selected
    desk.ready(1)
    expect(desk.page.locator("#picker")).to_be_hidden()
    desk.press("ArrowRight", "p")
    desk.pick("hysical")
    desk.press("a")  # it is selected: another label is searched for it
    desk.pick("ctivity")
    assert labelled(desk) == ["Activity"]
    desk.press("3")
    assert labelled(desk) == ["State"]
    desk.page.locator("#label-tree [data-label]", has_text="Activity").click()
    assert labelled(desk) == ["Activity"]
    desk.press("Control+z", "Control+z", "Control+z")
    assert labelled(desk) == ["PhysicalObject"]
    desk.press("ArrowRight", "o")
    desk.pick("bject")  # PhysicalObject
    desk.press("r", "Tab", "Enter")
    desk.pick("haspart")
    desk.press("p")
    desk.pick("atient")
    (relation,) = desk.related()
    assert relation[1] == "hasPatient"
    desk.press("Escape", "n", "Control+Enter")
    desk.ready(2)
    desk.press("PageUp")
    desk.ready(1)
    desk.press("o", "a")
    expect(desk.page.locator("#done-note")).to_be_visible()
    desk.press("Alt+Enter")
    expect(desk.page.locator("#done-note")).to_be_hidden()
    desk.press("Control+a")
    expect(desk.page.locator(".word-box")).to_have_count(1)
    desk.press("s")
    desk.pick("tate")
    assert (0, 6, "State") in desk.stored()
    assert Annotation.objects.get(annotator=desk.user).done_at is None
