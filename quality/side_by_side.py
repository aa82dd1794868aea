"""An item with the marks of several people, one above the other over the same words, ready for ``quality/_columns.html``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from datasets.cleaned import CleanedText
from ontologies.labels import Label

from .comparison import EntityMark

# So many words are drawn at a time.
MOST = 400


@dataclass(slots=True)
class ShownMark:
    mark: EntityMark
    label: Label
    group: int
    """The place of its group among those of the item."""
    look: str = ""
    """Class names, such as “open now”."""
    note: str = ""
    """What stands in the place of the label’s name."""


class MarkStrip(NamedTuple):
    """The part of a mark in a column, or the room that it leaves there."""

    shown: ShownMark | None = None
    begins: bool = False
    room: int = 0
    """How many characters the words of the mark have, if it begins here and goes on."""


@dataclass(slots=True)
class TextRow:
    """What one person marked, or the gold."""

    letter: str
    name: str
    marks: Sequence[ShownMark] = ()
    facts: str = ""
    is_gold: bool = False
    lanes: int = 1
    """How many marks lie above each other at most."""


class TextCell(NamedTuple):
    row: TextRow
    strips: list[MarkStrip]

    @property
    def color(self) -> str:
        """That of the innermost mark."""
        return next((strip.shown.label.color for strip in self.strips if strip.shown), "")


@dataclass(slots=True)
class TextColumn:
    """Some words, with the strips of each row below them."""

    words: str
    gap: bool
    cells: list[TextCell] = field(default_factory=list)


def columns(text: CleanedText, rows: Sequence[TextRow], first: int, last: int) -> list[TextColumn]:
    """The tokens from ``first`` to before ``last``, cut wherever a mark of any row begins or ends; words that nobody marked are
    columns of their own."""
    covered = [shown.mark for row in rows for shown in row.marks]
    borders = {border for mark in covered for border in (mark.start, mark.end + 1)}
    inside = {token for mark in covered for token in range(max(mark.start, first), min(mark.end + 1, last))}
    starts = [token for token in range(first, last) if token == first or token in borders or token not in inside]
    starts += [] if not starts else [last]
    lanes = {id(row): _lanes(row) for row in rows}
    found = []
    for start, end in pairwise(starts):
        column = TextColumn(text.between(start, end - 1), bool(start and text.gaps[start]))
        for row in rows:
            strips = [_strip(text, lane.get(start), start, end, first) for lane in lanes[id(row)]]
            column.cells.append(TextCell(row, strips))
        found.append(column)
    return found


def _lanes(row: TextRow) -> list[dict[int, ShownMark]]:
    """The marks of a row in lanes, in each of which they lie side by side, by their tokens; the shorter ones above."""
    lanes: list[dict[int, ShownMark]] = []
    for shown in sorted(row.marks, key=lambda each: (each.mark.end - each.mark.start, each.mark)):
        tokens = range(shown.mark.start, shown.mark.end + 1)
        lane = next((lane for lane in lanes if not any(token in lane for token in tokens)), None)
        if lane is None:
            lanes.append(lane := {})
        lane.update(dict.fromkeys(tokens, shown))
    row.lanes = max(1, len(lanes))
    return lanes or [{}]


def _strip(text: CleanedText, shown: ShownMark | None, start: int, end: int, first: int) -> MarkStrip:
    if shown is None:
        return MarkStrip()
    begins = max(shown.mark.start, first) == start
    goes_on = shown.mark.end >= end
    return MarkStrip(shown, begins, len(text.between(start, shown.mark.end)) if begins and goes_on else 0)
