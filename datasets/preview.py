"""What preprocessing does to the beginning of a text, shown before anything is uploaded."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .preprocessing import Counts, Prepared, Preprocessing


class Stats(NamedTuple):
    items: int
    tokens: int
    words: int
    """Distinct tokens."""


class PreviewRow(NamedTuple):
    original: str
    cleaned: str
    tokens: list[str]
    dropped: str
    """Why the line becomes no item: "duplicate", "empty", or "" if it becomes one."""


@dataclass(slots=True)
class Preview:
    """`before`: the lines as they came, cut at white space; `after`: with the operations done."""

    before: Stats
    after: Stats
    rows: list[PreviewRow] = field(default_factory=list)


def preview(text_lines: Sequence[str], preprocessing: Preprocessing, rows: int = 20) -> Preview:
    """What the operations do to all lines in figures, and to the first `rows` lines in full."""
    tokens_of: dict[int, list[str]] = {}

    def remembered(items: Iterable[Prepared]) -> Iterator[Prepared]:
        for item in items:
            if item.line < rows:
                tokens_of[item.line] = item.tokens
            yield item

    def row(number: int, original: str) -> PreviewRow:
        cleaned = preprocessing.clean(original)
        tokens = tokens_of.get(number, [])
        dropped = "" if tokens else "duplicate" if cleaned.strip() else "empty"
        return PreviewRow(original, cleaned, tokens, dropped)

    before = _stats(Preprocessing().prepare(text_lines, Counts()))
    after = _stats(remembered(preprocessing.prepare(text_lines, Counts())))
    return Preview(before, after, [row(number, original) for number, original in enumerate(text_lines[:rows])])


def _stats(items: Iterable[Prepared]) -> Stats:
    words: set[str] = set()
    item_count = token_count = 0
    for item in items:
        item_count += 1
        token_count += len(item.tokens)
        words.update(item.tokens)
    return Stats(item_count, token_count, len(words))
