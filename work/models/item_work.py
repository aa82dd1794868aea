"""What all people together did in each item, kept: to group a million marks takes longer than a page may.

An annotation goes stale with its revision, or when it is finished or reopened. Whoever reads brings the figures up to date first;
the worker does it, too, so that little is left to readers. Each annotation then knows how many marks it has; who reads that looks
the marks of a stale one up.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, connection, models
from django.db.models import Case, F, Index, QuerySet, UniqueConstraint, Value, When

from annotation_service.db import among, count_of, write
from annotation_service.jobs import purge
from datasets.models.annotation import UNCOUNTED, Annotation
from datasets.models.dataset import goes_with_annotations
from datasets.models.item import Item
from datasets.models.judged import Judging, judge_again
from datasets.models.marks import Entity, Mark, Relation

# So many items are locked and counted before others can write, and so many annotations of them while nobody waits.
ITEMS_AT_ONCE = 300
ANNOTATIONS_IN_STEP = 100
_counting: dict[int, object] = {}
# Called with items, before they are counted and locked: which of them are disputed. The apps above say so.
disputes_in: list[Callable[[Collection[int]], set[int]]] = []
KEPT = (Mark.Status.ACCEPTED, Mark.Status.SUGGESTED)  # of marks with these, each annotation knows the number


class ItemWork(models.Model):
    """Figures of one item. An item without a row is one in which nobody has done anything."""

    item = models.OneToOneField(Item, primary_key=True, on_delete=models.RESTRICT, related_name="work")
    # People who have begun it, those who are done included.
    begun = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    # Accepted entities and relations of all of them.
    marks = models.PositiveIntegerField(default=0)
    # Whether it is to be decided what those who are done have marked differently.
    is_disputed = models.BooleanField(default=False)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "datasets_itemwork"

    def __str__(self) -> str:
        return f"item {self.item_id}: {self.done} of {self.begun} done"


class ItemLabel(models.Model):
    """A label that somebody's accepted marks in an item carry."""

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    # Not a foreign key: a label may be deleted as soon as no mark has it, before this is counted again.
    label = models.BigIntegerField()

    class Meta:
        db_table = "datasets_itemlabel"
        constraints = [UniqueConstraint(fields=["item", "label"], name="item_label_once")]
        indexes = [Index(fields=["label", "item"], name="item_label")]

    def __str__(self) -> str:
        return f"label {self.label} in item {self.item_id}"


def marks_in(status: str, annotation: str = "") -> Case:
    """How many marks of one of the `KEPT` statuses an annotation has, named as in "own__". Where the kept number may be out of
    date, they are looked up."""
    is_known = {f"{annotation}counted": F(f"{annotation}revision")}
    return Case(When(**is_known, then=F(f"{annotation}{status}")), default=_looked_up(status, annotation))


def _looked_up(status: str, annotation: str = "") -> Any:
    marks = (model._default_manager.filter(status=status) for model in (Entity, Relation))
    return sum((count_of(its_marks, "annotation", of=f"{annotation}pk") for its_marks in marks), start=Value(0))


def refresh(dataset: int, seconds: float) -> bool:
    """Count what has changed in the items of a dataset, for so many seconds; returns whether that was all.

    Without room to store them the figures stay as they were: that keeps nobody from reading. Items that somebody is just writing
    to are left to the next reader.
    """
    until = time.monotonic() + seconds
    with _turn(dataset) as is_free, suppress(DatabaseError):
        while is_free and (items := _changed(dataset)):
            if time.monotonic() > until:
                return False
            if not _count(items):
                break
        return is_free and judge_again(dataset, until)
    return True


def refresh_item(item: Item) -> None:
    """Count what has changed in it."""
    with _turn(item.dataset_id) as is_free, suppress(DatabaseError):
        if is_free and Annotation.objects.filter(UNCOUNTED, item=item).exists():
            _count([item.pk])


@contextmanager
def _turn(dataset: int) -> Iterator[bool]:
    """Whether nobody else in this process counts it. One reader does it for all: together they would only be slower, and
    whoever waited would keep others from saving."""
    mine = object()
    is_free = _counting.setdefault(dataset, mine) is mine
    try:
        yield is_free
    finally:
        if is_free:
            del _counting[dataset]


