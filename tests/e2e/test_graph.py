"""The graph in a browser: from a node to the mark behind it and back, merging and taking back, comparing, by keys alone; what is
chosen is the same in the table, the picture and the evidence."""

import json
import math
import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from graph.models import Graph
from tests import factories
from tests.e2e.test_axe import fits, serious
from tests.e2e.waiting import settled
from tests.quality.conftest import say

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
TEXT = "hydraulic pump leaking badly\nhyd pump leaking again\nseal of hydraulic pump worn\nHydraulic  pump noisy\n"


@pytest.fixture
def project(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT)
    first, second, third, fourth = project.dataset.items()
    for person in (carol, dave):
        say(first, person, "DrivingObject 0-1", "State 2", "hasPatient: State 2 > DrivingObject 0-1")
    say(second, carol, "DrivingObject 0-1", "State 2", "hasPatient: State 2 > DrivingObject 0-1")
    say(third, carol, "PhysicalObject 0", "DrivingObject 2-3", "hasPart: DrivingObject 2-3 > PhysicalObject 0")
    say(fourth, dave, "DrivingObject 0-1")
    return project


class GraphPage:
    def __init__(self, page, project):
        self.page, self.project = page, project
        self.table, self.evidence = page.locator("#graph"), page.locator("#evidence")

    def open(self, query=""):
        self.page.goto(f"/projects/{self.project.pk}/graph/{query}")
        settled(self.page)
        return self

    def row(self, words):
        return self.table.locator("tbody tr").filter(has=self.page.get_by_role("link", name=words, exact=True))

    def drawn(self):
        """What the table gives the picture."""
        return json.loads(self.page.locator("#graph-data").text_content())


@pytest.fixture
def graph(page, sign_in, alice, project):
    sign_in(page, alice)
    return GraphPage(page, project)


def test_from_a_node_to_its_sentence_to_the_mark_and_back(page, graph, carol):
    graph.open()
    graph.row("hydraulic pump").get_by_role("link").click()
    expect(graph.evidence.get_by_role("heading", level=2)).to_have_text("hydraulic pump")
    expect(graph.evidence.locator(".places > li")).to_have_count(3)
    place = graph.evidence.locator(".places > li").first
    expect(place.locator(".subject")).to_have_text("hydraulic pump")
    expect(place).to_contain_text("all 2 agree")
    place.get_by_role("link", name="carol").click()
    expect(page).to_have_url(re.compile(rf"/marks/{carol.pk}/\d+/#"))
    expect(page.locator(".selected").first).to_be_visible()
    page.get_by_role("link", name="Its nodes in the graph").click()
    expect(graph.table.locator("tbody tr")).to_have_count(2)
    page.go_back()
    page.go_back()
    expect(graph.evidence.get_by_role("heading", level=2)).to_have_text("hydraulic pump")


def test_what_is_chosen_in_the_picture_is_chosen_everywhere(page, graph):
    graph.open("?view=edges")
    canvas = page.locator("#picture canvas").last
    expect(canvas).to_be_visible()
    page.wait_for_selector("#picture:not([aria-busy])")
    at = graph.drawn()["edges"][0]["id"]
    node = graph.drawn()["nodes"][0]["id"]
    place = page.evaluate("(id) => window.graphPicture.place(id)", node)
    box = page.locator("#picture").bounding_box()
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    expect(page).to_have_url(re.compile(f"at={node}"))
    expect(graph.evidence.get_by_role("heading", level=2)).to_have_text(graph.drawn()["nodes"][0]["words"])
    graph.table.locator(f'tr[data-at="{at}"] a').click()
    expect(graph.table.locator("tr:has([aria-current])")).to_have_attribute("data-at", at)
    assert page.evaluate("() => window.graphPicture.chosen()") == at
    expect(graph.evidence.locator(".object").first).to_be_visible()


def test_merging_and_taking_back_by_keys_alone(page, graph, project):
    graph.open()
    page.keyboard.press("ArrowDown")
    expect(graph.row("hydraulic pump").get_by_role("link")).to_be_focused()
    page.keyboard.press("x")
    graph.row("hyd pump").get_by_role("link").focus()
    page.keyboard.press("x")
    expect(page.locator("#selected")).to_contain_text("2 nodes selected")
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name="hydraulic pump")).to_be_checked()
    page.keyboard.press("Enter")
    expect(graph.row("hydraulic pump")).to_contain_text("+1 form")
    expect(graph.row("hydraulic pump").locator(".num").first).to_have_text("5")
    expect(graph.row("hyd pump")).to_have_count(0)
    assert {(node["words"], node["marks"]) for node in graph.drawn()["nodes"]} >= {("hydraulic pump", 5)}
    graph.row("hydraulic pump").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(graph.evidence.locator(".forms-list > li")).to_have_count(2)
    expect(graph.evidence).to_contain_text("merged by alice")
    page.get_by_role("button", name="Undo").last.click()
    expect(graph.row("hyd pump")).to_have_count(1)
    assert Graph.of(project).forms.filter(node__isnull=False).count() == 0


