"""The ways to cut lines of text into tokens, under the names by which datasets know them."""

import re
from collections.abc import Callable, Sequence

from datasets import punkt

Span = tuple[int, int]
"""Start and end of a token in its line: half-open, in code points."""


def whitespace(lines: Sequence[str]) -> list[list[Span]]:
    """The spans of the words that `str.split()` gives for every line."""
    return [_split(line) for line in lines]


def _split(line: str) -> list[Span]:
    end = -1
    spans = [(start := end + 1, end := start + len(word)) for word in line.split()]
    if end == len(line):  # so there was exactly one character between words, as is usual
        return spans
    return [match.span() for match in re.finditer(r"\S+", line)]


TOKENISERS: dict[str, Callable[[Sequence[str]], list[list[Span]]]] = {
    "whitespace": whitespace,
    "punkt": punkt.tokenise,
}
"""Every tokeniser takes lines and returns the spans of each: ascending, not empty, not overlapping, covering all that
is not white space. It knows nothing but the line: a line gives the same spans alone and among others."""