@purge
def count_some(seconds: float) -> int:
    """Count what has changed in any dataset, for so many seconds; returns how many items that were."""
    until, count = time.monotonic() + seconds, 0
    while items := list(
        Annotation.objects.filter(UNCOUNTED).order_by("item").values_list("item", flat=True)[:ANNOTATIONS_IN_STEP]
    ):
        counted = _count(set(items))
        count += counted
        if not counted or time.monotonic() > until:
            break
    return count


def _changed(dataset: int) -> list[int]:
    """Some of its items with something that is not counted yet. Every reader asks, and mostly there is none."""
    stale = Annotation.objects.filter(UNCOUNTED).order_by().values("item")
    return list(
        Item.with_removed.filter(dataset=dataset, pk__in=stale).order_by().values_list("pk", flat=True)[:ITEMS_AT_ONCE]
    )


def _count(items: Collection[int]) -> int:
    """Count these items, except those that somebody has locked; returns how many there were."""
    rows = Item.with_removed.filter(pk__in=among(list(items))).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(no_key=True, skip_locked=True)
    judging = Judging(items)
    disputed = {item for find in disputes_in for item in find(items)}
    with write():
        unchanged = judging.store(list(rows.values_list("pk", flat=True)))
        work = {pk: ItemWork(item_id=pk, is_disputed=pk in disputed) for pk in sorted(unchanged)}
        annotations = Annotation.objects.filter(item__in=among(list(work)), annotator__isnull=False)
        labels = _add_up(work, annotations)
        fields = [field.name for field in ItemWork._meta.fields if not field.primary_key]
        ItemWork.objects.bulk_create(work.values(), update_conflicts=True, unique_fields=["item"], update_fields=fields)
        ItemLabel.objects.filter(item__in=among(list(work)))._raw_delete(connection.alias)
        ItemLabel.objects.bulk_create(ItemLabel(item_id=item, label=label) for item, label in sorted(labels))
        annotations.update(counted=F("revision"), **{status: _looked_up(status) for status in KEPT})
    return len(work)


def _add_up(work: dict[int, ItemWork], annotations: QuerySet[Annotation]) -> set[tuple[int, int]]:
    """Fill the figures in; returns the items with the labels in them."""
    found = list(annotations.order_by().values_list("pk", "item", "started_at", "done_at", "changed_at"))
    marks = _marks_of({pk: started is not None for pk, _, started, *_ in found})
    for pk, item, started, done, changed in found:
        row, own = work[item], marks[pk]
        row.begun += started is not None
        row.done += done is not None
        row.marks += len(own)
        row.changed_at = max(filter(None, (row.changed_at, changed)), default=None)
    return {(item, mark[0]) for pk, item, *_ in found for mark in marks[pk]}


def _marks_of(is_begun: dict[int, bool]) -> dict[int, list[tuple[Any, ...]]]:
    """What the accepted marks of each annotation say: their labels, first, and what they mark.

    One that nobody has begun holds copies of what came with the dataset; there, only the marks of batches are somebody's.
    """
    places, marks = {}, defaultdict(list)
    for pk, annotation, batch, *said in _accepted(Entity, is_begun, "label", "start", "end"):
        places[pk] = tuple(said)
        if is_begun[annotation] or batch:
            marks[annotation].append(tuple(said))
    for _, annotation, batch, label, source, target in _accepted(Relation, is_begun, "label", "source", "target"):
        if is_begun[annotation] or batch:
            marks[annotation].append((label, places.get(source), places.get(target)))
    return marks


def _accepted(model: type[Mark], annotations: Collection[int], *fields: str) -> Iterable[Any]:
    marks = model._default_manager.filter(annotation__in=among(list(annotations)), status=Mark.Status.ACCEPTED)
    return marks.order_by().values_list("pk", "annotation", "batch", *fields)


def delete_annotations(annotations: Sequence[int]) -> None:
    """With all that is in them. What is left in their items, which the caller has locked, is counted again."""
    gone = Annotation.objects.filter(pk__in=among(annotations))
    items = among(list(gone.values_list("item", flat=True)))
    Annotation.objects.filter(item__in=items).update(counted=0)
    figures = (model._base_manager.filter(item__in=items) for model in (ItemWork, ItemLabel))
    content = (model._base_manager.filter(annotation__in=among(annotations)) for model in goes_with_annotations)
    for rows in (*figures, *content, gone):
        rows._raw_delete(rows.db)
