"""What the three tables of items have in common, those of a dataset, of a project, and of a person in a project: a filter in the
address, an order, pages, and the way from one item to the next."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, StrIndex
from django.db.models.lookups import GreaterThan
from django.http import QueryDict

from annotation_service import words
from annotation_service.db import among, count_of
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, Page, sort_columns
from ontologies.labels import Label
from ontologies.models import Ontology

from .models import GIVEN, Annotation, Dataset, Entity, Item, Layer, Mark, Relation
from .models.item import ItemQuerySet

PAGE_SIZE = 50
NOTHING = Q(pk__in=[])
MAX_SELECTED = 10_000
FEW_LABELS = 20
Keys = QuerySet[Item, int]


@dataclass(frozen=True, kw_only=True)
class FilteredList:
    """What an address asks of a list: a subclass has a field for each of its ``names``, and ``label`` is a label with all below
    it."""

    names: ClassVar[tuple[str, ...]]
    all_columns: ClassVar[Sequence[Column]]
    """By which the list can be sorted."""
    usual_order: ClassVar[str]

    dataset: Dataset
    q: str = ""
    label: str = ""
    sort: str = ""

    @classmethod
    def read(cls, data: QueryDict, **more: Any) -> Self:
        """What an address asks for; in an unknown order, the usual one."""
        values: dict[str, Any] = {
            name: data.get(name, "").strip()[: settings.MAX_SEARCH_CHARACTERS] for name in cls.names
        }
        found = cls(**values, **more)
        known = {column.name for column in found.columns}
        return found if found.sort.removeprefix("-") in known else found.without_order()

    def without_order(self) -> Self:
        return replace(self, sort="")

    def query_string(self, page: int = 1) -> str:
        """The query string of an address, without empty values."""
        values = {name: getattr(self, name) for name in self.names} | {"page": page if page > 1 else ""}
        return urlencode({name: value for name, value in values.items() if value}, safe=",")

    @property
    def columns(self) -> list[Column]:
        return sort_columns(self.sort, self.all_columns, default=self.usual_order)

    def _sorted_by(self) -> tuple[Column, bool]:
        """The column, and whether its greatest value comes first."""
        column = next(column for column in self.columns if column.direction)
        return column, column.direction == "descending"

    def _asked(self) -> Iterator[tuple[Any, str]]:
        """What the address may ask for, each with its words."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether everything matches."""
        return not any(value for value, _ in self._asked())

    def in_words(self) -> str:
        """Such as “with “pump”, without entities”; empty if everything matches."""
        return ", ".join(text for value, text in self._asked() if value)

    def all_ontologies(self) -> Iterable[Ontology]:
        """Whose labels can be asked for."""
        return self.dataset.ontologies()

    @property
    def branch(self) -> list[Label]:
        """The label and all labels below it, if it is named by its uid."""
        return branch_of(self.label, self.all_ontologies()) if self.label else []

    @property
    def label_name(self) -> str:
        return next((label.fullname for label in self.branch), self.label)


