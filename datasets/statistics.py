"""What a corpus builder asks of a dataset: how long its texts are, which words they use, which labels they carry.

Everything is kept in memory until the dataset changes.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Count, TextField
from django.db.models.functions import Cast

from .models import Dataset, Entity, Item, Relation

MOST_WORDS = 30
MOST_BARS = 25
_AT_ONCE = 1000


class Bar(NamedTuple):
    """Items of ``first`` to ``last`` tokens, or of ``first`` and more."""

    first: int
    last: int | None
    size: int


@dataclass(frozen=True, slots=True)
class Statistics:
    items: int
    tokens: int
    vocabulary: int
    once: int
    """How many different tokens occur once only."""
    shortest: int
    median: int
    longest: int
    lengths: list[Bar]
    words: list[tuple[str, int]]
    """The most frequent tokens that have a letter or a digit in them."""

    @property
    def mean(self) -> float:
        return self.tokens / self.items if self.items else 0

    @property
    def most_in_a_bar(self) -> int:
        return max((bar.size for bar in self.lengths), default=0)


def statistics_of(dataset: Dataset) -> Statistics:
    return _statistics(dataset.pk, dataset.updated_at)


def label_counts(dataset: Dataset) -> tuple[dict[int, int], dict[int, int]]:
    """How many given entities and relations carry each label, by the label's primary key, the most first."""
    return _label_counts(dataset.pk, dataset.updated_at)


@lru_cache(maxsize=64)
def _statistics(dataset_pk: int, updated_at: Any) -> Statistics:
    words: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    for tokens in _token_lists(dataset_pk):
        lengths[len(tokens)] += 1
        words.update(tokens)
    frequent = (pair for pair in words.most_common(MOST_WORDS * 20) if any(map(str.isalnum, pair[0])))
    return Statistics(
        items=lengths.total(),
        tokens=sum(length * count for length, count in lengths.items()),
        vocabulary=len(words),
        once=sum(count == 1 for count in words.values()),
        shortest=min(lengths, default=0),
        median=_quantile(lengths, 0.5),
        longest=max(lengths, default=0),
        lengths=_bars(lengths),
        words=list(islice(frequent, MOST_WORDS)),
    )


def _token_lists(dataset_pk: int) -> Iterator[list[str]]:
    """As text, and parsed many at a time: one by one takes three times as long."""
    rows = Item.objects.filter(dataset=dataset_pk).order_by().values_list(Cast("tokens", TextField()), flat=True)
    documents = rows.iterator(chunk_size=_AT_ONCE)
    while batch := list(islice(documents, _AT_ONCE)):
        yield from json.loads(f"[{','.join(batch)}]")


def _quantile(lengths: Counter[int], part: float) -> int:
    """The length that so many of the items have at most."""
    below, wanted = 0, part * lengths.total()
    for length in sorted(lengths):
        below += lengths[length]
        if below >= wanted:
            return length
    return 0


def _bars(lengths: Counter[int]) -> list[Bar]:
    """Bars of equal, round width. A few very long items do not squeeze the others: they share the last bar."""
    if not lengths:
        return []
    usual, longest = _quantile(lengths, 0.99), max(lengths)
    end = longest if longest <= 2 * usual else usual
    start = max(min(lengths), 1)
    width = next(width for width in _round_numbers() if (end - 1) // width - (start - 1) // width < MOST_BARS)
    counts: Counter[int] = Counter()
    for length, count in lengths.items():
        counts[max(min(length, end) - 1, 0) // width] += count
    bars = [Bar(n * width + 1, (n + 1) * width, counts[n]) for n in range(min(counts), max(counts) + 1)]
    if longest > end:
        bars[-1] = bars[-1]._replace(last=None)
    return bars


def _round_numbers() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


@lru_cache(maxsize=64)
def _label_counts(dataset_pk: int, updated_at: Any) -> tuple[dict[int, int], dict[int, int]]:
    entities, relations = (_counted(model, dataset_pk) for model in (Entity, Relation))
    return entities, relations


def _counted(model: type[Entity] | type[Relation], dataset_pk: int) -> dict[int, int]:
    given = model._default_manager.filter(
        annotation__annotator=None, annotation__item__dataset=dataset_pk, annotation__item__removed_at=None
    )
    counts = given.order_by().values_list("label").annotate(count=Count("pk"))
    return dict(counts.order_by("-count", "label"))
