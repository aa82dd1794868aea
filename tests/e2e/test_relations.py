"""Relations and suggestions on the annotation screen: by the mouse, by keys alone, one and many."""

import re

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation
from tests import factories
from tests.annotations.test_constraints import constrain

from .conftest import watched_page
from .desk import Desk
from .test_axe import serious

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "the left pump drives a shaft , its motor already leaks\nreplace engine oil\n"
RELATIONS = [
    {"relation": "hasPart", "domain": "PhysicalObject", "range": ["PhysicalObject"]},
    {"relation": "hasParticipant", "domain": "State", "range": ["PhysicalObject"]},
    {"relation": "hasPatient", "domain": "State", "range": ["SensingObject"]},
]
MARKS = {
    "pump": (2, "PhysicalObject"),
    "shaft": (5, "SensingObject"),
    "motor": (8, "DrivingObject"),
    "leaks": (10, "State"),
}


class Relations(Desk):
    def give(self, marks=MARKS, relations=(), **fields) -> Annotation:
        """Marks and relations by the words that they are about."""
        annotation = factories.annotation(self.item(1), **fields)
        status = {} if fields else {"status": "suggested", "origin": "given"}
        names = {label.name: label for label in self.project.relation_ontology.items()}
        ends = {
            word: annotation.entity_set.create(uid=word, label=self.label(name), start=at, end=at, **status)
            for word, (at, name) in marks.items()
        }
        for source, name, target in relations:
            annotation.relation_set.create(
                uid=f"{source}-{target}", source=ends[source], target=ends[target], label=names[name], **status
            )
        self.open()
        return annotation

    def name(self, word: str):
        return self.page.locator(f".mark-name[data-uid='{word}']")

    def relations(self) -> list[tuple]:
        return sorted(self.work().relation_set.values_list("source__uid", "label__name", "target__uid"))

    def statuses(self) -> set[str]:
        mine = self.work()
        return {mark.status for marks in (mine.entity_set, mine.relation_set) for mark in marks.all()}

    def pull(self, start, end) -> None:
        """Drag from one element to another, and stay there."""
        boxes = [element.bounding_box() for element in (start, end)]
        (x, y), to = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move((x + to[0]) / 2, y + 2)
        self.page.mouse.move(*to, steps=3)

    def drop(self, start, end) -> None:
        self.pull(start, end)
        self.page.mouse.up()
        expect(self.page.locator(".text, #picker input").and_(self.page.locator(":focus"))).to_be_visible()

    @property
    def mode(self):
        return self.page.locator("#mode")

    @property
    def bar(self):
        return self.page.locator("#mark-actions")


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Relations:
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    constrain(project, entities=None, relations=RELATIONS)
    sign_in(page, carol)
    return Relations(page, project, carol)


def test_relations_by_the_mouse(desk, carol):
    desk.give(annotator=carol)
    page = desk.page
    # From name to name. What no relation allows is dimmed, and the reason is said.
    desk.pull(desk.name("pump"), desk.name("leaks"))
    expect(page.locator(".mark-name.dim")).to_have_text("State")
    expect(desk.mode).to_have_text("No relation can lead from “PhysicalObject” to “State”.")
    expect(page.locator("#pull path")).to_have_attribute("d", re.compile("^M"))
    page.mouse.up()
    expect(desk.mode).to_be_hidden()
    expect(page.locator(".toast")).to_contain_text("No relation can lead")
    # The only relation that is allowed is taken at once; among two, one is picked.
    desk.drop(desk.name("pump"), desk.name("shaft"))
    assert desk.relations() == [("pump", "hasPart", "shaft")]
    desk.token(10).click()
    desk.drop(desk.token(10), desk.token(8))
    assert desk.relations() == [("leaks", "hasParticipant", "motor"), ("pump", "hasPart", "shaft")]
    desk.drop(desk.name("leaks"), desk.token(5))
    desk.pick("haspatient")
    assert len(desk.relations()) == 3
    # From the words of a selected mark to words without one, words are selected.
    desk.token(2).click()
    desk.drag(2, 3)
    expect(page.locator("#picker")).to_be_visible()
    desk.press("Escape", "Escape")
    # With Shift another one follows.
    desk.token(10).click()
    desk.bar.get_by_role("button", name="Relate").click()
    desk.name("pump").click(modifiers=["Shift"])
    expect(desk.mode).to_contain_text("Relation from “leaks”")
    desk.press("Escape", "Escape")
    assert ("leaks", "hasParticipant", "pump") in desk.relations()
    # With “r” held until the target is clicked.
    desk.name("shaft").click()
    page.keyboard.down("r")
    desk.name("motor").click()
    page.keyboard.down("r")  # a key that is held comes again and again
    page.keyboard.up("r")
    expect(desk.mode).to_be_hidden()
    assert ("shaft", "hasPart", "motor") in desk.relations()


