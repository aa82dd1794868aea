"""What programs suggest, with its source and score, and hidden where it is not sure enough."""

import pytest
from playwright.sync_api import expect

from api.models import Token
from api.webhooks import Webhook
from tests import factories
from tests.e2e.test_axe import fits
from tests.e2e.test_picker import Picker
from work.models import Source

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_suggestions_show_their_source_and_are_hidden_below_a_score(page, sign_in, alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="cooling fan broken today\nbearing\n")
    marks = [(0, 1, "PhysicalObject", 0.95), (2, 2, "State", 0.4), (3, 3, "Activity", None)]
    entities = [dict(zip(("start", "end", "label", "score"), mark, strict=True)) for mark in marks]
    first = project.dataset.items()[0]
    Source.of(project.dataset, "tagger").suggest([{"id": first.pk, "entities": entities}], by=alice)
    sign_in(page, carol)
    desk = Picker(page, project, carol)
    desk.open()
    suggested = page.locator(".mark-name.suggested")
    expect(suggested).to_have_count(3)
    desk.press("Alt+ArrowDown")
    expect(page.locator("#mark-actions .source")).to_have_text("suggested by tagger, 0.95")
    page.get_by_text("View", exact=True).click()
    page.locator("[data-comfort=sureness] button[value='50']").click()
    expect(suggested).to_have_text(["PhysicalObject ?", "Activity ?"])
    expect(page.locator("#undecided-count")).to_have_text("2 suggestions")
    desk.open()
    expect(suggested).to_have_count(2)
    desk.press("Control+Shift+Enter")
    desk.ready(2)
    own = desk.work().entity_set
    assert set(own.filter(status="accepted").values_list("start", flat=True)) == {0, 3}
    assert own.get(status="suggested").score == 0.4, "what was not shown was not accepted"


def test_long_names_of_sources_tokens_and_answers_fit(page, sign_in, alice, project):
    name = "x" * 200
    Source.of(project.dataset, name).suggest([], by=alice)
    Token.make(alice, name)
    webhook = Webhook.make(project, url="https://example.org/hook", events=["item.done"], by=alice)
    webhook.ping()
    webhook.deliveries.update(code=500, error=name)
    sign_in(page, alice)
    page.goto(project.get_absolute_url())
    fits(page)
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    fits(page)
    page.get_by_role("button", name="Switch off…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_be_visible()
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")
    for address, button in (
        ("/accounts/tokens/", f"Revoke {name}"),
        (f"/projects/{project.pk}/webhooks/{webhook.pk}/", "again"),
    ):
        page.goto(address)
        place = page.get_by_role("button", name=button).bounding_box()
        assert place["x"] + place["width"] <= page.viewport_size["width"], "to be reached without scrolling sideways"
        fits(page)
