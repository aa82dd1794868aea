"""What lists of items have in common: a filter in the address, an order, and the way from one item to the next."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import QueryDict

from annotation_service.inputs import whole_number
from annotation_service.paging import Column
from ontologies.labels import Label
from ontologies.models import Ontology

from ..models import Item
from ..models.item import ItemQuerySet

Keys = QuerySet[Item, int] | Sequence[int]
NOTHING = Q(pk__in=[])
MAX_SELECTED = 10_000


class ItemList:
    """Items that match everything in an address, and their order. An invalid value matches no item, so that an action never
    reaches more than was meant.

    A frozen data class inherits it, which has a field for each of its ``names`` in the address, ``sort`` among them.
    """

    __slots__ = ()
    names: ClassVar[tuple[str, ...]]
    q: str
    sort: str

    @staticmethod
    def values_of(data: QueryDict, names: Iterable[str]) -> dict[str, str]:
        return {name: data.get(name, "").strip()[: settings.MAX_SEARCH_CHARACTERS] for name in names}

    def without_order(self) -> Self:
        return replace(self, sort="")  # type: ignore[type-var]

    def query_string(self, page: int = 1) -> str:
        """The query string of an address, without empty values."""
        values = [(name, getattr(self, name)) for name in self.names if getattr(self, name)]
        return urlencode(values + self._more_values() + ([("page", page)] if page > 1 else []), safe=",")

    def _more_values(self) -> list[tuple[str, str]]:
        return []

    # --- Items ---

    @property
    def columns(self) -> list[Column]:
        """By which the list can be sorted, ``number`` among them."""
        raise NotImplementedError

    def _all(self) -> ItemQuerySet:
        raise NotImplementedError

    def _conditions(self) -> Iterator[Q]:
        raise NotImplementedError

    def matching(self) -> ItemQuerySet:
        items = self._all()
        for condition in self._conditions():
            items = items.filter(condition)
        return items.containing(self.q)

    def items(self) -> ItemQuerySet:
        return self._sorted(self.matching())

    def _sorted(self, items: ItemQuerySet) -> ItemQuerySet:
        column, falls = self._sorted_by()
        if column.name == "number":  # by nothing else, so that the index is used
            return items.order_by("-position" if falls else "position")
        return items.order_by(column.order.desc() if falls else column.order.asc(), "position")

    def _sorted_by(self) -> tuple[Column, bool]:
        """The column, and whether its greatest value comes first."""
        column = next(column for column in self.columns if column.direction)
        return column, column.direction == "descending"

    def around(self, item: Item) -> tuple[Keys, Keys]:
        """The keys of the items that stand before an item, which need not match itself, the nearest first, and of those that
        follow it."""
        column, falls = self._sorted_by()
        items = self.items()
        if column.name == "number":
            lower, higher = items.filter(position__lt=item.position), items.filter(position__gt=item.position)
            before, after = (higher, lower) if falls else (lower, higher)
        else:
            value = self._value_of(item)
            if value is None:  # a restored item has no place in the order of removal
                return [], []
            before, after = self._beside(items, item, value)
        return before.reverse().values_list("pk", flat=True), after.values_list("pk", flat=True)

    def _value_of(self, item: Item) -> Any:
        """By which it is sorted."""
        keyed = Item.with_removed.annotate(key=self._sorted_by()[0].order)
        return keyed.values_list("key", flat=True).get(pk=item.pk)

    def _beside(self, items: ItemQuerySet, item: Item, value: Any) -> tuple[ItemQuerySet, ItemQuerySet]:
        """Those of sorted items that stand before and after an item with this value."""
        column, falls = self._sorted_by()
        before, after = Q(key__lt=value), Q(key__gt=value)
        if falls:
            before, after = after, before
        keyed = items.annotate(key=column.order)
        return (
            keyed.filter(before | Q(key=value, position__lt=item.position)),
            keyed.filter(after | Q(key=value, position__gt=item.position)),
        )

    def neighbours(self, item: Item) -> tuple[int | None, int | None]:
        """The keys of the items before and after an item, which need not match itself."""
        _, previous, following = self.page_from(item, 1)
        return previous, following

    def page_from(self, item: Item, size: int) -> tuple[list[int], int | None, int | None]:
        """The keys of so many items: of this one, which need not match itself, and of those that follow it; and the keys of those
        with which the pages before and after begin."""
        before, after = self.around(item)
        following, earlier = list(after[:size]), list(before[:size])
        next_page = following[size - 1] if len(following) == size else None
        return [item.pk, *following[: size - 1]], earlier[-1] if earlier else None, next_page


class SelectableItems(ItemList):
    """A list in which items can also be chosen one by one: ``selected`` has their keys."""

    __slots__ = ()
    selected: tuple[str, ...]

    def without_selection(self) -> Self:
        return replace(self, selected=())  # type: ignore[type-var]

    def _more_values(self) -> list[tuple[str, str]]:
        return [("items", ",".join(self.selected))] if self.selected else []


def selected_in(data: QueryDict) -> tuple[str, ...]:
    """The keys of items that were chosen one by one, in one value or several."""
    keys = data.getlist("items")
    return tuple(",".join(keys).split(",")) if keys else ()


def is_selected(selected: Collection[str]) -> Q:
    keys = [whole_number(key) for key in selected]
    return Q(pk__in=keys) if None not in keys and len(keys) <= MAX_SELECTED else NOTHING


def branch_of(uid: str, ontologies: Iterable[Ontology]) -> list[Label]:
    """A label and all labels below it."""
    for ontology in ontologies if uid else ():
        labels = ontology.labels()
        if label := labels.by_uid.get(uid):
            behind = labels[labels.index(label) + 1 :]
            return [label, *takewhile(lambda other: other.level > label.level, behind)]
    return []