def test_splitting_and_naming(page, graph, project, problems):
    problems.expect("422")
    of = Graph.of(project)
    graph.open()
    pumps = [of.forms.get(text=text).digest for text in ("hydraulic pump", "hyd pump")]
    of.merge(pumps[0], pumps[1:], by=project.created_by)
    graph.open(f"?at={pumps[0]}")
    graph.evidence.get_by_role("button", name="split").click()
    expect(graph.row("hyd pump")).to_have_count(1)
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("IRI").fill("no iri")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("An IRI begins with its scheme")
    expect(dialog.get_by_label("IRI")).to_be_focused()
    expect(dialog.get_by_label("IRI")).to_have_value("no iri")
    dialog.get_by_label("IRI").fill("https://www.wikidata.org/entity/Q1")
    dialog.get_by_label("Name").fill("Hydraulic pump")
    dialog.get_by_role("button", name="Save").click()
    expect(graph.row("Hydraulic pump")).to_have_count(1)


def test_two_people_are_compared(page, graph):
    graph.open("?source=carol&compare=dave")
    expect(graph.row("hyd pump")).to_contain_text("only carol")
    expect(graph.row("hydraulic pump")).to_contain_text("both")
    page.get_by_role("combobox", name="Where").select_option("one")
    expect(graph.row("hydraulic pump")).to_have_count(0)
    expect(graph.row("hyd pump")).to_have_count(1)
    assert {node["side"] for node in graph.drawn()["nodes"]} == {"one"}


def test_suggestions_are_decided_by_keys(page, graph, project):
    Graph.of(project)
    page.goto(f"/projects/{project.pk}/graph/")
    page.goto(f"/projects/{project.pk}/graph/suggestions/")
    expect(page.locator(".pair")).to_have_count(1)
    page.set_viewport_size({"width": 420, "height": 800})
    assert min(cell.bounding_box()["width"] for cell in page.locator(".pair > td").all()[:2]) > 100
    expect(page.get_by_role("button", name="are two things")).to_be_in_viewport(ratio=1)
    page.keyboard.press("n")
    expect(page.locator(".pair")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator(".pair")).to_have_count(1)
    page.keyboard.press("y")
    expect(page.locator(".pair")).to_have_count(0)
    assert Graph.of(project).forms.filter(node__isnull=False).count() == 1


def test_quick_presses_decide_one_pair_after_the_other(page, sign_in, alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="pump\npumps\nvalve\nvalves\nhose\nhoses\n")
    for item in project.dataset.items():
        say(item, carol, "PhysicalObject 0")
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/graph/")
    page.goto(f"/projects/{project.pk}/graph/suggestions/")
    expect(page.locator(".pair")).to_have_count(3)
    third = page.locator(".pair").nth(2).get_attribute("data-pair")
    page.keyboard.press("n")
    page.keyboard.press("y")
    expect(page.locator(".pair")).to_have_count(1)
    expect(page.locator(".pair")).to_have_attribute("data-pair", third)
    expect(page.locator(".pair")).to_be_focused()
    graph = Graph.of(project)
    assert [row.verb for row in graph.changes.order_by("version")] == ["keep apart", "merge"]


def test_two_windows_do_not_merge_what_they_have_not_seen(page, graph, project, problems):
    problems.expect("422")
    graph.open()
    for words in ("hyd pump", "seal"):
        graph.row(words).get_by_role("checkbox").check()
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("These have different labels")
    of = Graph.of(project)
    pumps = [of.forms.get(text=text).digest for text in ("hydraulic pump", "hyd pump")]
    of.merge(pumps[0], pumps[1:], by=project.created_by)
    dialog.get_by_role("button", name="Merge").click()
    expect(page.locator(".toast")).to_contain_text("Somebody has merged or split these meanwhile.")
    expect(dialog).to_have_count(0)
    expect(graph.row("hydraulic pump")).to_contain_text("+1 form")
    expect(page.locator("#selected")).to_be_hidden()
    assert of.changes.count() == 1


def test_neighbours_come_on_demand_and_the_picture_can_be_taken_away(page, graph):
    graph.open("?least=4")
    assert len(graph.drawn()["nodes"]) == 1
    page.wait_for_selector("#picture:not([aria-busy])")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    page.wait_for_function("() => window.graphPicture.counts().nodes === 3")
    for kind in ("SVG", "PNG"):
        with page.expect_download() as taken:
            page.get_by_role("button", name=kind).click()
        content = taken.value.path().read_bytes()
        assert content.startswith(b"<svg" if kind == "SVG" else b"\x89PNG")
        assert kind == "PNG" or b"hydraulic pump" in content


