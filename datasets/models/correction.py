"""Corrections of the texts of items, with all that is put back when one is undone."""

from django.conf import settings
from django.db import models
from django.db.models import UniqueConstraint
from django.utils import timezone

from .dataset import goes_with_items
from .item import Item


class TextCorrection(models.Model):
    """The text of an item as it was before a correction, which led to this ``version`` of it."""

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False, related_name="corrections")
    version = models.PositiveIntegerField()
    original = models.TextField()
    tokens = models.JSONField()
    offsets = models.JSONField(null=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(default=timezone.now)
    is_undo = models.BooleanField(default=False)
    # What became of the marks, for people to read.
    marks = models.JSONField(default=dict)
    # The rows that it changed or deleted, as they were and as it left them.
    kept = models.JSONField(default=dict, editable=False)

    class Meta:
        ordering = ["item", "-version"]
        constraints = [UniqueConstraint(fields=["item", "version"], name="correction_version")]

    def __str__(self) -> str:
        return f"item {self.item_id}, version {self.version}"


goes_with_items.append((TextCorrection, "item"))
