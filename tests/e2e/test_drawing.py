"""How marks and relations lie over a text in the annotation screen: everything can be read and pointed at, and what changes is
drawn as if all had been drawn anew."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation_service.models import COMFORT, User
from datasets.models import Annotation, Item, Relation
from projects.models import Project
from tests import factories
from tests.e2e.waiting import all_saved

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

WORDS = (
    "left hand side air conditioner thermostat is not working on the haul truck so please replace the engine oil filter"
    " hose and the coolant level"
)
NAMES = [
    "Item",
    "SensingObject",
    "ElectricCoolingObject",
    "State",
    "TerroristOrganisation",
    "Plant",
    "FailedStateOfAnObject",
]
# What lies over something else: names of marks and of relations, words. And names that are cut.
CLASHES = """() => {
  const drawn = [...document.querySelectorAll(".mark-name, .arc text, .tok")];
  const boxes = drawn.map((element) => [element, element.getBoundingClientRect()]);
  const isWord = (element) => element.matches(".tok");
  const clashes = [];
  boxes.forEach(([one, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 2 && !(isWord(one) && isWord(other))) clashes.push([one.textContent, "over", other.textContent]);
  }));
  for (const [{ textContent }, { left, right }] of boxes) {
    if (left < 0 || right > innerWidth) clashes.push([textContent, "outside"]);
  }
  for (const { firstChild: name } of document.querySelectorAll(".mark-name")) {
    if (name.scrollWidth > name.clientWidth) clashes.push([name.textContent, "cut"]);
  }
  return clashes;
}"""
# Of each arc on the screen: what is found at the middle of its line, and at its name.
FOUND = """() => [...document.querySelectorAll(".arc")].map((arc) => {
  const line = arc.querySelector(".line");
  const { x, y } = line.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM());
  const name = arc.querySelector("text").getBoundingClientRect();
  const at = (x, y) => document.elementFromPoint(x, y)?.closest(".arc")?.dataset.uid;
  return [arc.dataset.uid, at(x, y), at((name.left + name.right) / 2, (name.top + name.bottom) / 2)];
})"""
WALK = Path(__file__).with_name("walk.js").read_text()


def fill(item: Item, project: Project, annotator: User, *, marks: int, relations: int) -> None:
    """Marks of one to three words, some inside others, and relations between them; the same in every run."""
    rng = random.Random(7)
    annotation = Annotation.objects.create(item=item, annotator=annotator)
    labels, relation_labels = list(project.entity_ontology.items()), list(project.relation_ontology.items())
    count = len(item.tokens)
    entities = [
        annotation.entity_set.create(
            uid=f"m{n}",
            start=start,
            end=min(count - 1, start + rng.choice((0, 0, 1, 2))),
            label=rng.choice(labels),
            status="suggested" if n % 5 == 2 else "accepted",
        )
        for n, start in enumerate(sorted(rng.choices(range(count), k=marks)))
    ]
    Relation.objects.bulk_create(
        Relation(annotation=annotation, uid=f"r{n}", source=source, target=target, label=rng.choice(relation_labels))
        for n, (source, target) in enumerate(rng.sample(entities, 2) for _ in range(relations))
    )


@pytest.fixture
def dense(page: Page, sign_in, alice, carol) -> Page:
    """20 marks and 12 relations in 25 words, at their address."""
    project = Project.create(
        name="Dense",
        by=alice,
        dataset=factories.dataset(owner=alice, text=WORDS + "\n"),
        entity_ontology=factories.ontology(owner=alice, items=[{"name": name} for name in NAMES]),
        relation_ontology=factories.ontology(owner=alice, kind="relation"),
        annotators=[carol],
    )
    item = project.dataset.items()[0]
    fill(item, project, carol, marks=20, relations=12)
    sign_in(page, carol)
    page.goto(f"/projects/{project.pk}/annotate/{item.pk}/")
    ready(page)
    return page


def ready(page: Page) -> None:
    expect(page.locator("html[data-ready]")).to_be_attached()


def choose(page: Page, name: str, value: str) -> None:
    page.locator("#comfort > summary").click()
    page.locator(f"[data-comfort={name}] button[value={value}]").click()
    page.keyboard.press("Escape")


def test_every_name_of_a_dense_text_can_be_read_and_every_arc_pointed_at(dense):
    choose(dense, "names", "lower")
    for width, size in ((1400, "m"), (360, "m"), (1100, "xl"), (1920, "s")):
        dense.set_viewport_size({"width": width, "height": 1600})
        choose(dense, "size", size)
        dense.wait_for_function("() => !document.querySelector('details.menu[open]')")
        expect(dense.locator("#done")).to_be_in_viewport(ratio=1)
        assert dense.evaluate(CLASHES) == []
        assert dense.locator(".mark-name").count() == 20
        found = dense.evaluate(FOUND)
        assert {uid for uid, *_ in found} == {f"r{n}" for n in range(12)}
        assert [arc for arc in found if arc[0] != arc[2]] == []
        assert sum(uid == at_line for uid, at_line, _ in found) > len(found) / 2  # where lines cross, another is above
    assert dense.locator(".rule.open-right").count() == dense.locator(".rule.open-left").count()


LANES = "all => all.map((rule) => Math.round(rule.getBoundingClientRect().top))"


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_long_names_are_cut_beside_marks_that_touch_and_whole_when_they_are_meant(
    page, sign_in, alice, carol, direction
):
    word = "oil" if direction == "ltr" else "שמן"
    words = " ".join([word] * 60)  # more than one line
    labels = factories.ontology(owner=alice, items=[{"name": "FailedStateOfAnObject"}])
    project = Project.create(
        name="Names",
        by=alice,
        dataset=factories.dataset(owner=alice, text=words + "\n"),
        entity_ontology=labels,
        annotators=[carol],
    )
    item = project.dataset.items()[0]
    made = Annotation.objects.create(item=item, annotator=carol).entity_set
    for n in range(60):
        made.create(uid=f"m{n}", start=n, end=n, label=labels.items()[0])
    sign_in(page, carol)
    page.goto(f"/projects/{project.pk}/annotate/{item.pk}/")
    ready(page)
    expect(page.locator(".rule")).to_have_count(60)
    tops = set(page.locator(".rule").evaluate_all(LANES))
    lines = page.locator(".tok").evaluate_all("all => new Set(all.map((token) => token.offsetTop)).size")
    assert len(tops) == lines > 1  # each underline right below its words
    assert {end for _, kind, *end in page.evaluate(CLASHES) if kind != "cut"} == set()
    name = page.locator(".mark-name[data-uid=m1]")
    assert name.get_attribute("title") == f"FailedStateOfAnObject: {word}"
    assert name.bounding_box()["width"] < 40
    for _ in range(2):
        page.keyboard.press("Tab")
    last = page.locator(".mark-name").last
    for shown in (name, last):
        if shown is last:
            last.hover()
        box = shown.locator("span").evaluate("span => [span.scrollWidth, span.clientWidth]")
        assert box[0] <= box[1], "cut"
        expect(shown.locator("span")).to_be_in_viewport(ratio=1)
    covered = page.locator(".mark-name[data-uid=m2]")
    covered.click()  # what the whole name of its neighbour lies over takes the pointer all the same
    expect(covered).to_contain_class("selected")
    choose(page, "names", "lower")
    assert len(set(page.locator(".rule").evaluate_all(LANES))) > lines
    assert page.evaluate(CLASHES) == []


def test_what_changed_is_drawn_as_if_all_were_drawn_anew(dense):
    for width, seed in ((1400, 11), (500, 12)):
        dense.set_viewport_size({"width": width, "height": 900})
        assert dense.evaluate(WALK, [seed, 100]) == []


def test_the_text_keeps_its_place_while_marks_go_and_closes_up_when_most_are_gone(dense):
    def tops() -> list[float]:
        return dense.locator(".tok").evaluate_all("all => all.map((token) => token.getBoundingClientRect().top)")

    full = tops()
    dense.keyboard.press("Tab")
    for _ in range(3):
        dense.keyboard.press("Delete")
        dense.keyboard.press("Tab")
    expect(dense.locator(".mark-name")).to_have_count(17)
    assert tops() == full
    for _ in range(3):
        dense.keyboard.press("Control+z")
    assert tops() == full
    for _ in range(20):
        dense.keyboard.press("Escape")
        dense.keyboard.press("Tab")
        dense.keyboard.press("Delete")
    expect(dense.locator(".mark-name")).to_have_count(0)
    empty = tops()
    assert empty[-1] < full[-1]
    all_saved(dense)
    dense.reload()
    ready(dense)
    assert tops() == empty


def test_a_relation_and_its_ends_light_up_together(dense):
    relation = Relation.objects.get(uid="r3")
    arc = dense.locator(".arc[data-uid=r3]").first
    arc.locator("text").hover()
    expect(dense.locator(".arc.near")).to_have_count(dense.locator(".arc[data-uid=r3]").count())
    ends = {relation.source.uid, relation.target.uid}
    assert set(dense.locator(".mark-name.near").evaluate_all("names => names.map((name) => name.dataset.uid)")) == ends
    arc.locator("text").click()
    expect(dense.locator("#relations [aria-selected=true]")).to_have_count(1)
    assert (
        set(dense.locator(".mark-name.linked").evaluate_all("names => names.map((name) => name.dataset.uid)")) == ends
    )
    drawn = dense.locator("#relations li, .mark-name, .arc, .rule")
    drawn.evaluate_all("all => all.forEach((one) => (one.kept = true))")
    dense.locator(f".mark-name[data-uid={relation.source.uid}]").click()
    expect(dense.locator(".arc.lit[data-uid=r3]").first).to_be_visible()
    assert drawn.evaluate_all("all => all.every((one) => one.kept)")  # selecting draws nothing anew


def test_how_the_text_is_shown_is_chosen_by_keys_and_kept(dense, carol, problems):
    for name, choice in COMFORT.items():
        values = dense.locator(f"[data-comfort={name}] button").evaluate_all("all => all.map((button) => button.value)")
        assert values == list(choice.values)
    small = dense.locator(".tok").first.bounding_box()["height"]
    dense.locator("#comfort > summary").focus()
    dense.keyboard.press("Enter")
    for _ in range(3):
        dense.keyboard.press("ArrowDown")
    dense.keyboard.press("Enter")
    expect(dense.get_by_role("button", name="Large")).to_have_attribute("aria-pressed", "true")
    dense.keyboard.press("Escape")
    expect(dense.locator(".sheet > .text")).to_be_focused()
    assert dense.locator(".tok").first.bounding_box()["height"] > small
    choose(dense, "arcs", "selected")
    expect(dense.locator(".arc")).to_have_count(0)
    tops = [token.bounding_box()["y"] for token in dense.locator(".tok").all()]
    dense.locator("#relations li").first.click()
    expect(dense.locator(".arc.lit").first).to_be_visible()
    assert [token.bounding_box()["y"] for token in dense.locator(".tok").all()] == tops  # the text stays where it is
    choose(dense, "arcs", "off")
    expect(dense.locator(".arc")).to_have_count(0)
    with dense.expect_response(lambda answer: "comfort" in answer.url and "strong" in answer.request.post_data):
        choose(dense, "strength", "strong")
    dense.reload()
    ready(dense)
    expect(dense.locator(".sheet")).to_have_attribute("data-size", "l")
    expect(dense.locator(".sheet")).to_have_attribute("data-arcs", "off")
    assert User.objects.get(pk=carol.pk).comfort == {"size": "l", "arcs": "off", "strength": "strong"}
    problems.expect("503")
    dense.route("**/annotate/comfort/", lambda route: route.fulfill(status=503))
    choose(dense, "spacing", "wide")
    expect(dense.locator(".toast.error")).to_contain_text("could not be saved")
