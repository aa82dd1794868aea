from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q, Sum, UniqueConstraint

from annotation_service import limits, words
from annotation_service.db import store, write
from annotation_service.edits import changes
from annotation_service.inputs import Refused, check_text

from ..alignment import Alignment
from ..cleaned import CleanedText

# So long removed items can be restored.
BIN = timedelta(days=limits.DAYS_IN_BIN)


def folded(text: str) -> str:
    """What is searched for, as `Item.search_text` has it: with one space for all white space."""
    return " ".join(text.casefold().split())


class ItemQuerySet(models.QuerySet["Item"]):
    def token_count(self) -> int:
        return self.aggregate(n=Sum("token_count"))["n"] or 0

    def containing(self, text: str) -> "ItemQuerySet":
        """Items whose cleaned text contains the given text; case does not matter, in any script."""
        text = folded(text)
        return self.filter(search_text__contains=text) if text else self


class LiveItems(models.Manager["Item"]):
    def get_queryset(self) -> ItemQuerySet:
        return ItemQuerySet(self.model, using=self._db).filter(removed_at=None)


class Item(models.Model):
    """One text of a dataset.

    ``tokens`` are strings; ``offsets`` their half-open places ``[start, end)`` in ``original``, in code points, or null when a
    token of a rich item does not occur in it. What people read and search is the `CleanedText` of them. Removed items stay in
    the dataset's bin; ``objects`` leaves them out.
    """

    dataset = models.ForeignKey("datasets.Dataset", on_delete=models.RESTRICT, db_index=False)
    position = models.PositiveIntegerField()
    removed_at = models.DateTimeField(null=True, blank=True)
    removed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    external_id = models.CharField(max_length=limits.MAX_EXTERNAL_ID_CHARACTERS, blank=True)
    # The cleaned text, case-folded. Stored before the long columns, which a scan then need not read.
    search_text = models.TextField(editable=False)
    original = models.TextField()
    tokens = models.JSONField()
    # To sort by it: to count them takes SQLite 130 ms for 100,000 items.
    token_count = models.PositiveIntegerField(editable=False)
    offsets = models.JSONField(null=True)
    extra_fields = models.JSONField(default=dict, blank=True)
    # Goes up with each correction of the text. What is about tokens names the one that its author saw.
    text_version = models.PositiveIntegerField(default=1, db_default=1, editable=False)

    with_removed = ItemQuerySet.as_manager()
    objects = LiveItems.from_queryset(ItemQuerySet)()

    class Meta:
        ordering = ["dataset", "position"]
        base_manager_name = "with_removed"
        default_manager_name = "objects"
        constraints = [UniqueConstraint(fields=["dataset", "position"], name="item_position")]
        indexes = [
            # With the key: PostgreSQL need not read 180 MB of 100,000 items to count those that match something.
            models.Index(fields=["dataset", "position", "id"], condition=Q(removed_at=None), name="item_live"),
            models.Index(fields=["dataset", "removed_at"], condition=Q(removed_at__isnull=False), name="item_removed"),
        ]

    def __str__(self) -> str:
        return f"{self.position + 1}: {self.original[:60]}"

    @property
    def number(self) -> int:
        """What people see: counted from 1."""
        return self.position + 1

    @property
    def gone_at(self) -> datetime | None:
        """When a removed item is deleted for good."""
        return self.removed_at + BIN if self.removed_at else None

    def edit(self, *, external_id: str, extra_fields: dict[str, Any], was: Mapping[str, str] | None = None) -> None:
        """Store what was changed of all that is not text; ``was`` are fingerprints of what their author saw."""
        if not isinstance(extra_fields, dict):
            raise Refused("The extra fields are an object, such as {“author”: “Anna”}.")
        values = {"external_id": clean_external_id(external_id), "extra_fields": extra_fields}
        with write():
            item = self.locked_to_change()
            if changed := changes(item, values, was or {}):
                if wanted := changed.get("external_id"):
                    item.dataset.check_free([wanted])
                store(self, **changed)
                item.dataset.touch()

    def locked_to_change(self) -> "Item":
        """This row, read again, with its dataset: both are locked until the transaction ends."""
        dataset = self.dataset.locked_to_change()
        item = Item.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
        if item is None:
            raise Refused("This item was removed meanwhile.")
        item.dataset = dataset
        return item

    def alignment_from(self, version: int) -> Alignment:
        """Where the tokens of an earlier version of the text are now. Raises `Refused` for a version that there never was."""
        tokens = self.tokens
        if version != self.text_version:
            later: Any = self.corrections.filter(version=version + 1)  # it has the text of before
            tokens = later.values_list("tokens", flat=True).first()
        if tokens is None:
            raise Refused("This is about another text than that of the item. Reload the page.")
        return Alignment.of(tokens, self.tokens)

    @cached_property
    def cleaned(self) -> CleanedText:
        return CleanedText.of(self.original, self.tokens, self.offsets)

    def excerpt(self, text: str = "", length: int = 300) -> words.Excerpt:
        """The beginning of the cleaned text or, if it is looked for, the place where the text stands."""
        wanted = folded(text)
        place = max(0, self.search_text.find(wanted))
        until = place + len(wanted) + 3 * (length + 1)  # folding makes a text three times as long at most
        cleaned = str(CleanedText.unfolded(self.tokens, self.search_text, until))
        found = words.excerpt(cleaned, wanted, before=60, after=length)
        return found or words.Excerpt(words.cut(cleaned, length), "", "")


def clean_external_id(value: str) -> str:
    """The identifier that an item has elsewhere, or the empty string. Raises `Refused`."""
    if not value.strip():
        return ""
    if len(value) > (most := settings.MAX_EXTERNAL_ID_CHARACTERS):
        raise Refused(f"An external id has at most {most} characters; this one has {words.number(len(value))}.")
    return check_text(value)
