"""Words that were marked before are suggested in the item opened next."""

import pytest
from playwright.sync_api import expect

from projects.models import Project
from tests import factories
from tests.e2e.test_picker import Picker

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_what_was_marked_is_suggested_in_the_next_item(page, sign_in, alice, carol):
    text = "cooling fan broken today\nreplace cooling fan\nno cooling fan here\nthe cooling fan again, bearing broken\n"
    project = factories.project(by=alice, annotators=[carol], text=text)
    sign_in(page, alice)
    page.goto(project.get_absolute_url())
    page.get_by_role("button", name="Change suggestions from marks").click()
    expect(page.get_by_role("combobox", name="Suggestions from marks")).to_be_focused()
    page.get_by_role("combobox", name="Suggestions from marks").select_option(
        "Words that the annotator has marked before"
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Words that the annotator has marked before are suggested")).to_be_visible()
    sign_in(page, carol)
    desk = Picker(page, project, carol)
    desk.open()
    desk.drag(0, 1)
    desk.page.keyboard.type("phys")
    desk.press("Enter")
    desk.press("PageDown")
    desk.ready(2)
    expect(page.locator(".mark-name.suggested")).to_have_text("PhysicalObject ?")
    expect(page.locator("#undecided-count")).to_have_text("1 suggestion")
    desk.press("Alt+ArrowDown", " ")
    assert desk.stored(2) == [(1, 2, "PhysicalObject")]
    desk.press("Control+z")  # it is a suggestion again
    expect(page.locator(".mark-name.suggested")).to_have_count(1)
    desk.press("PageDown")
    desk.ready(3)
    expect(page.locator(".mark-name.suggested")).to_have_count(1)
    desk.press("Alt+ArrowDown", "Delete")
    expect(page.locator(".mark-name")).to_have_count(0)
    desk.saved()
    desk.open(3)
    expect(page.locator(".mark-name")).to_have_count(0)
    # Of several on a page, only the first one is waited for; what comes for the others does not disturb whoever works.
    desk.open()
    desk.token(2).click()
    desk.pick("state")
    desk.saved()
    carol.choose_comfort("on_page", "5")
    second, last = project.dataset.items()[1], project.dataset.items()[3]
    held = []
    page.route(f"**/{second.pk}/history/", lambda route: held.append(route))
    with page.expect_request(f"**/{second.pk}/history/"):
        desk.open()
    desk.press("End", "s")
    with page.expect_response(f"**/{last.pk}/marks/"):
        held.pop().continue_()
    suggested = page.locator("article[aria-label='Item 4'] .mark-name.suggested")
    expect(suggested).to_have_count(0)
    desk.pick("tate")
    expect(suggested).to_have_text("State ?")
    expect(page.locator(".toast")).to_have_count(0)
    sign_in(page, alice)
    page.goto(project.get_absolute_url())
    page.get_by_role("link", name="History").click()
    expect(page.locator("#rows tbody tr").first).to_contain_text("All together")
    page.get_by_role("button", name="Switch off…").click()
    page.get_by_role("button", name="Switch off", exact=True).click()
    expect(page.get_by_role("heading", name="It is off")).to_be_visible()
    assert Project.objects.get().history == "own"
