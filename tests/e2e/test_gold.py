"""Texts are annotated from empty through the screen, as somebody who knows it does: how many actions a mark takes, and whether
what is exported equals the gold marks."""

from collections import Counter

import pytest
from playwright.sync_api import Page, expect

from tests import gold
from tests.projects.test_bundle import read
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

# What the hand can see at a glance: the rows of the picker.
ROWS = """options => options.map(option => ({
  name: option.querySelector(".name").textContent,
  digit: option.querySelector("kbd")?.textContent ?? "",
  allowed: option.ariaDisabled !== "true",
  leadsOn: Boolean(option.querySelector(".deeper")),
}))"""


class Hand:
    """A skilled person at the annotation screen. Each key, click and drag is one action; a double click is two."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions: Counter[str] = Counter()
        self.marks: Counter[str] = Counter()
        self.making = "item"
        self.spans: dict[str, tuple[int, int]] = {}  # of the marks made on this item

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.actions[self.making] += len(keys)

    def click(self, locator, count: int = 1) -> None:
        locator.click(click_count=count)
        self.actions[self.making] += count

    def drag(self, source, target) -> None:
        for locator, act in ((source, self.page.mouse.down), (target, self.page.mouse.up)):
            box = locator.bounding_box()
            self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
            act()
        self.actions[self.making] += 1

    def make(self, kind: str) -> None:
        self.making = kind
        self.marks[kind] += 1

    def token(self, place: int):
        return self.page.locator(f".tok[data-i='{place}']")

    def handle(self, uid: str):
        """Where a mark is grasped: at a word of which it is the innermost mark, or else at its name."""
        for token in range(self.spans[uid][0], self.spans[uid][1] + 1):
            over = [each for each, (start, end) in self.spans.items() if start <= token <= end]
            if min(over, key=lambda each: self.spans[each][1] - self.spans[each][0]) == uid:
                return self.token(token)
        return self.page.locator(f".mark-name[data-uid='{uid}']")

    def mark(self, start: int, end: int, label: str) -> str:
        """Mark words, and return the uid of the mark."""
        self.make("entity")
        known = self.uids()
        if start == end:
            self.click(self.token(start))
        else:
            self.drag(self.token(start), self.token(end))
        self.choose(label)
        expect(self.page.locator(".mark-name")).to_have_count(len(known) + 1)
        [new] = self.uids() - known
        self.spans[new] = start, end
        return new

    def relate(self, source: str, target: str, label: str) -> None:
        self.make("relation")
        arcs = self.page.locator(".arc")
        known = arcs.count()
        self.click(self.handle(source))
        self.press("r")
        self.click(self.handle(target))
        if self.page.locator("#picker").is_visible():
            self.choose(label)
        expect(arcs).to_have_count(known + 1)

    def choose(self, label: str) -> None:
        """Take a label in the picker, whichever way is the shortest from what is seen there."""
        name = label.split("/")[-1]
        expect(self.page.locator("#picker input")).to_be_focused()
        rows = self.rows()
        if rows[0]["name"] == name:
            return self.press("Enter")
        for place, row in enumerate(rows):
            if row["name"] == name and row["allowed"] and not row["leadsOn"]:
                return self.click(self.page.locator(".option").nth(place))
        for letter in name.lower():
            self.press(letter)
            if self.rows()[0]["name"] == name:
                return self.press("Enter")
        raise AssertionError(f"{label} is not found.")

    def rows(self) -> list[dict]:
        return self.page.locator(".option").evaluate_all(ROWS)

    def uids(self) -> set[str]:
        return set(self.page.locator(".mark-name").evaluate_all("names => names.map(name => name.dataset.uid)"))


def annotate(hand: Hand, item: dict) -> None:
    uids: dict[str, str] = {}
    hand.spans.clear()
    for mark in sorted(
        item["entities"], key=lambda mark: (mark["end"] - mark["start"], mark["start"])
    ):  # inner ones first
        uids[mark["id"]] = hand.mark(mark["start"], mark["end"], mark["label"])
    for relation in item["relations"]:
        hand.relate(uids[relation["source_id"]], uids[relation["target_id"]], relation["label"])


def said(marks: dict) -> tuple[list, list]:
    """What the marks of an item say, whatever their ids are."""
    entities = {mark["id"]: (mark["start"], mark["end"], mark["label"]) for mark in marks["entities"]}
    relations = [
        (entities[each["source_id"]], entities[each["target_id"]], each["label"]) for each in marks["relations"]
    ]
    return sorted(entities.values()), sorted(relations)


def test_what_is_marked_by_hand_is_what_is_exported(page, sign_in, alice, carol, capsys):
    items = gold.read("items")[:: amount(20, 1)]
    project = gold.project(by=alice, annotators=[carol], items=gold.without_marks(items))
    sign_in(page, carol)
    page.goto(f"/projects/{project.pk}/annotate/")
    hand = Hand(page)
    for number, item in enumerate(items, 1):
        expect(page.locator(".item-bar > b")).to_have_text(str(number))
        expect(page.locator("html[data-ready]")).to_be_attached()
        annotate(hand, item)
        hand.make("item")
        hand.press("Control+Enter")
    expect(page.get_by_role("heading", name="Everything is done")).to_be_visible()
    rows = read(project)["annotations.json"]
    assert [said(row) for row in rows] == [said(item) for item in items]
    assert all(row["done_at"] for row in rows)
    with capsys.disabled():
        print(f"\nGold marks of {len(items)} items by hand, actions for each:", end="")
        print(*(f" {kind} {hand.actions[kind] / count:.2f} ({count})" for kind, count in hand.marks.items()), sep=",")
