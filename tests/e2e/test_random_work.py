"""Whatever somebody does to marks, in whatever order: the screen, the server and a plain model of both agree."""

import random
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

from datasets.models import Annotation, Entity, Rejection, Relation
from tests import factories
from tests.e2e.plainly import PLACES, History, Plain, Step
from tests.e2e.waiting import until
from tests.projects.test_bundle import read
from tests.soak import SOAK, amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "left air pump seal not working now\nreplace engine oil and filter of pump\n"
TOKENS = 7
# What comes with the first item: uid, label, place. An entity and a relation may have the same uid.
GIVEN = {
    "entity": [("g1", "State", 0, 0), ("r1", "Thermostat", 1, 2), ("g3", "Activity", 2, 3), ("g4", "State", 5, 5)],
    "relation": [("r1", "hasPart", "g1", "r1"), ("r2", "hasPatient", "r1", "g3")],
}
LABELS = {"entity": ["State", "Activity", "Thermostat"], "relation": ["hasPart", "hasPatient"]}

MODULES = """
  const names = ["workspace", "changes", "history", "saving"];
  const modules = await Promise.all(names.map((name) => import(`/static/js/annotate/${name}.js`)));
  const [{ marks }, { act, undo, redo }, { past, future }, { refresh }] = modules;
  const state = () => structuredClone({ entities: marks.entities, relations: marks.relations, done: marks.done });
"""
RUN = f"""async (steps) => {{ {MODULES}
  return steps.map((step) => {{
    Array.isArray(step) ? act(step) : {{ undo, redo }}[step]();
    return state();
  }});
}}"""
SHOWN = f"""async () => {{ {MODULES}
  const shown = [...document.querySelectorAll(".mark-name")];
  const suggested = shown.map(({{ dataset, classList }}) => [dataset.uid, classList.contains("suggested")]);
  return {{ state: state(), suggested, steps: [past.length, future.length] }};
}}"""
REFRESH = f"async () => {{ {MODULES} await refresh(); }}"
FORGET = f"async () => {{ {MODULES} past.length = future.length = 0; await refresh(); }}"
LEAVE = f"(way) => {{ (async () => {{ {MODULES} ({{ undo, redo }})[way](); }})(); }}"
ARRIVED = """(number) => document.documentElement.dataset.ready
  && document.querySelector(".item-bar > b").textContent === number"""

NUMBER = st.integers(0, 99)
KINDS = st.sampled_from(list(PLACES))
STEPS = st.one_of(
    st.tuples(st.sampled_from(["undo", "redo", "switch", "go", "done"])),
    st.tuples(st.sampled_from(["mark", "relate", "resize"]), NUMBER, NUMBER, NUMBER),
    st.tuples(st.just("label"), KINDS, NUMBER, NUMBER),
    st.tuples(st.just("reverse"), NUMBER),
    st.tuples(st.sampled_from(["accept", "remove"]), KINDS, NUMBER),
)


# Of those by hand: the verb, how many numbers it takes, and of which kind the mark is.
BY_HAND: list[tuple] = [
    *[("undo", 0), ("undo", 0), ("redo", 0), ("switch", 0), ("go", 0), ("mark", 3), ("mark", 3), ("relate", 3)],
    *((verb, numbers, kind) for verb, numbers in (("label", 2), ("accept", 1), ("remove", 1)) for kind in PLACES),
]


def span(start: int, length: int) -> tuple[int, int]:
    start %= TOKENS
    return start, min(start + length % 3, TOKENS - 1)


class Tab:
    """The annotation screen in one of somebody's tabs."""

    def __init__(self, page: Page, urls: list[str]) -> None:
        self.page, self.urls, self.item = page, urls, 0
        self.history = History()

    def open(self, item: int) -> None:
        self.item = item
        self.page.goto(self.urls[item])
        self.arrive()

    def arrive(self) -> None:
        self.page.wait_for_function(ARRIVED, arg=str(self.item + 1))

    def begin(self) -> None:
        """As a new tab on the first item."""
        if self.item or self.page.locator(".toast.error").count():
            self.open(0)
        self.page.evaluate(FORGET)
        self.history = History()

    def shown(self) -> Plain:
        shown = self.page.evaluate(SHOWN)
        plain = Plain.of(**shown["state"])
        assert dict(shown["suggested"]) == {uid: mark["status"] == "suggested" for uid, mark in plain.entity.items()}
        assert shown["steps"] == [len(self.history.undo), len(self.history.redo)]
        return plain


