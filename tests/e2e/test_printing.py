"""What goes on paper: ink on white from either theme, without anything to press, and nothing cut at the right."""

import pytest
from playwright.sync_api import Page, expect

from tests import factories
from tests.datasets import marked
from tests.e2e.waiting import settled
from tests.resource_sets import make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

A4 = {"width": 680, "height": 1000}  # between the margins
PRESSED = ".topbar, .tabs, button, .button, summary.button, [type=checkbox], [type=search]"
COLORS = """() => [document.documentElement, document.querySelector("h1, h2, .title")].map((element) => {
    const style = getComputedStyle(element); return [style.backgroundColor, style.color];
})"""


def on_paper(page: Page) -> None:
    settled(page)
    page.set_viewport_size(A4)
    page.emulate_media(media="print", color_scheme="dark")


def check(page: Page) -> None:
    (ground, _), (_, ink) = page.evaluate(COLORS)
    assert ground == "rgb(255, 255, 255)"
    assert ink == "rgb(27, 29, 33)"
    assert not [each.evaluate("e => e.outerHTML") for each in page.locator(PRESSED).all() if each.is_visible()]
    cut = page.evaluate(
        "[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
        ".filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 200))"
    )
    assert not cut


@pytest.fixture
def places(alice, carol, labels):
    project = factories.project(by=alice, annotators=[carol])
    rules = make("entity_constraints", owner=alice, **labels)
    given = marked.dataset(owner=alice)
    return [
        labels["entities"].get_absolute_url(),
        f"/ontologies/{given.entity_ontology.pk}/codebook/",
        given.get_absolute_url(),
        f"{given.get_absolute_url()}statistics/",
        f"/projects/{project.pk}/",
        rules.get_absolute_url(),
        f"{rules.get_absolute_url()}matrix/",
        "/ontologies/",
        "/",
    ]


def test_pages(page, sign_in, alice, places):
    sign_in(page, alice)
    for place in places:
        page.emulate_media(media="screen")
        assert page.goto(place).ok
        on_paper(page)
        check(page)


def test_an_open_dialog_is_printed_alone(page, sign_in, alice, labels):
    sign_in(page, alice)
    page.goto(labels["entities"].get_absolute_url())
    page.get_by_role("button", name="History").click()
    expect(page.locator("#dialog .history-list")).to_be_visible()
    on_paper(page)
    check(page)
    expect(page.locator("#tree")).to_be_hidden()
    expect(page.locator("#dialog .history-list")).to_be_visible()


def test_a_codebook_keeps_headings_with_what_follows_and_its_title_on_every_page(page, sign_in, alice, places):
    sign_in(page, alice)
    page.goto(places[1])
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    on_paper(page)
    style = "(e, name) => getComputedStyle(e)[name]"
    assert page.locator(".entry > h2").first.evaluate(style, "breakAfter") == "avoid"
    assert page.locator(".running").evaluate(style, "display") == "table-header-group"
    assert page.locator(".entry .swatch").first.evaluate(style, "printColorAdjust") == "exact"
    expect(page.locator(".sentences mark").first).to_have_text("engine oil")
