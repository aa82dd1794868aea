"""The cleaned text of an item: what people read, search and count. All who show an item's text take it from here."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from .tokenising import Span

# A token that does not occur within so many characters is taken for one that is not in the text.
NEAR = 1000
KEPT_WORDS = 200  # characters
_white_space = re.compile(r"\s").search


class CleanedText(NamedTuple):
    """The tokens with the spacing of the original: a space where the original has white space between two of them, and also
    where one of the two is not in the original."""

    tokens: Sequence[str]
    gaps: list[str]
    """What stands before each token: a space, or nothing."""

    @classmethod
    def of(cls, original: str, tokens: Sequence[str], offsets: Sequence[Sequence[int]] | None) -> "CleanedText":
        places = list(_search(original, tokens)) if offsets is None else offsets
        gaps = [
            " " if before is None or after is None or _white_space(original, before[1], after[0]) else ""
            for before, after in pairwise(places)
        ]
        return cls(tokens, ["", *gaps] if tokens else [])

    @classmethod
    def unfolded(cls, tokens: Sequence[str], folded: str, until: int) -> "CleanedText":
        """Up to a place in the whole text, which is known without upper case. A table of items is there in 11 instead of 12 ms,
        and of long ones in 60 instead of 900 ms, because their originals and offsets are not read."""
        gaps: list[str] = []
        at = 0
        for token in tokens:
            if at > until:
                break
            piece = token.casefold()
            gaps.append("" if folded.startswith(piece, at) else " ")
            at += len(gaps[-1]) + len(piece)
        return cls(tokens[: len(gaps)], gaps)

    def __str__(self) -> str:
        return "".join([gap + token for gap, token in zip(self.gaps, self.tokens, strict=True)])

    def between(self, start: int, end: int) -> str:
        """From one token to another, inclusive."""
        return str(CleanedText(self.tokens[start : end + 1], ["", *self.gaps[start + 1 : end + 1]]))


def key_of(tokens: Sequence[str]) -> int:
    """The same for the same words, in upper or lower case: 64 bits, by which marks of them are found."""
    words = " ".join(tokens)
    # Long ones seldom come twice, and so many would fill the memory.
    return _key_of(words) if len(words) <= KEPT_WORDS else _key_of.__wrapped__(words)


@lru_cache(maxsize=10_000)  # the same come again and again: 0.1 instead of 1 µs
def _key_of(words: str) -> int:
    digest = blake2b(words.casefold().encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _search(original: str, tokens: Sequence[str]) -> Iterator[Span | None]:
    """The places of the tokens that occur in the text, from left to right. Never far ahead: that would take the square of the
    length of a text that has none of them."""
    end = 0
    for token in tokens:
        start = original.find(token, end, end + len(token) + NEAR)
        if start < 0:
            yield None
        else:
            yield start, (end := start + len(token))
