import math
from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from annotation_service.db import execute, write
from annotation_service.models import User
from datasets.models import Annotation
from projects.models import Project
from work.models import Comment, Flag
from work.models.item_work import refresh

from . import data
from .figures import ADDING_UP, OWN_LIST, RUNS, Figure, benchmark, milliseconds
from .service import Browser, Service

LINES = 100_000
# The marks have the labels in turn, and some are suggestions.
_MARKS = """
INSERT INTO datasets_entity
       (annotation_id, label_id, uid, start, "end", words_key, status, origin, created_at, updated_at)
SELECT a.id, %(label)s + (i.position / 10 + {n}) % 100, 'mark-{n}', {n}, {n}, 0,
       CASE WHEN i.position % 100 = {n} THEN 'suggested' ELSE 'accepted' END, 'person',
       a.changed_at, a.changed_at
  FROM datasets_annotation a
  JOIN datasets_item i ON i.id = a.item_id
  JOIN datasets_dataset d ON d.id = i.dataset_id
 WHERE d.project_id = %(project)s AND a.annotator_id = %(person)s
"""
MARKS_AN_ITEM = 7


@benchmark("mine")
def own_work(service: Service) -> Iterator[Figure]:
    """Of somebody who has begun 30,000 of 100,000 items."""
    project = data.project(LINES, name="Mine")
    browser = Browser(service, data.ANNOTATORS[0])
    marks = _fill(project)
    refresh(project.dataset.pk, math.inf)  # as the worker does while people make marks, one by one
    label, rare = project.entity_ontology.labels()[0].uid, data.text(LINES).split()[-4]
    place = f"/projects/{project.pk}/annotate"
    middle = project.dataset.items()[LINES // 2].pk
    for what, query in (
        ("all", ""),
        ("last page", "page=99999"),
        *((state, f"state={state}") for state in ("undone", "untouched", "begun", "done")),
        *((f"with {what}", f"has={what}") for what in ("marks", "suggestions", "flags", "comments")),
        ("of a label and those below", f"label={label}"),
        (f"search “{rare}”", f"q={rare}"),
        (f"search “{rare}”, undone, flagged", f"q={rare}&state=undone&has=flags"),
        *((f"sorted by {column}", f"sort=-{column}") for column in ("length", "marks", "changed")),
        *((f"undone, sorted by {column}", f"state=undone&sort=-{column}") for column in ("length", "marks", "changed")),
        *(
            (f"with marks, sorted by {column}", f"has=marks&sort=-{column}")
            for column in ("length", "marks", "changed")
        ),
        ("in the middle of those by length", "sort=length&page=1000"),
        *(
            (f"around the open item, by {column}", f"at={middle}&sort=-{column}")
            for column in ("length", "marks", "changed")
        ),
    ):
        p50, p95 = milliseconds(RUNS, lambda path=f"{place}/items/?{query}": browser.get(path))
        yield Figure(f"own items at {LINES:,}, {what}, p50 / p95", (p50, p95), "ms", OWN_LIST)
    for what, query in (
        ("all", ""),
        ("by item", "sort=number"),
        ("of a label and those below", f"label={label}"),
        (f"search “{rare}”", f"q={rare}"),
    ):
        p50, p95 = milliseconds(RUNS, lambda path=f"{place}/marks/?{query}": browser.get(path))
        yield Figure(f"own marks, {marks:,}, {what}, p50 / p95", (p50, p95), "ms", OWN_LIST)
    p50, p95 = milliseconds(RUNS, lambda: browser.get(f"{place}/work/"))
    yield Figure("own work at a glance, p50 / p95", (p50, p95), "ms", ADDING_UP)


@write()
def _fill(project: Project) -> int:
    person = project.membership_set.get(user__username=data.ANNOTATORS[0]).user
    _work(project, person)
    params = {"project": project.pk, "person": person.pk}
    params["label"] = min(label.pk for label in project.entity_ontology.labels())
    made = sum(execute(_MARKS.format(n=n).replace("% ", "%% "), params) for n in range(MARKS_AN_ITEM))
    items = project.dataset.items()[: LINES // 10 : 10]
    Flag.objects.bulk_create(Flag(item=item, person=person, kind="issue") for item in items)
    Comment.objects.bulk_create(
        Comment(item=item, person=person, author=person, last_by=person, text="Which one?") for item in items
    )
    return made


def _work(project: Project, person: User) -> None:
    """Three of ten items are begun, one every twenty seconds through the last week, and a third of these is not done."""
    keys = list(project.dataset.items().values_list("pk", "position"))
    chosen = [(pk, position) for pk, position in keys if position % 10 < 3]
    now = timezone.now()
    work = []
    for number, (pk, position) in enumerate(chosen):
        at = now - timedelta(seconds=20 * (len(chosen) - number))
        done_at = at if position % 30 > 2 else None
        work.append(Annotation(item_id=pk, annotator=person, started_at=at, done_at=done_at, changed_at=at))
    Annotation.objects.bulk_create(work, batch_size=data.BATCH)
