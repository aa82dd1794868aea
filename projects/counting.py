"""How many items of each project are begun and done.

Lists show many projects, and counting 200,000 annotations takes half a second: so the figures are kept, and somebody's step
changes them by one. What changes them by more, such as a new member, has them counted again when they are read next.
"""

from collections import Counter
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, connection, models
from django.db.models import F

from annotation_service.db import write
from datasets.models import Annotation
from datasets.models.annotation import WorkStep, followers

from .roles import getting_items
from .rule import FOR_ALL

_ITEMS = """
SELECT project_id, given, by_annotators, by_anyone, COUNT(*)
  FROM (SELECT d.project_id, {given} AS given, COUNT(a.done_at) AS by_anyone,
               COUNT(CASE WHEN m.id IS NOT NULL THEN a.done_at END) AS by_annotators
          FROM projects_itemcounts c
          JOIN projects_project p ON p.id = c.project_id
          JOIN datasets_dataset d ON d.project_id = c.project_id
          JOIN datasets_item i ON i.dataset_id = d.id AND i.removed_at IS NULL
          JOIN datasets_annotation a ON a.item_id = i.id AND a.annotator_id IS NOT NULL AND a.started_at IS NOT NULL
          LEFT JOIN {working} m ON m.project_id = d.project_id AND m.user_id = a.annotator_id
         WHERE c.done IS NULL
         GROUP BY d.project_id, p.id, i.id) items
 GROUP BY project_id, given, by_annotators, by_anyone
"""
_ITEM = """
SELECT d.project_id, {given},
       COUNT(CASE WHEN m.id IS NOT NULL THEN a.done_at END), COUNT(a.done_at), COUNT(*),
       COUNT(CASE WHEN a.annotator_id = %(person)s THEN m.id END)
  FROM datasets_annotation a
  JOIN datasets_item i ON i.id = a.item_id
  JOIN datasets_dataset d ON d.id = i.dataset_id
  JOIN projects_project p ON p.id = d.project_id
  LEFT JOIN {working} m ON m.project_id = p.id AND m.user_id = a.annotator_id
 WHERE a.item_id = %(item)s AND a.annotator_id IS NOT NULL AND a.started_at IS NOT NULL
 GROUP BY d.project_id, p.id, i.id
"""
# Those among whom items are shared out: not those who cannot sign in.
_WORKING = """
(SELECT m.* FROM projects_membership m JOIN annotation_service_user u ON u.id = m.user_id AND u.is_active
  WHERE m.role {roles})
"""
# To how many of them an item is given.
_GIVEN = f"""
CASE WHEN {FOR_ALL}
     THEN (SELECT COUNT(*) FROM {{working}} g WHERE g.project_id = p.id)
        - (SELECT COUNT(*) FROM projects_withheld w JOIN {{working}} g ON g.user_id = w.annotator_id
            WHERE w.item_id = i.id AND g.project_id = p.id)
     ELSE (SELECT COUNT(*) FROM projects_assignment s JOIN {{working}} g ON g.user_id = s.annotator_id
            WHERE s.item_id = i.id AND g.project_id = p.id) END
"""


class ItemCounts(models.Model):
    """Figures of one project; null, if they have to be counted again. Whoever locks items, too, locks this row after them."""

    project = models.OneToOneField("projects.Project", primary_key=True, on_delete=models.RESTRICT)
    begun = models.PositiveIntegerField(null=True)
    """Items that somebody has begun, those that are done included."""
    done = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name_plural = "item counts"

    def __str__(self) -> str:
        return f"{self.done} done, {self.begun} begun in {self.project}"

    @property
    def figures(self) -> tuple[int, int]:
        """How many items are begun, and how many of these are done."""
        return self.begun or 0, self.done or 0


def is_done(given: int, by_annotators: int, by_anyone: int) -> bool:
    """Whether an item is done that so many have finished: when all annotators have to whom it is given; if it is given to none,
    when anybody has."""
    return by_annotators >= given if given else by_anyone > 0


def forget(project: int) -> None:
    """Have the figures of a project counted again."""
    ItemCounts.objects.filter(project=project).update(begun=None, done=None)


def refresh() -> None:
    """Count where it has to be done again. Without room to store it the figures stay unknown: that keeps nobody from reading."""
    if ItemCounts.objects.filter(done=None).exists():
        with suppress(DatabaseError), write():
            _count()


def _count() -> None:
    locked = list(ItemCounts.objects.select_for_update().filter(done=None).order_by("pk"))
    # The figures of others may be forgotten from now on: those are left to the next reader.
    figures: dict[int, Counter[str]] = {row.pk: Counter() for row in locked}
    for project, given, by_annotators, by_anyone, items in _rows(_ITEMS):
        if project in figures:
            figures[project]["begun"] += items
            figures[project]["done"] += items * is_done(given, by_annotators, by_anyone)
    for row in locked:
        row.begun, row.done = figures[row.pk]["begun"], figures[row.pk]["done"]
    ItemCounts.objects.bulk_update(locked, ["begun", "done"])


def follow(annotation: Annotation, step: WorkStep) -> None:
    """Keep the figures up to date when somebody begins, finishes or reopens an item, which the caller has locked."""
    if connection.features.has_select_for_update and connection.in_atomic_block:  # members may come or go meanwhile
        counts = ItemCounts.objects.filter(project__dataset__item=annotation.item_id)
        counts.select_for_update(of=("self",)).values_list("pk").first()
    found = _rows(_ITEM, item=annotation.item_id, person=annotation.annotator_id)
    for project, given, by_annotators, by_anyone, begun, is_annotator in found:
        counts = ItemCounts.objects.filter(project=project)
        if step is WorkStep.BEGIN:
            if begun == 1:
                counts.update(begun=F("begun") + 1)
            continue
        now = is_done(given, by_annotators, by_anyone)
        was = is_done(given, by_annotators - is_annotator * step.value, by_anyone - step.value)
        if now != was:
            counts.update(done=F("done") + step.value)


def _rows(sql: str, **params: int | None) -> list[Any]:
    roles = {f"role{n}": name for n, name in enumerate(getting_items())}
    sql = sql.replace("{given}", _GIVEN).replace("{working}", _WORKING)
    sql = sql.format(roles=f"IN ({', '.join(f'%({name})s' for name in roles)})")
    with connection.cursor() as cursor:
        cursor.execute(sql, {**params, **roles})
        return cursor.fetchall()


followers.append(follow)
