"""The rows of preannotation sets: forms, the texts of entities, with the labels that they usually get."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Index, QuerySet

from annotation_service import limits
from annotation_service.inputs import Refused, check_text, whole_number
from annotation_service.words import number
from ontologies.models import OntologyItem

from ..documents import Entry, SetKind
from .rows import ResourceRow, unique_rows

MAX_OFFSET = 2_147_483_647
# Those in which a table of 100,000 rows is shown without sorting them.
_ORDERS = [
    Index(fields=["resource_set", "search_text", "position"], name="%(class)s_order"),
    Index(fields=["resource_set", "label", "search_text", "position"], name="%(class)s_by_label"),
]
RowState = dict[str, Any]
"""The position and the values of a row by their fields, labels as uids."""


class Preannotation(ResourceRow):
    """Its primary key names it in the journal, and it comes back with it. Where a row was removed, a position is free."""

    form_fields: ClassVar[tuple[str, ...]]

    search_text = models.TextField(editable=False)  # the forms, case-folded, one a line

    class Meta(ResourceRow.Meta):
        abstract = True

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        row = super().from_entry(entry)
        if entry.is_valid:
            row.fold()
        return row

    def fold(self) -> None:
        self.search_text = "\n".join(getattr(self, field) for field in self.form_fields).casefold()

    @classmethod
    def named(cls, state: Mapping[str, Any]) -> str:
        """What a row is called, such as “replace → pump”."""
        return " → ".join(state[field] for field in cls.form_fields)

    @classmethod
    def form_of(cls, label_field: str, state: Mapping[str, Any]) -> str:
        """The form that a label is for; of a relation all forms."""
        form = label_field.replace("label", "surface_form")
        return state[form] if form in cls.form_fields else cls.named(state)

    @classmethod
    def states(cls, rows: QuerySet[Any], uids: Mapping[int, str]) -> Iterator[tuple[int, RowState]]:
        """The primary keys and states of rows; ``uids`` are those of labels by primary key."""
        fields = [field.name for field in cls.content_fields()]
        for values in rows.values("pk", "position", *fields).iterator():
            pk = values.pop("pk")
            yield pk, values | {field: uids[values[field]] for field in cls.label_fields}

    @classmethod
    def cleaned(cls, values: Mapping[str, Any]) -> RowState:
        """Values of some fields as they are stored, offsets given as texts. Raises `Refused`."""
        clean = dict.fromkeys(cls.form_fields, _clean_form) | {"offset": _clean_offset}
        return {name: clean[name](value) if name in clean else value for name, value in values.items()}


def _clean_form(text: str) -> str:
    form = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not form:
        raise Refused("A form is needed: the text as it stands in items.")
    if len(form) > (most := settings.MAX_SURFACE_FORM_CHARACTERS):
        raise Refused(f"A form has at most {most} characters; this one has {number(len(form))}.")
    return check_text(form)


def _clean_offset(text: str) -> int:
    offset = whole_number(text.strip(), digits=10)
    if offset is None or offset > MAX_OFFSET:
        raise Refused(f"A whole number from 0 to {number(MAX_OFFSET)} was expected.")
    return offset


class EntityPreannotation(Preannotation):
    """A text may have several labels, but not the same one twice. It is kept as it is written, for texts of datasets are, too:
    “Pump” and “pump” are two."""

    kind = SetKind("Entities", "Which label a form usually gets.", "None: no entities are suggested")
    repeated = "This text with this label"
    form_fields = ("surface_form",)

    resource_set = models.ForeignKey("PreannotationSet", on_delete=models.CASCADE, db_index=False)
    surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    class Meta(Preannotation.Meta):
        constraints = unique_rows("surface_form", "label")
        indexes = _ORDERS


class RelationPreannotation(Preannotation):
    """``offset``: the grammatical offset between source and target, 0 if they are contiguous. Two rows differ in at least one
    field."""

    kind = SetKind("Relations", "Which relation two forms usually have.", "None: no relations are suggested")
    relation_field = "label"
    repeated = "The same preannotation"
    form_fields = ("source_surface_form", "target_surface_form")

    resource_set = models.ForeignKey("PreannotationSet", on_delete=models.CASCADE, db_index=False)
    source_surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    source_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    target_surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    target_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    offset = models.PositiveIntegerField()
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    class Meta(Preannotation.Meta):
        constraints = unique_rows(
            "source_surface_form", "source_label", "target_surface_form", "target_label", "offset", "label"
        )
        indexes = _ORDERS
