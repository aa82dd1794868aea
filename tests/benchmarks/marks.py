"""Annotators who save marks: alone, all at once, while a large import and a copy are written, and during a backup."""

import itertools
import random
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from django.db import connection

from annotation_service.db import execute
from annotation_service.models import User
from datasets.cleaned import key_of
from datasets.models import Annotation, Dataset, Item
from projects.models import Project
from tests.threads import at_once

from . import data, imports
from .figures import (
    ALL_DAY,
    LONGEST_WAIT,
    SAVE,
    WHILE_OTHERS_WORK,
    Figure,
    benchmark,
    headline,
    milliseconds,
    p50_p95,
    seconds,
)
from .service import Browser, Service

ITEMS = 1000
RATE = 20
DELETED_ITEMS, BESIDE = 100_000, 20
SHARED_ITEMS, PEOPLE = 100_000, 50


class Annotator:
    """Saves marks as the workspace does: five on an item, then on to the next."""

    def __init__(self, service: Service, project: Project, username: str, items: Sequence[int] = ()) -> None:
        self.browser = Browser(service, username)
        labels = list(project.entity_ontology.items().values_list("uid", flat=True))
        pks = list(items or project.dataset.items().values_list("pk", flat=True))
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
    yield Figure("save one mark, one client, p50 / p95", one, "ms", SAVE)
    for annotator in annotators:
        annotator.save()
    times: list[float] = []
    started, end = time.perf_counter(), time.perf_counter() + 5

    def save_all(annotator: Annotator) -> None:
        while (begun := time.perf_counter()) < end:
            annotator.save()
            times.append(time.perf_counter() - begun)

    at_once(*(partial(save_all, annotator) for annotator in annotators))
    rate = len(times) / (time.perf_counter() - started)
    yield Figure("save marks, 8 clients, per second", rate, "", headline(300, at_least=True))
    yield Figure("  each, p50 / p95", p50_p95(times), "ms")


@benchmark("words")
def words(service: Service) -> Iterator[Figure]:
    """How words were labelled before, asked whenever somebody selects some."""
    project = data.project(imports.LINES, name="Words")
    for name in data.ANNOTATORS[:2]:
        data.mark_every_item(project.dataset, User.objects.get(username=name), project.entity_ontology)
    label = project.entity_ontology.items()[0].pk
    for every, word in ((10, "often"), (1001, "seldom")):
        values = {"key": key_of([word]), "every": every, "label": label}
        execute(
            "UPDATE datasets_entity SET words_key = %(key)s, label_id = %(label)s + id / %(every)s %% 10"
            " WHERE id %% %(every)s = 0",
            values,
        )
    browser = Browser(service, data.ANNOTATORS[0])
    for word in ("often", "seldom", "never"):
        asked = milliseconds(100, partial(browser.get, f"/projects/{project.pk}/words/?text={word}"))
        yield Figure(
            f"labels of words that are {word} among {2 * imports.LINES:,} marks, 10 labels, p50 / p95",
            asked,
            "ms",
            ALL_DAY,
        )


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

    at_once(manage, *(partial(save, annotator, n) for n, annotator in enumerate(annotators)))
    yield Figure(
        f"{RATE} saves a second for {duration} s during an import and a copy: errors", len(errors), "", headline(0)
    )
    for error in dict.fromkeys(errors[:3]):
        print(f"  {error}")
    # In the short run, too large a part of the saves meets the import and the copy to compare it with the budget.
    yield Figure("  p50 / p95", p50_p95(times), "ms", headline(None, 60) if service.long else None)
    yield Figure("  the longest", 1000 * max(times), "ms", headline(500))


