"""Hands at the annotation screen that count what they do: each key, click and drag is one action, a double click is two."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from projects.models import Project
from tests.e2e.desk import arrived

# The module of the page, under whichever name it was loaded.
WORKSPACE = """await import(performance.getEntriesByType("resource").map(({ name }) => name)
  .find((name) => /annotate.workspace[.](\\w+[.])?js$/.test(name)))"""
# What is known of the words by then stands in the picker's rows, or will at the next key.
KNOWN = f"""async () => {{
  const {{ marks, now: {{ view }}, precedents, span, tokensOf }} = {WORKSPACE};
  const mark = marks.entity.get(view.mark);
  if (view.words || mark) await precedents.of(tokensOf(...(mark ? [mark.start, mark.end] : span(view.words))));
}}"""
SELECTED = f"""async () => {{
  const {{ now: {{ view: {{ words }} }}, span }} = {WORKSPACE};
  return words ? span(words) : [];
}}"""
# What can be seen of the picker: its rows.
ROWS = """options => options.map(option => ({
  name: option.querySelector(".name").textContent,
  digit: option.querySelector("kbd")?.textContent ?? "",
  allowed: option.ariaDisabled !== "true",
  leadsOn: Boolean(option.querySelector(".deeper")),
  pointed: option.ariaSelected === "true",
}))"""
# A place in an element that nothing else covers.
VISIBLE = """element => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const y = (top + bottom) / 2;
  for (let x = left + 4; x < right; x += 4) if (element.contains(document.elementFromPoint(x, y))) return [x, y];
  return null;
}"""


class Hand:
    """What all hands can do. ``actions`` are how many it took to make each thing, by kind."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions: defaultdict[str, list[int]] = defaultdict(list)
        self.making = ""
        self.spans: dict[str, tuple[int, int]] = {}  # of the marks made on this item

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.act()

    def click(self, locator) -> None:
        locator.click()
        self.act()

    def drag(self, *places: tuple[float, float]) -> None:
        (start, end), mouse = places, self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=4)
        mouse.up()
        self.act()

    def make(self, kind: str) -> None:
        self.making = kind
        self.actions[kind].append(0)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """What makes all items to come easier is counted apart."""
        making, self.making = self.making, "preparation"
        self.actions["preparation"].append(0)
        yield
        self.making = making

    def act(self) -> None:
        self.actions[self.making][-1] += 1

    def annotate(self, item: dict) -> None:
        """All that the item of an upload has."""
        uids: dict[str, str] = {}
        self.spans.clear()
        for mark in sorted(item["entities"], key=self.place_of):
            self.make("entity")
            uids[mark["id"]] = self.mark(mark["start"], mark["end"], mark["label"])
        for relation in item["relations"]:
            self.make("relation")
            self.relate(uids[relation["source_id"]], uids[relation["target_id"]], relation["label"])

    def annotate_all(self, project: Project, items: list[dict]) -> None:
        """Each item of the project, until it is done."""
        self.page.goto(f"/projects/{project.pk}/annotate/")
        for number, item in enumerate(items, 1):
            arrived(self.page, number)
            self.annotate(item)
            self.make("item")
            self.press("Control+Enter")
        expect(self.page.get_by_role("heading", name="Everything is done")).to_be_visible()

    def place_of(self, mark: dict) -> tuple[int, ...]:
        """In the order in which an item is marked: inner ones first, around which there are words to drag over."""
        return mark["end"] - mark["start"], mark["start"]

    def mark(self, start: int, end: int, label: str) -> str:
        """Mark words; returns the uid of the mark."""
        known = self.uids()
        self.select_words(start, end)
        self.choose(label)
        expect(self.page.locator(".mark-name")).to_have_count(len(known) + 1)
        [new] = self.uids() - known
        self.spans[new] = start, end
        return new

    def relate(self, source: str, target: str, label: str) -> None:
        arcs = self.page.locator(".arc")
        known = arcs.count()
        self.connect(source, target)
        if self.page.locator("#picker").is_visible():
            self.choose(label)
        expect(arcs).to_have_count(known + 1)

    def select_words(self, start: int, end: int) -> None:
        raise NotImplementedError

    def connect(self, source: str, target: str) -> None:
        """Draw a relation, up to its label."""
        raise NotImplementedError

    def choose(self, label: str) -> None:
        """Take a label in the picker."""
        raise NotImplementedError

    def token(self, place: int):
        return self.page.locator(f".tok[data-i='{place}']")

    def rows(self) -> list[dict]:
        expect(self.page.locator("#picker input")).to_be_focused()
        self.page.evaluate(KNOWN)
        return self.page.locator(".option").evaluate_all(ROWS)

    def uids(self) -> set[str]:
        return set(self.page.locator(".mark-name").evaluate_all("names => names.map(name => name.dataset.uid)"))


