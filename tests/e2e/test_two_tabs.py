"""Two tabs of one person: each sees what the other saved, and what is undone in one never ends at what was done in the other."""

import random
import re
from itertools import count

import pytest
from playwright.sync_api import expect

from tests.e2e.desk import Desk, Held
from tests.e2e.plainly import PLACES, Plain
from tests.e2e.waiting import until
from tests.soak import SOAK, amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

LABELS = {"entity": ["State", "Activity", "Thermostat"], "relation": ["hasPart", "hasPatient"]}
TOKENS = (7, 3)  # of the first items
MODULES = """
  const names = ["workspace", "changes", "history", "entering"];
  const modules = await Promise.all(names.map((name) => import(`/static/js/annotate/${name}.js`)));
  const [{ items }, { act, undo }, { past, future }, { enter }] = modules;
"""
ACT = f"""async ([number, operation]) => {{ {MODULES}
  enter(items[number]);
  act([operation]);
}}"""
MARKS = f"""async () => {{ {MODULES}
  return items.map(({{ marks: {{ entities, relations, done }} }}) => ({{ entities, relations, done }}));
}}"""
STEPS = f"async () => {{ {MODULES} return [past.length, future.length]; }}"
UNDO = f"async () => {{ {MODULES} undo(); }}"
NOTE_TOASTS = "window.said = []; addEventListener('toast', ({ detail }) => said.push(detail.text), true)"


@pytest.fixture
def other(desk) -> Desk:
    """The same item in another tab of the same person."""
    return Desk(desk.page.context.new_page(), desk.project, desk.user).open()


def asked(desk: Desk):
    return desk.page.locator("#done-dialog")


def shows(desk: Desk, *names: str) -> None:
    until(lambda: desk.names() == list(names), f"{desk.names()} are not {names}")


def finish(desk: Desk) -> None:
    """And stay in the item."""
    desk.press("Control+Enter")
    desk.ready(2)
    desk.open(1)


def test_a_tab_sees_what_another_one_saved(desk, other):
    desk.mark(0, "state")
    shows(other, "State")
    other.mark(3, "thermo")
    shows(desk, "State", "Thermostat")
    count = desk.page.locator("#done-count")
    expect(count).to_have_text("0")
    finish(other)
    expect(desk.page.locator("#done-note")).to_be_visible()
    expect(count).to_have_text("1")
    other.open(2)
    other.press("Control+Enter")  # an item that the other tab does not show
    other.ready(3)
    expect(count).to_have_text("2")
    assert desk.page.locator(".toast").count() == 0


def test_what_was_saved_elsewhere_waits_for_what_is_being_done_here(desk, other):
    held = []
    other.page.route("**/entities/add/", lambda route: held.append(route))
    other.mark(1, "activ")
    desk.mark(0, "state")
    desk.saved()
    shows(other, "Activity")  # the answer might not have what is on its way
    held[0].continue_()
    shows(other, "Activity", "State")
    shows(desk, "Activity", "State")


def test_what_was_saved_before_something_was_refused_is_seen_too(desk, other, problems):
    problems.expect("422")
    held = Held(desk.page, "**/entities/add/")
    desk.mark(0, "state")
    desk.mark(1, "activ")
    desk.switch_off("Activity")
    held.release()
    desk.page.unroute("**/entities/add/")
    expect(desk.page.locator(".toast.error")).to_contain_text("Not saved")
    shows(other, "State")


def test_undo_in_an_item_that_was_done_elsewhere_reopens_it(desk, other):
    desk.mark(3, "thermo")
    desk.saved()
    finish(other)
    expect(desk.page.locator("#done-note")).to_be_visible()
    desk.press("Control+z")
    expect(asked(desk)).to_contain_text("after this change: “thermostat” as Thermostat.")
    expect(desk.page.get_by_role("button", name="Reopen and undo")).to_be_focused()
    desk.press("Escape", "Control+z", "Enter")
    expect(asked(desk)).to_be_hidden()
    assert desk.stored() == [] and desk.work().done_at is None
    shows(other)
    expect(other.page.locator("#done-note")).to_be_hidden()
    desk.press("Control+y")
    assert desk.stored() == [(3, 3, "Thermostat")] and desk.work().done_at
    desk.press("Control+z")
    assert desk.stored() == [] and desk.work().done_at is None


def test_or_the_step_is_skipped_by_name(desk, other):
    other.open(2)
    desk.open(2)
    desk.mark(0, "activ")
    desk.saved()
    desk.open(1)
    desk.mark(0, "state")
    desk.mark(3, "thermo")
    desk.saved()
    other.open(1)
    finish(other)
    expect(desk.page.locator("#done-note")).to_be_visible()
    desk.press("Control+z")
    desk.page.get_by_role("button", name="Skip “thermostat” as Thermostat").click()
    desk.page.get_by_role("button", name="Skip “left” as State").click()
    desk.ready(2)  # to the one before
    expect(desk.page.locator(".toast")).to_contain_text("Undone in item 2")
    assert desk.stored(2) == [] and len(desk.stored(1)) == 2
    expect(desk.page.locator("#undo")).to_be_disabled()


