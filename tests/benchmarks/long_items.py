"""A text as long as an item may be, full of marks: what a person waits for who opens it, reads it and marks it."""

import statistics
import uuid
from collections.abc import Iterator

from . import data
from .browser import DRAWN, chromium, dense_item, longest
from .figures import ALL_DAY, LONG_TEXT_KEY, OPENING, SAVE, Figure, benchmark, milliseconds, seconds
from .service import Browser, Service

TOKENS, MARKS, RELATIONS = 20_000, 2000, 800
RUNS = 3
WHEEL, FAR = 700, 20_000  # pixels of a turn of the wheel, and of a jump with the bar
KEYS = (
    ("next mark", "Tab", 10),
    ("next word", "ArrowRight", 10),
    ("last word", "End", 1),
    ("first word", "Home", 1),
    ("open the list", "Enter", 1),
    ("new mark", "Enter", 1),
    ("undo", "Ctrl+z", 1),
    ("redo", "Ctrl+y", 1),
    ("remove a mark", "Delete", 1),
    ("undo", "Ctrl+z", 1),
    ("select an arc", ".arc", 3),
    ("select a mark", ".mark-name", 3),
    ("relate", "r", 1),
    ("next target", "Tab", 2),
    ("leave that", "Escape", 1),
)


@benchmark("long")
def long(service: Service) -> Iterator[Figure]:
    project = data.project(10, name="Long", labels=224)
    item = dense_item(project, tokens=TOKENS, marks=MARKS, relations=RELATIONS)
    path = f"/projects/{project.pk}/annotate/{item.pk}/"
    browser = Browser(service, data.ANNOTATORS[0])
    at = f"{TOKENS:,} tokens, {MARKS:,} marks"
    yield Figure(f"page of {at}, p50 / p95", milliseconds(20, lambda: browser.get(path)), "ms", ALL_DAY)
    times: dict[str, list[float]] = {}
    with chromium(service, browser.headers["Cookie"]) as page:

        def watch(what: str) -> None:
            times.setdefault(what, []).append(longest(page))

        def open_page() -> None:
            page.goto(path)
            page.locator("html[data-ready]").wait_for(state="attached")

        for _ in range(RUNS):
            times.setdefault("open", []).append(1000 * seconds(open_page))
            watch("longest task: open")
            page.mouse.move(500, 400)
            for way in (1, -1):
                for step, often in ((WHEEL, 60), (FAR, 10)):
                    for _ in range(often):
                        page.mouse.wheel(0, way * step)
                        page.wait_for_timeout(20)
                    watch("longest task: scroll" if step == WHEEL else "longest task: jump")
            for what, how, often in KEYS:
                for k in range(often):
                    times.setdefault(what, []).append(page.evaluate(DRAWN, [how, 7 * k]))
    for what, values in times.items():
        budget = {"open": OPENING, "longest task: open": None}.get(what, LONG_TEXT_KEY)
        yield Figure(f"{at}, p50 / worst: {what}", (statistics.median(values), max(values)), "ms", budget)
    label = project.entity_ontology.items()[0].uid
    places = iter(range(TOKENS))

    def save() -> None:
        start = next(places)
        fields = {"uid": str(uuid.uuid4()), "label": str(label), "start": start, "end": start}
        browser.submit_json(f"/projects/{project.pk}/items/{item.pk}/entities/add/", **fields)

    yield Figure(f"save one mark at {at}, p50 / p95", milliseconds(100, save), "ms", SAVE)