def test_escape_lets_go_of_what_the_pointer_draws(desk, carol):
    desk.give(annotator=carol)
    mouse = desk.page.mouse
    for start, end in (desk.name("pump"), desk.name("shaft")), (desk.token(0), desk.token(1)):
        desk.pull(start, end)
        desk.press("Escape")
        mouse.move(300, 300)
        mouse.up()
        expect(desk.mode).to_be_hidden()
        expect(desk.page.locator("#picker")).to_be_hidden()
        expect(desk.page.locator(".word-box")).to_have_count(0)
    assert desk.relations() == []


def test_relations_by_touch(desk, carol, browser, live_server, problems, sign_in):
    desk.give(annotator=carol)
    with watched_page(browser, live_server, problems, has_touch=True, is_mobile=True) as phone:
        phone.set_viewport_size({"width": 360, "height": 740})
        sign_in(phone, carol)
        small = Relations(phone, desk.project, carol)
        small.open()
        small.token(2).tap()
        small.bar.get_by_role("button", name="Relate").tap()
        expect(small.mode).to_contain_text("tap the other mark")
        small.token(5).tap()
        assert small.relations() == [("pump", "hasPart", "shaft")]
        phone.locator("#relations li").tap()
        small.bar.get_by_role("button", name="Reverse").tap()
        assert small.relations() == [("shaft", "hasPart", "pump")]
        small.press("Escape")
        phone.evaluate("scrollTo(0, 0)")
        phone.locator(".arc text").tap()
        expect(small.bar).to_be_visible()
        assert phone.evaluate("scrollY") == 0  # the text stays where it is


def test_an_arc_is_selected_reversed_relabelled_and_removed(desk, carol):
    desk.give(relations=[("pump", "hasPart", "shaft"), ("leaks", "hasPatient", "shaft")], annotator=carol)
    arcs = {text: desk.page.locator(".arc", has_text=text) for text in ("hasPart", "hasPatient")}
    arcs["hasPart"].locator("text").hover()
    expect(arcs["hasPart"].locator("title")).to_have_text("pump hasPart shaft")
    expect(desk.page.locator("#relations li").first).to_contain_text("pump hasPart shaft")
    arcs["hasPart"].locator("text").click()
    expect(desk.page.locator("#said")).to_have_text("pump hasPart shaft, relation")
    desk.bar.get_by_role("button", name="Reverse").click()
    assert ("shaft", "hasPart", "pump") in desk.relations()
    desk.press("Control+z")
    assert ("pump", "hasPart", "shaft") in desk.relations()
    arcs["hasPatient"].locator("text").click()
    desk.bar.get_by_role("button", name="Reverse").click()
    expect(desk.page.locator(".toast")).to_contain_text("“hasPatient” cannot lead from “SensingObject”")
    desk.bar.get_by_role("button", name="Change label").click()
    desk.pick("hasparticipant")
    assert ("leaks", "hasParticipant", "shaft") in desk.relations()
    desk.page.locator(".arc", has_text="hasParticipant").locator("text").click()
    desk.bar.get_by_role("button", name="Remove").click()
    assert desk.relations() == [("pump", "hasPart", "shaft")]


def test_relations_by_keys_alone(desk, carol):
    desk.give(annotator=carol)
    desk.press("Tab", "r")
    assert [name.get_attribute("data-number") for name in map(desk.name, MARKS)] == [None, "1", "2", None]
    desk.press("2")
    assert desk.relations() == [("pump", "hasPart", "motor")]
    desk.press("r")  # once more: the same source, the same label
    expect(desk.mode).to_contain_text("Relation “hasPart” from “pump”")
    desk.press("ArrowRight")
    expect(desk.page.locator("#said")).to_have_text("shaft, SensingObject")
    desk.press("Enter")
    assert desk.relations() == [("pump", "hasPart", "motor"), ("pump", "hasPart", "shaft")]
    desk.press("Shift+R")
    assert desk.relations() == [("pump", "hasPart", "motor"), ("shaft", "hasPart", "pump")]
    desk.press("Control+z", "Escape", "Tab", "Tab", "Tab", "Tab", "r", "Tab", "Shift+Enter", "3")
    assert ("leaks", "hasParticipant", "pump") in desk.relations()
    assert ("leaks", "hasParticipant", "motor") in desk.relations()
    # The list is a stop of its own; its arrows select, and Escape leads back to what was selected in the text.
    desk.press("Escape", "Tab", "F6", "F6")
    rows = desk.page.locator("#relations li")
    expect(desk.page.locator("#relations")).to_be_focused()
    expect(rows.nth(0)).to_have_attribute("aria-selected", "true")
    desk.press("ArrowDown")
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    expect(desk.page.locator(".arc.lit")).to_have_count(1)
    assert not serious(desk.page)
    desk.press("Delete")
    expect(rows).to_have_count(3)
    desk.press("Enter")
    expect(desk.page.locator("#picker input")).to_be_focused()
    desk.press("Escape")
    expect(desk.page.locator("#relations")).to_be_focused()
    desk.press("Escape")
    expect(desk.page.locator(".text")).to_be_focused()
    expect(desk.page.locator(".mark-name.selected")).to_have_text("PhysicalObject")


