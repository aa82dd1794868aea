"""Hands of somebody who knows the labels and the keys: every key, click, drag and turn of the wheel is counted; what is done once
for all items, to put a label under a digit and to open a branch of the tree, is counted apart."""

import re
from collections import Counter

from playwright.sync_api import Locator, Page, expect

from tests import gold
from tests.e2e.hand import KNOWN, VISIBLE, Keys, Mouse

LABELS = "#label-tree .name"


class PractisedMouse(Mouse):
    """Takes a label in the list, if it stands there already, and otherwise in the tree beside the text."""

    def choose(self, label: str) -> None:
        *above, name = label.split("/")
        for at, row in enumerate(self.rows()):
            place = self.page.locator(".option .name").nth(at)
            if row["name"] == name and row["allowed"] and place.evaluate(VISIBLE):
                return self.click(place)
        for branch in above:
            twisty = self.page.get_by_label(f"Labels below {branch}", exact=True)
            if twisty.get_attribute("aria-expanded") == "false":
                with self.preparing():
                    self.click(self.in_sight(twisty))
        self.click(self.in_sight(self.in_tree(name)))

    def in_tree(self, name: str) -> Locator:
        return self.page.locator(LABELS).get_by_text(name, exact=True)

    def in_sight(self, locator: Locator) -> Locator:
        """With one turn of the wheel at most, however far."""
        if not locator.evaluate(VISIBLE):
            tree = self.page.locator("#pane").bounding_box()
            middle = tree["y"] + tree["height"] / 3  # the lower part says what a label means
            self.page.mouse.move(tree["x"] + 9, middle)
            self.page.mouse.wheel(0, locator.bounding_box()["y"] - middle)
            expect(locator).to_be_in_viewport()
            self.act()
        return locator


class PractisedKeys(Keys):
    """Knows initials, what the same words were marked as before, and which labels come often: those are put under digits."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        labels = Counter(mark["label"].split("/")[-1] for item in gold.work_orders() for mark in item["entities"])
        self.often = [label for label, _ in labels.most_common(9)]
        self.shortcuts: dict[str, int] = {}
        self.labels: list[str] = []  # all that were given, the last one at the end
        self.known: dict[str, str] = {}  # the label that words had last

    def annotate(self, item: dict) -> None:
        self.tokens = item["tokens"]
        starts = {mark["id"]: mark["start"] for mark in item["entities"]}
        backwards = sorted(item["relations"], key=lambda relation: -starts[relation["source_id"]])
        super().annotate(item | {"relations": backwards})

    def place_of(self, mark: dict) -> tuple[int, ...]:
        return (mark["start"],)

    def relate(self, source: str, target: str, label: str) -> None:
        """Next to the mark that is selected, or to the source of the relation that is; `r` repeats the label of that."""
        order = sorted(self.spans, key=lambda uid: self.spans[uid])
        here = self.selected() or self.last[0]
        way = order.index(source) - order.index(here)
        if abs(way) == 1:
            self.press("Tab" if way > 0 else "Shift+Tab")
        elif way or (not self.selected() and self.last[1] != label):
            self.press(",", *str(order.index(source) + 1))
        super().relate(source, target, label)
        self.last = source, label

    def connect(self, source: str, target: str) -> None:
        self.press("r")
        name = self.page.locator(f".mark-name[data-uid='{target}']")
        expect(name).to_have_attribute("data-number", re.compile("[0-9]+"))
        self.press(*name.get_attribute("data-number"))

    def select_words(self, start: int, end: int) -> None:
        for _ in range(start + 1):
            if self.words()[:1] != [start]:
                self.press("Control+ArrowRight")
        assert self.words() == [start, start], f"Words {self.words()} are selected, not {start} in {self.tokens}."
        self.press(*["Shift+ArrowRight"] * (end - start))

    def choose(self, label: str) -> None:
        if self.making == "relation":
            return super().choose(label)
        name = label.split("/")[-1]
        first, last = self.words()[0], self.words()[-1]
        words = " ".join(self.tokens[first : last + 1])
        if digit := self.shortcuts.get(name):
            self.press(f"Alt+{digit}")
        else:
            self.find(name, at_once=name in (self.known.get(words), *self.labels[-1:]))
            self.press("Enter")
        self.known[words] = name
        self.labels.append(name)

    def find(self, name: str, *, at_once: bool) -> None:
        """Until the label is pointed at."""
        self.page.evaluate(KNOWN)  # hands are slower
        for key in (["Enter"] if at_once else []) + re.findall("[A-Z]", name):
            self.press(key)
            if self.is_pointed(name):
                break
        else:
            self.press("ArrowDown")
        expect(self.page.locator(".option[aria-selected=true] .name")).to_have_text(name)
        if name in self.often:
            self.shortcuts[name] = len(self.shortcuts) + 1
            with self.preparing():
                self.press(f"Alt+Shift+{self.shortcuts[name]}")

    def is_pointed(self, name: str) -> bool:
        return any(row["pointed"] and row["name"] == name for row in self.rows())
