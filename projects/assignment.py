"""Dealing items out to annotators, evenly and with as few changes as possible. Pure computing: pairs of keys in, pairs out."""

import heapq
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

Pair = tuple[int, int]  # item, annotator


def deal(
    items: list[int],
    annotators: list[int],
    per_item: int,
    before: set[Pair],
    begun: set[Pair],
    others: Mapping[int, int] = MappingProxyType({}),
) -> set[Pair]:
    """Who gets which item: ``per_item`` annotators each, or all if there are fewer.

    What was begun stays. Missing annotators are those who have the fewest items; then items that nobody has begun move from
    those who have too many to those who have too few. ``others`` is how many items each annotator has that are not dealt now.
    """
    there, people = set(items), set(annotators)
    have: dict[int, set[int]] = {item: set() for item in items}
    for item, person in before | begun:
        if item in there and person in people:
            have[item].add(person)
    wanted = min(per_item, len(annotators))
    load = Counter({person: others.get(person, 0) for person in annotators})
    for item in items:
        _thin_out(item, have[item], wanted, begun)
        load.update(have[item])
    _fill_up(items, have, wanted, load)
    _even_out(items, have, load, begun)
    return {(item, person) for item in items for person in have[item]}


def _thin_out(item: int, have: set[int], wanted: int, begun: set[Pair]) -> None:
    """Take an item from those who have not begun it, if too many have it."""
    for person in sorted(have):
        if len(have) <= wanted:
            return
        if (item, person) not in begun:
            have.discard(person)


def _fill_up(items: list[int], have: dict[int, set[int]], wanted: int, load: Counter[int]) -> None:
    queue = [(count, person) for person, count in load.items()]
    heapq.heapify(queue)
    for item in items:
        passed_over = []
        while len(have[item]) < wanted:
            count, person = heapq.heappop(queue)
            if person not in have[item]:
                have[item].add(person)
                load[person] += 1
                count += 1
            passed_over.append((count, person))
        for entry in passed_over:
            heapq.heappush(queue, entry)


def _even_out(items: list[int], have: dict[int, set[int]], load: Counter[int], begun: set[Pair]) -> None:
    """Move items from those with more than their share to those with the fewest."""
    share = sum(load.values()) / len(load) if load else 0
    for item in items:
        for giver in sorted(have[item]):
            if load[giver] <= share or (item, giver) in begun:
                continue
            taker = min(load.keys() - have[item], key=lambda person: (load[person], person), default=giver)
            if load[giver] - load[taker] > 1:
                have[item] ^= {giver, taker}
                load[giver] -= 1
                load[taker] += 1
