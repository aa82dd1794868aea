"""How far people agree in each item, counted and kept, and the figures of a project that are added up from it."""

from django.db import models
from django.db.models import Index
from django.utils import timezone

from datasets.models import Dataset, Item


class KeptAgreement(models.Model):
    """The counts of one item: see `quality.counting`. An item that fewer than two voices are done with has none."""

    item = models.OneToOneField(Item, primary_key=True, on_delete=models.RESTRICT, related_name="agreement")
    # Of what was counted: another one, as soon as somebody's marks, whether they are done, or the text are others.
    signature = models.CharField(max_length=150)
    counted_at = models.DateTimeField(default=timezone.now)
    # As JSON. No database looks into it, and as text it is written and read in half the time.
    counts = models.TextField()

    def __str__(self) -> str:
        return f"agreement in item {self.item_id}"


class MarkDifference(models.Model):
    """How many marks of two voices differ in an item in one way, to find the places. The labels are those of the marks of either,
    0 where there is no mark. They are no foreign keys, as in `ItemLabel`: a label may go before this is counted again."""

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    one = models.BigIntegerField()
    other = models.BigIntegerField()
    kind = models.CharField(max_length=8)  # a `Likeness` or, whatever differs in relations, `RELATION`
    label = models.BigIntegerField()
    other_label = models.BigIntegerField()
    count = models.PositiveIntegerField()

    class Meta:
        indexes = [
            Index(fields=["item", "kind", "one", "other"], name="difference_in_item"),
            Index(fields=["label", "other_label", "item"], name="difference_of_labels"),
            Index(fields=["other_label", "item"], name="difference_of_other"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in item {self.item_id}: {self.count}"


class AgreementReport(models.Model):
    """The figures of a project, as they were when they were added up: see `quality.agreement`."""

    dataset = models.OneToOneField(Dataset, primary_key=True, on_delete=models.RESTRICT, related_name="agreement")
    made_at = models.DateTimeField()
    figures = models.TextField()

    def __str__(self) -> str:
        return f"agreement in dataset {self.dataset_id}"
