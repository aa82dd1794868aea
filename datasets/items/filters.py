"""The filter in the address of the item table, also for what is done with the items: remove, restore, download."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, StrIndex
from django.db.models.lookups import GreaterThan
from django.http import QueryDict

from annotation_service.db import among
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, sort_columns

from ..models import GIVEN, Annotation, Dataset, Entity, Mark, Relation
from ..models.item import ItemQuerySet
from .listing import NOTHING, ItemList, selected_in


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
]
REMOVED = Column("removed", "Removed", F("removed_at"), big_first=True)


@dataclass(frozen=True, kw_only=True)
class ItemFilter(ItemList):
    """The items of a dataset, or of its bin.

    A ``label`` is that of a given mark, named by its uid, and ``removed`` is the moment of one removal.
    """

    names: ClassVar = ("q", "has", "label", "external", "upload", "removed", "bin", "sort")
    all_columns: ClassVar = COLUMNS

    external: str = ""
    upload: str = ""
    removed: str = ""
    bin: str = ""

    @classmethod
    def of(cls, dataset: Dataset, data: QueryDict) -> "ItemFilter":
        return cls.read(data, dataset=dataset, selected=selected_in(data))

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield from super()._asked()
        yield self.has, {"entities": "with entities", "none": "without entities"}.get(self.has, f"with {self.has}")
        yield self.label, f"with the label “{self.label_name}”{' or one below it' if len(self.branch) > 1 else ''}"
        yield self.external, f"with “{self.external}” in the external id"
        yield self.upload, f"added in upload {self.upload}"
        yield self.removed, "removed together"

    # --- Items ---

    def all_items(self) -> ItemQuerySet:
        return self.dataset.bin() if self.bin else self.dataset.items()

    @property
    def known_count(self) -> int | None:
        return None if self.bin else self.dataset.item_count

    @property
    def columns(self) -> list[Column]:
        if self.bin:
            return sort_columns(self.sort, [*COLUMNS, REMOVED], default="-removed")
        return super().columns

    def conditions(self) -> Iterator[Q]:
        yield from super().conditions()
        if self.bin not in ("", "1"):
            yield NOTHING
        if self.has:
            marks = Exists(Entity.objects.filter(GIVEN, annotation__item=OuterRef("pk")))
            yield {"entities": Q(marks), "none": ~Q(marks)}.get(self.has, NOTHING)
        if self.label:
            labels = among([label.pk for label in self.branch])
            yield _has_given(Entity.objects.filter(label__in=labels)) | _has_given(
                Relation.objects.filter(label__in=labels)
            )
        if self.external:
            yield Q(GreaterThan(StrIndex(F("external_id"), Value(self.external)), 0))
        if self.upload:
            yield self._came_in_upload()
        if self.removed:
            moment = _moment(self.removed)
            yield Q(removed_at=moment) if moment else NOTHING

    def _came_in_upload(self) -> Q:
        upload = self.dataset.additions().filter(number=whole_number(self.upload, digits=9) or 0).first()
        if upload is None or upload.first_position is None:
            return NOTHING
        return Q(position__gte=upload.first_position, position__lt=upload.first_position + upload.item_count)


def _has_given(marks: QuerySet[Any]) -> Q:
    """Go from the marks to their annotations to their items: for a join, SQLite, with statistics, scans all annotations. It took
    130 and not 1 ms for a label of 700 items among 20,000."""
    marks = marks.filter(origin=Mark.Origin.GIVEN)
    given = Annotation.objects.filter(annotator=None, pk__in=marks.values("annotation"))
    return Q(pk__in=given.values("item"))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):  # the first and the last date may overflow in another time zone
        return None