@benchmark("deletion")
def deletion(service: Service) -> Iterator[Figure]:
    """Saves while a large dataset goes, with its project and a mark on every item; then the rest while nobody saves, for which
    the worker takes longer steps."""
    kept, gone = data.project(ITEMS, name="Kept"), data.project(DELETED_ITEMS, name="Gone")
    data.mark_every_item(gone.dataset, data.manager(), gone.entity_ontology)
    rows = Dataset._base_manager.filter(pk=gone.dataset.pk)
    annotators = [Annotator(service, kept, name) for name in data.ANNOTATORS]
    browser = Browser(service, data.MANAGER)
    answered = []

    def delete() -> None:
        for address in (f"/projects/{gone.pk}/delete/", f"/projects/bin/{gone.pk}/delete/"):
            answered.append(seconds(partial(browser.submit, address, name=gone.name)))
        time.sleep(BESIDE)

    def wait() -> None:
        while rows.exists():
            time.sleep(0.5)

    alone, _ = saving_while(annotators, partial(time.sleep, 10))
    times, took = saving_while(annotators, delete)
    yield Figure(f"delete a project of {DELETED_ITEMS:,} items with marks: into the bin", answered[0], "s")
    yield Figure("  for good: gone for everybody", answered[1], "s")
    yield Figure("  until the worker has deleted all rows", took + seconds(wait), "s")
    yield Figure(f"  ten saves a second in the first {BESIDE} s, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)
    yield Figure("  the longest", 1000 * max(times), "ms", LONGEST_WAIT)
    yield Figure("  p50 / p95 in ten seconds without a deletion", p50_p95(alone), "ms")
    yield Figure("  the longest in them", 1000 * max(alone), "ms")


@benchmark("sharing")
def sharing(service: Service) -> Iterator[Figure]:
    """Saves of eight people in items that they have begun, while all items of the project are given to two people each."""
    project = data.project(SHARED_ITEMS, name="Shared")
    project.add_members(
        User.objects.bulk_create(User(username=f"sharer{n}") for n in range(PEOPLE - len(data.ANNOTATORS)))
    )
    begun = list(project.dataset.items()[:ITEMS].values_list("pk", flat=True))
    people = User.objects.filter(username__in=data.ANNOTATORS)
    Annotation.objects.bulk_create(Annotation(item_id=item, annotator=each) for item in begun for each in people)
    annotators = [Annotator(service, project, name, begun) for name in data.ANNOTATORS]
    browser, place = Browser(service, data.MANAGER), f"/projects/{project.pk}/assignment/"
    rule = {"annotators_per_item": 2, "overlap": "", "calibration": ""}
    times, took = saving_while(annotators, lambda: browser.follow(browser.submit(place, **rule)))
    yield Figure(f"share out {SHARED_ITEMS:,} items among {PEOPLE} people, 2 for each", took, "s")
    yield Figure("  ten saves a second meanwhile, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)
    yield Figure("  the longest", 1000 * max(times), "ms", LONGEST_WAIT)


@benchmark("backup")
def backup(service: Service) -> Iterator[Figure]:
    project = data.project(ITEMS, name="Backup")
    annotators = [Annotator(service, project, name) for name in data.ANNOTATORS]
    _fill(500)
    for annotator in annotators:
        annotator.save()
    command = [".venv/bin/python", "manage.py", "backup", "backup.zip"]
    run = partial(subprocess.run, command, cwd=service.folder, env=service.environment, check=True, capture_output=True)
    alone, _ = saving_while(annotators, partial(time.sleep, 10))
    times, took = saving_while(annotators, run)
    yield Figure("back up a database of 500 MB", took, "s")
    yield Figure("  ten saves a second meanwhile, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)
    yield Figure("  the longest", 1000 * max(times), "ms", LONGEST_WAIT)
    yield Figure("  the longest in ten seconds without a backup", 1000 * max(alone), "ms")


def saving_while(annotators: list[Annotator], work: Callable[[], object]) -> tuple[list[float], float]:
    """How long each of ten saves a second takes from the moment when it is due, and how long the work takes beside them."""
    over, times, took = threading.Event(), [], []
    start = time.perf_counter()

    def save(annotator: Annotator, first: int) -> None:
        for number in itertools.count(first, len(annotators)):
            due = start + number / 10
            if over.wait(max(0, due - time.perf_counter())):
                return
            annotator.save()
            times.append(time.perf_counter() - due)

    def do() -> None:
        try:
            took.append(seconds(work))
        finally:
            over.set()

    at_once(do, *(partial(save, annotator, n) for n, annotator in enumerate(annotators)))
    return times, took[0]


def _fill(megabytes: int) -> None:
    """Items of a dataset over and over, until the database has that size."""
    dataset = data.dataset(imports.LINES, "Backup")
    columns = [field.column for field in Item._meta.concrete_fields if field.column not in ("id", "position")]
    size = "pg_database_size(current_database())"
    if connection.vendor == "sqlite":
        size = "(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size())"
    with connection.cursor() as cursor:
        for position in range(imports.LINES, 10**9, imports.LINES):
            cursor.execute(f"SELECT {size}")
            if cursor.fetchone()[0] >= megabytes * 1_000_000:
                return
            cursor.execute(
                f"INSERT INTO datasets_item (position, {', '.join(columns)})"
                f" SELECT {position} + position, {', '.join(columns)} FROM datasets_item"
                f" WHERE dataset_id = {dataset.pk} AND position < {imports.LINES}"
            )
