"""What batches did with marks: their undo reads nothing else."""

from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q, QuerySet, UniqueConstraint

from annotation_service import limits
from datasets.models.mark import Mark
from datasets.models.marks import MARKS, Entity, Relation
from datasets.models.violations import broken_by, rules_for
from ontologies.models import OntologyItem

from .batch import Batch

STATUS = Mark.Status
ENDS = ("source_id", "target_id")
# The columns of a mark that are kept beside its key, its annotation and its batch.
_COLUMNS = ["label_id", "uid", "status", "origin", "created_at", "updated_at"]
COLUMNS = {"entity": [*_COLUMNS, "start", "end", "words_key"], "relation": [*_COLUMNS, *ENDS]}
PLACES = {"entity": ("label_id", "start", "end"), "relation": ("label_id", *ENDS)}
# What the ends of a relation may be, by what it is.
ENDS_OF: dict[Mark.Status, list[str]] = {
    STATUS.ACCEPTED: [STATUS.ACCEPTED],
    STATUS.SUGGESTED: [STATUS.ACCEPTED, STATUS.SUGGESTED],
    STATUS.REJECTED: [*STATUS.values],
}


class BatchChangeQuerySet(QuerySet["BatchChange"]):
    def undoable(self, batch: Batch, kind: str) -> Self:
        """Those of a batch that an undo would take back now. Everything else stays as it is: what is on items that are done, what
        a person changed, removed or related since, and what was marked again or lacks its label or ends."""
        marks = MARKS[kind]._default_manager
        changes = self.filter(kind=kind, annotation__done_at=None)
        if batch.verb == Batch.Verb.REMOVE:
            others = marks.filter(annotation=OuterRef("annotation"))
            place = {name: OuterRef(name) for name in PLACES[kind]}
            changes = changes.filter(
                Exists(OntologyItem.objects.filter(pk=OuterRef("label_id"))),
                ~Exists(others.filter(uid=OuterRef("uid"))),
                ~Exists(others.filter(**place).exclude(status=STATUS.SUGGESTED)),
            )
        else:
            as_left = {"batch": batch, "updated_at": batch.created_at}
            changes = changes.filter(Exists(marks.filter(pk=OuterRef("mark"), **as_left)))
            if kind == "entity":  # the relations of the batch itself go first
                related = Relation.objects.filter(status=STATUS.ACCEPTED).exclude(**as_left)
                changes = changes.exclude(Exists(related.filter(source=OuterRef("mark"))))
                changes = changes.exclude(Exists(related.filter(target=OuterRef("mark"))))
        return changes.filter(_has_ends()) if kind == "relation" else changes

    def breaking(self, dataset: int) -> set[int]:
        """The keys of those whose marks, as they are stored now, break a rule of the project."""
        rows = list(self.values_list("pk", "mark", "kind", "annotation__item", "uid"))
        rules = rules_for(dataset) if rows else None
        if rules is None:
            return set()
        marks = {kind: [mark for _, mark, its_kind, *_ in rows if its_kind == kind] for kind in MARKS}
        found = broken_by(rules, marks["entity"] or [0], marks["relation"])
        broken = {place for each in found for place in each.places}
        return {pk for pk, _, *place in rows if tuple(place) in broken}


def _has_ends() -> Q:
    fits = Q(status="")
    for status, allowed in ENDS_OF.items():
        source, target = (Exists(Entity.objects.filter(pk=OuterRef(end), status__in=allowed)) for end in ENDS)
        fits |= Q(source, target, status=status)
    return fits


class BatchChange(models.Model):
    """A mark that a batch touched, with its row as it was before: empty, if the batch made it. It goes with the undo."""

    batch = models.ForeignKey(Batch, on_delete=models.RESTRICT, db_index=False, related_name="changes")
    annotation = models.ForeignKey("datasets.Annotation", on_delete=models.RESTRICT, related_name="+")
    kind = models.CharField(max_length=8, choices=[(kind, kind) for kind in MARKS])
    mark = models.BigIntegerField()
    # What has been noted with it, see `Rejection.what`.
    noted = models.CharField(max_length=200, blank=True, db_default="")
    # Whether what was removed broke a rule: it may do so again, as if it had stayed.
    is_broken = models.BooleanField(db_default=False)

    # The row of the mark; what it refers to may be gone by the time it comes back.
    its_batch = models.BigIntegerField(null=True)
    label_id = models.BigIntegerField(null=True)
    uid = models.CharField(max_length=limits.MAX_MARK_ID_CHARACTERS, blank=True, db_default="")
    status = models.CharField(max_length=9, choices=STATUS, blank=True, db_default="")
    origin = models.CharField(max_length=13, choices=Mark.Origin, blank=True, db_default="")
    created_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    words_key = models.BigIntegerField(null=True)
    source_id = models.BigIntegerField(null=True)
    target_id = models.BigIntegerField(null=True)

    objects = BatchChangeQuerySet.as_manager()

    class Meta:
        constraints = [UniqueConstraint(fields=["batch", "annotation", "kind", "mark"], name="batch_change_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.mark}"
