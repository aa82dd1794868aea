"""Entities by where they stand: which are judged together, how these lie, and where too many share a token."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Generic, Protocol, TypeVar

from django.conf import settings

from annotation_service import words

# Two entities are judged together if the one begins at most so many tokens behind the end of the other: 0, they share one.
REACH = 0


class Lie(StrEnum):
    """How an entity lies to another one in its reach."""

    EQUAL = "equal"
    AROUND = "around"
    INSIDE = "inside"
    CROSSING = "crossing"

    @classmethod
    def of(cls, one: "Placed", other: "Placed") -> "Lie | None":
        """None if the two are not judged together."""
        if one.start > other.end + REACH or other.start > one.end + REACH:
            return None
        holds, is_held = (a.start <= b.start and b.end <= a.end for a, b in ((one, other), (other, one)))
        if holds and is_held:
            return cls.EQUAL
        return cls.AROUND if holds else cls.INSIDE if is_held else cls.CROSSING


# The same in SQL, given the aliases of the rows of two entities.
IN_REACH = f'{{1}}.start <= {{0}}."end" + {REACH} AND {{1}}."end" >= {{0}}.start - {REACH}'
LIE = f"""CASE WHEN {{0}}.start = {{1}}.start AND {{0}}."end" = {{1}}."end" THEN '{Lie.EQUAL}'
    WHEN {{0}}.start <= {{1}}.start AND {{1}}."end" <= {{0}}."end" THEN '{Lie.AROUND}'
    WHEN {{1}}.start <= {{0}}.start AND {{0}}."end" <= {{1}}."end" THEN '{Lie.INSIDE}'
    ELSE '{Lie.CROSSING}' END"""


class Placed(Protocol):
    """What marks the tokens ``start`` to ``end``, inclusive."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


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

    def in_reach(self, span: Placed) -> Iterator[P]:
        """Those that are judged together with this one, itself included."""
        return self.meeting(TokenSpan(span.start - REACH, span.end + REACH))

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
    """The pairs that are judged together, with the place of the later one in the list."""
    begun: list[tuple[int, P]] = []
    end = -1
    for index, span in sorted(enumerate(spans), key=lambda numbered: numbered[1].start):
        if span.start > end + REACH:  # most share no token
            begun.clear()
        else:
            begun = [(place, other) for place, other in begun if other.end + REACH >= span.start]
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
