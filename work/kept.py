"""The items of a dataset in memory, until it changes: read for each list, 100,000 keys take 25 ms, sorting them by length 60, and
searching their texts 40."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Sized
from functools import cached_property
from threading import Lock
from typing import Generic, TypeVar

from django.db.models import QuerySet
from django.db.models.functions import Length

from annotation_service.db import whole
from datasets.models import Dataset, Item

Key = TypeVar("Key")
Value = TypeVar("Value", bound=Sized)
# Nothing counts for fewer items than these, or the memory would fill with searches that found none.
LEAST = 10_000


class KeptItems:
    """Their keys in the orders that are the same for everybody, removed ones included: who stands at one of these goes on from
    there."""

    def __init__(self, dataset_pk: int) -> None:
        self._items = Item.with_removed.filter(dataset=dataset_pk)
        self.by_number = tuple(_keys(self._items.order_by("position")))
        removed = self._items.filter(removed_at__isnull=False)
        self.removed = frozenset(_keys(removed.order_by()))

    @cached_property
    def range(self) -> tuple[int, int]:
        """The least and the greatest key, between which there may be those of other datasets: indexes have no datasets."""
        return min(self.by_number, default=0), max(self.by_number, default=0)

    @cached_property
    def there(self) -> frozenset[int]:
        return frozenset(self.by_number) - self.removed

    @cached_property
    def shortest_first(self) -> tuple[int, ...]:
        return tuple(sorted(self.by_number, key=self._lengths.__getitem__))

    @cached_property
    def longest_first(self) -> tuple[int, ...]:
        return tuple(sorted(self.by_number, key=self._lengths.__getitem__, reverse=True))

    @property
    def _lengths(self) -> dict[int, int]:
        lengths = self._items.order_by().values_list("pk", Length("search_text"))
        return dict.fromkeys(self.by_number, 0) | dict(lengths)

    def __len__(self) -> int:
        return len(self.by_number)


class Memory(Generic[Key, Value]):
    """What was made last, until it changes, and as long as all of it together has no more than so many items. The newest stays
    however many it has: who needs it asks again at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[Key, tuple[object, Value]] = OrderedDict()
        self._turn = Lock()

    def get(self, key: Key, version: object, make: Callable[[], Value]) -> Value:
        known, value = self._made.get(key, (None, None))
        if value is None or known != version:
            value = make()
        with self._turn:
            self._made[key] = version, value
            self._made.move_to_end(key)
            while self._size() > self._most and len(self._made) > 1:
                self._made.popitem(last=False)
        return value

    def _size(self) -> int:
        return sum(max(len(value), LEAST) for _, value in self._made.values())


_kept = Memory[int, KeptItems](500_000)  # at most 100 bytes an item
_found = Memory[tuple[int, str], "array[int]"](1_500_000)  # 8 bytes an item


def kept_items(dataset: Dataset) -> KeptItems:
    return _kept.get(dataset.pk, dataset.updated_at, lambda: KeptItems(dataset.pk))


def containing(dataset: Dataset, text: str) -> "array[int]":
    """The keys of the items that contain a text: the way through the list asks for them at every step."""
    found = Item.objects.filter(dataset=dataset.pk).containing(text).order_by()
    return _found.get((dataset.pk, text), dataset.updated_at, lambda: array("q", _keys(found)))


def _keys(items: QuerySet[Item]) -> list[int]:
    return whole(items.values_list("pk", flat=True))
