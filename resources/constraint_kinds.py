"""What the app asks of a kind of constraints. A kind brings all its parts: see `entity_constraints` and `relation_constraints`.

Nothing here reads the database.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from annotation_service import words
from annotation_service.edits import fingerprint
from ontologies.labels import Label, Labels

from .proposals import Observed, Proposal
from .rules import NO_SET, Lineage, NameOf, Rule, Rules, Violation


class Inherited(NamedTuple):
    """A label that is not in the rule’s own list, and why it holds all the same."""

    label: Label
    why: str


class ShownList(NamedTuple):
    """A list of a rule. ``labels`` is None if the rule sets no limit, which only a list may do that ``can_be_missing``;
    ``replaces`` names a limit that it takes the place of, and ``nothing`` is what it says when it is empty."""

    field: str
    title: str
    labels: list[Label] | None
    inherited: Sequence[Inherited] = ()
    replaces: str = ""
    nothing: str = ""
    can_be_missing: bool = False

    @property
    def uids(self) -> list[str] | None:
        return None if self.labels is None else [label.uid for label in self.labels]

    @property
    def was(self) -> str:
        """The fingerprint of the list: see `edits`."""
        return fingerprint(self.uids)


class Mistake(NamedTuple):
    """A likely one, for people to judge. ``place`` is that of a label in a list, as a JSON path within the entry."""

    rule: Rule
    place: str
    text: str


class Reach(NamedTuple):
    """What one rule says of a label. ``named`` is the label itself or the type above it that the rule names."""

    rule: Rule
    named: int
    words: str
    labels: Sequence[int]
    first: int | None = None
    """The relation or, if the label is one, the source."""


class MatrixCell(NamedTuple):
    """What the label of a row may do with the label of a column.

    ``rule`` is the one that says so, if one does; ``is_own`` is whether it names these very labels, and not types above them.
    """

    state: str  # one of the kind's ``glyphs``
    rule: Rule | None
    is_own: bool
    labels: tuple[Lineage, ...]
    violation: Violation | None = None


class ConstraintKind(ABC):
    title: ClassVar[str]  # see `SetKind`
    about: ClassVar[str]
    free: ClassVar[str]
    rule: ClassVar[type[Rule]]
    how_rules_work: ClassVar[
        Sequence[tuple[str, str]]
    ]  # beside the rules: what a part of one is called, and what it means
    titles: ClassVar[Mapping[str, str]]  # of the lists of a rule

    # --- On the page of a set ---

    @abstractmethod
    def lists(self, rule: Any, rules: Rules, labels: Labels) -> list[ShownList]:
        """The lists of a rule as people read them, with what types above or other rules add to them."""

    @abstractmethod
    def mistakes(self, rows: Sequence[Any], rules: Rules, labels: Labels) -> Iterator[Mistake]:
        """Rows that say nothing, contradict each other, can never apply or repeat what holds already."""

    # --- In the details of a label ---

    @abstractmethod
    def reaches(self, rule: Any, rules: Rules, line: Lineage) -> Iterator[Reach]:
        """What a rule says of a label, unless a nearer one replaces it."""

    # --- In the matrix ---

    matrix_title: ClassVar[str]
    glyphs: ClassVar[Mapping[str, str]]
    settable: ClassVar[Mapping[str, tuple[str, str]]]
    """By state: the list that has the column's label then, and what that says."""

    def of_relation(self, rules: Rules, line: Lineage) -> Sequence[Rule]:
        """The rules that a relation obeys, if they are about relations."""
        return ()

    @abstractmethod
    def cell(self, rules: Rules, one: Lineage, other: Lineage, relation: Lineage) -> MatrixCell: ...

    @abstractmethod
    def allowed_in_words(self, cell: MatrixCell, quoted: NameOf) -> str:
        """Why a cell without a violation is allowed."""

    @abstractmethod
    def begins_in_words(self, rules: Rules, one: Lineage, relation: Lineage, quoted: NameOf) -> str:
        """What the first label in a list of the row would forbid all others, if it has none yet."""

    def cell_in_words(self, cell: MatrixCell, name_of: NameOf) -> str:
        if cell.violation:
            return cell.violation.in_words(name_of)
        return self.allowed_in_words(cell, lambda label: f"“{name_of(label)}”")

    # --- Learned from marks, if it can be ---

    learned_list: ClassVar[str] = ""  # the one that is learned
    learned_from: ClassVar[str]  # which marks of `Observed`

    def propose(self, observed: Observed, depth: int) -> list[Proposal]:
        """Rules that the marks obey."""
        raise NotImplementedError

    def breaks(self, rules: Rules, *lines: Lineage) -> bool:
        """Whether marks with such labels break the rules."""
        raise NotImplementedError

    def learned(self, proposal: Proposal, labels: Sequence[int]) -> Rule:
        """A new rule that lists these labels."""
        lists = (labels if name == self.learned_list else () for name in self.rule.LISTS)
        return self.rule(NO_SET, 0, *proposal.key, *lists)

    def observed(self, observed: Observed) -> Counter[Any]:
        """The marks that its rules are about, counted by their labels."""
        counts: Counter[Any] = getattr(observed, self.learned_from)
        return counts

    def broken(self, observed: Observed, rules: Rules) -> int:
        """How many of the marks break the rules."""
        found = self.observed(observed).items()
        return sum(count for labels, count in found if self.breaks(rules, *(observed.lines[label] for label in labels)))


def likely_mistakes(kind: ConstraintKind, rows: Sequence[Rule], labels: Mapping[str, Labels]) -> list[Mistake]:
    """In the order of the rows."""
    return sorted(kind.mistakes(rows, Rules(rows), labels["entity"]), key=lambda each: each.rule.position)


def inactive(rows: Iterable[Rule], labels: Mapping[str, Labels]) -> Iterator[Mistake]:
    """Labels that are switched off: rules about them hold only for marks that are there already."""
    off = {label.pk: label.name for each in labels.values() for label in each if not label.active}
    for row in rows if off else ():
        for pk in dict.fromkeys(row.named()):
            if pk in off:
                yield Mistake(row, "", f"“{off[pk]}” is switched off: this holds for marks that have it from before.")


def listed_below_others(row: Rule, field: str, labels: Labels) -> Iterator[Mistake]:
    """Labels in a list that lie below others in it."""
    listed = getattr(row, field) or ()
    all_listed = set(listed)
    for index, label in enumerate(listed):
        if above := next((other for other in labels.line(label)[1:] if other in all_listed), None):
            below, type_ = (f"“{labels.by_pk[pk].name}”" for pk in (label, above))
            text = f"{below} lies below {type_}, which is in this list: it can be left out."
            yield Mistake(row, f".{field}[{index}]", text)


def numbered(rule: Rule) -> str:
    return f"Rule {words.number(rule.position + 1)}"


def lists_it(rule: Rule, field: str, line: Lineage, quoted: NameOf) -> str:
    """The words for a rule whose list has a type of a label."""
    listed = next(label for label in getattr(rule, field) if label in line)
    return f"{numbered(rule).lower()} lists {quoted(listed)} for every {quoted(rule.key[-1])}"


def first_of(labels: Iterable[int], line: Lineage) -> int | None:
    """The nearest type of a label that is among others."""
    return next((label for label in line if label in labels), None)
