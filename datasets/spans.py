"""Entities by where they stand: which share a token, and where too many do."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from django.conf import settings

from annotation_service import words
from resources.rules import Placed

P = TypeVar("P", bound=Placed)


@dataclass(eq=False, slots=True)
class TokenSpan:
    """An entity of which only its tokens matter."""

    start: int
    end: int


class Spans(Generic[P]):
    """Looked up by tokens, so that nobody goes through all entities of an item.

    Each is kept in the few blocks of 1, 2, 4, 8 … tokens that together are its own: a token lies in one block of each size.
    """

    def __init__(self, spans: Iterable[P] = ()) -> None:
        self._at: dict[tuple[int, int], dict[P, None]] = defaultdict(dict)
        self._covering: dict[tuple[int, int], dict[P, None]] = defaultdict(dict)
        self._starting: dict[int, dict[P, None]] = defaultdict(dict)
        self._sizes = 0
        for span in spans:
            self.add(span)

    def __iter__(self) -> Iterator[P]:
        return chain.from_iterable(self._at.values())

    def add(self, span: P) -> None:
        for kept in self._places(span):
            kept[span] = None

    def discard(self, span: P) -> None:
        for kept in self._places(span):
            kept.pop(span, None)

    def at(self, start: int, end: int) -> Collection[P]:
        """Those of just these tokens."""
        return self._at.get((start, end), ())

    def meeting(self, span: Placed) -> Iterator[P]:
        """Those that share a token with this one, itself included."""
        for size in range(self._sizes):
            yield from self._covering.get((size, span.start >> size), ())
        for token in range(span.start + 1, span.end + 1):
            yield from self._starting.get(token, ())

    def _places(self, span: P) -> Iterator[dict[P, None]]:
        yield self._at[span.start, span.end]
        yield self._starting[span.start]
        start, end, size = span.start, span.end, 0
        while start <= end:
            if start % 2:
                yield self._covering[size, start]
                start += 1
            if start <= end and not end % 2:
                yield self._covering[size, end]
                end -= 1
            start, end, size = start // 2, end // 2, size + 1
        self._sizes = max(self._sizes, size)


def pairs_of(spans: Sequence[P]) -> Iterator[tuple[P, P, int]]:
    """The pairs that share a token, with the place of the later one in the list."""
    begun: list[tuple[int, P]] = []
    end = -1
    for index, span in sorted(enumerate(spans), key=lambda numbered: numbered[1].start):
        if span.start > end:  # most share no token
            begun.clear()
        else:
            begun = [(place, other) for place, other in begun if other.end >= span.start]
        for place, other in begun:
            yield other, span, max(place, index)
        begun.append((index, span))
        end = max(end, span.end)


def crowded_token(spans: Collection[Placed]) -> int | None:
    """The first token with more of them than the limit, if any."""
    if len(spans) <= settings.MAX_TOKEN_MARKS:
        return None
    changes = Counter[int]()
    for span in spans:
        changes[span.start] += 1
        changes[span.end + 1] -= 1
    count = 0
    for token, change in sorted(changes.items()):
        count += change
        if count > settings.MAX_TOKEN_MARKS:
            return token
    return None


def has_room(span: Placed, others: Collection[Placed]) -> bool:
    """Whether an entity can come to these others."""
    cut = [
        TokenSpan(max(span.start, other.start), min(span.end, other.end))
        for other in others
        if other.start <= span.end and other.end >= span.start
    ]
    return crowded_token([span, *cut]) is None


def crowded() -> str:
    return f"At most {words.plural(settings.MAX_TOKEN_MARKS, 'mark,marks')} can share a word."
