"""What it takes to change who has which items."""

import math
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlencode

from work.models.item_work import refresh

from . import data, items
from .figures import PATIENCE, Figure, benchmark, median, seconds
from .service import Browser, Service

EVERYTHING = {"annotators_per_item": "", "overlap": "", "calibration": ""}
TWO_PER_ITEM = {**EVERYTHING, "annotators_per_item": 2}
RULES = [
    ("2 annotators per item", TWO_PER_ITEM),
    ("10 % of them for everybody", {**TWO_PER_ITEM, "overlap": 10}),
    ("back to every item for everybody", EVERYTHING),
]
PEOPLE = 5


@benchmark("assignment")
def assignment(service: Service) -> Iterator[Figure]:
    """In the project with the large item table: each item is begun by ten of its people."""
    project, _ = items.fill()
    refresh(project.dataset.pk, math.inf)
    browser, place = Browser(service, data.MANAGER), f"/projects/{project.pk}"
    large = f"{items.LINES:,} items, {items.PEOPLE} people"

    def store(rule: dict[str, object]) -> None:
        browser.follow(browser.submit(f"{place}/assignment/", **rule))  # by a job, if many items change hands

    for what, rule in RULES:
        preview = f"{place}/assignment/?{urlencode(rule)}"
        yield Figure(
            f"{large}: preview of {what}", median(3, partial(browser.ask, preview, HX_Target="foreseen")), "s", PATIENCE
        )
        yield Figure(f"{large}: {what}", seconds(partial(store, rule)), "s")
    store(TWO_PER_ITEM)
    pairs = f"{place}/assignment/pairs/"
    yield Figure(f"{large}: preview of even pairs", median(3, partial(browser.ask, pairs)), "s", PATIENCE)
    yield Figure(f"{large}: even pairs", seconds(lambda: browser.follow(browser.submit(pairs))), "s")
    chosen = {"all": 1, "count": items.LINES, "people": list(project.annotators()[:PEOPLE])}
    for verb in ("give", "take"):
        what, ask = f"{large}: {verb} all, {PEOPLE} people", partial(browser.submit, f"{place}/items/{verb}/", **chosen)
        yield Figure(f"{what}, preview", median(3, ask), "s", PATIENCE)
        yield Figure(what, seconds(lambda ask=ask: browser.follow(ask(agree=1))), "s")
