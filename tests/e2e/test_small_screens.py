"""The main pages on a phone of 360 by 640 pixels: what is touched is large enough, and tools leave room for what they are for."""

import pytest
from playwright.sync_api import Page, expect

from datasets.models import Annotation
from tests import factories
from tests.e2e.conftest import watched_page
from tests.e2e.desk import Desk
from tests.e2e.waiting import settled
from tests.resource_sets import make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

WIDTH, HEIGHT, LEAST = 360, 640, 24

# Whatever is touched, with what is around it that takes the touch, too: the words of a box, the row of a link. Links inside
# a sentence are as high as its line.
SMALL = """(least) => {
  const controls = `button, summary, select, textarea, input:not([type=hidden]), nav a, .pager a,
    :is(th, td, .list, .card h2, .menu-items) a, a:is(.button, .chip), [role=button]`;
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && !element.closest(".visually-hidden, .skip-link, [inert]");
  const takes = (element, x, y) => {
    const there = document.elementFromPoint(x, y);
    return !there || element.contains(there) || there.closest("label")?.control === element;
  };
  const isSmall = (element) => {
    const whole = (element.matches("input") && element.closest("label")) || element;
    const { width, height } = whole.getBoundingClientRect();
    if (!width || !height || (width >= least && height >= least)) return false;
    element.scrollIntoView({ block: "center", inline: "center" });
    const box = element.getBoundingClientRect();
    const [x, y, reach] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2, least / 2 - 1];
    return ![[-reach, 0], [reach, 0], [0, -reach], [0, reach]].every(([right, down]) => takes(element, x + right, y + down));
  };
  const said = (element) => (element.ariaLabel ?? element.textContent).trim().slice(0, 30);
  const name = (element) => `${element.tagName.toLowerCase()}.${element.className} “${said(element)}”`;
  return [...new Set([...document.querySelectorAll(controls)].filter(isShown).filter(isSmall).map(name))];
}"""
# How high the rows of tools are that the first screen shows.
TOOLS = """() => [...document.querySelectorAll(".work-bar, .item-bar, .tools, .tabs, .page-head .actions")]
  .filter((element) => element.checkVisibility() && !element.parentElement.closest(".tools"))
  .map((element) => [element.className || element.id, element.getBoundingClientRect()])
  .map(([name, { top, bottom }]) => [name, Math.round(Math.min(bottom, innerHeight) - Math.max(top, 0))])
  .filter(([, height]) => height > 0)"""


@pytest.fixture
def addresses(alice, carol, labels):
    rules = make("entity_constraints", owner=alice, name="Pump rules", **labels)
    text = "".join(f"replace pump {n} and its seal now\n" for n in range(60))
    project = factories.project(by=alice, annotators=[carol], text=text, entities=labels["entities"], resources=[rules])
    place, own = project.get_absolute_url(), project.constraint_sets()[0]
    item = project.dataset.items()[0].pk
    managers = {
        "home": "/",
        "projects": "/projects/",
        "project": place,
        "items of the project": f"{place}items/",
        "people": f"{place}people/",
        "comments": f"{place}comments/",
        "settings": f"{place}settings/",
        "ontologies": "/ontologies/",
        "tree editor": project.entity_ontology.get_absolute_url(),
        "datasets": "/datasets/",
        "dataset": project.dataset.get_absolute_url(),
        "item of the dataset": f"{project.dataset.get_absolute_url()}items/{item}/",
        "constraints": "/constraints/",
        "rules": own.get_absolute_url(),
        "new project": "/projects/new/",
        "help": "/help/",
    }
    annotators = {
        "home": "/",
        "project": place,
        "workspace": f"{place}annotate/{item}/",
        "own items": f"{place}annotate/items/",
        "own marks": f"{place}annotate/marks/",
        "batches": f"{place}annotate/batches/",
    }
    return {"alice": managers, "carol": annotators}


@pytest.mark.parametrize("who", ["alice", "carol"])
def test_on_a_phone_targets_are_large_enough_and_tools_leave_two_thirds(page: Page, sign_in, request, addresses, who):
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    sign_in(page, request.getfixturevalue(who))
    small, tall = {}, {}
    for name, address in addresses[who].items():
        page.goto(address)
        settled(page)
        assert page.locator("h1, #text, [role=tree]").count(), name
        parts = page.evaluate(TOOLS)
        if sum(height for _, height in parts) > HEIGHT / 3:
            tall[name] = parts
        small[name] = page.evaluate(SMALL, LEAST)
    lines = [f"{name}: {each}" for name, found in [*small.items(), *tall.items()] for each in found]
    assert not lines, "\n".join(lines)


