"""A text that is much taller than the window: only what is near is drawn, what is far can be reached all the same, words are
found, and all marks are seen at the margin."""

import pytest
from playwright.sync_api import Page, expect

from annotation_service.db import store
from datasets.models import Entity
from projects.models import Project
from tests import factories
from tests.e2e.test_axe import serious
from tests.e2e.test_drawing import NAMES, WALK, fill, ready
from tests.e2e.test_drawing import WORDS as SENTENCE
from tests.e2e.waiting import until
from tests.soak import SOAK

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

WORDS = SENTENCE.split()
TOKENS, MARKS, RELATIONS = 3000, 300, 120
STEPS = 400 if SOAK else 60
# The tokens that do not stand where they were counted, when all are in the page.
ASTRAY = """async () => {
  const { sheet, text } = await import("/static/js/annotate/workspace.js");
  dispatchEvent(new Event("beforeprint"));
  const origin = sheet.getBoundingClientRect();
  const near = (one, other) => Math.abs(one - other) < 1;
  const isAstray = ({ i, left, right }, { top }) =>
    ![...text.elementOf(i).getClientRects()].some(
      (rect) => near(rect.left - origin.left, left) && near(rect.right - origin.left, right) && near(rect.top - origin.top, top),
    );
  return text.lines.all.flatMap((line) => line.parts.filter((part) => isAstray(part, line)).map(({ i }) => text.tokens[i]));
}"""
FOUND = "[...(CSS.highlights.get('found') ?? [])].map(String).length"


@pytest.fixture
def project(alice, carol) -> Project:
    project = Project.create(
        name="Long",
        by=alice,
        dataset=factories.dataset(owner=alice, text="a long text\nshort\n"),
        entity_ontology=factories.ontology(owner=alice, items=[{"name": name} for name in NAMES]),
        relation_ontology=factories.ontology(owner=alice, kind="relation"),
        annotators=[carol],
    )
    tokens = [WORDS[n % len(WORDS)] for n in range(TOKENS)]
    for place in (40, 1500, 2900):
        tokens[place : place + 2] = ["STRASSEN", "Bahn"]
    item = project.dataset.items()[0]
    store(item, tokens=tokens, offsets=None)
    fill(item, project, carol, marks=MARKS, relations=RELATIONS)
    return project


@pytest.fixture
def long(page: Page, sign_in, project, carol) -> Page:
    sign_in(page, carol)
    show(page, project)
    return page


def show(page: Page, project: Project, number: int = 0) -> None:
    page.goto(f"/projects/{project.pk}/annotate/{project.dataset.items()[number].pk}/")
    ready(page)


def in_order() -> list[Entity]:
    return sorted(Entity.objects.all(), key=lambda mark: (mark.start, -mark.end))


def name_of(page: Page, mark: Entity):
    return page.locator(f".mark-name[data-uid={mark.uid}]")


def place(page: Page, places: list[float]) -> None:
    """Wait until a mark at the margin stands at one of these parts of its height."""
    share = "parseFloat(document.querySelector('#overview > .here').style.top) / 100"
    page.wait_for_function(f"places => places.some((place) => Math.abs({share} - place) < 0.03)", arg=places)


def test_only_what_is_near_is_drawn_and_the_rest_when_it_comes_near(long, project):
    first, last = in_order()[0], in_order()[-1]
    drawn = long.locator(".mark-name")
    expect(name_of(long, first)).to_be_visible()
    expect(name_of(long, last)).to_have_count(0)
    assert 10 < drawn.count() < MARKS / 2
    assert long.locator(".tok").count() < TOKENS
    words = " ".join(project.dataset.items()[0].tokens)
    assert long.locator(".text").text_content() == words  # the browser's own search finds all
    long.mouse.move(500, 400)
    long.mouse.wheel(0, 1_000_000)
    expect(name_of(long, last)).to_be_in_viewport()
    expect(name_of(long, first)).to_have_count(0)
    assert 10 < drawn.count() < MARKS / 2
    long.mouse.wheel(0, -1_000_000)
    expect(name_of(long, first)).to_be_in_viewport()
    # The targets of a relation are numbered where they come near.
    long.keyboard.press("Tab")
    long.keyboard.press("r")
    expect(long.locator(".mark-name[data-number]").first).to_be_visible()
    long.mouse.wheel(0, 1_000_000)
    expect(name_of(long, last)).to_have_attribute("data-number", str(MARKS - 1))
    long.keyboard.press("Escape")
    long.mouse.wheel(0, -1_000_000)
    expect(name_of(long, first)).to_be_in_viewport()
    long.set_viewport_size({"width": 1400, "height": 1900})
    expect(name_of(long, in_order()[60])).to_be_attached()


