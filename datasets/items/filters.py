"""The filter in the address of the item table, also for what is done with the items: remove, restore, download."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, StrIndex
from django.db.models.lookups import GreaterThan
from django.http import QueryDict

from annotation_service import words
from annotation_service.db import among
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, sort_columns
from ontologies.labels import Label

from ..models import GIVEN, Annotation, Dataset, Entity, Mark, Relation
from ..models.item import ItemQuerySet
from .listing import NOTHING, SelectableItems, branch_of, is_selected, selected_in


def given_count(model: type[Entity] | type[Relation]) -> Coalesce:
    """How many given marks an item has."""
    marks = model._default_manager.filter(GIVEN, annotation__item=OuterRef("pk"))
    counted = marks.order_by().values("annotation__item").annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counted), 0, output_field=IntegerField())


COLUMNS = [
    Column("number", "No.", F("position"), number=True),
    Column("external", "External id", F("external_id")),
    Column("entities", "Entities", given_count(Entity), number=True, big_first=True),
    Column("relations", "Relations", given_count(Relation), number=True, big_first=True),
    Column("tokens", "Tokens", F("token_count"), number=True, big_first=True),
    Column("removed", "Removed", F("removed_at"), big_first=True),
]


@dataclass(frozen=True, slots=True)
class ItemFilter(SelectableItems):
    """The items of a dataset that match everything in an address, and their order.

    ``label`` includes all labels below it, ``selected`` has the keys of items that were chosen one by one, and ``removed`` is the
    moment of one removal.
    """

    names: ClassVar = ("q", "has", "label", "external", "upload", "removed", "bin", "sort")

    dataset: Dataset
    q: str = ""
    has: str = ""
    label: str = ""
    external: str = ""
    upload: str = ""
    removed: str = ""
    bin: str = ""
    sort: str = ""
    selected: tuple[str, ...] = ()

    @classmethod
    def of(cls, dataset: Dataset, data: QueryDict) -> "ItemFilter":
        values = cls.values_of(data, cls.names)
        name = values["sort"].removeprefix("-")
        if name not in {column.name for column in COLUMNS} or (name == "removed" and not values["bin"]):
            values["sort"] = ""
        return cls(dataset, **values, selected=selected_in(data))

    @property
    def is_empty(self) -> bool:
        """Whether all items match."""
        return not any((self.q, self.has, self.label, self.external, self.upload, self.removed, self.selected))

    def in_words(self) -> str:
        """Such as “with “pump”, without entities”; empty if all items match."""
        parts = (
            (self.selected, f"{words.number(len(self.selected))} selected"),
            (self.q, f"with “{self.q}”"),
            (self.has, {"entities": "with entities", "none": "without entities"}.get(self.has, f"with {self.has}")),
            (self.label, f"with the label “{self.label_name}”{' or one below it' if len(self._branch()) > 1 else ''}"),
            (self.external, f"with “{self.external}” in the external id"),
            (self.upload, f"added in upload {self.upload}"),
            (self.removed, "removed together"),
        )
        return ", ".join(text for value, text in parts if value)

    @property
    def label_name(self) -> str:
        return next((label.fullname for label in self._branch()), self.label)

    # --- Items ---

    def _all(self) -> ItemQuerySet:
        return self.dataset.bin() if self.bin else self.dataset.items()

    @property
    def columns(self) -> list[Column]:
        return sort_columns(self.sort, COLUMNS, default="-removed" if self.bin else "number")

    def _conditions(self) -> Iterator[Q]:
        if self.bin not in ("", "1"):
            yield NOTHING
        if self.has:
            marks = Exists(Entity.objects.filter(GIVEN, annotation__item=OuterRef("pk")))
            yield {"entities": Q(marks), "none": ~Q(marks)}.get(self.has, NOTHING)
        if self.label:
            branch = [label.pk for label in self._branch()]
            entities, relations = (
                marks.filter(label__in=among(branch), origin=Mark.Origin.GIVEN)
                for marks in (Entity.objects, Relation.objects)
            )
            yield _has_given(entities) | _has_given(relations)
        if self.external:
            yield Q(GreaterThan(StrIndex(F("external_id"), Value(self.external)), 0))
        if self.upload:
            yield self._came_in_upload()
        if self.removed:
            moment = _moment(self.removed)
            yield Q(removed_at=moment) if moment else NOTHING
        if self.selected:
            yield is_selected(self.selected)

    def _branch(self) -> list[Label]:
        """The label and all labels below it."""
        return branch_of(self.label, self.dataset.ontologies() if self.label else ())

    def _came_in_upload(self) -> Q:
        upload = self.dataset.additions().filter(number=whole_number(self.upload, digits=9) or 0).first()
        if upload is None or upload.first_position is None:
            return NOTHING
        return Q(position__gte=upload.first_position, position__lt=upload.first_position + upload.item_count)


def _has_given(marks: QuerySet[Any]) -> Q:
    """Go from the marks to their annotations to their items: for a join, SQLite, with statistics, scans all annotations. It took
    130 and not 1 ms for a label of 700 items among 20,000."""
    given = Annotation.objects.filter(annotator=None, pk__in=marks.values("annotation"))
    return Q(pk__in=given.values("item"))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):  # the first and the last date may overflow in another time zone
        return None
