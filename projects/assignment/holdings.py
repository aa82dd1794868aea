"""Who has which items of a project at one moment, and who would have them by another rule, which shares them out evenly."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from django.db.models import Count, QuerySet

from datasets.models import MARKS, Annotation, Item

from .assigned import Assignment, Pair, Withheld
from .rule import AssignmentRule

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


@dataclass(frozen=True)
class Holdings:
    """About some items, in their order, and some people who annotate; all by their keys."""

    items: QuerySet[Item]
    people: frozenset[int]

    @cached_property
    def keys(self) -> list[int]:
        return list(self.items.values_list("pk", flat=True))

    @cached_property
    def assigned(self) -> Holders:
        return self._holders(Assignment.objects)

    @cached_property
    def by_hand(self) -> Holders:
        return self._holders(Assignment.objects.exclude(by=None))

    @cached_property
    def withheld(self) -> Holders:
        return self._holders(Withheld.objects)

    @cached_property
    def begun(self) -> Holders:
        return self._holders(Annotation.objects.exclude(annotator=None).exclude(started_at=None))

    @cached_property
    def unbegun_marks(self) -> Counter[Pair]:
        """How many marks batches of people have put on items that these have not begun: they go with the items."""
        unbegun = Annotation.objects.filter(annotator__in=self.people, started_at=None)
        here = unbegun.filter(item__in=self.items.order_by().values("pk"))
        counts = Counter[Pair]()
        for model in MARKS.values():
            put = model._default_manager.filter(annotation__in=here, batch__isnull=False)
            pairs = put.order_by().values_list("annotation__annotator", "annotation__item")
            for person, item, count in pairs.annotate(Count("pk")):
                counts[person, item] += count
        return counts

    def after_giving(self, chosen: "Holdings", rule: AssignmentRule) -> "Holdings":
        """What it would be, had all people of another holdings got all of its items by hand."""
        for_all = chosen.for_all(rule)
        given = {item: chosen.people for item in chosen.keys if item not in for_all}
        everything = dict.fromkeys(chosen.keys, chosen.people)
        return self._with(
            assigned=_joined(self.assigned, given),
            by_hand=_joined(self.by_hand, given),
            withheld=_without(self.withheld, everything),
        )

    def after_taking(self, chosen: "Holdings") -> "Holdings":
        """What it would be, had all people of another holdings lost all of its items but those that they have begun."""
        taken = {item: chosen.people - chosen.begun.get(item, NOBODY) for item in chosen.keys}
        return self._with(
            assigned=_without(self.assigned, taken),
            by_hand=_without(self.by_hand, taken),
            withheld=_joined(self.withheld, taken),
        )

    def _with(self, **known: Holders) -> "Holdings":
        changed = replace(self)
        vars(changed).update(vars(self), **known)
        return changed

    def _holders(self, rows: Any) -> Holders:
        found = rows.filter(item__in=self.items.order_by().values("pk"), annotator__in=self.people).order_by()
        holders: dict[int, set[int]] = {}
        for item, person in found.values_list("item", "annotator").iterator(chunk_size=10_000):
            holders.setdefault(item, set()).add(person)
        return holders

    def for_all(self, rule: AssignmentRule) -> set[int]:
        """Those of the items that are for everybody."""
        if rule.annotators_per_item is None:
            return set(self.keys)
        return set(self.items.filter(rule.for_all()).order_by().values_list("pk", flat=True))

    def given(self, rule: AssignmentRule, assigned: Holders) -> Holders:
        """Who has each item, by a rule and what is assigned by it: `AssignmentRule.given`, of what may not be stored yet."""
        for_all = self.for_all(rule)
        has = {item: self.people if item in for_all else assigned.get(item, NOBODY) for item in self.keys}
        return has | {item: has[item] - people for item, people in self.withheld.items()}

    def shared(
        self, rule: AssignmentRule, annotators: Collection[int], other_items: Counter[int] | None = None
    ) -> Holders:
        """What would be assigned by a rule: as little as possible changes hands, and nothing that is begun.

        Those who annotate without being ``annotators`` keep what they have begun or got by hand, on top. ``other_items`` is how
        many items each annotator has besides these.
        """
        for_all = self.for_all(rule)
        fixed = {
            item: people | self.by_hand.get(item, NOBODY)
            for item, people in {**self.by_hand, **self.begun}.items()
            if item not in for_all
        }
        loads = Counter(dict.fromkeys(annotators, len(for_all)))
        for item in for_all & self.withheld.keys():
            loads.subtract(self.withheld[item])
        loads.update(other_items or {})
        dealt = share_out(
            [item for item in self.keys if item not in for_all],
            annotators,
            rule.annotators_per_item or 0,
            current=self.assigned,
            fixed=fixed,
            withheld=self.withheld,
            other_items=loads,
        )
        others = self.people.difference(annotators)
        return {
            **{item: people for item, people in self.by_hand.items() if item in for_all},
            **{item: people | (fixed.get(item, NOBODY) & others) for item, people in dealt.items()},
        }


def _joined(holders: Holders, others: Holders) -> Holders:
    return {item: holders.get(item, NOBODY) | others.get(item, NOBODY) for item in holders.keys() | others.keys()}


def _without(holders: Holders, others: Holders) -> Holders:
    return {item: people - others.get(item, NOBODY) for item, people in holders.items()}


def count_items(holders: Holders) -> Counter[int]:
    """How many items each person has. Mostly many items have the same people."""
    total = Counter[int]()
    for people, items in Counter(map(frozenset, holders.values())).items():
        for person in people:
            total[person] += items
    return total


def pairs_without(holders: Holders, others: Holders) -> Iterator[Pair]:
    """Who has what and has it not among others."""
    for item, people in holders.items():
        for person in people - others.get(item, NOBODY):
            yield person, item
