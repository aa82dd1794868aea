"""Sharing items out: as evenly as can be, and so that every two people have about as many items in common as every other two.

A plan is about groups of items that are alike, and does not look at items one by one.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import ceil, comb, floor
from typing import TypeVar

from .groups import BEGUN, BY_HAND, DEALT, NOBODY, WITHHELD, Group, People

T = TypeVar("T", bound=Hashable)
Plan = dict[Group, Counter[People]]
Part = tuple[Hashable, People]
Move = tuple[Part, int, int]  # one of its items from somebody to somebody
# Of many items so many are chosen for one by one; more go together, of which a pair of people notices nothing.
STEPS = 20_000
# So many ways to move an item are compared.
COMPARED = 50
# In all, so many exchanges are thought of.
EXCHANGES = 100_000


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
    sharing = _Sharing(annotators, per_item)
    staying = everybody if everybody is not None else frozenset(annotators)
    sources: dict[Group, Hashable] = {}
    for group, count in groups.items():
        sources[group] = sharing.hold(group, count, anew=anew)
    sharing.settle()
    sharing.even_out()
    if anew or not any(group.assigned() for group in groups):
        sharing.mix()
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
        if comb(per_item, size) > COMPARED and size:
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

    def __init__(self, annotators: Collection[int], per_item: int) -> None:
        self.people = list(annotators)
        self.per_item = per_item
        self.mean = 0.0  # of what pairs share
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
        or the fewest, and among these who has them with those that they share the most or the fewest with."""
        open_parts = {part: count for part, count in self.parts.items() if len(part[1]) != self._wanted(part[0])}
        free = {part: count for part, count in open_parts.items() if not (part[1] or any(self.bounds[part[0]]))}
        others = {part: count for part, count in open_parts.items() if part not in free}
        self._settle_one_by_one(others)
        for part, count in free.items():
            left, people = count, len(self.people)
            while left >= people and not self._is_level():
                self._settle_one_by_one({part: people})
                left -= people
            if left >= people:
                self._settle_in_rounds(part, left // people)
                left %= people
            self._settle_one_by_one({part: left} if left else {})

    def _wanted(self, source: Hashable) -> int:
        """How many people an item is dealt to, beside those who have it anyway."""
        kept, barred = self.bounds[source]
        return max(0, min(self.per_item - len(kept), len(self.people) - len(kept | barred)))

    def _settle_one_by_one(self, parts: Mapping[Part, int]) -> None:
        self.has_filled |= bool(parts)
        together = 1 + sum(parts.values()) // STEPS
        steps = {part: ceil(count / together) for part, count in parts.items()}
        for source, dealt in spread(steps):
            count = min(together, self.parts[source, dealt])
            self._replace(source, dealt, self._settled(source, dealt, slack=2 * together), count)

    def _settled(self, source: Hashable, dealt: People, slack: int) -> People:
        """To whom it is dealt then. Whoever has the fewest of all may have more than a few in common with the others."""
        kept, barred = self.bounds[source]
        wanted = self._wanted(source)
        while len(dealt) > wanted:
            dealt -= {max(dealt, key=lambda person: (self.load[person], self._shared(person, kept | dealt), person))}
        out = kept | barred | dealt
        while len(dealt) < wanted:
            holders = kept | dealt
            able = [person for person in self.people if person not in out]
            most = min(map(self.load.__getitem__, able)) + slack
            able = [person for person in able if self.load[person] <= most]
            new = min(able, key=lambda person: (self._shared(person, holders), self.load[person]))
            dealt |= {new}
            out |= {new}
        return dealt

    def _shared(self, person: int, holders: Iterable[int]) -> int:
        row = self.pairs[person]
        return sum(row[other] for other in holders if other != person)

    def _is_level(self) -> bool:
        """Whether all have as many items, and all pairs about as many."""
        return max(self.load.values()) - min(self.load.values()) <= 1 and self._is_mixed()

    def _is_mixed(self) -> bool:
        shared = [self.pairs[one][other] for one, other in combinations(self.people, 2)]
        self.mean = sum(shared) / max(1, len(shared))
        return not shared or max(shared) - min(shared) <= max(2, 0.05 * self.mean)

    def mix(self) -> None:
        """Let people exchange items, as long as pairs that share many and pairs that share few come nearer to each other."""
        left = EXCHANGES
        while left > 0 and not self._is_mixed():
            pairs = sorted(combinations(self.people, 2), key=lambda pair: -self.pairs[pair[0]][pair[1]])
            for one, other in pairs:
                compared, found = self._exchange(one, other)
                left -= compared
                if found or left <= 0:
                    break
            else:
                return

    def _exchange(self, one: int, other: int) -> tuple[int, bool]:
        """Give somebody else an item that two share: for one that the two do not share, or where that one has fewer. Returns how
        many ways were compared, and whether one was better."""
        best: list[Move] = []
        least, compared = -1e-6, 0
        for moves in chain(self._exchanges(one, other), self._exchanges(other, one)):
            compared += 1
            if (worse := self._worse_by(moves)) < least:
                best, least = moves, worse
            if compared >= (COMPARED if best else 10 * COMPARED):
                break
        for (source, dealt), gone, come in best:
            self._replace(source, dealt, dealt ^ {gone, come}, 1)
        return max(1, compared), bool(best)

    def _exchanges(self, giver: int, with_them: int) -> Iterator[list[Move]]:
        for first in self.having[giver]:
            if with_them in first[1] or with_them in self.bounds[first[0]][0]:
                for taker in self.people:
                    if self._can_give(first, giver, taker):
                        gives = first, giver, taker
                        if self.load[giver] > self.load[taker]:
                            yield [gives]
                        for part in self.having[taker]:
                            if self._can_give(part, taker, giver):
                                yield [gives, (part, taker, giver)]

    def _can_give(self, part: Part, giver: int, taker: int) -> bool:
        source, dealt = part
        return taker not in dealt and not any(taker in bound for bound in self.bounds[source])

    def _worse_by(self, moves: Iterable[Move]) -> float:
        """How much more pairs differ: by the fourth powers, in which what differs most counts most."""
        change = Counter[tuple[int, int]]()
        for (source, dealt), gone, come in moves:
            for other in (dealt | self.bounds[source][0]) - {gone}:
                change[gone, other] -= 1
                change[come, other] += 1
        shared = ((self.pairs[one][other] - self.mean, by) for (one, other), by in change.items())
        return sum((is_now + by) ** 4 - is_now**4 for is_now, by in shared)

    def _settle_in_rounds(self, part: Part, rounds: int) -> None:
        """In each round every person has one turn at each place of a block of numbers, which are added to theirs around a circle.

        That is a cyclic design: J. A. John and E. R. Williams, “Cyclic and Computer Generated Designs” (1995), chapter 3. All
        have as many items after a round, and two people share as many as others with the same distance; so the blocks are chosen
        by the distances that have come up least.
        """
        people, size = self.people, self._wanted(part[0])
        count = len(people)
        met = [0] * count
        together = 1 + rounds * size * (size - 1) // max(1, count - 1) // 100
        while rounds:
            times = min(rounds, together)
            block = self._block(met, size)
            for one in block:
                for other in block:
                    met[one - other] += times * (one != other)
            for turn in range(count):
                self._replace(*part, frozenset(people[(number + turn) % count] for number in block), times)
            rounds -= times

    def _block(self, met: Sequence[int], size: int) -> Sequence[int]:
        """Numbers whose distances have come up least; of very many blocks not each is tried."""
        count = len(met)
        if comb(count - 1, size - 1) <= COMPARED:
            blocks = ((0, *others) for others in combinations(range(1, count), size - 1))
            return min(blocks, key=lambda block: sum(met[one - other] for one, other in combinations(block, 2)))
        block = [0]
        while len(block) < size:
            able = (number for number in range(1, count) if number not in block)
            block.append(min(able, key=lambda number: sum(met[number - other] for other in block)))
        return block

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
            if compared >= (10 * COMPARED if self.has_filled and least[0] else COMPARED):
                break
        return best
