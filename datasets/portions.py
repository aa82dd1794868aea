"""Many rows, some at a time, so that memory stays flat: an item can have one token or 20,000."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

T = TypeVar("T")
# Items are read and parsed together, because one by one takes three times as long, up to about 60 MB of Python lists.
MOST_ITEMS, MOST_TOKENS, MOST_CHARACTERS = 2000, 200_000, 2_000_000
FETCHED = 100  # rows at once, which may be 40 MB


def portions(rows: Iterable[T], weight: Callable[[T], int], *, most: int, heaviest: int) -> Iterator[list[T]]:
    """Lists of so many rows, or of fewer that are together as heavy as this; the last row may make it more."""
    portion: list[T] = []
    total = 0
    for row in rows:
        portion.append(row)
        total += weight(row)
        if len(portion) >= most or total >= heaviest:
            yield portion
            portion, total = [], 0
    if portion:
        yield portion


def by_texts(items: QuerySet[Any], *fields: Any) -> Iterator[list[tuple[Any, ...]]]:
    """The values of items, in their order, as heavy as their texts are long."""
    rows = items.values_list(*fields).iterator(chunk_size=FETCHED)
    return portions(rows, _characters, most=MOST_ITEMS, heaviest=MOST_CHARACTERS)


def _characters(row: tuple[Any, ...]) -> int:
    return sum(len(value) for value in row if isinstance(value, str))


def by_tokens(items: QuerySet[Any]) -> Iterator[list[int]]:
    """The positions of items of one dataset in their order, those that come meanwhile included."""
    rows, last = items.order_by("position").values_list("position", "token_count"), -1
    while some := list(rows.filter(position__gt=last)[:MOST_ITEMS]):
        last = some[-1][0]
        for portion in portions(some, lambda row: row[1], most=MOST_ITEMS, heaviest=MOST_TOKENS):
            yield [position for position, _ in portion]


def by_keys(items: QuerySet[Any], most: int) -> Iterator[list[int]]:
    """The keys of items of one dataset in their order, so many at a time, those that come meanwhile included."""
    rows, last = items.order_by("position").values_list("position", "pk"), -1
    while some := list(rows.filter(position__gt=last)[:most]):
        last = some[-1][0]
        yield [pk for _, pk in some]


def token_lists(items: QuerySet[Any]) -> Iterator[tuple[int, list[str]]]:
    """The keys of items of one dataset with their tokens, by position."""
    rows = items.order_by("position").values_list("pk", Cast("tokens", TextField()))
    for positions in by_tokens(items):
        yield from parsed(rows.filter(position__range=(positions[0], positions[-1])))


def parsed(rows: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The keys of some items with their tokens, given as JSON. Together: one by one takes three times as long."""
    keys, texts = zip(*rows, strict=True) if (rows := list(rows)) else ((), ())
    yield from zip(keys, json.loads(f"[{','.join(texts)}]"), strict=True)
