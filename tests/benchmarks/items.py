import math
from collections.abc import Iterator
from functools import cache, partial

from annotation_service.db import execute, write
from annotation_service.models import User
from projects.models import Project
from work.models import Comment, Flag
from work.models.item_work import refresh

from . import data
from .figures import ALL_DAY, RUNS, Figure, benchmark, milliseconds, seconds
from .service import Browser, Service

LINES, PEOPLE = 20_000, 50
# Every fifth of the people has worked on an item; a tenth of them is not done.
_ANNOTATIONS = """
INSERT INTO datasets_annotation (item_id, annotator_id, started_at, done_at, changed_at)
SELECT i.id, m.user_id, d.updated_at, CASE WHEN (i.position + m.user_id) % 10 > 0 THEN d.updated_at END, d.updated_at
  FROM datasets_item i
  JOIN datasets_dataset d ON d.id = i.dataset_id
  JOIN projects_membership m ON m.project_id = d.project_id AND m.role = 'annotator'
 WHERE d.project_id = %(project)s AND (i.position + m.user_id) % {PEOPLE} < {PEOPLE} / 5 AND i.position % 100 > 0
"""
# The same from all, except of some people in some items.
_MARKS = """
INSERT INTO datasets_entity
       (annotation_id, label_id, uid, start, "end", words_key, status, origin, created_at, updated_at)
SELECT a.id, %(label)s + (i.position / 10 + {n}) % 100, 'mark-{n}', {n},
       {n} + CASE WHEN a.annotator_id % 7 = i.position % 40 THEN 1 ELSE 0 END, 0, 'accepted', 'person', a.changed_at, a.changed_at
  FROM datasets_annotation a
  JOIN datasets_item i ON i.id = a.item_id
  JOIN datasets_dataset d ON d.id = i.dataset_id
 WHERE d.project_id = %(project)s
"""
MARKS_AN_ITEM = 5
FILTERS = [
    ("all", ""),
    ("last page", "page=99999"),
    *((state, f"state={state}") for state in ("untouched", "begun", "undone", "done", "done-9")),
    *((has, f"has={has}") for has in ("disputed", "marks", "flags", "issue", "open")),
    ("of a label", "label={rare}"),
    ("of a label and those below", "label={label}"),
    ("of a person", "person={person}"),
    ("of a person, done, of a label", "person={person}&state=done&label={label}"),
    ("search", "q={word}"),
    ("search, disputed, flagged", "q={word}&has=disputed&state=done-9"),
    *((f"sorted by {column}", f"sort=-{column}") for column in ("done", "marks", "length", "changed")),
]


@benchmark("items")
def item_table(service: Service) -> Iterator[Figure]:
    """Of a project in which 50 people have made a million marks on 20,000 items."""
    project, words = fill()
    browser, place = Browser(service, data.MANAGER), f"/projects/{project.pk}/items/"
    counting = seconds(lambda: refresh(project.dataset.pk, math.inf))
    yield Figure(f"item table at {LINES:,}, counting 1,000,000 marks for the first time", counting, "s")
    for what, query in FILTERS:
        path = f"{place}?{query.format(**words)}"
        p50, p95 = milliseconds(RUNS, partial(browser.get, path))
        yield Figure(f"item table at {LINES:,}, {PEOPLE} people, {what}, p50 / p95", (p50, p95), "ms", ALL_DAY)


@cache
@write()
def fill() -> tuple[Project, dict[str, str | int]]:
    """The project, and what its items are searched for."""
    people = User.objects.bulk_create(User(username=f"worker{n}") for n in range(PEOPLE))
    project = data.project(LINES, name="Table")
    project.membership_set.filter(role="annotator").delete()
    project.add_members(people)
    labels = sorted(label.pk for label in project.entity_ontology.labels())
    params = {"project": project.pk, "label": labels[0]}
    execute(_ANNOTATIONS.format(PEOPLE=PEOPLE).replace("% ", "%% "), params)
    for n in range(MARKS_AN_ITEM):
        execute(_MARKS.format(n=n).replace("% ", "%% "), params)
    items = project.dataset.items()[: LINES // 10 : 10]
    Flag.objects.bulk_create(Flag(item=item, person=people[0], kind="issue") for item in items)
    said = {"person": people[0], "author": people[0], "last_by": people[0], "text": "Why?"}
    Comment.objects.bulk_create(Comment(item=item, **said) for item in items)
    tree = project.entity_ontology.labels()
    words = {"person": people[0].pk, "label": tree[0].uid, "rare": tree[-1].uid, "word": data.text(LINES).split()[-4]}
    return project, words