class Work:
    """Somebody's work on two items in two tabs. What a tab is to do is collected, and then done as quickly as the page can."""

    def __init__(self, project, tabs: list[Tab], labels: dict[str, list[str]], given: list[Plain]) -> None:
        self.project, self.tabs, self.labels = project, tabs, labels
        self.uids = (f"u{number}" for number in count())
        self.items = [each.copy() for each in given]
        self.steps: list = []
        self.expected: list[Plain] = []

    @property
    def tab(self) -> Tab:
        return self.tabs[0]

    @property
    def plain(self) -> Plain:
        return self.items[self.tab.item]

    @plain.setter
    def plain(self, value: Plain) -> None:
        self.items[self.tab.item] = value

    def take(self, verb: str, *values) -> None:
        if not self.plain.done or verb in ("undo", "redo", "switch", "go", "done"):
            getattr(self, verb)(*values)

    def act(self, **operation) -> None:
        before = self.plain.copy()
        self.plain.perform(operation)
        self.tab.history.note(Step.between(self.tab.item, before, self.plain))
        self.plan([operation])

    def plan(self, step) -> None:
        self.steps.append(step)
        self.expected.append(self.plain.copy())

    def mark(self, label: int, start: int, length: int) -> None:
        self.add("entity", label, *span(start, length))

    def relate(self, label: int, source: int, target: int) -> None:
        ends = self.choose("entity", source), self.choose("entity", target)
        if None not in ends and ends[0] != ends[1]:
            self.add("relation", label, *ends)

    def add(self, kind: str, label: int, *place) -> None:
        self.change(kind, "add", next(self.uids), self.label_of(kind, label), place)

    def resize(self, number: int, start: int, length: int) -> None:
        if uid := self.choose("entity", number):
            self.change("entity", "resize", uid, self.plain.entity[uid]["label"], span(start, length))

    def reverse(self, number: int) -> None:
        if uid := self.choose("relation", number):
            mark = self.plain.relation[uid]
            self.change("relation", "reverse", uid, mark["label"], (mark["target"], mark["source"]))

    def label(self, kind: str, number: int, label: int) -> None:
        if uid := self.choose(kind, number):
            place = tuple(self.plain.marks(kind)[uid][key] for key in PLACES[kind])
            self.change(kind, "label", uid, self.label_of(kind, label), place)

    def change(self, kind: str, verb: str, uid: str, label: str, place: tuple) -> None:
        """No two marks say the same."""
        if self.plain.at(kind, label, *place) is None:
            named = dict(zip(PLACES[kind], place, strict=True)) if verb != "label" else {}
            self.act(kind=kind, verb=verb, uid=uid, **({} if verb == "resize" else {"label": label}), **named)

    def accept(self, kind: str, number: int) -> None:
        uid = self.choose(kind, number)
        if uid and (mark := self.plain.marks(kind)[uid])["status"] == "suggested":
            self.act(kind=kind, verb="label", uid=uid, label=mark["label"])

    def remove(self, kind: str, number: int) -> None:
        if uid := self.choose(kind, number):
            self.act(kind=kind, verb="remove", uid=uid)

    def done(self) -> None:
        """Done, or reopened."""
        self.act(kind="item", verb="done", done=not self.plain.done)

    def choose(self, kind: str, number: int) -> str | None:
        uids = list(self.plain.marks(kind))
        return uids[number % len(uids)] if uids else None

    def label_of(self, kind: str, number: int) -> str:
        return self.labels[kind][number % len(self.labels[kind])]

    def undo(self) -> None:
        self.take_back("undo")

    def redo(self) -> None:
        self.take_back("redo")

    def take_back(self, way: str) -> None:
        """In the item where it happened. What was changed in the other tab meanwhile cannot be taken back: that is said, and
        nothing else is done."""
        tab, has_left, is_told = self.tab, False, False
        while steps := getattr(tab.history, way):
            step, is_here = steps[-1], steps[-1].item == tab.item
            if is_here and (changed := step.applied(self.plain)) is None:
                steps.pop()
                is_told = True
            elif is_told:
                break
            elif is_here:
                if not self.plain.done or ("item", "done") in step.after:
                    self.plain = changed
                    tab.history.taken_back(way)
                break
            else:
                if not has_left:
                    self.run()
                    self.leave(way)
                has_left, tab.item = True, step.item
        if has_left:
            tab.arrive()
            self.look()
        else:
            self.plan(way)

    def leave(self, way: str) -> None:
        """For an item where something is taken back."""
        self.tab.page.evaluate(LEAVE, way)

    def go(self) -> None:
        """To the other item."""
        self.run()
        self.tab.open(1 - self.tab.item)
        self.look()

    def switch(self) -> None:
        """To the other tab, which shows then what was done in this one."""
        self.run()
        self.tabs.reverse()
        self.tab.page.evaluate(REFRESH)
        self.look()

    def run(self) -> None:
        steps, expected, self.steps, self.expected = self.steps, self.expected, [], []
        for step, state, plain in zip(steps, self.tab.page.evaluate(RUN, steps), expected, strict=True):
            assert Plain.of(**state).said() == plain.said(), step
        self.look()

    def look(self) -> None:
        """The screen and the bundle have what they should. A mark that was rejected before is known by its old uid again."""
        page = self.tab.page
        expect(page.locator("#saved:not([aria-busy=true])")).to_have_text("✓ all saved")
        assert page.locator(".toast.error").all_text_contents() == []
        # What was done in the other tab is asked for when an item is entered.
        until(lambda: self.tab.shown().said() == self.plain.said(), "the screen does not show what was done")
        shown = self.tab.shown()
        assert self.exported() in (None, shown.said())
        if names := self.plain.named_in(shown):
            self.plain = self.plain.renamed(names)
            self.tab.history.rename(names)

    def exported(self) -> tuple | None:
        """What the project's bundle says of the item; nothing before the first change."""
        for row in read(self.project)["annotations.json"]:
            if row["item_id"] == self.tab.item + 1:
                marks = [
                    [self.as_in_the_page(mark, kind) for mark in row[plural] if mark["status"] != "rejected"]
                    for kind, plural in (("entity", "entities"), ("relation", "relations"))
                ]
                return Plain.of(*marks, row["done_at"]).said()
        return None

    def as_in_the_page(self, mark: dict, kind: str) -> dict:
        label = self.project.ontology_set.get(kind=kind).labels().by_fullname[mark["label"]]
        ends = {end: mark[f"{end}_id"] for end in PLACES[kind] if kind == "relation"}
        return {**mark, **ends, "uid": mark["id"], "label": label.uid}


