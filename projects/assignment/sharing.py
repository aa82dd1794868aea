"""Sharing items out evenly: who gets which, without any database."""

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

Holders = Mapping[int, AbstractSet[int]]  # for keys of items those of some people
NOBODY: AbstractSet[int] = frozenset()
NONE: Holders = MappingProxyType({})


def share_out(
    items: Sequence[int],
    annotators: Collection[int],
    per_item: int,
    *,
    current: Holders = NONE,
    fixed: Holders = NONE,
    withheld: Holders = NONE,
    other_items: Mapping[int, int] = MappingProxyType({}),
) -> Holders:
    """Who gets which item: ``per_item`` annotators each, or all if there are fewer.

    ``fixed`` stays with its people, and counts: what they have begun or were given by hand. Of ``current`` as much as possible
    stays; ``withheld`` is dealt to nobody of these. ``other_items`` is how many items each annotator has besides.
    """
    sharing = _Sharing(annotators, fixed, withheld, other_items)
    for item in items:
        sharing.hold(item, current.get(item, NOBODY), per_item)
    sharing.fill_up(per_item)
    sharing.even_out()
    return {item: sharing.kept[item] | people for item, people in sharing.dealt.items()}


class _Sharing:
    def __init__(
        self, annotators: Collection[int], fixed: Holders, withheld: Holders, other_items: Mapping[int, int]
    ) -> None:
        self.fixed, self.withheld = fixed, withheld
        self.people = set(annotators)
        self.load = Counter({person: other_items.get(person, 0) for person in annotators})
        self.kept: dict[int, AbstractSet[int]] = {}
        self.dealt: dict[int, set[int]] = {}

    def hold(self, item: int, current: AbstractSet[int], per_item: int) -> None:
        """Leave an item with those who have it; if these are too many, those give it back who have the most."""
        kept = self.fixed.get(item, NOBODY) & self.people
        dealt = (current & self.people) - kept - self.withheld.get(item, NOBODY)
        self.load.update(kept | dealt)
        while dealt and len(kept) + len(dealt) > per_item:
            giver = max(dealt, key=lambda person: (self.load[person], person))
            dealt -= {giver}
            self.load[giver] -= 1
        self.kept[item], self.dealt[item] = kept, set(dealt)

    def fill_up(self, per_item: int) -> None:
        """Give each item to so many people as are missing, those with the fewest items first."""
        queue = [(count, person) for person, count in self.load.items()]
        heapq.heapify(queue)
        for item, people in self.dealt.items():
            passed_over = []
            while len(people) + len(self.kept[item]) < per_item and queue:
                count, person = heapq.heappop(queue)
                if person not in people and person not in self._barred(item):
                    people.add(person)
                    count = self.load[person] = count + 1
                passed_over.append((count, person))
            for entry in passed_over:
                heapq.heappush(queue, entry)

    def even_out(self) -> None:
        """Move items that are not fixed from those with more to those with fewer, until no single move makes it more even.

        First from those with more than their share, so that as little as possible changes hands.
        """
        share = self.load.total() / len(self.load) if self.load else 0
        for most in (share, 0):
            while self._move_items(most):
                pass

    def _move_items(self, most: float) -> bool:
        """Once through all items; people with at most so many give none. Returns whether any has moved."""
        moved = False
        enough = max(most, self._fewest() + 1)
        for item, people in self.dealt.items():
            for giver in sorted(people):
                if self.load[giver] <= enough:
                    continue
                taker = self._taker(item)
                if taker is not None and self.load[giver] - self.load[taker] > 1:
                    people ^= {giver, taker}
                    self.load[giver] -= 1
                    self.load[taker] += 1
                    moved, enough = True, max(most, self._fewest() + 1)
        return moved

    def _taker(self, item: int) -> int | None:
        """Of those who may get an item, whoever has the fewest."""
        able = self.people - self.dealt[item] - self._barred(item)
        return min(able, key=lambda person: (self.load[person], person), default=None)

    def _barred(self, item: int) -> AbstractSet[int]:
        """Those who have an item anyway, or are not to get it."""
        withheld = self.withheld.get(item)
        return self.kept[item] | withheld if withheld else self.kept[item]

    def _fewest(self) -> int:
        return min(self.load.values(), default=0)
