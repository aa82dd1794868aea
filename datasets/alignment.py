"""Which words of a text, cut into tokens, those of the same text before its correction have become.

Words that are the same but for upper and lower case are found first; between these, words that share most of their letters: a
typing error put right, two words joined, one divided. All others are gone: nothing moves to words that it was never put on.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from .tokenising import Span

# After so many differences between words, or between letters, the way is taken that has come furthest: to compare all ways takes
# the square of their number. Letters are compared of so many together at most. 20,000 words of which none is left take 2 s.
DIFFERENT_WORDS, DIFFERENT_LETTERS = 100, 30
MOST_LETTERS = 1000
_BORDER = "\n"


class Alignment(NamedTuple):
    """For each token of before the first and the last that it has become, None if it is gone; and whether it is the same."""

    places: Sequence[Span | None]
    same: Sequence[bool]

    @classmethod
    def of(cls, old: Sequence[str], new: Sequence[str]) -> "Alignment":
        if old == new:
            return cls([(at, at) for at in range(len(old))], [True] * len(old))
        places: list[Span | None] = [None] * len(old)
        same = [False] * len(old)
        before, after = [token.casefold() for token in old], [token.casefold() for token in new]
        i = j = 0
        for next_i, next_j in (*common(before, after, DIFFERENT_WORDS), (len(old), len(new))):
            if i < next_i and j < next_j:
                for at, (first, last) in _corrected(before[i:next_i], after[j:next_j]):
                    places[i + at] = j + first, j + last
            if next_i < len(old):
                places[next_i], same[next_i] = (next_j, next_j), old[next_i] == new[next_j]
            i, j = next_i + 1, next_j + 1
        return cls(places, same)

    def span(self, start: int, end: int) -> Span | None:
        """Where the words from one token to another, inclusive, are now: what is left of them; None if nothing is."""
        found = [place for place in self.places[start : end + 1] if place]
        return (found[0][0], found[-1][1]) if found else None

    def is_same(self, start: int, end: int) -> bool:
        """Whether these words are there as they were, and none has come between them."""
        place = self.span(start, end)
        return place is not None and place[1] - place[0] == end - start and all(self.same[start : end + 1])

    def unchanged(self, start: int, end: int) -> Span | None:
        """Where these words are, if they are there as they were."""
        return self.span(start, end) if 0 <= start <= end < len(self.same) and self.is_same(start, end) else None

    def was_there(self, start: int, end: int) -> bool:
        """Whether words of now were there before as they are."""
        return any(self.unchanged(at, at + end - start) == (start, end) for at in range(len(self.same)))

    def then(self, other: "Alignment") -> "Alignment":
        """From the text before this one to that after another correction."""
        places = [place and other.span(*place) for place in self.places]
        same = [
            bool(each and place and other.same[place[0]]) for each, place in zip(self.same, self.places, strict=True)
        ]
        return Alignment(places, same)

    def back(self, count: int) -> "Alignment":
        """From the other text, of so many tokens, to this one: each word that is there goes where it came from."""
        places, same = list[Span | None]([None] * count), [False] * count
        for at, place in enumerate(self.places):
            for other in range(place[0], place[1] + 1) if place else ():
                places[other] = (places[other] or (at, at))[0], at
                same[other] = self.same[at]
        return Alignment(places, same)


def _corrected(old: list[str], new: list[str]) -> Iterator[tuple[int, Span]]:
    """Of tokens without a common one, those that have become others, with the first and the last of these."""
    one, other = _BORDER.join(old), _BORDER.join(new)
    if len(one) + len(other) > MOST_LETTERS:
        return
    token_of = [[at for at, token in enumerate(tokens) for _ in f"{token}\n"] for tokens in (old, new)]
    found = common(one, other, DIFFERENT_LETTERS)
    letters = ((token_of[0][i], token_of[1][j]) for i, j in found if one[i] != _BORDER)
    group: list[tuple[int, int, int]] = []
    for (i, j), pairs in groupby(letters):
        shared = len(list(pairs))
        if 2 * shared < min(len(old[i]), len(new[j])):
            continue
        if group and i > group[-1][0] and j > group[-1][1]:
            yield from _alike(group, old, new)
            group = []
        group.append((i, j, shared))
    yield from _alike(group, old, new)


def _alike(group: list[tuple[int, int, int]], old: list[str], new: list[str]) -> Iterator[tuple[int, Span]]:
    """The tokens of a group, if it shares more than half of its letters with what it has become."""
    length = sum(len(old[i]) for i in {i for i, _, _ in group}) + sum(len(new[j]) for j in {j for _, j, _ in group})
    if 4 * sum(shared for _, _, shared in group) > length:
        for i, of_token in groupby(group, lambda link: link[0]):
            found = [j for _, j, _ in of_token]
            yield i, (found[0], found[-1])


def common(old: Sequence[str], new: Sequence[str], most: int) -> list[tuple[int, int]]:
    """The places of a long common part of two sequences, in order: the algorithm of Myers, with a bound."""
    start, end = 0, min(len(old), len(new))
    while start < end and old[start] == new[start]:
        start += 1
    behind = 0
    while behind < end - start and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    found = [(at, at) for at in range(start)]
    i = j = start
    until, to = len(old) - behind, len(new) - behind
    while i < until and j < to:
        steps = _way(old, new, (i, j), (until, to), most)
        found += steps[:-1]
        i, j = steps[-1]
    return found + [(until + at, to + at) for at in range(behind)]


def _way(old: Sequence[str], new: Sequence[str], start: Span, end: Span, most: int) -> list[Span]:
    """What is common from two places on, up to the places at the end of the list."""
    (i, j), n, m = start, end[0] - start[0], end[1] - start[1]
    reached, trace = {1: 0}, list[dict[int, int]]()  # of each diagonal
    last: Span | None = None
    while last is None and len(trace) <= most:
        d = len(trace)
        trace.append(dict(reached))
        for k in range(-d + 2 * max(0, d - m), d - 2 * max(0, d - n) + 1, 2):
            x = max(reached.get(k + 1, -1), reached.get(k - 1, -2) + 1)
            while x < n and x - k < m and old[i + x] == new[j + x - k]:
                x += 1
            reached[k] = x
            if x == n and x - k == m:
                last = n, m
                break
    x, y = last = last or max(((x, x - k) for k, x in reached.items() if x <= n and x - k <= m), key=sum)
    pairs = []
    for d in range(len(trace) - 1, -1, -1):
        k, before = x - y, trace[d]
        down, right = before.get(k + 1, -1), before.get(k - 1, -2) + 1
        from_x = max(down, right) if d else 0
        while x > from_x:
            x, y = x - 1, y - 1
            pairs.append((i + x, j + y))
        x, y = (from_x, from_x - k - 1) if down >= right else (from_x - 1, from_x - k)
    return [*reversed(pairs), (i + last[0], j + last[1])]
