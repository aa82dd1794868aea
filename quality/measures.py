"""How far people agree, from counts that can be added up, and how sure that is. Numbers alone: nothing here asks a database.

Every measure is a function of a few counts that are kept for each item. Those of many items are the sums of theirs, and so
intervals come from the same counts, without reading marks again::

    rows = [Matches(both=3, one=4, other=5), Matches(both=1, one=1, other=2)]  # one for each item
    Matches(*map(sum, zip(*rows))).f1, interval(rows, f1)

A measure is None where it is not defined, never 0 or 1 by convention: who marked nothing has no precision.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations, takewhile
from math import fsum, sqrt
from operator import eq, sub
from statistics import NormalDist
from typing import Any, NamedTuple, Self

LabelSet = frozenset[int]
"""What one person has put on a token: the keys of labels, empty for none."""

# --- Marks that two people share -------------------------------------------------------------------------------------------


class Matches(NamedTuple):
    """Marks that are on both sides, and all of either side. The first person is the reference of the other.

    Fractions are for partial credit: a mark that matches by half adds 0.5 to ``both``.
    """

    both: float = 0
    one: float = 0
    other: float = 0

    @property
    def precision(self) -> float | None:
        """0 to 1; None if the other person has marked nothing."""
        return self.both / self.other if self.other else None

    @property
    def recall(self) -> float | None:
        """0 to 1; None if the reference has no marks."""
        return self.both / self.one if self.one else None

    @property
    def f1(self) -> float | None:
        """0 to 1, the same from either side; None if nobody has marked anything."""
        return f1(*self)


def f1(both: float, one: float, other: float) -> float | None:
    """The harmonic mean of precision and recall (van Rijsbergen 1979); see `Matches`.

    Also defined, as 0, where one side is empty and the mean is not.
    """
    return 2 * both / (one + other) if one + other else None


def tree_credit(one_path: Sequence[Any], other_path: Sequence[Any]) -> float:
    """How near two labels are in their tree, 0 to 1: ``2 * depth(c) / (depth(one) + depth(other))``, where ``c`` is their lowest
    common ancestor (Wu & Palmer 1994, Verb semantics and lexical selection, ACL, pages 133-138).

    Paths hold the keys of labels from the top level, whose depth is 1, to the label itself. The hidden root has depth 0, so that
    labels of other branches share nothing. A parent for its child counts partly, and the more, the deeper both are.
    """
    shared = sum(1 for _ in takewhile(bool, map(eq, one_path, other_path)))
    return 2 * shared / (len(one_path) + len(other_path)) if shared else 0.0


# --- Agreement beyond chance -----------------------------------------------------------------------------------------------


def kappa(both: float, only_one: float, only_other: float, neither: float) -> float | None:
    """Cohen's kappa of two people who say yes or no to each token, -1 to 1, from how many tokens got which answers.

    ``(p_o - p_e) / (1 - p_e)`` with numerator and denominator multiplied by the square of the number of tokens, which leaves
    whole numbers whole. None if the expected agreement ``p_e`` is 1: both always say the same, or there are no tokens.
    Cohen 1960, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20(1), pages 37-46.
    """
    apart = (both + only_one) * (only_one + neither) + (both + only_other) * (only_other + neither)
    return 2 * (both * neither - only_one * only_other) / apart if apart else None


def masi(one: LabelSet, other: LabelSet) -> float:
    """The distance of two sets of labels, 0 for the same to 1 for those that share none: ``1 - J * M``.

    J is the shared part of all their labels (Jaccard), and M is 2/3 if one set holds the other, 1/3 if they cross.
    No label is a value like any other: its distance is 0 to itself, and 1 to every set that has one.
    Passonneau 2006, Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation, LREC, pages 831-836.
    """
    if one == other:
        return 0.0
    if not (shared := len(one & other)):
        return 1.0
    holds = 2 / 3 if shared == min(len(one), len(other)) else 1 / 3
    return 1 - holds * shared / len(one | other)


@dataclass(slots=True)
class SetCounts:
    """What Krippendorff's alpha needs of the sets of labels that any number of people have put on tokens.

    Krippendorff 2011, Computing Krippendorff's alpha-reliability, with the distance `masi` of two sets.
    A token says something only if two people or more have read it; others are left out.
    """

    observed: float = 0.0
    """Of each token, the distances of all ordered pairs of its sets, divided by the number of its people less one."""
    occurrences: Counter[LabelSet] = field(default_factory=Counter)
    """How many times a person has put just these labels on a token."""

    @classmethod
    def of(cls, tokens: Iterable[Sequence[LabelSet]], bare: int = 0, people: int = 0) -> Self:
        """Of the sets at each token, one for each person who has read it; and of as many ``bare`` tokens, to which each of so
        many ``people`` has put no label. Those, most of a text, cost nothing."""
        counts = cls()
        for sets, times in Counter(map(tuple, tokens)).items():
            if len(sets) > 1:
                counts.observed += (
                    times * 2 * sum(map(masi, *zip(*combinations(sets, 2), strict=True))) / (len(sets) - 1)
                )
                for labels in sets:
                    counts.occurrences[labels] += times
        if bare and people > 1:
            counts.occurrences[LabelSet()] += bare * people
        return counts

    @classmethod
    def total(cls, parts: Iterable["SetCounts"]) -> Self:
        """Of many items together."""
        counts = cls()
        for part in parts:
            counts.observed += part.observed
            counts.occurrences.update(part.occurrences)
        return counts

    def as_json(self) -> dict[str, Any]:
        """``{"observed": 1.5, "sets": [[[], 40], [[3, 8], 2]]}``; the same for equal counts."""
        sets = sorted([sorted(labels), times] for labels, times in self.occurrences.items())
        return {"observed": self.observed, "sets": sets}

    @classmethod
    def of_json(cls, document: dict[str, Any]) -> Self:
        return cls(document["observed"], Counter({LabelSet(labels): times for labels, times in document["sets"]}))

    def distances(self) -> dict[LabelSet, float]:
        """From each set to all occurrences together, itself included.

        Sets that share no label are 1 apart, so that only those with a label in common are compared.
        """
        values = self.occurrences.total()
        having: dict[int, list[LabelSet]] = defaultdict(list)
        for labels in self.occurrences:
            for label in labels:
                having[label].append(labels)
        found = {}
        for labels in self.occurrences:
            near = {labels}.union(*(having[label] for label in labels))
            found[labels] = values - sum(self.occurrences[other] * (1 - masi(labels, other)) for other in near)
        return found

    def alpha(self) -> float | None:
        """``1 - D_o / D_e``: 1 where all agree, 0 as by chance, and less where people disagree more than that. None if no token
        has two people, or all sets are the same, so that no disagreement is expected."""
        apart = sum(self.occurrences[labels] * distance for labels, distance in self.distances().items())
        return 1 - self.observed * (self.occurrences.total() - 1) / apart if apart else None


def alpha_rows(
    items: Sequence[SetCounts],
) -> tuple[list[tuple[float, float, float]], Callable[[float, float, float], float | None]]:
    """What `interval` takes for alpha: ``interval(*alpha_rows(items))``.

    The expected disagreement is not linear in the items, and its terms are as many as the sets. It is taken as linear around
    that of all items, which is exact for all and differs for a resample by about one part in the number of items. A row holds
    the observed disagreement of an item, its sets, and their distance to those of all items.
    """
    whole = SetCounts.total(items)
    others = max(whole.occurrences.total() - 1, 1)
    far = {labels: distance / others for labels, distance in whole.distances().items()}
    apart = sum(whole.occurrences[labels] * distance for labels, distance in far.items())
    expected = apart / max(whole.occurrences.total(), 1)

    def statistic(observed: float, values: float, apart: float) -> float | None:
        about = 2 * apart - values * expected
        return 1 - observed / about if about > 0 else None

    def row(item: SetCounts) -> tuple[float, float, float]:
        apart = sum(far[labels] * times for labels, times in item.occurrences.items())
        return item.observed, item.occurrences.total(), apart

    return [row(item) for item in items], statistic


# --- Intervals -------------------------------------------------------------------------------------------------------------

GROUPS = 200
FEWEST_ROWS = 5


def interval(
    rows: Iterable[Sequence[float]],
    statistic: Callable[..., float | None],
    level: float = 0.95,
    least: float = 0,
) -> tuple[float, float] | None:
    """Where a measure, from ``least`` to 1, would lie for all texts of which these items are a sample, at this level of
    confidence.

    ``rows`` has for each item as many counts as ``statistic`` has arguments, which gets their sums. Rows of nothing but 0 count
    as none. Items are what is drawn, since marks of one text are alike: the measure is computed anew without each of them, and
    from how far that moves it follows how far another sample would (the jackknife: Tukey 1958, Bias and confidence in not
    quite large samples; Efron & Tibshirani 1993, An introduction to the bootstrap, chapter 11), with Student's t for few rows.
    Whoever has many items adds them up by `group_of` first: so many groups say as much.

    None with fewer than `FEWEST_ROWS` rows, or if the statistic is undefined for all, or without one of them. Where all items
    agree fully it is (1, 1), which says only that no disagreement was seen.
    """
    rows = [row for row in rows if any(row)]
    if (count := len(rows)) < FEWEST_ROWS:
        return None
    sums = [sum(column) for column in zip(*rows, strict=True)]
    whole, without = statistic(*sums), [statistic(*map(sub, sums, row)) for row in rows]
    known = [value for value in without if value is not None]
    if whole is None or len(known) < count:
        return None
    mean = fsum(known) / count
    error = sqrt(fsum((value - mean) ** 2 for value in known) * (count - 1) / count)
    half = _student(level, count - 1) * error
    return max(whole - half, min(least, whole)), min(whole + half, max(1, whole))


@lru_cache(maxsize=2**15)
def group_of(key: int) -> int:
    """In which of `GROUPS` groups an item is, by its key: as if by lot, whatever the order, and always the same."""
    return int.from_bytes(blake2b(b"%d" % key, digest_size=8).digest(), "big") % GROUPS


def _student(level: float, freedom: int) -> float:
    """The quantile of Student's t that leaves half of what is outside of the level on either side, to 0.5 % at 95 %.

    Abramowitz & Stegun 1964, Handbook of mathematical functions, 26.7.5.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
