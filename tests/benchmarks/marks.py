"""Annotators who save marks: alone, all at once, and while a large import and a copy are written."""

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator

from projects.models import Project

from . import data, imports
from .figures import Figure, benchmark, milliseconds, p50_p95
from .service import Browser, Service

ITEMS = 1000
RATE = 20


class Annotator:
    """Saves marks as the workspace does: five on an item, then on to the next."""

    def __init__(self, service: Service, project: Project, username: str) -> None:
        self.browser = Browser(service, username)
        labels = list(project.entity_ontology.items().values_list("uid", flat=True))
        pks = list(project.dataset.items().values_list("pk", flat=True))
        random.Random(username).shuffle(pks)
        self.marks = ((pk, label, start) for label in labels for pk in pks for start in range(5))
        self.path = f"/projects/{project.pk}/items/%d/entities/add/"

    def save(self) -> None:
        pk, label, start = next(self.marks)
        self.browser.submit_json(self.path % pk, uid=str(uuid.uuid4()), start=start, end=start, label=label)


@benchmark("marks")
def marks(service: Service) -> Iterator[Figure]:
    project = data.project(ITEMS, name="Marks")
    annotators = [Annotator(service, project, name) for name in data.ANNOTATORS]
    one = milliseconds(500, annotators[0].save)
    yield Figure("save one mark, one client, p50 / p95", one, "ms", (4, 8))
    for annotator in annotators:
        annotator.save()
    times: list[float] = []
    started, end = time.perf_counter(), time.perf_counter() + 5

    def save_all(annotator: Annotator) -> None:
        while (begun := time.perf_counter()) < end:
            annotator.save()
            times.append(time.perf_counter() - begun)

    _together([lambda a=a: save_all(a) for a in annotators])
    rate = len(times) / (time.perf_counter() - started)
    yield Figure("save marks, 8 clients, per second", rate, "", 400, at_least=True)
    yield Figure("  each, p50 / p95", p50_p95(times), "ms")


@benchmark("load")
def load(service: Service) -> Iterator[Figure]:
    """A save counts from the moment when it was due, so that a stall is felt by all that had to wait for it."""
    project = data.project(ITEMS, name="Load")
    annotators = [Annotator(service, project, name) for name in data.ANNOTATORS]
    copied = {"dataset": data.dataset(imports.LINES, "Load").pk, "entity_ontology": data.ontology(100).pk}
    text, browser = data.text(imports.LINES), Browser(service, data.MANAGER)
    duration = 60 if service.long else 15
    start = time.perf_counter() + 1
    times: list[float] = []
    errors: list[str] = []

    def at(moment: float, work: Callable[[], object]) -> float:
        """Do the work at that second; returns how long it took from then on."""
        time.sleep(max(0, start + moment - time.perf_counter()))
        try:
            work()
        except (OSError, RuntimeError) as error:
            errors.append(str(error))
        return time.perf_counter() - start - moment

    def save(annotator: Annotator, first: int) -> None:
        times.extend(at(n / RATE, annotator.save) for n in range(first, RATE * duration, len(annotators)))

    def manage() -> None:
        at(duration * 0.2, lambda: imports.Import(browser, text.encode(), **imports.LINES_OF_TEXT))
        at(
            duration * 0.6,
            lambda: browser.follow(browser.submit("/projects/new/", expected=302, name="Copy", **copied)),
        )

    _together([manage, *(lambda a=a, n=n: save(a, n) for n, a in enumerate(annotators))])
    yield Figure(f"{RATE} saves a second for {duration} s during an import and a copy: errors", len(errors), "", 0)
    for error in dict.fromkeys(errors[:3]):
        print(f"  {error}")
    # In the short run, too large a part of the saves meets the import and the copy to compare it with the budget.
    yield Figure("  p50 / p95", p50_p95(times), "ms", (60, 60) if service.long else None)
    yield Figure("  the longest", 1000 * max(times), "ms", 500)


def _together(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