class Mouse(Hand):
    """Nothing but the mouse."""

    def select_words(self, start: int, end: int) -> None:
        if start == end:
            self.click(self.token(start))
        else:
            self.drag(*(self.place(self.token(token)) for token in (start, end)))

    def connect(self, source: str, target: str) -> None:
        words = self.own_words(target)
        self.drag(self.name(source), self.place(self.token(words[0])) if words else self.name(target))

    def open_tree(self) -> None:
        """Open all branches of the labels beside the text."""
        self.make("tree")
        closed = self.page.locator("#label-tree .twisty[aria-expanded=false]")
        while closed.count():
            self.click(closed.first)

    def choose(self, label: str) -> None:
        """Entities in the tree beside the text, relations in the list."""
        name = re.compile(f"^{label.split('/')[-1]}$")
        shown = {"entity": "#label-tree .name", "relation": ".option .name"}[self.making]
        place = self.page.locator(shown).filter(has_text=name).first
        expect(place).to_be_in_viewport()
        self.click(place)

    def name(self, uid: str) -> tuple[float, float]:
        return self.place(self.page.locator(f".mark-name[data-uid='{uid}']"))

    def own_words(self, uid: str) -> list[int]:
        """The words of a mark that are in no other mark inside it."""
        return [token for token in range(self.spans[uid][0], self.spans[uid][1] + 1) if self.innermost(token) == uid]

    def innermost(self, token: int) -> str:
        over = [uid for uid, (start, end) in self.spans.items() if start <= token <= end]
        return min(over, key=lambda uid: self.spans[uid][1] - self.spans[uid][0])

    def place(self, locator) -> tuple[float, float]:
        place = locator.evaluate(VISIBLE)
        assert place, f"{locator} is covered."
        return tuple(place)


class Skilled(Mouse):
    """One hand at the mouse, for the words, and one at the keyboard, for the labels."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.shortcuts: dict[str, int] = {}

    def choose(self, label: str) -> None:
        """In the shortest way from what is seen. A label that had to be searched for gets a shortcut."""
        name = label.split("/")[-1]
        for letter in ("", *name.lower()):
            if letter:
                self.press(letter)
            rows = self.rows()
            if any(row["pointed"] and row["name"] == name for row in rows):
                return self.take_pointed(name, is_searched=bool(letter))
            if digit := self.shortcuts.get(name):
                return self.press(f"Alt+{digit}")
            for at, row in enumerate(rows):
                if row["name"] == name and row["allowed"] and not row["leadsOn"]:
                    return self.click(self.page.locator(".option .name").nth(at))
        raise AssertionError(f"{label} is not found.")

    def take_pointed(self, name: str, is_searched: bool) -> None:
        if is_searched and len(self.shortcuts) < 9 and self.making == "entity":
            self.shortcuts[name] = len(self.shortcuts) + 1
            self.press(f"Alt+Shift+{self.shortcuts[name]}")
        self.press("Enter")


class Keys(Hand):
    """Nothing but the keyboard. Steps to words and marks, whose number is the text's business, are counted apart."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.steps: Counter[str] = Counter()

    def walk(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.steps[self.making] += 1

    def select_words(self, start: int, end: int) -> None:
        for _ in range(200):
            here = self.words()
            if here and here[0] == start:
                for _ in range(end - start):
                    self.walk("Shift+ArrowRight")
                return
            self.walk("ArrowLeft" if here and here[0] > start else "ArrowRight")
        raise AssertionError(f"Word {start} cannot be reached.")

    def words(self) -> list[int]:
        """The words that are selected."""
        return self.page.evaluate(SELECTED)

    def connect(self, source: str, target: str) -> None:
        order = sorted(self.spans, key=lambda uid: (self.spans[uid][0], -self.spans[uid][1]))
        while (here := self.selected()) != source:
            self.walk("Shift+Tab" if here and order.index(here) > order.index(source) else "Tab")
        self.press("r")
        number = self.page.locator(f".mark-name[data-uid='{target}']").get_attribute("data-number")
        self.press(*str(number))
        if len(self.page.locator(f".mark-name[data-number^='{number}']").all()) > 1:
            self.press("Enter")

    def selected(self) -> str | None:
        names = self.page.locator(".mark-name.selected")
        return names.first.get_attribute("data-uid") if names.count() else None

    def choose(self, label: str) -> None:
        name = label.split("/")[-1]
        for letter in ("", *name.lower()):
            if letter:
                self.press(letter)
            rows = self.rows() if self.page.locator("#picker").is_visible() else []
            if any(row["pointed"] and row["name"] == name for row in rows):
                return self.press("Enter")
            for row in rows:
                if row["name"] == name and row["digit"].isdigit() and not row["leadsOn"]:
                    return self.press(*row["digit"])
        raise AssertionError(f"{label} is not found.")
