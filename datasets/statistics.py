"""Lengths of texts, frequent words and labels of a dataset, kept in memory until it changes."""

from collections import Counter
from functools import lru_cache
from itertools import count, islice
from typing import Any, NamedTuple

from django.db.models import Count, Q

from .models import GIVEN, Dataset, Entity, Item, Relation
from .portions import token_lists

MOST_WORDS = 30
MOST_BARS = 25


class Bar(NamedTuple):
    """Items of ``first`` to ``last`` tokens, or of ``first`` and more."""

    first: int
    last: int | None
    size: int


def statistics_of(dataset: Dataset) -> dict[str, Any]:
    return _statistics(dataset.pk, dataset.updated_at)


def label_counts(dataset: Dataset) -> list[dict[int, int]]:
    """How many given entities and relations carry each label, by the label's primary key, the most frequent first."""
    return _label_counts(dataset.pk, dataset.updated_at)


@lru_cache(maxsize=64)
def _statistics(dataset_pk: int, updated_at: Any) -> dict[str, Any]:
    words: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    for _, tokens in token_lists(Item.objects.filter(dataset=dataset_pk)):
        lengths[len(tokens)] += 1
        words.update(tokens)
    with_letters = (pair for pair in words.most_common(MOST_WORDS * 20) if any(map(str.isalnum, pair[0])))
    items, bars = lengths.total(), _bars(lengths)
    token_count = sum(length * count for length, count in lengths.items())
    return {
        "items": items,
        "tokens": token_count,
        "vocabulary": len(words),
        "once": sum(count == 1 for count in words.values()),
        "shortest": min(lengths, default=0),
        "median": _quantile(lengths, 0.5),
        "mean": token_count / items if items else 0,
        "longest": max(lengths, default=0),
        "lengths": bars,
        "most_in_a_bar": max((bar.size for bar in bars), default=0),
        "words": list(islice(with_letters, MOST_WORDS)),
    }


def _quantile(lengths: Counter[int], part: float) -> int:
    """The length that so many of the items have at most."""
    below, wanted = 0, part * lengths.total()
    for length in sorted(lengths):
        below += lengths[length]
        if below >= wanted:
            return length
    return 0


def _bars(lengths: Counter[int]) -> list[Bar]:
    """Bars of equal, round width. A few very long items share the last one, so that they do not squeeze the others."""
    if not lengths:
        return []
    usual, longest = _quantile(lengths, 0.99), max(lengths)
    end = longest if longest <= 2 * usual else usual
    start = max(min(lengths), 1)
    widths = (digit * 10**power for power in count() for digit in (1, 2, 5))
    width = next(width for width in widths if (end - 1) // width - (start - 1) // width < MOST_BARS)
    counts: Counter[int] = Counter()
    for length, size in lengths.items():
        counts[max(min(length, end) - 1, 0) // width] += size
    bars = [Bar(n * width + 1, (n + 1) * width, counts[n]) for n in range(min(counts), max(counts) + 1)]
    if longest > end:
        bars[-1] = bars[-1]._replace(last=None)
    return bars


@lru_cache(maxsize=64)
def _label_counts(dataset_pk: int, updated_at: Any) -> list[dict[int, int]]:
    given = GIVEN & Q(annotation__item__dataset=dataset_pk, annotation__item__removed_at=None)
    counts = (
        marks.filter(given).order_by().values_list("label").annotate(count=Count("pk")).order_by("-count", "label")
        for marks in (Entity.objects, Relation.objects)
    )
    return [dict(count) for count in counts]
