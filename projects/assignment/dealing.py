"""Sharing items out: as evenly as can be, and so that every two people have about as many items in common as every other two.

A plan is about groups of items that are alike, and does not look at items one by one.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, comb, floor
from random import Random
from typing import TypeVar

from .groups import BEGUN, BY_HAND, DEALT, NOBODY, WITHHELD, Group, People

T = TypeVar("T", bound=Hashable)
Plan = dict[Group, Counter[People]]
Part = tuple[Hashable, People]
# At each step the n-th part of what is left goes to the same people: few steps for many items, and single items at the end.
STEPS = 500
# So many ways to move an item are compared, and so many sets of its people are looked for at others.
MOVES, SETS = 50, 50
# So few items are dealt out again, so many times at most, until pairs are even. More items come out even the first time.
FEW, TRIES = 3_000, 4


def deal(
    groups: Mapping[Group, int],
    annotators: Sequence[int],
    per_item: int,
    everybody: People | None = None,
    *,
    anew: bool = False,
) -> Plan:
    """To whom the items of each group are to be assigned, so many of them to these and so many to those.

    What is begun or given by hand stays with its people, of ``everybody`` who annotates: others have nothing. Of the rest as
    little as possible changes hands or, ``anew``, all of it, so that pairs are as even as can be; then so many stay as can.
    """
    is_fresh = anew or not any(group.assigned() for group in groups)
    for seed in range(TRIES if is_fresh and sum(groups.values()) <= FEW else 1):
        sharing = _Sharing(annotators, per_item, seed)
        sources = {group: sharing.hold(group, count, anew=anew) for group, count in groups.items()}
        sharing.settle()
        sharing.even_out()
        if sharing.is_mixed():
            break
    staying = everybody if everybody is not None else frozenset(annotators)
    plan: Plan = {group: Counter({group.people(BY_HAND) & staying: groups[group]}) for group in groups if group.for_all}
    by_source: dict[Hashable, Counter[People]] = defaultdict(Counter)
    for (source, dealt), count in sharing.parts.items():
        by_source[source][dealt] += count
    sharers: dict[Hashable, list[Group]] = defaultdict(list)
    for group, source in sources.items():
        if not group.for_all:
            sharers[source].append(group)
    for source, own in sharers.items():
        for group, dealt_to in _matched({group: groups[group] for group in own}, by_source[source], per_item).items():
            fixed = group.people(BEGUN + BY_HAND) & staying
            plan[group] = Counter({fixed | dealt: count for dealt, count in dealt_to.items()})
    return plan


def _matched(groups: Mapping[Group, int], wanted: Counter[People], per_item: int) -> Plan:
    """Which of the groups get what is wanted for all of them together: as much as possible stays with those who have it."""
    if len(groups) == 1:
        return dict.fromkeys(groups, wanted)
    plan: Plan = {group: Counter() for group in groups}
    left = dict(groups)
    for size in range(min(per_item, max(map(len, wanted), default=0)), -1, -1):
        if comb(per_item, size) > SETS and size:
            continue
        having = defaultdict[People, list[People]](list)
        for people in wanted:
            for some in combinations(sorted(people), size):
                having[frozenset(some)].append(people)
        for group in [group for group, count in left.items() if count]:
            for some in combinations(sorted(group.people(DEALT)), size):
                found = having.get(frozenset(some), [])
                while found and left[group]:
                    taken = min(left[group], wanted[found[-1]])
                    plan[group][found[-1]] += taken
                    left[group] -= taken
                    wanted[found[-1]] -= taken
                    if not wanted[found[-1]]:
                        found.pop()
        wanted = +wanted
    return {group: +people for group, people in plan.items()}


def shared_items(holders: Iterable[tuple[People, int]], people: Sequence[int]) -> dict[int, dict[int, int]]:
    """For each of the people: how many items they have and, with each other one, how many both have. Each set of holders comes
    with how many items they have."""
    shared = {person: dict.fromkeys(people, 0) for person in people}
    together = Counter[People]()
    for some, count in holders:
        together[some.intersection(shared)] += count
    for some, count in together.items():
        for person in some:
            row = shared[person]
            for other in some:
                row[other] += count
    return shared


def spread(shares: Mapping[T, int]) -> Iterator[T]:
    """Each of these so many times, one after another: whatever part of it is looked at has about the same mix."""
    queue = [(0.5 / count, order, one, count) for order, (one, count) in enumerate(shares.items())]
    heapq.heapify(queue)
    while queue:
        place, order, one, count = queue[0]
        yield one
        if place + 1 / count < 1:
            heapq.heapreplace(queue, (place + 1 / count, order, one, count))
        else:
            heapq.heappop(queue)


class _Sharing:
    """Items by where they come from and to whom they are dealt, and what follows: how many each person has, and each pair."""

    def __init__(self, annotators: Collection[int], per_item: int, seed: int) -> None:
        self.people = list(annotators)
        self.per_item = per_item
        self.any = Random(seed)
        self.has_filled = False
        self.load = dict.fromkeys(self.people, 0)
        self.pairs = {person: dict.fromkeys(self.people, 0) for person in self.people}
        self.bounds: dict[Hashable, tuple[People, People]] = {}  # who has them anyway, and who is not to get them
        self.had: dict[Hashable, People] = {}  # to whom they were dealt before
        self.parts: Counter[Part] = Counter()
        self.having: dict[int, dict[Part, None]] = {person: {} for person in self.people}

    def hold(self, group: Group, count: int, *, anew: bool) -> Hashable:
        """Begin with those who have the items now."""
        able = frozenset(self.people)
        barred = group.people(WITHHELD) & able
        if group.for_all:
            self._count(able - barred, count)
            return group
        kept = group.people(BEGUN + BY_HAND) & able
        source: Hashable = (kept, barred) if anew else group
        self.bounds[source] = (kept, barred)
        self.had[source] = NOBODY if anew else (group.people(DEALT) & able) - kept - barred
        self._add(source, self.had[source], count)
        return source

    def _count(self, holders: People, count: int) -> None:
        for person in holders:
            self.load[person] += count
            row = self.pairs[person]
            for other in holders:
                row[other] += count

    def _add(self, source: Hashable, dealt: People, count: int) -> None:
        part = source, dealt
        self.parts[part] += count
        for person in dealt:
            if self.parts[part]:
                self.having[person][part] = None
            else:
                self.having[person].pop(part, None)
        if not self.parts[part]:
            del self.parts[part]
        self._count(self.bounds[source][0] | dealt, count)

    def _replace(self, source: Hashable, dealt: People, others: People, count: int) -> None:
        self._add(source, dealt, -count)
        self._add(source, others, count)

    # --- So many people for each item ---

    def settle(self) -> None:
        """Take items from somebody where too many have them, and give them to somebody where too few do: whoever has the most
        or the fewest, and among these who has them with those that they share the most or the fewest with.

        Many go together at first, and one by one at the end, which evens out what the former have left.
        """
        open_parts = [part for part in self.parts if len(part[1]) != self._wanted(part[0])]
        left = sum(self.parts[part] for part in open_parts)
        self.has_filled = left > 0
        # Of single items there are enough, then, for each pair of people.
        steps = max(STEPS, comb(len(self.people), 2) // max(1, self.per_item - 1))
        while open_parts:
            for part in open_parts:
                count = min(self.parts[part], 1 + left // steps)
                self._replace(*part, self._settled(*part, slack=2 * count), count)
                left -= count
            open_parts = [part for part in open_parts if part in self.parts]

    def _wanted(self, source: Hashable) -> int:
        """How many people an item is dealt to, beside those who have it anyway."""
        kept, barred = self.bounds[source]
        return max(0, min(self.per_item - len(kept), len(self.people) - len(kept | barred)))

    def _settled(self, source: Hashable, dealt: People, slack: int) -> People:
        """To whom it is dealt then: by chance where several are alike, as a fixed order would favour some pairs.
        Whoever has the fewest of all may have more than a few in common with the others, so a few more count as the fewest."""
        kept, barred = self.bounds[source]
        wanted = self._wanted(source)
        while len(dealt) > wanted:
            dealt -= {max(dealt, key=lambda person: (self.load[person], self._shared(person, kept | dealt), person))}
        out = kept | barred | dealt
        able = [person for person in self.people if person not in out]
        while len(dealt) < wanted:
            most = min([self.load[person] for person in able]) + slack
            rows = [self.pairs[holder] for holder in kept | dealt]
            ranked = [
                (sum([row[person] for row in rows]), self.load[person], self.any.random(), person)
                for person in able
                if self.load[person] <= most
            ]
            new = min(ranked)[-1]
            dealt |= {new}
            able.remove(new)
        return dealt

    def _shared(self, person: int, holders: Iterable[int]) -> int:
        row = self.pairs[person]
        return sum([row[other] for other in holders if other != person])

    def is_mixed(self) -> bool:
        """Whether all pairs share about as many items."""
        shared = [self.pairs[one][other] for one, other in combinations(self.people, 2)]
        return not shared or max(shared) - min(shared) <= max(2, 0.05 * sum(shared) / len(shared))

    # --- As many items for each person ---

    def even_out(self) -> None:
        """Move items from those with the most to those with the fewest, until no single move makes it more even."""
        while self._move():
            pass

    def _move(self) -> bool:
        by_load = sorted(self.people, key=self.load.__getitem__)
        share = sum(self.load.values()) / len(self.people) if self.people else 0
        for giver in reversed(by_load):
            for taker in by_load:
                if self.load[giver] - self.load[taker] <= 1:
                    break
                if part := self._rarest(giver, taker):
                    source, dealt = part
                    most = min(self.parts[part], self.load[giver] - ceil(share), floor(share) - self.load[taker])
                    self._replace(source, dealt, dealt ^ {giver, taker}, max(1, most // 16))
                    return True
        return False

    def _rarest(self, giver: int, taker: int) -> Part | None:
        """Of the items that one can give to another: rather such as the first has not had before, then those whose other people
        share the least with the second."""
        best, least, compared = None, (True, 0), 0
        more, less = self.pairs[taker], self.pairs[giver]
        for part in self.having[giver]:
            source, dealt = part
            kept, barred = self.bounds[source]
            if taker in dealt or taker in kept or taker in barred:
                continue
            shared = sum(more[other] - less[other] for other in (*dealt, *kept) if other != giver)
            found = giver in self.had[source], shared
            if best is None or found < least:
                best, least = part, found
            compared += 1
            if compared >= (10 * MOVES if self.has_filled and least[0] else MOVES):
                break
        return best
