"""What batches removed, as it was: their undo brings it back."""

from django.db import models

from annotation_service import limits
from datasets.models.mark import Mark

from .batch import Batch


class Removed(models.Model):
    """The row of a mark, with its key. What it refers to may be gone by the time it comes back."""

    id = models.BigIntegerField(primary_key=True)
    # It comes back with the undo of this batch.
    removed_by = models.ForeignKey(Batch, on_delete=models.RESTRICT, related_name="+")
    # Whether its removal has noted a rejection.
    is_noted = models.BooleanField(default=False)
    # Whether it broke a rule together with others.
    is_broken = models.BooleanField(default=False)
    annotation = models.ForeignKey("datasets.Annotation", on_delete=models.RESTRICT, related_name="+")
    label_id = models.BigIntegerField()
    uid = models.CharField(max_length=limits.MAX_MARK_ID_CHARACTERS)
    status = models.CharField(max_length=9, choices=Mark.Status)
    origin = models.CharField(max_length=13, choices=Mark.Origin)
    batch_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        abstract = True


class RemovedEntity(Removed):
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    words_key = models.BigIntegerField()

    class Meta:
        db_table = "datasets_removedentity"
        verbose_name_plural = "removed entities"

    def __str__(self) -> str:
        return f"{self.start} to {self.end}"


class RemovedRelation(Removed):
    source_id = models.BigIntegerField()
    target_id = models.BigIntegerField()

    class Meta:
        db_table = "datasets_removedrelation"

    def __str__(self) -> str:
        return f"from {self.source_id} to {self.target_id}"


REMOVED: dict[str, type[RemovedEntity] | type[RemovedRelation]] = {"entity": RemovedEntity, "relation": RemovedRelation}
