"""Which words of a text, cut into tokens, those of the same text before its correction have become.

Words that are the same but for upper and lower case are found first; between these, words that share most of their letters: a
typing error put right, two words joined, one divided. All others are gone: nothing moves to words that it was never put on.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from .tokenising import Span

# After so many differences between words, or between letters, the way is taken that has come furthest: to compare all ways takes
# the square of their number. Letters are compared of so many together at most. 20,000 words of which none is left take 2 s.
DIFFERENT_WORDS, DIFFERENT_LETTERS = 100, 30
MOST_LETTERS = 1000
_BORDER = "\n"
_NOWHERE = -2, None


class Alignment(NamedTuple):
    """The tokens of before and of now; and for each of before the first and the last that it has become, None if it is gone."""

    old: Sequence[str]
    new: Sequence[str]
    places: Sequence[Span | None]

    @classmethod
    def of(cls, old: Sequence[str], new: Sequence[str]) -> "Alignment":
        before, after = [token.casefold() for token in old], [token.casefold() for token in new]
        places = list[Span | None]()
        j = 0
        for next_i, next_j in (*common(before, after, DIFFERENT_WORDS), (len(old), len(new))):
            corrected = _corrected(before[len(places) : next_i], after[j:next_j])
            places += [place and (j + place[0], j + place[1]) for place in corrected]
            places += [(next_j, next_j)] if next_i < len(old) else []
            j = next_j + 1
        return cls(old, new, places)

    def span(self, start: int, end: int) -> Span | None:
        """Where the words from one token to another, inclusive, are now: what is left of them; None if nothing is."""
        found = [place for place in self.places[start : end + 1] if place]
        return (found[0][0], found[-1][1]) if found else None

    def unchanged(self, start: int, end: int) -> Span | None:
        """Where these words are, if they are there as they were, and none has come between them."""
        place = self.span(start, end) if 0 <= start <= end < len(self.old) else None
        return place if place and self.new[place[0] : place[1] + 1] == self.old[start : end + 1] else None

    def was_there(self, start: int, end: int) -> bool:
        """Whether words of now were there before as they are."""
        return any(self.unchanged(at, at + end - start) == (start, end) for at in range(len(self.old)))


def _corrected(old: list[str], new: list[str]) -> list[Span | None]:
    """What some tokens without a common one have become: others with which they share half of the letters of the shorter one, if
    more than half of the letters of each are found somewhere."""
    found: list[Span | None] = [None] * len(old)
    one, other = _BORDER.join(old), _BORDER.join(new)
    if not old or not new or len(one) + len(other) > MOST_LETTERS:
        return found
    token_of = [[at for at, token in enumerate(tokens) for _ in f"{token}\n"] for tokens in (old, new)]
    letters = [(i, j) for i, j in common(one, other, DIFFERENT_LETTERS) if one[i] != _BORDER]
    shared = Counter((token_of[0][i], token_of[1][j]) for i, j in letters)
    kept, taken = Counter(token_of[0][i] for i, _ in letters), Counter(token_of[1][j] for _, j in letters)
    for (i, j), count in shared.items():
        lengths = len(old[i]), len(new[j])
        if 2 * count >= min(lengths) and 2 * kept[i] > lengths[0] and 2 * taken[j] > lengths[1]:
            found[i] = (found[i] or (j, j))[0], j
    return found


def common(old: Sequence[str], new: Sequence[str], most: int) -> list[Span]:
    """The places of a long common part of two sequences, in order: the algorithm of Myers, with a bound."""
    n, m = len(old), len(new)
    while n and m and old[n - 1] == new[m - 1]:
        n, m = n - 1, m - 1
    end = [(n + at, m + at) for at in range(len(old) - n)]
    old, new = old[:n], new[:m]
    found, x, y = list[Span](), 0, 0
    while x < n and y < m:
        x, y, runs = _furthest(old, new, x, y, most)
        steps = list[Span]()
        while runs:
            runs, start, until, k = runs
            steps += [(at, at - k) for at in range(until - 1, start - 1, -1)]
        found += reversed(steps)
    return found + end


def _furthest(old: Sequence[str], new: Sequence[str], x: int, y: int, most: int) -> tuple[int, int, Any]:
    """How far one comes from a place, and the common runs on the way: from where to where, and on which diagonal, behind those
    before."""
    first = x - y
    reached: dict[int, tuple[int, Any]] = {first + 1: (x, None)}  # of each diagonal
    for differences in range(most + 1):
        for k in range(first - differences, first + differences + 1, 2):
            (down, runs), (right, others) = reached.get(k + 1, _NOWHERE), reached.get(k - 1, _NOWHERE)
            start, runs = (down, runs) if down > right else (right + 1, others)
            if not 0 <= start <= len(old) or start - k > len(new):
                continue
            at = start
            while at < len(old) and at - k < len(new) and old[at] == new[at - k]:
                at += 1
            reached[k] = at, (runs, start, at, k) if at > start else runs
            if at == len(old) and at - k == len(new):
                return at, at - k, reached[k][1]
    k, (at, runs) = max(reached.items(), key=lambda item: 2 * item[1][0] - item[0])
    return at, at - k, runs
