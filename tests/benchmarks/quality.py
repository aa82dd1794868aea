"""What it takes to compare everybody's marks, and to see how far people agree."""

import math
from collections.abc import Iterator
from functools import cache, partial
from itertools import cycle

from annotation_service.db import execute, write
from annotation_service.models import User
from projects.models import Project
from quality.review import refresh_disputes

from . import data
from .figures import ADDING_UP, ALL_DAY, RUNS, Figure, benchmark, felt, milliseconds, seconds
from .service import Browser, Service

ITEMS, PEOPLE, LINES_AN_ITEM, MARKS = 20_000, 50, 4, 16
# Each item is done by three people.
_ANNOTATIONS = f"""
INSERT INTO datasets_annotation (item_id, annotator_id, started_at, done_at, changed_at)
SELECT i.id, m.user_id, d.updated_at, d.updated_at, d.updated_at
  FROM datasets_item i
  JOIN datasets_dataset d ON d.id = i.dataset_id
  JOIN projects_membership m ON m.project_id = d.project_id AND m.role = 'annotator'
 WHERE d.project_id = %(project)s AND (i.position * 7 + m.user_id) %% {PEOPLE} IN (0, 1, 2 + i.position %% 40)
"""
# Most are the same from all three; of one person in some items a mark is missing, longer, or has another label.
ENTITIES = """
INSERT INTO datasets_entity
       (annotation_id, label_id, uid, start, "end", words_key, status, origin, created_at, updated_at)
SELECT a.id, %(label)s + (i.position / 10 + {n} + CASE WHEN a.id %% 11 = {n} THEN 1 ELSE 0 END) %% 100, 'mark-{n}', 3 * {n},
       3 * {n} + CASE WHEN a.id %% 5 = {n} THEN 1 ELSE 0 END, 0, 'accepted', 'person', a.changed_at, a.changed_at
  FROM datasets_annotation a
  JOIN datasets_item i ON i.id = a.item_id
  JOIN datasets_dataset d ON d.id = i.dataset_id
 WHERE d.project_id = %(project)s AND a.id %% 23 <> {n}
"""
_RELATIONS = """
INSERT INTO datasets_relation
       (annotation_id, label_id, uid, source_id, target_id, status, origin, created_at, updated_at)
SELECT s.annotation_id, %(relation)s + s.annotation_id %% 3, 'relation', s.id, t.id, 'accepted', 'person', s.created_at,
       s.created_at
  FROM datasets_entity s
  JOIN datasets_entity t ON t.annotation_id = s.annotation_id AND t.uid = 'mark-1'
  JOIN datasets_annotation a ON a.id = s.annotation_id
  JOIN datasets_item i ON i.id = a.item_id
  JOIN datasets_dataset d ON d.id = i.dataset_id
 WHERE d.project_id = %(project)s AND s.uid = 'mark-0'
"""
PAGES = ("", "labels/", "confusion/", "weeks/", "changed/", "places/?kind=span", "places/?kind=label&page=9999")


@benchmark("quality")
def agreement(service: Service) -> Iterator[Figure]:
    """Of a project in which 50 people have made a million marks on 20,000 items, each of which three are done with."""
    project = fill()
    counting = seconds(lambda: refresh_disputes(project, math.inf))
    browser, place = Browser(service, data.MANAGER), f"/projects/{project.pk}/agreement/"
    large = f"agreement in {ITEMS:,} items, {PEOPLE} people, 1,000,000 marks"
    yield Figure(f"{large}: to find what is disputed, for the first time", counting, "s")
    service.forget_peaks()
    before = service.memory("status", "VmHWM")

    def count() -> None:
        browser.follow(browser.submit(f"{place}count/", expected=302))

    yield Figure(large, seconds(count), "s", felt(60))
    yield Figure("  memory that it takes", service.memory("status", "VmHWM") - before, "MB", felt(200))
    yield Figure("  again, when nothing has changed", seconds(count), "s")
    items = list(project.dataset.items().values_list("pk", flat=True)[: 10 * RUNS : 10])
    sides = cycle(f"/projects/{project.pk}/review/{item}/" for item in items)
    p50, p95 = milliseconds(RUNS, lambda: browser.get(next(sides)))
    yield Figure("  an item side by side, p50 / p95", (p50, p95), "ms", ALL_DAY)
    for query in ("", "?state=disputed", "?kind=span"):
        p50, p95 = milliseconds(RUNS, partial(browser.get, f"/projects/{project.pk}/review/{query}"))
        yield Figure(f"  review/{query}, p50 / p95", (p50, p95), "ms", ALL_DAY)
    for page in PAGES:
        p50, p95 = milliseconds(RUNS, partial(browser.get, f"{place}{page}"))
        yield Figure(f"  agreement/{page}, p50 / p95", (p50, p95), "ms", ADDING_UP)


@cache
def _raters() -> list[User]:
    return User.objects.bulk_create(User(username=f"rater{n}", username_folded=f"rater{n}") for n in range(PEOPLE))


def begun_project(name: str, texts: str) -> tuple[Project, dict[str, int]]:
    """A project in which three of 50 people are done with each item and have marked nothing yet; and its key, with those of its
    first labels."""
    project = data.project(ITEMS, name=name, texts=data.dataset(ITEMS, f"Texts of {name}", texts))
    project.membership_set.filter(role="annotator").delete()
    project.add_members(_raters())
    relations = project.relation_ontology
    assert relations
    keys = (min(label.pk for label in tree.labels()) for tree in (project.entity_ontology, relations))
    params = {"project": project.pk, **dict(zip(("label", "relation"), keys, strict=True))}
    execute(_ANNOTATIONS, params)
    return project, params


@cache
@write()
def fill() -> Project:
    lines = data.text(ITEMS * LINES_AN_ITEM).splitlines()
    texts = "\n".join(" ".join(lines[n : n + LINES_AN_ITEM]) for n in range(0, len(lines), LINES_AN_ITEM))
    project, params = begun_project("Agreement", texts)
    for n in range(MARKS + 1):
        execute(ENTITIES.format(n=n), params)
    execute(_RELATIONS, params)
    return project
