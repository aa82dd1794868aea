"""What constraints allow: which entities may share words or stand inside each other, and what a relation may connect.

Nothing here reads the database. A label is given as its *lineage*: its own key, its parent's, and so on to the top. So a rule
holds for everything below the types that it names.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Protocol

from annotation_service import words

Lineage = Sequence[int]


class Lie(StrEnum):
    """How an entity lies to another one that shares words with it."""

    EQUAL = "equal"
    AROUND = "around"
    INSIDE = "inside"
    CROSSING = "crossing"

    @classmethod
    def of(cls, one: "Placed", other: "Placed") -> "Lie | None":
        """None if the two share no token."""
        if one.start > other.end or other.start > one.end:
            return None
        holds, is_held = (a.start <= b.start and b.end <= a.end for a, b in ((one, other), (other, one)))
        if holds and is_held:
            return cls.EQUAL
        return cls.AROUND if holds else cls.INSIDE if is_held else cls.CROSSING


class Placed(Protocol):
    """What marks the tokens ``start`` to ``end``, inclusive."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class SetName(NamedTuple):
    """Which constraint set a row belongs to."""

    pk: int
    name: str


class EntityRule(NamedTuple):
    """A row of entity constraints; positions count from 0. ``can_contain`` is None if the row sets no limit."""

    set: SetName
    position: int
    domain: int
    excludes: Sequence[int]
    can_contain: Sequence[int] | None

    def named(self) -> list[int]:
        """All labels that it names."""
        return [self.domain, *self.excludes, *(self.can_contain or ())]

    def of_labels(self, labels: Mapping[int, int]) -> "EntityRule":
        """The same rule about other labels, by the keys of these."""
        excludes = [labels[label] for label in self.excludes]
        contents = None if self.can_contain is None else [labels[label] for label in self.can_contain]
        return self._replace(domain=labels[self.domain], excludes=excludes, can_contain=contents)


class RelationRule(NamedTuple):
    """A row of relation constraints; positions count from 0."""

    set: SetName
    position: int
    relation: int
    domain: int
    range: Sequence[int]

    def named(self) -> list[int]:
        """All labels that it names."""
        return [self.relation, self.domain, *self.range]

    def of_labels(self, labels: Mapping[int, int]) -> "RelationRule":
        """The same rule about other labels, by the keys of these."""
        ends = [labels[label] for label in self.range]
        return self._replace(relation=labels[self.relation], domain=labels[self.domain], range=ends)


class Span(NamedTuple):
    """An entity: its tokens ``start`` to ``end``, inclusive, and the lineage of its label."""

    start: int
    end: int
    label: Lineage


class RuleName(NamedTuple):
    """What is broken: a row of a set or, where a relation has rules but none for the source, the relation."""

    kind: str
    set: int
    position: int | None
    relation: int | None

    def __str__(self) -> str:
        return "-".join("" if part is None else str(part) for part in self)

    @classmethod
    def of(cls, text: str) -> "RuleName":
        kind, *numbers = text.split("-")
        set_pk, position, relation = (int(number) if number else None for number in numbers)
        return cls(kind, set_pk or 0, position, relation)


class Violation(NamedTuple):
    """Why marks cannot stand together.

    ``kind`` is “excludes”, “can_contain” or “relation”. ``row`` is the one that decides: None where a relation has rules, but
    none for this source. ``labels`` are the lineages of the two labels or, of a relation, of source, relation and target.
    """

    kind: str
    set: SetName
    row: EntityRule | RelationRule | None
    labels: tuple[Lineage, ...]

    @property
    def position(self) -> int | None:
        """Of the row that decides."""
        return self.row.position if self.row else None

    @property
    def rule(self) -> RuleName:
        return RuleName(self.kind, self.set.pk, self.position, None if self.row else self.labels[1][0])

    def rule_in_words(self, name_of: Callable[[int], str]) -> str:
        """The rule that is broken, whichever marks do it."""
        if self.row is None:
            return f"{_quoted(self.labels[1][:1], name_of)} has rules, but none for the source."
        domain = _quoted([self.row.domain], name_of)
        if isinstance(self.row, RelationRule):
            ends = f"only to {_quoted(self.row.range, name_of)}" if self.row.range else "nowhere"
            return f"{_quoted([self.row.relation], name_of)} leads from {domain} {ends}."
        if self.kind == "can_contain":
            contents = f"only {_quoted(self.row.can_contain, name_of)}" if self.row.can_contain else "nothing"
            return f"{domain} can contain {contents}."
        return f"{domain} excludes {_quoted(self.row.excludes, name_of)}."

    def in_words(self, name_of: Callable[[int], str]) -> str:
        """A sentence that names the labels and the rule; ``name_of`` gives the name of a label by its key."""

        def quoted(labels: Iterable[int]) -> str:
            return _quoted(labels, name_of)

        first, second, last = (quoted(self.labels[index][:1]) for index in (0, 1, -1))
        if self.row is None:
            return f"{second} cannot lead from {first}: “{self.set.name}” has rules for it, but none for this source."
        rule = f"rule {words.number(self.row.position + 1)} of “{self.set.name}”"
        domain = f"every {quoted([self.row.domain])}"
        if isinstance(self.row, RelationRule):
            ends = f"only to {quoted(self.row.range)}" if self.row.range else "nowhere"
            return f"{second} cannot lead from {first} to {last}: by {rule} it leads from {domain} {ends}."
        if self.kind == "can_contain":
            contents = f"only {quoted(self.row.can_contain)}" if self.row.can_contain else "nothing"
            return f"{last} cannot stand inside {first}: by {rule} {domain} can contain {contents}."
        excluded = quoted([_excluded(self.row, *self.labels)])
        return f"{first} cannot share words with {last}: {rule} excludes {excluded} for {domain}."