SMALL = {
    "compared": True,
    "nodes": [
        {"id": "a", "words": "hydraulic pump of the left hand side", "color": "#2a9d8f", "marks": 9, "side": "both"},
        {"id": "b", "words": "<worn>", "color": "#c77d4f", "marks": 1, "side": "one"},
    ],
    "edges": [
        {"id": f"{n}", "subject": "a", "object": to, "label": f"relation{n}", "marks": 1, "side": side}
        for n, (to, side) in enumerate([("b", "both"), ("b", "one"), ("b", "other"), ("a", "both")])
    ],
}


def test_the_file_is_the_picture(page, graph):
    """Edges end where circles begin, each has a line of its own, also that of a node to itself, and names are in full."""
    graph.open()
    page.evaluate("(data) => window.graphPicture.draw(data)", SMALL)
    page.wait_for_selector("#picture:not([aria-busy])")
    with page.expect_download() as taken:
        page.get_by_role("button", name="SVG").click()
    svg = ElementTree.parse(taken.value.path()).getroot()
    named = {"svg": "http://www.w3.org/2000/svg"}
    words = [" ".join(text.itertext()) for text in svg.iterfind(".//svg:text", named)]
    assert {"hydraulic pump of the left hand side", "<worn>"} < set(words)
    lines = [path for path in svg.iterfind(".//svg:path", named) if path.get("fill") == "none"]
    assert len({line.get("d") for line in lines}) == 4
    assert [line.get("stroke-dasharray") != "none" for line in lines] == [False, True, True, False]
    circle = svg.find(".//svg:circle", named)
    assert circle.get("fill").startswith("rgb(")  # hides what is behind it
    radius, x, y = (float(circle.get(name)) for name in ("r", "cx", "cy"))
    for line in lines:
        begins = [float(number) for number in re.findall(r"-?[0-9.]+", line.get("d"))[:2]]
        assert math.dist(begins, (x, y)) == pytest.approx(radius, abs=2)


def test_an_empty_picture_says_so(page, graph):
    graph.open("?q=nothing")
    expect(page.get_by_text("Nothing to draw.")).to_be_visible()
    for button in page.locator("[data-picture]").all():
        expect(button).to_be_disabled()
    graph.open()
    expect(page.get_by_text("Nothing to draw.")).to_be_hidden()
    expect(page.get_by_role("button", name="PNG")).to_be_enabled()


def test_neighbours_that_do_not_come_are_told(page, graph, problems):
    problems.expect("ERR_FAILED")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "neighbours" in request.url else None)
    graph.open()
    page.wait_for_selector("#picture:not([aria-busy])")
    page.keyboard.press("n")
    expect(page.locator("#toasts")).to_contain_text("Choose a node first")
    assert asked == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    expect(page.locator("#toasts")).to_contain_text("No further neighbours.")
    page.route("**/neighbours/**", lambda route: route.abort())
    page.keyboard.press("n")
    expect(page.locator("#toasts")).to_contain_text("could not be fetched")


def test_a_picture_fits_its_window_until_it_is_moved(page, graph):
    graph.open()
    page.wait_for_selector("#picture:not([aria-busy])")
    nodes = [node["id"] for node in graph.drawn()["nodes"]]
    page.set_viewport_size({"width": 900, "height": 700})
    box = page.locator("#picture").bounding_box()
    page.wait_for_function(
        """([ids, width, height]) => ids.map(window.graphPicture.place)
           .every(({ x, y }) => x > 0 && y > 0 && x < width && y < height)""",
        arg=[nodes, box["width"], box["height"]],
    )
    apart = "([one, other]) => window.graphPicture.place(one).x - window.graphPicture.place(other).x"
    page.locator("[data-picture=in]").click()
    before = page.evaluate(apart, nodes[:2])
    page.set_viewport_size({"width": 1300, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate(apart, nodes[:2]) == pytest.approx(before)


def test_on_a_phone_what_was_asked_for_is_in_the_window(page, graph):
    page.set_viewport_size({"width": 420, "height": 800})
    graph.open()
    graph.row("hydraulic pump").get_by_role("checkbox").check()
    page.evaluate("() => scrollTo(0, 0)")
    expect(page.get_by_role("button", name="Merge…")).to_be_in_viewport()
    graph.row("hydraulic pump").get_by_role("link").click()
    expect(graph.evidence.get_by_role("heading", level=2)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Merge…")).to_be_in_viewport()


def test_everybody_can_read_it(page, graph, project):
    for query in ("", "?view=edges&compare=dave&source=carol", "?q=nothing", "suggestions/", "figures/"):
        graph.open(query)
        assert serious(page) == []
        if "/" in query:
            fits(page)
    graph.open()
    graph.row("hydraulic pump").get_by_role("link").click()
    expect(graph.evidence.locator(".places > li")).to_have_count(3)
    assert serious(page) == []
    fits(page)
    page.get_by_role("button", name="Download…").click()
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("Download the graph")
    assert serious(page) == []
