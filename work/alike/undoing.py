"""Undoing a batch, some items at a time: each mark is again as it was before, unless something is in the way."""

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from annotation_service.db import among, execute, keys, store, write
from annotation_service.models import Job
from datasets.importing.document import Progress
from datasets.models import MARKS, Annotation, Entity, Mark, Rejection, Relation

from ..models import Batch
from ..models.batch import COLUMNS, PLACES, BatchChange, BatchChangeQuerySet, Turns, in_steps, lock_items
from ..models.item_work import delete_annotations

_NEEDED = ("pk", "annotation_id", "kind", "mark", "status", "is_broken", "noted", "source_id", "target_id")
# A mark that is still there is changed, one that was removed comes back.
_PUT_BACK = """
    INSERT INTO {table} (id, annotation_id, batch_id, {columns})
    SELECT mark, annotation_id, its_batch, {columns} FROM work_batchchange WHERE id IN ({changes})
        ON CONFLICT (id) DO UPDATE
       SET status = excluded.status, batch_id = excluded.batch_id, updated_at = excluded.updated_at
"""


def undo(batch: Batch, progress: Progress, job: Job) -> None:
    """What is left to undo of a batch."""
    places = batch.changes.order_by("annotation__item__position").values_list("annotation", "annotation__item")
    turns = Turns()
    for some in in_steps(list(places.distinct()), progress, "undoing"):
        with turns.write():
            batch.hold(job)
            lock_items([item for _, item in some])
            batch.check_person()
            _undo_in(batch, [annotation for annotation, _ in some])
    with write():
        batch.hold(job)
        store(batch, undone_at=timezone.now())
        job.finish(text=batch.undone_in_words())


def _undo_in(batch: Batch, annotations: Sequence[int]) -> None:
    """What cannot be undone stays as it is, is counted, and is forgotten as well."""
    changes = batch.changes.filter(annotation__in=among(annotations))
    # A relation comes back after its ends, and goes before them.
    kinds = sorted(changes.values_list("kind", flat=True).distinct(), reverse=not batch.hides)
    undone = _without_broken(batch, [change for kind in kinds for change in _put_back(batch, changes, kind)])
    _forget_noted(undone)
    touched = {change.annotation_id for change in undone}
    Annotation.count_up(Annotation.objects.filter(pk__in=among(touched)))
    _delete(BatchChange.objects.filter(pk__in=among([change.pk for change in undone])))
    if changes.exists():
        _count_kept(batch, changes)
        if batch.verb == Batch.Verb.REMOVE:
            _hand_over(batch, changes)
        _delete(changes)
    delete_annotations(_empty(annotations))


def _put_back(batch: Batch, changes: BatchChangeQuerySet, kind: str) -> list[Any]:
    """Undo those of a kind that can be undone, but for rules; returns what is needed of their rows."""
    undone = list(changes.undoable(batch, kind).values_list(*_NEEDED, named=True))
    _delete_marks(kind, [each.mark for each in undone if not each.status])
    if was := [each.pk for each in undone if each.status]:
        _give_way(kind, was)
        columns = ", ".join(f'"{column}"' for column in COLUMNS[kind])
        execute(_PUT_BACK.format(table=MARKS[kind]._meta.db_table, columns=columns, changes=keys(was)))
    return undone


def _give_way(kind: str, changes: Collection[int]) -> None:
    """What is suggested at the place of marks that come back goes."""
    found = BatchChange.objects.filter(pk__in=among(changes))
    place = {name: OuterRef(name) for name in ("annotation_id", *PLACES[kind])}
    suggested = MARKS[kind]._default_manager.filter(
        Exists(found.filter(**place)), annotation__in=found.values("annotation"), status=Mark.Status.SUGGESTED
    )
    _delete_marks(kind, list(suggested.values_list("pk", flat=True)))


def _without_broken(batch: Batch, undone: list[Any]) -> list[Any]:
    """Remove what has come back and breaks a rule, together with its relations, unless it did so before."""
    back = [each.pk for each in undone if each.status == Mark.Status.ACCEPTED and not each.is_broken]
    broken = BatchChange.objects.filter(pk__in=among(back)).breaking(batch.dataset_id)
    for kind in MARKS:
        _delete_marks(kind, [each.mark for each in undone if each.pk in broken and each.kind == kind])
    gone = {each.mark for each in undone if each.pk in broken and each.kind == "entity"}
    return [each for each in undone if each.pk not in broken and gone.isdisjoint((each.source_id, each.target_id))]


def _forget_noted(undone: Sequence[Any]) -> None:
    noted = {(change.annotation_id, change.noted) for change in undone if change.noted}
    rows = Rejection.objects.filter(annotation__in=among([annotation for annotation, _ in noted]))
    found = [row.pk for row in rows if (row.annotation_id, row.what) in noted]
    _delete(Rejection.objects.filter(pk__in=among(found)))


def _count_kept(batch: Batch, left: BatchChangeQuerySet) -> None:
    places = left.filter(kind=batch.kind)
    done = places.filter(annotation__done_at__isnull=False).count()
    changed = places.count() - done
    store(batch, kept={"changed": batch.kept["changed"] + changed, "done": batch.kept["done"] + done})


def _hand_over(batch: Batch, left: BatchChangeQuerySet) -> None:
    """A relation whose end another batch has removed since comes back with that."""
    ends = BatchChange.objects.filter(
        annotation=OuterRef("annotation"),
        kind="entity",
        batch__verb=Batch.Verb.REMOVE,
    )
    ends = ends.filter(Q(mark=OuterRef("source_id")) | Q(mark=OuterRef("target_id"))).exclude(batch=batch)
    last = Subquery(ends.order_by("-batch").values("batch")[:1])
    left.filter(Exists(ends), kind="relation").update(batch=last)


def _empty(annotations: Sequence[int]) -> list[int]:
    """Those not begun, in which no batch has left or removed anything, and what was marked before suggests nothing."""
    its = {"annotation": OuterRef("pk")}
    history = Entity.objects.filter(origin=Mark.Origin.HISTORY, **its)
    batches = [model._default_manager.filter(batch__isnull=False, **its) for model in (Entity, Relation, BatchChange)]
    holding = reduce(or_, (Exists(each) for each in (history, *batches)))
    unbegun = Annotation.objects.filter(pk__in=among(annotations), started_at=None)
    return list(unbegun.exclude(holding).values_list("pk", flat=True))


def _delete_marks(kind: str, marks: Collection[int]) -> None:
    """What is suggested or rejected at an entity goes with it."""
    if not marks:
        return
    if kind == "entity":
        _delete(Relation.objects.filter(Q(source__in=among(marks)) | Q(target__in=among(marks))))
    _delete(MARKS[kind]._default_manager.filter(pk__in=among(marks)))


def _delete(rows: QuerySet[Any]) -> None:
    rows._raw_delete(rows.db)
