"""The tree editor at 10,000 items: every edit as the request that the page sends, with the fragments that come back."""

import json
from collections.abc import Callable, Iterator
from itertools import count

from ontologies.documents import read_ontology
from ontologies.models import Ontology, OntologyItem

from . import data
from .figures import ADDING_UP, ALL_DAY, Budget, Figure, benchmark, felt, p50_p95, seconds
from .service import Browser, Service

SIZE = 10_000
RUNS = 50
LARGE_BRANCH = felt(None, 500)
LARGE = felt(None, 1000)  # what is PATIENCE where seconds are written
PASTED = 1000

Work = Callable[[], object]


class Editor:
    """The open page of one ontology, and what its person does there."""

    def __init__(self, browser: Browser, ontology: Ontology) -> None:
        self.browser, self.ontology = browser, ontology
        self.path = f"/ontologies/{ontology.pk}/"
        self.numbers = count()
        items = ontology.items()
        self.tops = list(items.filter(level=1))
        self.branch = items.filter(level=2)[0]
        self.leaf = items.filter(level=4)[0]

    def at(self, item: OntologyItem) -> str:
        return f"{self.path}items/{item.uid}/"

    def see(self, name: str = "") -> None:
        self.browser.get(f"{self.path}{name}")

    def send(self, name: str, **fields: object) -> None:
        self.browser.submit(f"{self.path}{name}/", **fields)

    def new_name(self) -> str:
        return f"New {next(self.numbers)}"

    def undo(self) -> None:
        self.send("undo")

    def redo(self) -> None:
        self.send("redo")

    def set(self, item: OntologyItem, verb: str, field: str, value: str, **fields: object) -> None:
        """One field: the page sends the value that it shows with the new one."""
        item.refresh_from_db(fields=[field])
        was = getattr(item, field)
        self.browser.submit(f"{self.at(item)}{verb}/", was=was, **{field: value}, **fields)

    def rename(self) -> None:
        self.set(self.leaf, "rename", "name", self.new_name())

    def describe(self) -> None:
        self.set(self.leaf, "describe", "description", self.new_name())

    def set_terms(self) -> None:
        self.leaf.refresh_from_db(fields=["example_terms"])
        was = json.dumps(self.leaf.example_terms)
        self.browser.submit(f"{self.at(self.leaf)}example-terms/", was=was, add=self.new_name())

    def recolor(self, item: OntologyItem, **reach: str) -> None:
        self.set(item, "color", "color", f"#{0x102030 + 4099 * next(self.numbers):06X}", **reach)

    def switch(self, item: OntologyItem, active: int | None = None) -> None:
        """To and fro, unless it is told."""
        active = next(self.numbers) % 2 if active is None else active
        self.browser.submit(f"{self.at(item)}active/", active=active, reach="together")

    def switch_selected(self) -> None:
        uids = ",".join(item.uid for item in self.tops[:3])
        self.send("items/active", uids=uids, active=next(self.numbers) % 2)

    def add(self, below: OntologyItem | None) -> None:
        self.browser.submit(f"{self.at(below) if below else f'{self.path}items/'}add/", name=self.new_name())

    def move(self, item: OntologyItem, places: list[OntologyItem]) -> None:
        """To and fro between two places."""
        self.browser.submit(f"{self.at(item)}move/", to=places[next(self.numbers) % 2].uid)

    def paste(self, step: str = "") -> None:
        number = next(self.numbers)
        lines = (f"{'  ' if n % 10 else ''}Pasted {number}-{n}" for n in range(PASTED))
        self.browser.submit(f"{self.at(self.tops[1])}paste/{step}", text="\n".join(lines))

    def revert(self) -> None:
        self.ontology.refresh_from_db(fields=["version"])
        self.send(f"history/{self.ontology.version}/revert")

    def edits(self) -> Iterator[tuple[str, Work | None, Work]]:
        """What it is called, what has to be done before each time, and what counts."""
        first, second, third, *_, last = self.tops
        whole = f"a branch of {second.descendant_count + 1:,}"
        some = f"{self.branch.descendant_count + 1:,} items"
        yield "rename", None, self.rename
        yield "describe", None, self.describe
        yield "example terms", None, self.set_terms
        yield "recolour an item", None, lambda: self.recolor(self.leaf)
        yield f"recolour {whole}", None, lambda: self.recolor(second, branch="on")
        yield "switch an item", None, lambda: self.switch(self.leaf)
        yield f"switch {whole}", None, lambda: self.switch(second)
        off, on = (lambda: self.switch(second, 0)), (lambda: self.switch(second, 1))
        yield f"switch on what went off with {whole}", off, on
        yield "add below an item of the first branch", None, lambda: self.add(self.leaf)
        yield "add at the top, last", None, lambda: self.add(None)
        yield "move an item between neighbouring branches", None, lambda: self.move(self.leaf, [second, third])
        yield f"move {some} between the first branch and the last", None, lambda: self.move(self.branch, [first, last])
        yield "undo a rename", self.rename, self.undo
        yield "redo a rename", lambda: (self.rename(), self.undo()), self.redo
        yield f"undo switching {whole}", lambda: self.switch(second), self.undo
        yield "undo an addition in the first branch", lambda: self.add(self.branch), self.undo
        yield "undo a move", lambda: self.move(self.leaf, [second, third]), self.undo
        yield "revert a step from the history", self.rename, self.revert


