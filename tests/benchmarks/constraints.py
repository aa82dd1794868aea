"""What constraints cost: saving a mark among 1,000 rules in a tree of 10,000 labels, the report of what breaks them,
the matrix, learning rules from marks; and an item in which very many marks break a rule."""

import uuid
from collections.abc import Iterator
from functools import partial

from django.utils import timezone

from annotation_service.db import execute, store
from annotation_service.models import User
from datasets.models import Annotation, Entity
from projects.models import Project
from projects.violation_report import ViolationReport

from . import data
from .figures import (
    ADDING_UP,
    ALL_DAY,
    LONGEST_WAIT,
    PATIENCE,
    SAVE,
    Figure,
    benchmark,
    felt,
    median,
    milliseconds,
    seconds,
)
from .service import Browser, Service

LABELS, ITEMS, RULES = 10_000, 10_000, 1000
READERS, ROUNDS, SAVES = 9, 5, 8


@benchmark("constraints")
def constraints(service: Service) -> Iterator[Figure]:
    bound, free = (data.project(ITEMS, name=name, labels=LABELS) for name in ("Bound", "Free"))
    names = [label.fullname for label in bound.entity_ontology.labels()]
    # Every mark is looked up in them, and none breaks one.
    rules = [{"domain": name, "excludes": names[5000 + n : 5010 + n]} for n, name in enumerate(names[:RULES])]
    data.constrain(bound, rules)
    saving = {project: _Nesting(service, project) for project in (free, bound)}
    times = {project: milliseconds(300, each.save) for project, each in saving.items()}
    yield Figure("save a mark inside others, without constraints, p50 / p95", times[free], "ms", SAVE)
    yield Figure(f"  with {RULES:,} rules and {LABELS:,} labels", times[bound], "ms", SAVE)
    ontologies = [bound.entity_ontology, bound.relation_ontology]
    people = [None, *User.objects.filter(username__in=data.ANNOTATORS[1:3])]
    for person in people:
        data.add_marks(bound.dataset, person, ontologies)
    took = median(3, partial(ViolationReport, bound, now=True))
    yield Figure(f"report over {len(people) * 45_000:,} marks", took, "s", PATIENCE)
    manager, copy = Browser(service, data.MANAGER), bound.constraintset_set.get()
    times[bound] = milliseconds(20, partial(manager.ask, f"/constraints/{copy.pk}/matrix/", HX_Request="false"))
    yield Figure(f"matrix of {RULES:,} rules, {LABELS:,} labels, p50 / p95", times[bound], "ms", ADDING_UP)
    times[bound] = milliseconds(20, partial(manager.get, f"/constraints/{copy.pk}/"))
    yield Figure(f"page of {RULES:,} rules, p50 / p95", times[bound], "ms", ALL_DAY)
    Annotation.objects.filter(annotator__in=people[1:]).update(done_at=timezone.now())
    page = f"/datasets/learn/{copy.pk}/?source={bound.dataset.pk}-done&levels=99"
    took = median(3, partial(manager.get, page))
    yield Figure(f"propose rules from {(len(people) - 1) * 45_000:,} marks, at all levels", took, "s", PATIENCE)


@benchmark("crowded")
def crowded(service: Service) -> Iterator[Figure]:
    free = data.project(100, name="Free", labels=100)
    saving = _Nesting(service, free)
    for marks, over in ((4000, 100), (2000, 2000)):
        project = data.project(10, name=f"{over} over a token", labels=100)
        names = [label.fullname for label in project.entity_ontology.labels() if label.level == 1]
        data.constrain(project, [{"domain": name, "excludes": names} for name in names])
        annotation = _crowd(project, marks, over)
        browser, at = Browser(service, data.MANAGER), f"{marks:,} marks, {over:,} over a token, all break a rule"
        page, count = f"/projects/{project.pk}/", f"/projects/{project.pk}/violations/count/"
        item = f"/projects/{project.pk}/marks/{annotation.annotator_id}/{annotation.item_id}/"
        milliseconds(
            20, partial(browser.get, f"/projects/{free.pk}/")
        )  # on all threads: each has a connection of its own
        service.forget_peaks()
        idle = service.memory("status", "VmRSS")
        yield Figure(f"{at}: counted for the first time", seconds(partial(browser.get, count)), "s", felt(2))
        yield Figure("  peak memory over idle", service.memory("status", "VmHWM") - idle, "MB", felt(200))
        service.forget_peaks()
        for what, path in (("project page", page), ("  its count", count), ("item page", item)):
            yield Figure(f"  {what}, p50 / p95", milliseconds(20, partial(browser.get, path)), "ms", ADDING_UP)
        yield Figure("  peak memory over idle", service.memory("status", "VmHWM") - idle, "MB", felt(50))
        longest = _longest_save(service, saving, annotation, (page, count))
        yield Figure(f"  longest save of others, {READERS} open and leave", 1000 * longest, "ms", LONGEST_WAIT)


def _crowd(project: Project, marks: int, over: int) -> Annotation:
    """An item with marks that begin one after the other; all are as long, or each lies inside the one before."""
    item = project.dataset.items()[0]
    store(item, tokens=data.text(2 * marks // 15 + 1).split()[: 2 * marks], offsets=None)
    annotation = Annotation.objects.create(item=item, annotator=User.objects.get(username=data.ANNOTATORS[1]))
    labels = list(project.entity_ontology.items())
    entities = [
        Entity(annotation=annotation, label=labels[n % len(labels)], uid=f"m{n}", words_key=0) for n in range(marks)
    ]
    for n, entity in enumerate(entities):
        entity.start, entity.end = n, n + over - 1 if over < marks else 2 * marks - 1 - n
    Entity.objects.bulk_create(entities, batch_size=data.BATCH)
    execute("ANALYZE")  # as after everything that fills tables
    return annotation


def _longest_save(service: Service, saving: "_Nesting", annotation: Annotation, paths: tuple[str, ...]) -> float:
    """While people open pages about an item that has just changed, and leave them."""
    readers, longest = [Browser(service, data.MANAGER) for _ in range(READERS)], 0.0
    for _ in range(ROUNDS):
        execute("UPDATE datasets_annotation SET revision = revision + 1 WHERE id = %(pk)s", {"pk": annotation.pk})
        for reader in readers:
            for path in paths:
                reader.connection.request("GET", path, headers=reader.headers)
                reader.connection.close()
        longest = max(longest, *(seconds(saving.save) for _ in range(SAVES)))
    return longest


class _Nesting:
    """Saves marks that all share the first token of an item: five on each."""

    def __init__(self, service: Service, project: Project) -> None:
        self.browser = Browser(service, data.ANNOTATORS[0])
        label = project.entity_ontology.items()[0].uid
        pks = project.dataset.items().order_by("-pk").values_list("pk", flat=True)
        self.marks = ((pk, {"start": 0, "end": end, "label": label}) for pk in pks for end in range(5))
        self.path = f"/projects/{project.pk}/items/%d/entities/add/"

    def save(self) -> None:
        pk, mark = next(self.marks)
        self.browser.submit_json(self.path % pk, uid=str(uuid.uuid4()), **mark)