class WorkByHand(Work):
    """The same, but with keys and clicks, one after the other."""

    @property
    def press(self):
        return self.tab.page.keyboard.press

    def plan(self, step) -> None:
        super().plan(step)
        self.run()

    def run(self) -> None:
        for step in self.steps:
            if isinstance(step, str):
                self.press({"undo": "Control+z", "redo": "Control+y"}[step])
            else:
                self.perform(**step[0])
        self.steps, self.expected = [], []
        self.look()

    def leave(self, way: str) -> None:
        self.press({"undo": "Control+z", "redo": "Control+y"}[way])

    def go(self) -> None:
        self.press("PageUp" if self.tab.item else "PageDown")
        self.tab.item = 1 - self.tab.item
        self.tab.arrive()
        self.look()

    def perform(self, kind: str, verb: str, uid: str, label: str = "", **place) -> None:
        self.press("Escape")
        self.press("Escape")
        before = self.tab.history.undo[-1].after[kind, uid]
        if verb == "remove":
            self.select(kind, uid)
            self.press("Delete")
        elif verb == "label" and before["label"] == label:
            self.select(kind, uid)
            self.press("Space")
        elif verb == "label":
            self.select(kind, uid)
            self.press("Enter")
            self.pick(kind, label)
        elif kind == "entity":
            self.select_words(**place)
            self.pick(kind, label)
        else:
            self.connect(**place)
            self.pick(kind, label)

    def select(self, kind: str, uid: str) -> None:
        page = self.tab.page
        if kind == "relation":
            rows = page.locator("#relations li")
            return rows.nth(rows.evaluate_all("(rows, uid) => rows.findIndex((row) => row.uid === uid)", uid)).click()
        page.locator(".sheet .text").focus()
        for _ in range(len(self.plain.entity) + 1):
            self.press("Tab")
            if page.locator(f".mark-name.selected[data-uid='{uid}']").count():
                return
        raise AssertionError(f"{uid} is not reached with Tab.")

    def select_words(self, start: int, end: int) -> None:
        self.press("Home")
        for _ in range(start):
            self.press("ArrowRight")
        for _ in range(end - start):
            self.press("Shift+ArrowRight")
        self.press("Enter")

    def connect(self, source: str, target: str) -> None:
        self.select("entity", source)
        self.press("r")
        page = self.tab.page
        number = page.locator(f".mark-name[data-uid='{target}']").get_attribute("data-number")
        for digit in str(number):
            self.press(digit)
        if page.locator(f".mark-name[data-number^='{number}']").count() > 1:
            self.press("Enter")

    def pick(self, kind: str, label: str) -> None:
        page = self.tab.page
        expect(page.locator("#picker input")).to_be_focused()
        page.keyboard.type(
            next(item.name for item in self.project.ontology_set.get(kind=kind).items() if item.uid == label)
        )
        self.press("Enter")
        expect(page.locator("#picker")).to_be_hidden()