class Rules:
    """The rows of all constraint sets of a project, which decide together."""

    def __init__(self, rows: Iterable[EntityRule | RelationRule]) -> None:
        self._excluded: dict[int, dict[int, EntityRule]] = defaultdict(dict)
        self._containers: dict[int, EntityRule] = {}
        self._relations: dict[int, dict[int, RelationRule]] = defaultdict(dict)
        self.rows = list(rows)
        for row in self.rows:
            if isinstance(row, RelationRule):
                self._relations[row.relation][row.domain] = row
                continue
            for label in row.excludes:
                self._excluded[row.domain].setdefault(label, row)
                self._excluded[label].setdefault(row.domain, row)
            if row.can_contain is not None:
                self._containers[row.domain] = row

    def broken(self, rule: RuleName) -> Violation:
        """How a rule is broken, whichever marks do it."""
        row = self._by_position[rule.set, rule.position]
        return Violation(rule.kind, row.set, None if rule.position is None else row, ((), (rule.relation or 0,), ()))

    @cached_property
    def _by_position(self) -> dict[tuple[int, int | None], EntityRule | RelationRule]:
        """The rows by their sets and positions; without a position any of the set."""
        return {(row.set.pk, position): row for row in self.rows for position in (row.position, None)}

    def against_coexisting(self, one: Lineage, other: Lineage) -> Violation | None:
        """Why entities with these labels cannot share words: the first row that excludes one for the other, whichever way."""
        tables = [self._excluded[label] for label in one if label in self._excluded]
        rows = [table[label] for table in tables for label in other if label in table]
        row = min(rows, key=lambda row: row.position, default=None)
        return Violation("excludes", row.set, row, (one, other)) if row else None

    def limiting(self, outer: Lineage) -> EntityRule | None:
        """The row that says what an entity can contain, if any."""
        return next((self._containers[label] for label in outer if label in self._containers), None)

    def against_nesting(self, outer: Lineage, inner: Lineage) -> Violation | None:
        """Why an entity cannot lie strictly inside another: the nearest type of the outer one that limits what it contains does
        not list the inner one. Whether the two may share words at all is another question."""
        row = self.limiting(outer)
        if row is None or not set(row.can_contain or ()).isdisjoint(inner):
            return None
        return Violation("can_contain", row.set, row, (outer, inner))

    def of_relation(self, relation: Lineage) -> dict[int, RelationRule] | None:
        """The rows that a relation obeys, by their domains; None if there are none."""
        return next((self._relations[label] for label in relation if label in self._relations), None)

    def against_relating(self, source: Lineage, relation: Lineage, target: Lineage) -> Violation | None:
        """Why a relation cannot lead from a source to a target: of the nearest relation that has rules, the rule for the nearest
        domain does not list the target, or there is none for this source."""
        by_domain = self.of_relation(relation)
        if by_domain is None:
            return None
        row = next((by_domain[label] for label in source if label in by_domain), None)
        if row and not set(row.range).isdisjoint(target):
            return None
        its_set = next(iter(by_domain.values())).set
        return Violation("relation", its_set, row, (source, relation, target))

    def between(self, one: Span, other: Span) -> Iterator[Violation]:
        """What two entities of a text break together."""
        if lie := Lie.of(one, other):
            yield from self.judge(one.label, other.label, lie)

    def judge(self, one: Lineage, other: Lineage, lie: Lie) -> Iterator[Violation]:
        """What entities with these labels break together, wherever one lies so to the other."""
        if found := self.against_coexisting(one, other):
            yield found
        outer, inner = (one, other) if lie == Lie.AROUND else (other, one)
        if lie in (Lie.AROUND, Lie.INSIDE) and (found := self.against_nesting(outer, inner)):
            yield found


def _quoted(labels: Iterable[int], name_of: Callable[[int], str]) -> str:
    return words.listed(f"“{name_of(label)}”" for label in labels)


def _excluded(row: EntityRule, one: Lineage, other: Lineage) -> int:
    """The type that the row excludes for its domain, which the labels of the two lineages are."""
    sides = ((one, other), (other, one))
    return next(label for domain, ends in sides if row.domain in domain for label in row.excludes if label in ends)
