"""The way through a person's own items: their order, also by what the person did in them, pages, places and neighbours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Length

from annotation_service.db import looked_up, whole
from annotation_service.models import User
from annotation_service.paging import Column, Page, sort_columns
from datasets.items.listing import ItemList, Keys
from datasets.models import Annotation, Dataset, Item, Mark
from datasets.models.item import ItemQuerySet

from .kept import KeptItems, containing, kept_items
from .models.figures import marks_in

PAGE_SIZE = 50
FEW = 5_000  # items, each of which is looked at
Sets = tuple[list[QuerySet[Any, int]], bool]


class Way(Sequence[int]):
    """Keys in an order of which the first ones are known. The others are put in theirs when one of them is asked for, which takes
    12 ms of 100,000."""

    def __init__(self, keys: AbstractSet[int], first: list[int], in_order: Callable[[], list[int]]) -> None:
        self._keys, self._first, self._in_order = keys, first, in_order

    @cached_property
    def _all(self) -> list[int]:
        return self._in_order()

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __getitem__(self, place: Any) -> Any:
        end = place.stop if isinstance(place, slice) else place + 1
        is_known = end is not None and 0 < end <= len(self._first)
        return (self._first if is_known else self._all)[place]

    def index(self, key: int, *between: int) -> int:
        with suppress(ValueError):
            return self._first.index(key, *between)
        return self._all.index(key, *between)


class OwnWay(ItemList):
    """All that match are found at once, as a list of keys: it is counted, cut into pages and walked through. The databases tell
    which keys there are; to sort them and to put several conditions together takes them up to 200 ms. Only what comes next by
    number, of all items or of those in a state, is found by a walk along the index.
    """

    __slots__ = ()
    dataset: Dataset
    given: ItemQuerySet
    given_count: int | None
    person: User
    later: Sequence[int]

    @property
    def is_empty(self) -> bool:
        """Whether all items match."""
        raise NotImplementedError

    @property
    def _asks_for_state_only(self) -> bool:
        """Or for nothing at all."""
        raise NotImplementedError

    def _sets(self) -> Iterator[Sets]:
        """Sets of keys, with whether the items that match are in one of them, or in none."""
        raise NotImplementedError

    def _own(self) -> QuerySet[Annotation]:
        return Annotation.objects.filter(annotator=self.person)

    @property
    def columns(self) -> list[Column]:
        columns = [
            Column("number", "No.", F("position"), number=True),
            Column("length", "Length", Length("search_text"), number=True, big_first=True),
            Column("marks", "Marks", None, big_first=True),
            Column("changed", "Last change", None, big_first=True),
        ]
        return sort_columns(self.sort, columns, default="number")

    # --- Pages and places ---

    def page(self, wanted: str | None, *, at: Item | None = None) -> Page:
        """The keys of the items on a page; without a wanted one, on that where an item stands."""
        keys = self.keys()
        place = self._place_in(keys, at) if at and not wanted else None
        wanted = str((place - 1) // PAGE_SIZE + 1) if place else wanted
        if isinstance(keys, QuerySet):
            return Page.of(keys, wanted, size=PAGE_SIZE, count=self._count(keys))
        return Page.of_list(keys, wanted, size=PAGE_SIZE)

    def place_and_count(self, item: Item) -> tuple[int | None, int]:
        """At which place an item stands, counted from 1 and None if it does not match, and of how many."""
        keys = self.keys()
        return self._place_in(keys, item), self._count(keys)

    def _place_in(self, keys: Keys, item: Item) -> int | None:
        if not isinstance(keys, QuerySet):
            return keys.index(item.pk) + 1 if item.pk in keys else None
        before: Any = self.around(item)[0]
        return before.count() + 1 if keys.filter(pk=item.pk).exists() else None

    def _count(self, keys: Keys) -> int:
        if not isinstance(keys, QuerySet):
            return len(keys)
        return keys.order_by().count() if self.given_count is None else self.given_count

    # --- From item to item ---

    def around(self, item: Item) -> tuple[Keys, Keys]:
        if self._is_walked:
            return super().around(item)
        keys = self._listed(item)
        place = keys.index(item.pk)
        return keys[:place][::-1], keys[place + 1 :]

    def first_behind(self, item: Item | None) -> int | None:
        """The first one behind an item and, if there is none, from the beginning. What was left for later comes last."""
        passed = {*self.later, item.pk} if item else {*self.later}

        def first(keys: Keys) -> int | None:
            return next((key for key in keys[: len(passed) + 1] if key not in passed), None)

        if found := (item and first(self.around(item)[1])) or first(self._nearest()):
            return found
        left = set(self.matching().filter(pk__in=self.later).values_list("pk", flat=True)) if self.later else set()
        return next((key for key in self.later if key in left), None)

    @property
    def _is_walked(self) -> bool:
        return self._asks_for_state_only and self._sorted_by()[0].name == "number"

    # --- Keys ---

    def keys(self) -> Keys:
        """Of all that match, in their order."""
        return self._nearest() if self.is_empty else self._listed()

    def _nearest(self) -> Keys:
        """The same, if only the first ones are wanted."""
        return self.items().values_list("pk", flat=True) if self._is_walked else self._listed()

    def _listed(self, item: Item | None = None) -> Sequence[int]:
        """The keys of all that match, and of an item, in their order."""
        kept, sets = kept_items(self.dataset), list(self._sets())
        wanted = self._found([set(chain.from_iterable(map(whole, keys))) for keys, are_those in sets if are_those])
        # Among the sets there are items of other projects, too.
        found = kept.there if wanted is None else kept.there & wanted
        if others := [whole(key) for keys, are_those in sets if not are_those for key in keys]:
            found = found.difference(*others)
        if item and item.pk not in found:
            found |= {item.pk}
        worked_on, falls = list(filter(found.__contains__, self._by_work())), self._sorted_by()[1]

        def in_order() -> list[int]:
            rest = found.difference(worked_on) if worked_on else found
            more = list(filter(rest.__contains__, self._common_order(kept)))
            return worked_on + more if falls else more + worked_on

        return Way(found, worked_on if falls else [], in_order)

    def _found(self, sets: list[set[int]]) -> set[int] | None:
        """The given items that are in all sets and have the words; None if that is asked of none."""
        found = set.intersection(*sets) if sets else None
        if not self.q and self.given_count is not None:
            return found
        if found is not None and len(found) <= FEW:
            some = self.given.filter(looked_up("pk", found)).containing(self.q)
            return set(whole(some.order_by().values_list("pk", flat=True)))
        if self.q:
            sets.append(set(containing(self.dataset, self.q)))
        if self.given_count is None:
            sets.append(set(whole(self.given.order_by().values_list("pk", flat=True))))
        return set.intersection(*sets)

    def _common_order(self, kept: KeptItems) -> Iterable[int]:
        """By what all items have, which is sorted once."""
        column, falls = self._sorted_by()
        if column.name == "length":
            return kept.longest_first if falls else kept.shortest_first
        return reversed(kept.by_number) if column.name == "number" and falls else kept.by_number

    def _by_work(self) -> list[int]:
        """If that is what they are sorted by: all in which the person did something. The others stand at the end where there is
        least, by their numbers."""
        column, falls = self._sorted_by()
        if column.name == "changed":
            own = self._own().filter(changed_at__isnull=False).order_by("changed_at", "item_id")
            own = own.reverse() if falls else own
        elif column.name == "marks":
            own = self._own().alias(count=marks_in(Mark.Status.ACCEPTED)).filter(count__gt=0)
            own = own.order_by("-count" if falls else "count", "item_id")
        else:
            return []
        return whole(own.values_list("item", flat=True))