@dataclass(frozen=True, kw_only=True)
class ItemList(FilteredList):
    """Items that match everything in an address, and their order. An invalid value matches no item, so that an action never
    reaches more than was meant. ``selected`` has the keys of items that were chosen one by one."""

    usual_order: ClassVar = "number"

    has: str = ""
    selected: tuple[str, ...] = ()

    def without_selection(self) -> Self:
        return replace(self, selected=())

    def query_string(self, page: int = 1) -> str:
        chosen = urlencode({"items": ",".join(self.selected)}, safe=",") if self.selected else ""
        return "&".join(filter(None, (super().query_string(page), chosen)))

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield self.selected, f"{words.number(len(self.selected))} selected"
        yield self.q, f"with “{self.q}”"

    # --- Items ---

    def all_items(self) -> ItemQuerySet:
        raise NotImplementedError

    @property
    def known_count(self) -> int | None:
        """How many items there are in all, if that need not be counted."""
        return self.dataset.item_count

    def conditions(self) -> Iterator[Q]:
        if self.selected:
            yield is_selected(self.selected)

    def matching(self) -> ItemQuerySet:
        return self.all_items().filter(*self.conditions()).containing(self.q)

    def items(self) -> ItemQuerySet:
        column, falls = self._sorted_by()
        if column.name == "number":  # by nothing else, so that the index is used
            return self.matching().order_by("-position" if falls else "position")
        return self._keyed(self.matching()).order_by(column.order.desc() if falls else column.order.asc(), "position")

    def keys(self) -> Keys:
        return self.items().values_list("pk", flat=True)

    # --- Pages ---

    def page(self, wanted: str | None, texts: ItemQuerySet, *, at: Item | None = None) -> Page:
        """A page of the items, as ``texts`` has them; without a wanted one, that on which an item stands.

        The keys are found first: sorting and searching are slower when the database carries the texts along.
        """
        if at and not wanted and (place := self.place(at)):
            wanted = str((place - 1) // PAGE_SIZE + 1)
        count = self.known_count if self.is_empty else None
        page = Page.of(self.keys(), wanted, size=PAGE_SIZE, count=count, scan=count is None)
        found = texts.defer("original", "offsets", "extra_fields").in_bulk(list(page.object_list))
        page.object_list = [found[key] for key in page.object_list if key in found]
        return page

    def place(self, item: Item) -> int | None:
        """At which place an item stands, counted from 1; None if it does not match."""
        return self.around(item)[0].count() + 1 if self.keys().filter(pk=item.pk).exists() else None

    def count(self) -> int:
        count = self.known_count if self.is_empty else None
        return self.keys().count() if count is None else count

    # --- From item to item ---

    def around(self, item: Item) -> tuple[Keys, Keys]:
        """The keys of the items that stand before an item, which need not match itself, the nearest first, and of those that
        follow it."""
        column, falls = self._sorted_by()
        keys, before, after = self.keys(), Q(position__lt=item.position), Q(position__gt=item.position)
        if column.name == "number":
            before, after = (after, before) if falls else (before, after)
        else:
            keys, itself = keys.alias(key=column.order), self._keyed(Item.with_removed.filter(pk=item.pk))
            value = itself.values_list(column.order, flat=True).get()
            if value is None:  # a restored item has no place in the order of removal
                return keys.none(), keys.none()
            less, more = Q(key__lt=value), Q(key__gt=value)
            first, last = (more, less) if falls else (less, more)
            before, after = first | Q(key=value) & before, last | Q(key=value) & after
        return keys.filter(before).reverse(), keys.filter(after)

    def _keyed(self, items: ItemQuerySet) -> ItemQuerySet:
        """With what the columns need to sort by."""
        return items

    def neighbours(self, item: Item) -> tuple[int | None, int | None]:
        """The keys of the items before and after an item, which need not match itself."""
        before, after = self.around(item)
        return before.first(), after.first()

    def page_from(self, item: Item, size: int) -> tuple[list[int], int | None, int | None]:
        """The keys of so many items: of this one, which need not match itself, and of those that follow it; and the keys of those
        with which the pages before and after begin."""
        before, after = self.around(item)
        following, earlier = list(after[:size]), list(before[:size])
        next_page = following[size - 1] if len(following) == size else None
        return [item.pk, *following[: size - 1]], earlier[-1] if earlier else None, next_page


def selected_in(data: QueryDict) -> tuple[str, ...]:
    """The keys of items that were chosen one by one, in one value or several."""
    keys = data.getlist("items")
    return tuple(",".join(keys).split(",")) if keys else ()


def is_selected(selected: Collection[str]) -> Q:
    keys = [whole_number(key) for key in selected]
    return Q(pk__in=keys) if None not in keys and len(keys) <= MAX_SELECTED else NOTHING


def branch_of(uid: str, ontologies: Iterable[Ontology]) -> list[Label]:
    """A label and all labels below it."""
    for ontology in ontologies:
        labels = ontology.labels()
        if label := labels.by_uid.get(uid):
            behind = labels[labels.index(label) + 1 :]
            return [label, *takewhile(lambda other: other.level > label.level, behind)]
    return []


def labels_named(text: str, ontologies: Iterable[Ontology]) -> list[int]:
    """The keys of a label, named by its uid or full name, and of all labels below it; in each ontology without it, of those whose
    full name contains the text."""
    found, folded = list[Label](), text.casefold()
    for ontology in ontologies:
        labels = ontology.labels()
        if exact := labels.by_uid.get(text) or labels.by_fullname.get(text):
            found += branch_of(exact.uid, [ontology])
        else:
            found += [label for label in labels if folded in label.fullname.casefold()]
    return [label.pk for label in found]


def with_labels(marks: QuerySet[Any], labels: Sequence[int]) -> QuerySet[Any]:
    """The marks that have one of these labels, where they are looked at in the order of other things.

    The databases are told the keys, and plan by how many there are: PostgreSQL compares each mark with each row of a subquery,
    for 22 s where none of 200,000 marks has one of 5,000 labels. SQLite limits their number, and seeks each of many labels in
    each annotation, unless the sum keeps it from the index: 5,000 labels in 30,000 annotations take it 0.1 and not 5 s.
    """
    if connection.vendor == "postgresql" or len(labels) <= FEW_LABELS:
        return marks.filter(label__in=labels)
    return marks.alias(its_label=F("label_id") + 0).filter(its_label__in=among(labels))


def given_count(model: type[Entity] | type[Relation]) -> Coalesce:
    """How many given marks an item has."""
    return count_of(model._default_manager.filter(GIVEN), "annotation__item")


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
    given = Annotation.objects.filter(layer=Layer.GIVEN, pk__in=marks.values("annotation"))
    return Q(pk__in=given.values("item"))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):  # the first and the last date may overflow in another time zone
        return None
