"""What it costs to mark all alike, to take it back, and what others wait for meanwhile."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from . import data
from .figures import PATIENCE, WHILE_OTHERS_WORK, Figure, benchmark, median, p50_p95
from .marks import ITEMS, Annotator, saving_while
from .service import Browser, Service

LINES = 100_000
WORD = "pump"


@benchmark("propagate")
def propagate(service: Service) -> Iterator[Figure]:
    """A word in every fifth item."""
    lines = data.text(LINES).splitlines()
    lines[::5] = [line.replace(" ", f" {WORD} ", 1) for line in lines[::5]]
    texts = data.dataset(LINES, "Alike", "\n".join(lines))
    project = data.project(LINES, name="Alike", texts=texts)
    others = data.project(ITEMS, name="Beside")
    annotators = [Annotator(service, others, name) for name in data.ANNOTATORS[1:]]
    browser, label = Browser(service, data.ANNOTATORS[0]), project.entity_ontology.items()[0].uid
    asked = {"verb": "propagate", "kind": "entity", "form": {"tokens": [WORD], "label": label}}
    address = f"/projects/{project.pk}"
    preview = partial(browser.submit_json, f"{address}/alike/preview/", **asked)
    yield Figure(f"preview a word in every fifth of {LINES:,} items", median(3, preview), "s", PATIENCE)
    batch: dict[str, Any] = {}

    def work(path: str, **body: object) -> None:
        batch.update(browser.submit_json(path, **body)["batch"])
        while batch["state"] in ("storing", "undoing"):
            time.sleep(0.05)
            batch.update(browser.get_json(batch["url"])["batch"])

    for what in ("store it", "undo it"):
        act = partial(work, batch["undo"]) if batch else partial(work, f"{address}/alike/apply/", **asked)
        times, took = saving_while(annotators, act)
        yield Figure(f"{what}: {batch['made']:,} places", took, "s")
        yield Figure("  ten saves a second of others meanwhile, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)
