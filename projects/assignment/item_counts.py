"""How many items of each project are begun and done.

Lists show many projects, and counting 200,000 annotations takes half a second: so the figures are kept, and somebody's step
changes them by one. What changes them by more, such as a new member, has them counted again when they are read next.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, models
from django.db.models import Count, Exists, F, OuterRef, QuerySet

from annotation_service.db import among, write
from annotation_service.events import Event
from datasets.models import Annotation, Item
from datasets.models.annotation import WorkStep, followers

from .assigned import CountOf, annotators_of, count_holders, of_annotators

ITEM_DONE = Event("item.done", "Somebody has finished an item.")
ITEM_REOPENED = Event("item.reopened", "Somebody has reopened an item that they had finished.")


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


def refresh(projects: Collection[int] | None = None) -> None:
    """Count where it has to be done again, in some projects or all. Without room to store it the figures stay unknown: that keeps
    nobody from reading."""
    unknown = ItemCounts.objects.filter(done=None)
    if projects is not None:
        unknown = unknown.filter(project__in=projects)
    if unknown.exists():
        with suppress(DatabaseError), write():
            _count(unknown)


def _count(unknown: "QuerySet[ItemCounts]") -> None:
    locked = {row.pk: row for row in unknown.select_for_update().order_by("pk")}
    # The figures of others may be forgotten from now on: those are left to the next reader.
    for row in locked.values():
        row.begun = row.done = 0
    begun = Annotation.objects.filter(item=OuterRef("pk"), annotator__isnull=False, started_at__isnull=False)
    items = Item.objects.filter(Exists(begun), dataset__project__in=among(list(locked)))
    for *figures, project, number in _figures(items.order_by(), "dataset__project").annotate(Count("pk")):
        locked[project].begun += number
        locked[project].done += number * is_done(*figures)
    ItemCounts.objects.bulk_update(locked.values(), ["begun", "done"])


def _figures(items: QuerySet[Item], *others: str) -> QuerySet[Any, Any]:
    """What `is_done` asks about items, and ``others`` of their fields."""
    finished = Annotation.objects.filter(item=OuterRef("pk"), annotator__isnull=False, done_at__isnull=False)
    by_annotators = of_annotators(Annotation, done_at__isnull=False)
    return items.values_list(count_holders(), by_annotators, CountOf(finished.values("pk")), *others)


def follow(annotation: Annotation, step: WorkStep) -> None:
    """Keep the figures up to date when somebody begins, finishes or reopens an item, which the caller has locked."""
    counts = ItemCounts.objects.filter(project__dataset=annotation.item.dataset_id)
    if step is WorkStep.BEGIN:
        begun = Annotation.objects.filter(item=annotation.item_id, annotator__isnull=False, started_at__isnull=False)
        if not begun.exclude(pk=annotation.pk).exists():
            counts.update(begun=F("begun") + 1)
        return
    with write():
        project = counts.select_for_update(of=("self",)).first()  # members may come or go meanwhile
        if project is None:
            return
        item = Item.with_removed.filter(pk=annotation.item_id)
        given, by_annotators, by_anyone = _figures(item).get()
        is_annotator = annotation.annotator_id in annotators_of(project.pk).values_list("pk", flat=True)
        was = is_done(given, by_annotators - is_annotator * step.value, by_anyone - step.value)
        now = is_done(given, by_annotators, by_anyone)
        if now != was:
            counts.update(done=F("done") + step.value)
        event = ITEM_DONE if step is WorkStep.FINISH else ITEM_REOPENED
        event.happened(project.pk, lambda: {**_told(annotation), "done_by_all": now})


def _told(annotation: Annotation) -> dict[str, Any]:
    item, person = annotation.item, annotation.annotator
    assert person
    found = {"item": item.pk, "external_id": item.external_id, "dataset": item.dataset_id}
    return {**found, "user": person.username}


followers.append(follow)
