"""The filter in the address of the item table, also for what is done with the items: remove, restore, download."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, StrIndex
from django.db.models.lookups import GreaterThan
from django.http import QueryDict

from annotation_service import words
from annotation_service.db import among
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, sort_columns
from ontologies.labels import Label

from ..models import GIVEN, Annotation, Dataset, Entity, Item, Mark, Relation
from ..models.item import ItemQuerySet, TokenCount

MAX_SELECTED = 10_000
_NOTHING = Q(pk__in=[])
_WORDS = ("q", "has", "label", "external", "upload", "removed", "bin", "sort")


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
    Column("tokens", "Tokens", TokenCount("tokens"), number=True, big_first=True),
    Column("removed", "Removed", F("removed_at"), big_first=True),
]


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """The items of a dataset that match everything in an address, and their order.

    ``label`` includes all labels below it, ``selected`` has the keys of items that were chosen one by one, and ``removed`` is the
    moment of one removal. An invalid value matches no item, so that an action never reaches more than was meant.
    """

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
        values = {name: data.get(name, "").strip()[: settings.MAX_SEARCH_CHARACTERS] for name in _WORDS}
        name = values["sort"].removeprefix("-")
        if name not in {column.name for column in COLUMNS} or (name == "removed" and not values["bin"]):
            values["sort"] = ""
        keys = data.getlist("items")
        return cls(dataset, **values, selected=tuple(",".join(keys).split(",")) if keys else ())

    @property
    def is_empty(self) -> bool:
        """Whether all items match."""
        return not any((self.q, self.has, self.label, self.external, self.upload, self.removed, self.selected))

    def without_selection(self) -> "ItemFilter":
        return replace(self, selected=())

    def without_order(self) -> "ItemFilter":
        return replace(self, sort="")

    def query_string(self, page: int = 1) -> str:
        """The query string of an address, without empty values."""
        values = [(name, getattr(self, name)) for name in _WORDS if getattr(self, name)]
        values += [("items", ",".join(self.selected))] if self.selected else []
        return urlencode(values + ([("page", page)] if page > 1 else []), safe=",")

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

    def items(self) -> ItemQuerySet:
        items = self.dataset.bin() if self.bin else self.dataset.items()
        for condition in self._conditions():
            items = items.filter(condition)
        items = items.containing(self.q)
        column, falls = self._sorted_by()
        if column.name == "number":  # by nothing else, so that the index is used
            return items.order_by("-position" if falls else "position")
        return items.order_by(column.order.desc() if falls else column.order.asc(), "position")

    @property
    def columns(self) -> list[Column]:
        return sort_columns(self.sort, COLUMNS, default="-removed" if self.bin else "number")

    def _sorted_by(self) -> tuple[Column, bool]:
        """The column, and whether its greatest value comes first."""
        column = next(column for column in self.columns if column.direction)
        return column, column.direction == "descending"

    def neighbours(self, item: Item) -> tuple[int | None, int | None]:
        """The keys of the items before and after an item, which need not match itself."""
        column, falls = self._sorted_by()
        before, after = Q(position__lt=item.position), Q(position__gt=item.position)
        items = self.items()
        if column.name == "number":
            before, after = (after, before) if falls else (before, after)
        else:
            value = Item.with_removed.annotate(key=column.order).values_list("key", flat=True).get(pk=item.pk)
            if value is None:  # a restored item has no place in the order of removal
                return None, None
            less, more = Q(key__lt=value), Q(key__gt=value)
            items = items.annotate(key=column.order)
            before = Q(key=value) & before | (more if falls else less)
            after = Q(key=value) & after | (less if falls else more)
        keys = items.values_list("pk", flat=True)
        return keys.filter(before).reverse().first(), keys.filter(after).first()

    def _conditions(self) -> Iterator[Q]:
        if self.bin not in ("", "1"):
            yield _NOTHING
        if self.has:
            marks = Exists(Entity.objects.filter(GIVEN, annotation__item=OuterRef("pk")))
            yield {"entities": Q(marks), "none": ~Q(marks)}.get(self.has, _NOTHING)
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
            yield Q(removed_at=moment) if moment else _NOTHING
        if self.selected:
            keys = [whole_number(key) for key in self.selected]
            yield Q(pk__in=keys) if None not in keys and len(keys) <= MAX_SELECTED else _NOTHING

    def _branch(self) -> list[Label]:
        """The label and all labels below it."""
        for ontology in self.dataset.ontologies() if self.label else []:
            labels = ontology.labels()
            if label := labels.by_uid.get(self.label):
                behind = labels[labels.index(label) + 1 :]
                return [label, *takewhile(lambda other: other.level > label.level, behind)]
        return []

    def _came_in_upload(self) -> Q:
        upload = self.dataset.additions().filter(number=whole_number(self.upload, digits=9) or 0).first()
        if upload is None or upload.first_position is None:
            return _NOTHING
        return Q(position__gte=upload.first_position, position__lt=upload.first_position + upload.item_count)


def _has_given(marks: QuerySet[Any]) -> Q:
    """Go from the marks to their annotations to their items: with joins, SQLite scans all annotations for each label."""
    given = Annotation.objects.filter(annotator=None, pk__in=marks.values("annotation"))
    return Q(pk__in=given.values("item"))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):  # the first and the last date may overflow in another time zone
        return None