def test_what_changed_and_was_scrolled_is_drawn_as_if_all_were_drawn_anew(long):
    assert long.evaluate(WALK, [21, STEPS]) == []


@pytest.mark.parametrize(
    "words",
    (
        "pump P-12 (المضخة 45) , هواء - old",
        "المضخة 45 (pump P-12) , تسرب - هواء",
        "水泵 正在 泄漏 , oil",
        f"seal {'x' * 300} x-{'y' * 90}",
    ),
)
def test_blocks_of_lines_stand_as_the_browser_breaks_the_whole_text(page, sign_in, carol, project, words):
    item = project.dataset.items()[1]
    item.original = " ".join(words.split() * 400).replace(" ,", ",").replace("水泵 正在 泄漏", "水泵正在泄漏")
    item.save()
    store(item, tokens=words.split() * 400, offsets=None)
    sign_in(page, carol)
    show(page, project, 1)
    assert page.evaluate(ASTRAY) == []
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_timeout(200)
    assert page.evaluate(ASTRAY) == []
    assert page.locator(".text > div").count() > 3


def test_keys_go_through_all_marks_and_selecting_draws_them(long):
    order = in_order()
    for mark in order[:60]:
        long.keyboard.press("Tab")
        expect(name_of(long, mark)).to_be_in_viewport()
    expect(long.locator(".mark-name.selected")).to_have_attribute("data-uid", order[59].uid)
    expect(long.locator("#mark-actions")).to_be_in_viewport()
    long.keyboard.press("End")
    expect(long.locator(".tok").last).to_be_in_viewport()
    expect(long.locator(".word-box")).to_be_in_viewport()
    long.keyboard.press("Shift+Tab")
    expect(name_of(long, order[-1])).to_be_in_viewport()
    # A relation of the list, and what is undone.
    rows = long.locator("#relations li")
    expect(rows).to_have_count(RELATIONS)
    rows.last.click()
    expect(long.locator(f".arc.selected[data-uid=r{RELATIONS - 1}]").first).to_be_attached()
    expect(long.locator("#mark-actions")).to_be_in_viewport()
    for key in ("Home", "Escape", "Tab", "Delete"):
        long.keyboard.press(key)
    expect(name_of(long, order[0])).to_have_count(0)
    long.keyboard.press("End")
    expect(long.locator(".tok").first).not_to_be_in_viewport()
    long.keyboard.press("Control+z")
    expect(name_of(long, order[0])).to_be_in_viewport()
    expect(name_of(long, order[0])).to_have_class("mark-name label-name selected")


def test_words_are_found_whatever_their_case_and_can_be_marked_at_once(long):
    long.locator(".tok[data-i='1']").scroll_into_view_if_needed()
    long.keyboard.press("ArrowRight")
    long.get_by_role("button", name="Find in the text").click()
    field, count = long.get_by_role("textbox", name="Find in the text"), long.locator("#find output")
    expect(field).to_have_value(WORDS[0])  # what was selected
    expect(count).to_contain_text("1 of ")
    field.fill("x oil fi")  # within words, and over their ends
    expect(count).to_have_text("Not found")
    field.fill("NE Oil fil")
    expect(count).to_contain_text("1 of ")
    field.fill(" ")
    expect(count).to_have_text("")
    long.get_by_role("button", name="End the search").click()
    expect(field).to_be_hidden()
    long.keyboard.press("Escape")
    long.keyboard.press("F3")
    expect(field).to_be_focused()
    long.keyboard.type("straßen  bahn")
    expect(count).to_have_text("1 of 3")
    expect(long.locator(".word-box")).to_be_in_viewport()
    until(lambda: long.evaluate(FOUND) == 1, "those that are near are shown")
    place(long, [40 / TOKENS])
    long.keyboard.press("Enter")
    expect(count).to_have_text("2 of 3")
    expect(long.locator(".tok[data-i='1500']")).to_be_in_viewport()
    place(long, [1500 / TOKENS])
    long.keyboard.press("F3")
    expect(count).to_have_text("3 of 3")
    long.keyboard.press("Enter")
    expect(count).to_have_text("1 of 3")
    long.keyboard.press("Shift+Enter")
    expect(count).to_have_text("3 of 3")
    long.get_by_role("button", name="Previous hit").click()
    expect(count).to_have_text("2 of 3")
    field.press("Escape")
    expect(field).to_be_hidden()
    until(lambda: long.evaluate(FOUND) == 0, "no hit is shown any more")
    expect(long.locator(".sheet > .text")).to_be_focused()
    before = {mark.uid for mark in in_order()}
    long.keyboard.press("Enter")
    long.keyboard.press("Enter")
    until(lambda: Entity.objects.exclude(uid__in=before).exists(), "the mark is not stored")
    (made,) = Entity.objects.exclude(uid__in=before)
    assert (made.start, made.end) == (1500, 1501)


