"""What constraints allow: which entities may share words or stand inside each other, and what a relation may connect.

Nothing here reads the database. A label is given as its *lineage*: its own key, its parent's, and so on to the top. So a rule
holds for everything below the types that it names.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

from annotation_service import words

from .spans import Lie

EXAMPLES = 5

Lineage = Sequence[int]
NameOf = Callable[[int], str]
"""Gives the name of a label by its key."""


class SetName(NamedTuple):
    """Which constraint set a rule belongs to."""

    pk: int
    name: str


NO_SET = SetName(0, "")


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of a constraint set; positions count from 0. The fields that follow are named and ordered as in the documents."""

    KEY: ClassVar[tuple[str, ...]] = ("domain",)  # the labels that no other rule of its set has together
    LISTS: ClassVar[tuple[str, ...]]

    set: SetName
    position: int

    @property
    def key(self) -> list[int]:
        """The label that it is for or, of a relation, the relation and the label that it leads from."""
        return [getattr(self, name) for name in self.KEY]

    @property
    def lists(self) -> list[Sequence[int] | None]:
        return [getattr(self, name) for name in self.LISTS]

    def named(self) -> list[int]:
        """All labels that it names."""
        return [*self.key, *(label for listed in self.lists for label in listed or ())]

    def of_labels(self, labels: Mapping[int, int]) -> Self:
        """The same rule about other labels, by the keys of these."""
        others: dict[str, Any] = {name: labels[label] for name, label in zip(self.KEY, self.key, strict=True)}
        for name, listed in zip(self.LISTS, self.lists, strict=True):
            others[name] = listed and [labels[label] for label in listed]
        return replace(self, **others)

    def in_words(self, kind: str, named: NameOf) -> str:
        """What it says, as far as a violation of this kind is concerned, without a full stop."""
        raise NotImplementedError

    def against(self, broken: "Violation", quoted: NameOf) -> str:
        """The sentence why marks break it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class EntityRule(Rule):
    """``can_contain`` is None if the row sets no limit."""

    LISTS = ("excludes", "can_contain")

    domain: int
    excludes: Sequence[int]
    can_contain: Sequence[int] | None

    def in_words(self, kind: str, named: NameOf) -> str:
        if kind == "excludes":
            return f"{named(self.domain)} excludes {_listed(self.excludes, named)}"
        contents = f"only {_listed(self.can_contain, named)}" if self.can_contain else "nothing"
        return f"{named(self.domain)} can contain {contents}"

    def against(self, broken: "Violation", quoted: NameOf) -> str:
        one, other = broken.labels
        first, last = quoted(one[0]), quoted(other[0])
        if broken.kind == "can_contain":
            return f"{last} cannot stand inside {first}: by {broken.place} every {self.in_words(broken.kind, quoted)}."
        excluded, domain = quoted(self._excluded(one, other)), quoted(self.domain)
        return f"{first} cannot share words with {last}: {broken.place} excludes {excluded} for every {domain}."

    def _excluded(self, one: Lineage, other: Lineage) -> int:
        """The type that it excludes for its domain, which the labels of the two lineages are."""
        sides = ((one, other), (other, one))
        return next(
            label for domain, ends in sides if self.domain in domain for label in self.excludes if label in ends
        )


@dataclass(frozen=True, slots=True)
class RelationRule(Rule):
    KEY = ("relation", "domain")
    LISTS = ("range",)

    relation: int
    domain: int
    range: Sequence[int]

    def in_words(self, kind: str, named: NameOf) -> str:
        return f"{named(self.relation)} leads from {named(self.domain)} {self._ends(named)}"

    def against(self, broken: "Violation", quoted: NameOf) -> str:
        first, relation, last = (quoted(line[0]) for line in broken.labels)
        rule = f"by {broken.place} it leads from every {quoted(self.domain)} {self._ends(quoted)}"
        return f"{relation} cannot lead from {first} to {last}: {rule}."

    def _ends(self, named: NameOf) -> str:
        return f"only to {_listed(self.range, named)}" if self.range else "nowhere"


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
    row: Rule | None
    labels: tuple[Lineage, ...]

    @property
    def position(self) -> int | None:
        """Of the row that decides."""
        return self.row.position if self.row else None

    @property
    def place(self) -> str:
        """Where that row stands."""
        return f"rule {words.number((self.position or 0) + 1)} of “{self.set.name}”"

    @property
    def rule(self) -> RuleName:
        return RuleName(self.kind, self.set.pk, self.position, None if self.row else self.labels[1][0])

    def rule_in_words(self, name_of: NameOf) -> str:
        """The rule that is broken, whichever marks do it."""
        if self.row is None:
            return f"“{name_of(self.labels[1][0])}” has rules, but none for the source."
        return f"{self.row.in_words(self.kind, _quoted(name_of))}."

    def in_words(self, name_of: NameOf) -> str:
        """A sentence that names the labels and the rule."""
        if self.row is None:
            first, relation = name_of(self.labels[0][0]), name_of(self.labels[1][0])
            return f"“{relation}” cannot lead from “{first}”: “{self.set.name}” has rules for it, but none for this source."
        return self.row.against(self, _quoted(name_of))


class Rules:
    """The rows of all constraint sets of a project, which decide together."""

    def __init__(self, rows: Iterable[Rule]) -> None:
        self._excluded: dict[int, dict[int, EntityRule]] = defaultdict(dict)
        self._containers: dict[int, EntityRule] = {}
        self._relations: dict[int, dict[int, RelationRule]] = defaultdict(dict)
        self.rows = list(rows)
        for row in self.rows:
            if isinstance(row, RelationRule):
                self._relations[row.relation][row.domain] = row
            elif isinstance(row, EntityRule):
                for label in row.excludes:
                    self._excluded[row.domain].setdefault(label, row)
                    self._excluded[label].setdefault(row.domain, row)
                if row.can_contain is not None:
                    self._containers[row.domain] = row

    def excluding(self, label: int) -> Mapping[int, EntityRule]:
        """What is excluded for a label by rules that name it, whichever way, and the first rule that does so."""
        return self._excluded.get(label, {})

    def broken(self, rule: RuleName) -> Violation:
        """How a rule is broken, whichever marks do it."""
        row = self._by_position[rule.set, rule.position]
        return Violation(rule.kind, row.set, None if rule.position is None else row, ((), (rule.relation or 0,), ()))

    @cached_property
    def _by_position(self) -> dict[tuple[int, int | None], Rule]:
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

    def of_relation(self, relation: Lineage) -> dict[int, RelationRule]:
        """The rows that a relation obeys, by their domains."""
        return next((self._relations[label] for label in relation if label in self._relations), {})

    def against_relating(self, source: Lineage, relation: Lineage, target: Lineage) -> Violation | None:
        """Why a relation cannot lead from a source to a target: of the nearest relation that has rules, the rule for the nearest
        domain does not list the target, or there is none for this source."""
        by_domain = self.of_relation(relation)
        row = next((by_domain[label] for label in source if label in by_domain), None)
        if not by_domain or (row and not set(row.range).isdisjoint(target)):
            return None
        its_set = next(iter(by_domain.values())).set
        return Violation("relation", its_set, row, (source, relation, target))

    def judge(self, one: Lineage, other: Lineage, lie: Lie) -> Iterator[Violation]:
        """What entities with these labels break together, wherever one lies so to the other."""
        if found := self.against_coexisting(one, other):
            yield found
        outer, inner = (one, other) if lie == Lie.AROUND else (other, one)
        if lie in (Lie.AROUND, Lie.INSIDE) and (found := self.against_nesting(outer, inner)):
            yield found


class Tally:
    """Counts violations per rule, and keeps the first of each as examples, for people who decide about many marks at once."""

    def __init__(self, name_of: NameOf) -> None:
        self.name_of = name_of
        self.total = 0
        self._rules: dict[RuleName, dict[str, Any]] = {}

    def add(self, violation: Violation, place: str) -> None:
        self.count(violation)
        self.show(violation, place)

    def count(self, violation: Violation, times: int = 1) -> bool:
        """Returns whether there is room for examples."""
        if (row := self._rules.get(violation.rule)) is None:
            row = self._rules[violation.rule] = {
                "set": violation.set.name,
                "number": None if violation.position is None else violation.position + 1,
                "text": violation.rule_in_words(self.name_of),
                "count": 0,
                "examples": [],
            }
        row["count"] += times
        self.total += times
        return len(row["examples"]) < EXAMPLES

    def show(self, violation: Violation, place: str) -> None:
        """One that is counted, as an example if there is room."""
        examples = self._rules[violation.rule]["examples"]
        if len(examples) < EXAMPLES:
            examples.append([place, violation.in_words(self.name_of)])

    def rows(self) -> list[dict[str, Any]]:
        """For each rule its ``text``, the name of its ``set``, its ``number`` there, the ``count``, and ``examples`` as pairs of
        place and sentence. What is broken most comes first. JSON can hold it."""
        return sorted(self._rules.values(), key=lambda row: -row["count"])


def _quoted(name_of: NameOf) -> NameOf:
    return lambda label: f"“{name_of(label)}”"


def _listed(labels: Iterable[int], named: NameOf) -> str:
    return words.listed(map(named, labels))
