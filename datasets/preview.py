"""What preprocessing does to the beginning of a text, shown before anything is uploaded."""

from collections.abc import Sequence
from typing import NamedTuple

from .preprocessing import Counts, Prepared, Preprocessing


class Stats(NamedTuple):
    items: int
    tokens: int
    distinct_tokens: int

    @classmethod
    def of(cls, items: list[Prepared]) -> "Stats":
        tokens = [token for item in items for token in item.tokens]
        return cls(len(items), len(tokens), len(set(tokens)))


class PreviewRow(NamedTuple):
    number: int
    original: str
    cleaned: str
    tokens: list[str]
    dropped: str
    """Why the line becomes no item: "duplicate", "empty", or "" if it becomes one."""


class Preview(NamedTuple):
    """``before``: the lines as they came, cut at white space; ``after``: with the operations done."""

    before: Stats
    after: Stats
    rows: list[PreviewRow]


def preview_lines(lines: Sequence[tuple[int, str]], preprocessing: Preprocessing, rows: int) -> Preview:
    """What the operations do to all numbered lines in figures, and to the first ``rows`` lines in full."""
    items = list(preprocessing.prepare(lines, Counts()))
    tokens_of = {item.number: item.tokens for item in items}
    shown = []
    for number, original in lines[:rows]:
        cleaned, tokens = preprocessing.clean(original), tokens_of.get(number, [])
        dropped = "" if tokens else "duplicate" if cleaned.strip() else "empty"
        shown.append(PreviewRow(number, original, cleaned, tokens, dropped))
    return Preview(Stats.of(list(Preprocessing().prepare(lines, Counts()))), Stats.of(items), shown)