def test_the_margin_shows_all_marks_and_leads_to_them(long, project):
    margin = long.locator("#overview")
    box = margin.bounding_box()
    is_drawn = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"
    until(lambda: margin.locator("canvas").evaluate(is_drawn), "the marks are shown at the margin")
    long.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.5)
    expect(long.locator(f".tok[data-i='{TOKENS // 2}']")).to_be_in_viewport()
    long.mouse.down()
    long.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 1, steps=5)
    long.mouse.up()
    expect(long.locator(".tok").last).to_be_in_viewport()

    def end_of_shown() -> float:
        shown = margin.locator(".shown").bounding_box()
        return shown["y"] + shown["height"]

    until(lambda: end_of_shown() > box["y"] + box["height"] * 0.9, "the margin shows that the end is in sight")
    expect(long.locator(".sheet > .text")).to_be_focused()
    show(long, project, 1)
    expect(margin).to_be_hidden()


def test_on_a_small_window_and_without_serious_problems(long):
    # A relation that is being made goes on after a search.
    for key in ("Tab", "r", "F3"):
        long.keyboard.press(key)
    long.keyboard.type("strassen")
    long.keyboard.press("Enter")
    expect(long.locator(".tok[data-i='1500']")).to_be_in_viewport()
    long.keyboard.press("Escape")
    expect(long.locator("#mode")).to_be_visible()
    expect(long.locator(".mark-name[data-number]").first).to_be_attached()
    for key in ("Escape", "Escape", "Home", "F3"):
        long.keyboard.press(key)
    long.keyboard.type("bahn")
    expect(long.locator("#find output")).to_have_text("1 of 3")
    assert not serious(long)
    long.set_viewport_size({"width": 360, "height": 740})
    long.keyboard.press("Enter")
    expect(long.locator(".tok[data-i='1501']")).to_be_in_viewport()
    expect(long.locator("#overview")).to_be_in_viewport()
    assert long.evaluate("document.documentElement.scrollWidth") <= 360
    assert not serious(long)


def test_the_window_shows_the_same_words_after_its_width_changed(long):
    long.mouse.move(500, 400)
    long.mouse.wheel(0, 5000)
    long.wait_for_function("() => document.querySelector('.desk').scrollTop > 4000")
    seen = long.evaluate(
        "[...document.querySelectorAll('.tok')].find((token) => token.getBoundingClientRect().top > 250).dataset.i"
    )
    for width in (1100, 1600):
        long.set_viewport_size({"width": width, "height": 800})
        expect(long.locator(f".tok[data-i='{seen}']")).to_be_in_viewport()
        expect(long.locator(".mark-name").first).to_be_attached()
        long.wait_for_timeout(100)
    expect(long.locator(f".tok[data-i='{seen}']")).to_be_in_viewport()
    # A hit is in the middle although the browser has not told yet that the width changed.
    long.keyboard.press("F3")
    long.keyboard.type("bahn")
    expect(long.locator("#find output")).to_contain_text(" of 3")
    long.evaluate("""() => {
        document.querySelector(".desk").style.width = "360px";
        document.querySelector("#find input").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    }""")
    expect(long.locator("#find output")).to_have_text("2 of 3")
    hit = long.locator(".tok[data-i='1501']")
    until(lambda: abs(hit.bounding_box()["y"] - 400) < 60, "the hit is in the middle")