@pytest.fixture
def project(alice, carol):
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    given = factories.annotation(project.dataset.items()[0])
    label = {item.name: item for ontology in project.ontology_set.all() for item in ontology.items()}
    fields = {"status": "suggested", "origin": "given"}
    made = {
        uid: given.entity_set.create(uid=uid, label=label[name], start=start, end=end, **fields)
        for uid, name, start, end in GIVEN["entity"]
    }
    for uid, name, source, target in GIVEN["relation"]:
        given.relation_set.create(uid=uid, label=label[name], source=made[source], target=made[target], **fields)
    return project


def forget(user) -> None:
    """As if somebody had never worked."""
    for model in (Rejection, Relation, Entity):
        model.objects.filter(annotation__annotator=user).delete()
    Annotation.objects.filter(annotator=user).delete()


@pytest.fixture
def tabs(page, sign_in, project, carol) -> list[Tab]:
    sign_in(page, carol)
    urls = [f"/projects/{project.pk}/annotate/{item.pk}/" for item in project.dataset.items()]
    return [Tab(page, urls), Tab(page.context.new_page(), urls)]


@pytest.fixture
def begin(project, tabs, carol):
    """``begin()`` is work that nobody has begun, ``begin(WorkByHand)`` the same by hand."""
    labels = {
        kind: [project.ontology_set.get(kind=kind).items().get(name=name).uid for name in names]
        for kind, names in LABELS.items()
    }
    given: list[Plain] = []
    for item in (1, 0):
        for tab in tabs:
            tab.open(item)
        given.insert(0, tabs[0].shown())

    def begin(kind: type[Work] = Work) -> Work:
        for tab in tabs:  # whatever became of what was tried before
            expect(tab.page.locator("#saved:not([aria-busy=true])")).to_be_visible()
        forget(carol)
        for tab in tabs:
            tab.begin()
        return kind(project, list(tabs), labels, given)

    return begin


def test_screen_server_and_a_plain_model_agree(begin):
    @settings(max_examples=amount(10, 100), suppress_health_check=list(HealthCheck))
    @given(st.lists(STEPS, min_size=5, max_size=40))
    def agree(steps):
        work = begin()
        for step in steps:
            work.take(*step)
        work.switch()

    agree()


def test_they_agree_when_it_is_done_by_hand(begin):
    seed = random.randrange(10**6) if SOAK else 5
    print(f"seed {seed}")
    chance, work = random.Random(seed), begin(WorkByHand)
    for _ in range(amount(20, 200)):
        verb, numbers, *kinds = chance.choice(BY_HAND)
        work.take(verb, *kinds, *(chance.randrange(100) for _ in range(numbers)))
    work.switch()
