"""Which items of a dataset are meant: what the address of the item table says, for whatever is done with them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, StrIndex
from django.db.models.lookups import GreaterThan
from django.http import QueryDict

from annotation_service import words
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, sort_columns
from ontologies.labels import Label, Labels
from ontologies.models import OntologyItem

from ..models import Annotation, Dataset, Entity, Item, Relation
from ..models.item import ItemQuerySet, TokenCount

MAX_SELECTED = 10_000
_NOTHING = Q(pk__in=[])
_WORDS = ("q", "has", "label", "external", "upload", "removed", "bin", "sort")


def _mark_count(model: type[Entity] | type[Relation]) -> Coalesce:
    """How many given marks an item has."""
    marks = model._default_manager.filter(annotation__item=OuterRef("pk"), annotation__annotator=None)
    counted = marks.order_by().values("annotation__item").annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counted), 0, output_field=IntegerField())


COLUMNS = [
    Column("number", "No.", F("position"), number=True),
    Column("external", "External id", F("external_id")),
    Column("entities", "Entities", _mark_count(Entity), number=True, big_first=True),
    Column("relations", "Relations", _mark_count(Relation), number=True, big_first=True),
    Column("tokens", "Tokens", TokenCount("tokens"), number=True, big_first=True),
    Column("removed", "Removed", F("removed_at"), big_first=True),
]
SORTS = {column.name: column.order for column in COLUMNS}


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """The items of a dataset that fit to everything that an address asks for, and their order.

    ``label`` stands for its branch: itself and all labels below it. ``selected`` are the keys of items that somebody chose one by
    one, with commas between them in the address, ``removed`` is the moment of one removal. What is not understood fits to no
    item, so that an action never reaches more than was meant.
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
        if name not in SORTS or (name == "removed" and not values["bin"]):
            values["sort"] = ""
        keys = data.getlist("items")
        return cls(dataset, **values, selected=tuple(",".join(keys).split(",")) if keys else ())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left out."""
        return not any((self.q, self.has, self.label, self.external, self.upload, self.removed, self.selected))

    def without_selection(self) -> "ItemFilter":
        return replace(self, selected=())

    def without_order(self) -> "ItemFilter":
        return replace(self, sort="")

    def query_string(self, page: int = 1) -> str:
        """The address's part behind the question mark, without what is empty."""
        values = [(name, getattr(self, name)) for name in _WORDS if getattr(self, name)]
        values += [("items", ",".join(self.selected))] if self.selected else []
        return urlencode(values + ([("page", page)] if page > 1 else []), safe=",")

    def in_words(self) -> str:
        """Such as “with “pump”, without entities”; empty if nothing is left out."""
        parts = (
            (self.selected, f"{words.number(len(self.selected))} selected"),
            (self.q, f"with “{self.q}”"),
            (self.has, {"entities": "with entities", "none": "without entities"}.get(self.has, f"with {self.has}")),
            (self.label, f"with the label “{self.label_name}”{' or one below it' if self._has_labels_below() else ''}"),
            (self.external, f"with “{self.external}” in the external id"),
            (self.upload, f"added in upload {self.upload}"),
            (self.removed, "removed together"),
        )
        return ", ".join(text for value, text in parts if value)

    @property
    def label_name(self) -> str:
        label = self._label()
        return label.fullname if label else self.label

    # --- Items ---

    def items(self) -> ItemQuerySet:
        items = self.dataset.bin() if self.bin else self.dataset.items()
        for condition in self._conditions():
            items = items.filter(condition)
        items = items.containing(self.q)
        name, falls = self._sorted_by()
        if name == "number":  # nothing else beside it, so that its index is used
            return items.order_by("-position" if falls else "position")
        return items.order_by(SORTS[name].desc() if falls else SORTS[name].asc(), "position")

    @property
    def columns(self) -> list[Column]:
        return sort_columns(self.sort, COLUMNS, default=self._default_sort)

    @property
    def _default_sort(self) -> str:
        return "-removed" if self.bin else "number"

    def _sorted_by(self) -> tuple[str, bool]:
        """The name of the column, and whether the greatest comes first."""
        sort = self.sort or self._default_sort
        return sort.removeprefix("-"), sort.startswith("-")

    def neighbours(self, item: Item) -> tuple[int | None, int | None]:
        """The keys of those before and after an item, which need not be among them."""
        name, falls = self._sorted_by()
        before, after = Q(position__lt=item.position), Q(position__gt=item.position)
        items = self.items()
        if name == "number":
            before, after = (after, before) if falls else (before, after)
        else:
            value = Item.with_removed.annotate(key=SORTS[name]).values_list("key", flat=True).get(pk=item.pk)
            if value is None:  # an item that was restored has no place among the removed ones
                return None, None
            less, more = Q(key__lt=value), Q(key__gt=value)
            items = items.annotate(key=SORTS[name])
            before = Q(key=value) & before | (more if falls else less)
            after = Q(key=value) & after | (less if falls else more)
        keys = items.values_list("pk", flat=True)
        return keys.filter(before).reverse().first(), keys.filter(after).first()

    def _conditions(self) -> Iterator[Q]:
        if self.bin not in ("", "1"):
            yield _NOTHING
        if self.has:
            marks = Exists(Entity.objects.filter(annotation__item=OuterRef("pk"), annotation__annotator=None))
            yield {"entities": Q(marks), "none": ~Q(marks)}.get(self.has, _NOTHING)
        if self.label:
            yield self._carries_label()
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

    def _carries_label(self) -> Q:
        label = self._label()
        top = OntologyItem.objects.filter(pk=label.pk).first() if label else None
        if top is None:
            return _NOTHING
        branch = top.branch().order_by().values("pk")
        return _has_given(Entity.objects.filter(label__in=branch)) | _has_given(
            Relation.objects.filter(label__in=branch)
        )

    def _label(self) -> Label | None:
        found = (labels.by_uid.get(self.label) for labels in self._labels())
        return next((label for label in found if label), None)

    def _has_labels_below(self) -> bool:
        return any(label.parent_uid == self.label for labels in self._labels() for label in labels)

    def _labels(self) -> list[Labels]:
        return [ontology.labels() for ontology in self.dataset.ontologies()] if self.label else []

    def _came_in_upload(self) -> Q:
        upload = self.dataset.additions().filter(number=whole_number(self.upload, digits=9) or 0).first()
        if upload is None or upload.first_position is None:
            return _NOTHING
        return Q(position__gte=upload.first_position, position__lt=upload.first_position + upload.item_count)


def _has_given(marks: QuerySet[Any]) -> Q:
    """From the marks to their annotations to their items. Joined, SQLite would go through all annotations for each label."""
    given = Annotation.objects.filter(annotator=None, pk__in=marks.values("annotation"))
    return Q(pk__in=given.values("item"))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):  # the first and the last day there is may be in no year elsewhere
        return None