@benchmark("editor")
def editor(service: Service) -> Iterator[Figure]:
    service.environment["ONTOLOGY_MOVE_ITEMS"] = "1"
    service.start()
    ontology = data.ontology(SIZE)
    _mark(ontology)
    page = Editor(Browser(service, data.MANAGER), ontology)
    yield _figure(f"tree editor at {SIZE:,}, open the page", page.see)
    yield _figure("  the tree again, after a change", lambda: page.send("tree"))
    yield _figure("  children of a branch", lambda: page.browser.get(f"{page.at(page.tops[1])}children/"))
    yield _figure("  details of an item", lambda: page.browser.get(page.at(page.leaf)))
    yield _figure("  its usage", lambda: page.browser.get(f"{page.at(page.leaf)}usage/"))
    for what, before, work in page.edits():
        yield _figure(f"  {what}", work, before)
    for what, before in {
        "": None,
        ", first after a rename": page.rename,
        ", first after an addition": lambda: page.add(page.branch),
        ", first after switching a branch": lambda: page.switch(page.tops[1]),
    }.items():
        yield _figure(f"  search “77”{what}", lambda: page.see("find/?q=77"), before)
    yield _figure("  search “a”, in every item", lambda: page.see("find/?q=a"))
    for what, query in (
        ("without description", "undescribed"),
        ("changed in the last 7 days", "since-7-days"),
        ("added or changed by me", "mine"),
        ("without marks, which are counted", "unused"),
    ):
        path = f"find/?only={query}"
        yield _figure(f"  filter: {what}", lambda path=path: page.see(path))
    yield _figure("  all rows with descriptions", lambda: page.see("items/?levels=1000"), runs=20)
    for what, name in {"marks of all items, number of checks": "figures/", "checks": "checks/"}.items():
        yield _figure(
            f"  {what}, first after a rename", lambda name=name: page.see(name), page.rename, budget=ADDING_UP
        )
    yield _figure("  history", lambda: page.see("history/"), budget=ADDING_UP)
    for what, name in {"without sentences": "?sentences=no", "with sentences from 30,000 marks": ""}.items():
        yield _figure(f"  codebook {what}", lambda name=name: page.see(f"codebook/{name}"), runs=10, budget=LARGE)
    yield from _large_branch(page.browser)
    yield _figure("  switch three branches in one step", page.switch_selected, runs=20)
    yield _figure(f"  preview of {PASTED:,} pasted lines", lambda: page.paste("preview/"), runs=20, budget=LARGE)
    yield _figure(f"  paste {PASTED:,} items", page.paste, page.undo, runs=10)
    yield _figure("  undo that", page.undo, page.paste, runs=10)


def _large_branch(browser: Browser) -> Iterator[Figure]:
    document = [{"name": "All", "children": json.loads(data.ontology_json(SIZE - 1))}]
    items = read_ontology(json.dumps(document), "entity")
    page = Editor(browser, Ontology.create(kind="entity", name="One branch", owner=data.manager(), items=items))
    (top,) = page.tops
    for what, work, before in (
        (f"switch a branch of {SIZE:,}", lambda: page.switch(top), None),
        ("undo that", page.undo, lambda: page.switch(top, 0)),
        ("the question before it", lambda: browser.get(f"{page.at(top)}active/"), None),
    ):
        yield _figure(f"  {what}", work, before, runs=20, budget=LARGE_BRANCH)


def _figure(what: str, work: Work, before: Work | None = None, *, runs: int = RUNS, budget: Budget = ALL_DAY) -> Figure:
    """p50 and p95, after three runs that do not count; what is done before each is not counted either."""
    times = []
    for _ in range(runs + 3):
        if before:
            before()
        times.append(seconds(work))
    return Figure(f"{what}, p50 / p95", p50_p95(times[3:]), "ms", budget)


def _mark(ontology: Ontology) -> None:
    """30,000 marks that carry the labels."""
    dataset = data.dataset(SIZE, name="Marked")
    relations = data.ontology(20, "relation")
    dataset.touch(entity_ontology=ontology, relation_ontology=relations)
    data.add_marks(dataset, None, [ontology, relations])
