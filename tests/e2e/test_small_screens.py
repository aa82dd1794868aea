"""The main pages on a phone of 360 by 640 pixels: what is touched is large enough, and tools leave room for what they are for."""

import pytest
from playwright.sync_api import Page, expect

from tests import factories
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