def test_what_cannot_be_undone_is_named(desk, other):
    desk.mark(3, "thermo")
    desk.saved()
    shows(other, "Thermostat")
    other.press("Tab", "Enter")
    other.pick("state")
    shows(desk, "State")
    desk.press("Control+z")
    expect(desk.page.locator(".toast")).to_contain_text(
        "1 change cannot be undone any more, because the marks were changed elsewhere meanwhile: "
        "“thermostat” as Thermostat."
    )


class Hand:
    """Random work in one of the tabs."""

    def __init__(self, desk: Desk, labels: dict[str, list[str]], chance: random.Random, uids) -> None:
        self.desk, self.page, self.labels, self.chance, self.uids = desk, desk.page, labels, chance, uids
        self.made, self.skipped = 0, 0

    def marks(self) -> list[Plain]:
        return [Plain.of(**each) for each in self.page.evaluate(MARKS)]

    def said(self) -> list[tuple]:
        return [each.said() for each in self.marks()]

    def work(self) -> None:
        number, before = self.chance.randrange(2), self.steps()[0]
        if operation := self.choose(self.marks()[number], TOKENS[number]):
            self.page.evaluate(ACT, [number, operation])
        self.made += self.steps()[0] - before

    def steps(self) -> tuple[int, int]:
        past, future = self.page.evaluate(STEPS)
        return past, future

    def choose(self, plain: Plain, tokens: int) -> dict | None:
        """One operation that does something, or nothing where two marks would say the same."""
        one = self.chance.choice
        if plain.done or self.chance.random() < 0.1:
            return {"kind": "item", "verb": "done", "done": not plain.done}
        kind = one(["entity", "entity", "relation"])
        marks, label, verb = plain.marks(kind), one(self.labels[kind]), one(["add", "add", "label", "remove"])
        if verb == "add":
            start = self.chance.randrange(tokens)
            place = [start, min(start + self.chance.randrange(2), tokens - 1)]
            if kind == "relation":
                if len(plain.entity) < 2:
                    return None
                place = self.chance.sample(list(plain.entity), 2)
            named = dict(zip(PLACES[kind], place, strict=True))
            made = {"kind": kind, "verb": verb, "uid": next(self.uids), "label": label, **named}
            return None if plain.at(kind, label, *place) else made
        if not marks:
            return None
        uid = one(list(marks))
        if verb == "label" and plain.at(kind, label, *(marks[uid][end] for end in PLACES[kind])):
            return None
        return {"kind": kind, "verb": verb, "uid": uid, **({"label": label} if verb == "label" else {})}

    def undo(self, skips: float) -> None:
        self.page.evaluate(UNDO)
        while asked(self.desk).is_visible():
            is_skipped = self.chance.random() < skips
            self.skipped += is_skipped
            asked(self.desk).locator(f"[value={'skip' if is_skipped else 'reopen'}]").click()

    def named(self) -> int:
        """How many steps were left out, each with its name."""
        said = self.page.evaluate("said")
        told = [re.search(r"(?:meanwhile: |^Not saved: .*?\()(.*)", words) for words in said]
        return self.skipped + sum(len(each[1].split("; ")) for each in told if each)


@pytest.mark.parametrize("skips", [0, 0.3])
def test_all_that_two_tabs_did_at_random_is_undone_or_named(desk, skips, problems):
    problems.expect("422")
    seed = random.randrange(10**6) if SOAK else 7
    print(f"seed {seed}")
    chance, uids = random.Random(seed), (f"u{number}" for number in count())
    desk.user.choose_comfort("on_page", "5")
    labels = {
        kind: [desk.project.ontology_set.get(kind=kind).items().get(name=name).uid for name in names]
        for kind, names in LABELS.items()
    }
    desk.suggest(("State", 0, 0), ("Thermostat", 1, 2), ("Activity", 5, 5))
    desk.page.context.add_init_script(NOTE_TOASTS)
    tabs = [desk.open(), Desk(desk.page.context.new_page(), desk.project, desk.user).open()]
    hands = [Hand(each, labels, chance, uids) for each in tabs]
    start = hands[0].said()
    for _ in range(amount(20, 400)):
        chance.choice(hands).work()
        if chance.random() < 0.5:
            agree(hands)
    agree(hands)
    most = 2 * sum(hand.made for hand in hands) + 20
    while going := [hand for hand in hands if hand.steps()[0]]:
        most -= 1
        assert most, "undo does not come to an end"
        chance.choice(going).undo(skips)
        if chance.random() < 0.5:
            agree(hands)
    agree(hands)
    named = sum(hand.named() for hand in hands)
    print(f"{sum(hand.made for hand in hands)} steps, {named} left out")
    assert named or hands[0].said() == start
    assert sum(hand.steps()[1] for hand in hands) + named >= sum(hand.made for hand in hands)


def agree(hands: list[Hand]) -> None:
    """Both tabs show the same after a moment, without being asked for it."""
    for hand in hands:
        expect(hand.page.locator("#saved:not([aria-busy=true])")).to_have_text(re.compile("all saved|refused"))
    until(lambda: hands[0].said() == hands[1].said(), "the tabs do not agree")
