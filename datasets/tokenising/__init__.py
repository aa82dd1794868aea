"""The registry of tokenisers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import punkt
from .punkt import Span


def _by_whitespace(lines: Sequence[str]) -> list[list[str]]:
    return [line.split() for line in lines]


class Tokeniser(NamedTuple):
    """``cut`` takes lines and returns the tokens of each: in order, not empty, all that is not white space. It knows nothing but
    the line: a line gives the same tokens alone and among others."""

    label: str
    trade_off: str
    in_words: str
    cut: Callable[[Sequence[str]], list[list[str]]]
    is_recommended: bool = False


TOKENISERS = {
    "punkt": Tokeniser(
        "Punkt",
        "Uses punctuation and abbreviations as cues: punctuation marks become tokens of their own. Right for most datasets.",
        "Punkt tokens",
        punkt.tokenise,
        is_recommended=True,
    ),
    "whitespace": Tokeniser(
        "White space",
        "Cuts at spaces and tabs only. Punctuation stays attached to the word beside it.",
        "whitespace tokens",
        _by_whitespace,
    ),
}


def offsets_of(tokens: Sequence[str], text: str) -> list[Span] | None:
    """The places of the tokens in the text, searched from left to right; None if one does not occur there."""
    if " ".join(tokens) == text and "  " not in text:  # one space between them, as is usual: nothing to search
        end = -1
        return [(start := end + 1, end := start + len(token)) for token in tokens]
    index, end = text.index, 0
    try:
        return [(start := index(token, end), end := start + len(token)) for token in tokens]
    except ValueError:
        return None