def test_the_sign_in_begins_with_the_name(page: Page, live_server, alice):
    page.goto("/accounts/login/")
    page.keyboard.type("alice")
    expect(page.get_by_label("User name or e-mail address")).to_have_value("alice")


LONG = "replace engine oil and both fuel filters of the haul truck then check the coolant level " * 6
# Words that lie under the buttons of a mark, or outside the window; and what the item bar or the buttons cover of one another.
COVERED = """() => {
  const bar = document.getElementById("mark-actions").getBoundingClientRect();
  return [...document.querySelectorAll(".tok")].filter((token) => {
    const { left, right, top, bottom } = token.getBoundingClientRect();
    return left < bar.right && right > bar.left && top < bar.bottom && bottom > bar.top;
  }).map((token) => Number(token.dataset.i));
}"""
CLASHES = """() => {
  const all = [...document.querySelectorAll(":is(.work-bar, .item-bar, .mark-actions) :is(button, a, summary)")];
  const shown = all.filter((each) => each.checkVisibility());
  const boxes = shown.map((each) => [each.id || each.textContent.trim(), each.getBoundingClientRect()]);
  const over = boxes.flatMap(([one, a], at) => boxes.slice(at + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1
  ).map(([other]) => `${one} over ${other}`));
  return [...over, ...boxes.filter(([, { left, right }]) => left < 0 || right > innerWidth).map(([name]) => `${name} is cut`)];
}"""
NEXT_LINE = """(token) => {
  const all = [...document.querySelectorAll(".tok")].map((each) => each.getBoundingClientRect());
  const below = Math.min(...all.map(({ top }) => top).filter((top) => top > all[token].bottom));
  return all.flatMap(({ top }, at) => (top - below < 4 && top >= below ? [at] : []));
}"""


@pytest.fixture
def marked(alice, carol):
    """An item of several lines, a mark on each fourth word."""
    project = factories.project(by=alice, annotators=[carol], text=LONG + "\n", guidelines="Mark all.")
    made = Annotation.objects.create(item=project.dataset.items()[0], annotator=carol).entity_set
    for n, label in zip(range(0, 90, 4), list(project.entity_ontology.items()) * 20, strict=False):
        made.create(uid=f"m{n}", start=n, end=n, label=label)
    return project


@pytest.mark.parametrize(("width", "height"), [(640, 360), (720, 600), (900, 700), (390, 800)])
def test_the_buttons_of_a_mark_cover_neither_its_line_nor_the_next(page, sign_in, marked, carol, width, height):
    page.set_viewport_size({"width": width, "height": height})
    sign_in(page, carol)
    Desk(page, marked, carol).open()
    for n in range(0, 90, 4):
        page.keyboard.press("Tab")
        expect(page.locator(f".mark-name.selected[data-uid=m{n}]")).to_be_attached()
        expect(page.locator("#mark-actions")).to_be_in_viewport(ratio=1)
        assert not set(page.evaluate(COVERED)) & {n, *page.evaluate(NEXT_LINE, n)}
        expect(page.locator(f".tok[data-i='{n}']")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", [1000, 860, 859, 640, 360])
def test_below_1024_pixels_targets_are_large_enough_and_nothing_lies_over_another(page, sign_in, marked, carol, width):
    page.set_viewport_size({"width": width, "height": 700})
    sign_in(page, carol)
    Desk(page, marked, carol).open()
    page.keyboard.press("Tab")
    assert page.evaluate(CLASHES) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    # Names of marks are as high as a lane: the words above them do the same.
    assert [small for small in page.evaluate(SMALL, LEAST) if ".mark-name" not in small] == []
    for part in ("Labels", "Relations", "Comments"):
        heading = page.get_by_role("heading", name=part)
        heading.scroll_into_view_if_needed()
        expect(heading).to_be_in_viewport()


def test_hints_speak_of_fingers_to_fingers(browser, live_server, problems, sign_in, marked, carol):
    with watched_page(browser, live_server, problems, has_touch=True, is_mobile=True) as page:
        sign_in(page, carol)
        Desk(page, marked, carol).open()
        expect(page.locator("#pane .hint:visible")).to_contain_text("Tap words")
        expect(page.locator("#no-relations")).to_contain_text("Tap a mark, then “Relate”.")
        assert "Drag" not in page.locator("#no-relations").inner_text()
        page.goto(f"/projects/{marked.pk}/annotate/items/")
        expect(page.locator(".keys-hint")).to_be_hidden()
