"""Rules that existing marks obey, to be proposed: what stands inside which type, and what a relation connects.

Nothing here reads the database: `work.evidence` counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .rules import Lineage

ENOUGH = 10  # so many marks make a rule likely
RARE = 0.02  # what is rarer than this is likely to be a mistake


@dataclass(slots=True)
class Observed:
    """What marks are like, in figures. All labels are those of the set that is to learn, by their keys."""

    lines: Mapping[int, Lineage] = field(default_factory=dict)
    """Of the labels that have marks and of those above them."""
    long: Counter[int] = field(default_factory=Counter)
    """Entities of two or more tokens, by label: only these can have others inside."""
    nested: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Pairs of entities, one strictly inside the other, by the labels of the outer and the inner one."""
    related: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """Relations, by the labels of their source, their own and that of their target."""


class MetLabel(NamedTuple):
    """A type that was met inside the domain, or as a target, and how often."""

    label: int
    times: int
    is_usual: bool


class Proposal(NamedTuple):
    """A rule that marks obey but for what is rare. ``relation`` is None for rules of what a type can contain.

    ``met`` is how many marks it is learned from. It is less likely to be meant if these are few, or few of the relation's.
    """

    relation: int | None
    domain: int
    listed: tuple[MetLabel, ...]
    met: int
    is_likely: bool

    @property
    def key(self) -> tuple[int, ...]:
        """Of the rule: see `rules.Rule`."""
        return (self.domain,) if self.relation is None else (self.relation, self.domain)

    @property
    def usual(self) -> frozenset[int]:
        return frozenset(each.label for each in self.listed if each.is_usual)


def can_contain(observed: Observed, depth: int) -> list[Proposal]:
    """What each type contains. Types further down than ``depth`` count as the type above them."""
    long = Counter[int]()
    for label, count in observed.long.items():
        for domain in _upper(observed.lines[label], depth):
            long[domain] += count
    return list(_distinct(None, observed.nested, long, observed.lines, depth))


def relating(observed: Observed, depth: int) -> list[Proposal]:
    """Which types each relation connects. A relation further down is proposed apart if it connects others than the one above."""
    pairs: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    for (source, relation, target), count in observed.related.items():
        for each in _upper(observed.lines[relation], depth):
            pairs[each][source, target] += count
    proposals: dict[int, list[Proposal]] = {}
    for relation in sorted(pairs, key=lambda label: len(observed.lines[label])):
        met = Counter[int]()
        for (source, _), count in pairs[relation].items():
            for domain in _upper(observed.lines[source], depth):
                met[domain] += count
        own = list(_distinct(relation, pairs[relation], met, observed.lines, depth))
        total = pairs[relation].total()
        above = next((proposals[label] for label in observed.lines[relation][1:] if label in proposals), None)
        if above is None or (total >= ENOUGH and _content(own) != _content(above)):
            proposals[relation] = [each._replace(is_likely=each.is_likely and each.met >= RARE * total) for each in own]
    return [proposal for its in proposals.values() for proposal in its]


def _content(proposals: Iterable[Proposal]) -> set[tuple[int, frozenset[int]]]:
    return {(each.domain, each.usual) for each in proposals}


def _distinct(
    relation: int | None,
    pairs: Mapping[tuple[int, int], int],
    met: Mapping[int, int],
    lines: Mapping[int, Lineage],
    depth: int,
) -> Iterator[Proposal]:
    """A proposal for each domain that has been met, those left out that say what the nearest one above says already."""
    contents: dict[int, Counter[int]] = defaultdict(Counter)
    for (one, other), count in pairs.items():
        for domain in _upper(lines[one], depth):
            contents[domain][_upper(lines[other], depth)[0]] += count
    proposed: dict[int, Proposal] = {}
    for domain in sorted(met, key=lambda label: len(lines[label])):
        listed = _listed(contents[domain], lines)
        proposal = Proposal(relation, domain, listed, met[domain], met[domain] >= ENOUGH)
        above = next((proposed[label] for label in lines[domain][1:] if label in proposed), None)
        if above is None or (proposal.is_likely and proposal.usual != above.usual):
            proposed[domain] = proposal
    yield from proposed.values()


def _listed(counts: Counter[int], lines: Mapping[int, Lineage]) -> tuple[MetLabel, ...]:
    """The most frequent first; a type counts as one above it that is listed, too."""
    merged = Counter[int]()
    for label, count in counts.items():
        merged[next(above for above in reversed(lines[label]) if above in counts)] += count
    total = counts.total()
    ordered = sorted(merged.items(), key=lambda each: (-each[1], each[0]))
    return tuple(MetLabel(label, count, count >= RARE * total) for label, count in ordered)


def _upper(line: Lineage, depth: int) -> Lineage:
    """The part of a lineage that lies at the given depth or above."""
    return line[max(0, len(line) - depth) :]