def test_a_click_on_a_row_outlives_that_the_list_loses_another_one(desk, carol):
    desk.give(relations=[("pump", "hasPart", "shaft"), ("leaks", "hasPatient", "shaft")], annotator=carol)
    rows, arcs = desk.page.locator("#relations li"), desk.page.locator(".arc")
    arcs.filter(has_text="hasPart").locator("text").click()
    desk.press("Delete")
    desk.press("Control+z")
    expect(rows).to_have_count(2)
    rows.filter(has_text="hasPatient").hover()
    desk.page.mouse.down()
    desk.press("Control+y")
    expect(rows).to_have_count(1)
    desk.page.mouse.up()
    expect(arcs.and_(desk.page.locator(".selected"))).to_contain_text("hasPatient")


def test_what_is_suggested_is_accepted_when_it_is_made_by_hand(desk):
    desk.give(relations=[("pump", "hasPart", "motor")])
    desk.token(10).dblclick()
    desk.pick("state")
    expect(desk.page.locator(".mark-name.suggested")).to_have_count(3)
    desk.drop(desk.name("pump"), desk.name("motor"))
    assert desk.relations() == [("pump", "hasPart", "motor")]
    expect(desk.page.locator(".mark-name.suggested")).to_have_count(1)
    expect(desk.page.locator(".arc.suggested")).to_have_count(0)
    desk.press("Control+z", "Control+z")
    expect(desk.page.locator(".mark-name.suggested")).to_have_count(4)
    expect(desk.page.locator(".arc.suggested")).to_have_count(1)


def test_suggestions_are_decided_one_by_one_of_one_label_and_all(desk):
    marks = {"left": (1, "PhysicalObject"), **MARKS}
    desk.give(marks, [("pump", "hasPart", "shaft"), ("leaks", "hasParticipant", "motor")])
    desk.switch_off("DrivingObject")
    desk.open()
    count = desk.page.locator("#undecided-count")
    expect(count).to_have_text("7 suggestions")
    desk.press("Space")
    expect(desk.page.locator("#said")).to_have_text("left, PhysicalObject, suggested")
    expect(desk.bar).to_contain_text("2 suggestions “PhysicalObject”")
    desk.press("Control+Space")
    expect(desk.page.locator("#said")).to_have_text("shaft, SensingObject, suggested, 1 relation")
    expect(count).to_have_text("5 suggestions")
    desk.press("Delete")  # together with its relation
    expect(count).to_have_text("3 suggestions")
    desk.press("Control+z")
    expect(count).to_have_text("5 suggestions")
    desk.press("Shift+Space")
    expect(
        desk.page.locator(".toast", has_text="3 suggestions accepted, 2 not allowed: they stay suggestions.")
    ).to_be_visible()
    assert desk.relations() == [("leaks", "hasParticipant", "motor"), ("pump", "hasPart", "shaft")]
    expect(count).to_have_text("2 suggestions")
    desk.press("Control+z", "Control+z")
    expect(count).to_have_text("7 suggestions")
    assert desk.statuses() == {"suggested"}


def test_done_asks_what_becomes_of_suggestions(desk):
    desk.give(relations=[("pump", "hasPart", "shaft")])
    desk.press("Control+Enter")
    expect(desk.page.get_by_role("heading", name="5 suggestions are undecided")).to_be_visible()
    assert not serious(desk.page)
    desk.press("Escape")
    desk.ready(1)
    expect(desk.page.locator("#done-note")).to_be_hidden()
    desk.press("Control+Enter", "Enter")  # leaves them
    desk.ready(2)
    desk.press("Control+Enter")  # nothing to ask
    expect(desk.page.get_by_role("heading", name="Everything is done")).to_be_visible()
    desk.open()
    desk.press("Alt+Enter")
    desk.saved()
    desk.page.locator("#done").click()
    desk.page.get_by_role("dialog").get_by_role("button", name="Reject all").click()
    expect(desk.page.get_by_role("heading", name="Everything is done")).to_be_visible()
    desk.open()
    assert desk.names() == []


def test_many_suggestions_are_accepted_at_once_and_saved_before_leaving(page, sign_in, alice, carol):
    words = [f"word{n}" for n in range(40)]
    desk = Relations(page, factories.project(by=alice, annotators=[carol], text=f"{' '.join(words)}\nlast\n"), carol)
    sign_in(page, carol)
    desk.give({word: (at, "State") for at, word in enumerate(words)})
    desk.press("Shift+Space")
    assert set(desk.names()) == {"State"}
    desk.press("PageDown")
    expect(page.locator(".item-bar > b")).to_have_text("2", timeout=120_000)
    assert desk.statuses() == {"accepted"}
