"""The rules of a set as a table: what each label may do with each other one, and which rule says so.

A tree of thousands of labels does not fit into a table. It shows the labels that rules name, in branches that open and close.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, Self

from annotation_service import words
from ontologies.labels import Label, Labels

from .rules import EntityRule, Lineage, RelationRule, Rules, Violation

SHOWN_AT_FIRST = 40
MOST_SHOWN = 100  # a table of 10,000 cells


# --- Cells ---------------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """What the label of a row may do with the label of a column.

    ``rule`` is the one that says so, if one does; ``is_own`` is whether it names these very labels, and not types above them.
    """

    state: str  # “excluded”, “inside”, “outside” or, without a rule about it, “free”; of relations “leads” or “barred”
    rule: EntityRule | RelationRule | None
    is_own: bool
    labels: tuple[Lineage, ...]
    violation: Violation | None

    def in_words(self, name_of: Callable[[int], str]) -> str:
        if self.violation:
            return self.violation.in_words(name_of)
        first, second, last = (f"“{name_of(self.labels[index][0])}”" for index in (0, 1, -1))
        if isinstance(self.rule, RelationRule):
            listed = f"“{name_of(_listed(self.rule.range, self.labels[2]))}”"
            rule = f"rule {words.number(self.rule.position + 1)} lists {listed} for every “{name_of(self.rule.domain)}”"
            return f"{second} may lead from {first} to {last}: {rule}."
        if len(self.labels) == 3:
            return f"{second} may lead from {first} to {last}: no rule limits {second}."
        if self.rule is None:
            return f"{last} may stand inside {first}: no rule limits what {first} can contain."
        listed = f"“{name_of(_listed(self.rule.can_contain or (), self.labels[1]))}”"
        rule = f"rule {words.number(self.rule.position + 1)} lists {listed} for every “{name_of(self.rule.domain)}”"
        return f"{last} may stand inside {first}: {rule}."


def _listed(labels: Iterable[int], lineage: Lineage) -> int:
    """The type in a list that the label has."""
    return next(label for label in labels if label in lineage)


def entity_cell(rules: Rules, outer: Lineage, inner: Lineage) -> Cell:
    """Whether the two cannot share words, and whether the inner one may stand inside the outer one."""
    if found := rules.against_coexisting(outer, inner):
        row = found.row
        is_own = isinstance(row, EntityRule) and any(
            row.domain == one and other in row.excludes for one, other in ((outer[0], inner[0]), (inner[0], outer[0]))
        )
        return Cell("excluded", row, is_own, (outer, inner), found)
    limit = rules.limiting(outer)
    if found := rules.against_nesting(outer, inner):
        return Cell("outside", limit, bool(limit and limit.domain == outer[0]), (outer, inner), found)
    is_own = bool(limit and limit.domain == outer[0] and inner[0] in (limit.can_contain or ()))
    return Cell("inside" if limit else "free", limit, is_own, (outer, inner), None)


def relation_cell(rules: Rules, source: Lineage, relation: Lineage, target: Lineage) -> Cell:
    """Whether a relation may lead from the source to the target."""
    labels = source, relation, target
    by_domain = rules.of_relation(relation) or {}
    row = next((by_domain[label] for label in source if label in by_domain), None)
    names_ends = bool(row and (row.relation, row.domain) == (relation[0], source[0]))
    if found := rules.against_relating(*labels):
        return Cell("barred", row, names_ends, labels, found)
    return Cell("leads", row, names_ends and bool(row and target[0] in row.range), labels, None)


# --- Lines ---------------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A label of the table."""

    label: Label
    lineage: Lineage
    children: int
    shown: int  # of its children
    hidden: int  # labels below it that rules name and the table does not show

    @property
    def more(self) -> int:
        """How many of its children an open branch leaves out."""
        return self.children - self.shown if self.shown else 0


class Lines(list[Line]):
    """The labels that a table shows, in tree order; ``left_out`` are those for which there was no room."""

    left_out = 0


class Branches(NamedTuple):
    """What people have opened and closed, by uids; the top of the tree has the empty one."""

    opened: frozenset[str] = frozenset()
    """Branches with what rules name in them or, if that is nothing, with everything."""
    whole: frozenset[str] = frozenset()
    """Branches with everything in them."""
    closed: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: str) -> Self:
        """From the form that `__str__` gives them in an address."""
        parts = [part for part in text.split(",")[:500] if part]
        whole = frozenset(part[:-1] for part in parts if part.endswith("*"))
        closed = frozenset(part[1:] for part in parts if part.startswith("-"))
        return cls(frozenset(part for part in parts if part.isalnum()), whole, closed)

    def __str__(self) -> str:
        parts = [*self.opened, *(f"{uid}*" for uid in self.whole), *(f"-{uid}" for uid in self.closed)]
        return ",".join(sorted(parts))

    def with_one(self, uid: str, state: str) -> Self:
        """With another state of one branch: one of the field names, or the empty string for what it is at first."""
        return type(self)(
            *(each | {uid} if name == state else each - {uid} for name, each in zip(self._fields, self, strict=True))
        )


def lines(labels: Labels, named: Collection[int], branches: Branches) -> Lines:
    """The labels that rules name, with the types above them, level by level while they are few; and what else was opened."""
    named_below: Counter[str] = Counter()  # and the labels themselves
    for pk in named:
        named_below.update(labels.by_pk[above].uid for above in labels.lineage(labels.by_pk[pk]))
    shown, chosen, at_first = Lines(), dict[str, list[Label]](), 0
    level, room = [""], MOST_SHOWN
    while level:
        below: list[str] = []
        for uid in level:
            children = labels.children.get(uid, [])
            usual = [label for label in children if named_below[label.uid]]
            at_first += len(usual)
            if uid and uid not in branches.opened | branches.whole and at_first > SHOWN_AT_FIRST:
                continue
            is_whole = uid in branches.whole or (uid in branches.opened and not usual)
            wanted = children if is_whole else usual
            chosen[uid] = wanted[:room]
            room -= len(chosen[uid])
            shown.left_out += len(wanted) - len(chosen[uid])
            below += [label.uid for label in chosen[uid] if label.uid not in branches.closed]
        level = below
    rest = chosen[""][::-1]
    while rest:  # from here on in tree order
        label = rest.pop()
        its_shown = chosen.get(label.uid, [])
        rest += its_shown[::-1]
        hidden = named_below[label.uid] - (label.pk in named) - sum(named_below[child.uid] for child in its_shown)
        children = labels.children.get(label.uid, [])
        shown.append(Line(label, labels.lineage(label), len(children), len(its_shown), hidden))
    return shown


def named_by(rows: Iterable[EntityRule | RelationRule]) -> set[int]:
    """The entity labels that rules name."""
    return {label for row in rows for label in (row.domain, *_lists(row))}


def _lists(row: EntityRule | RelationRule) -> Iterator[int]:
    if isinstance(row, RelationRule):
        yield from row.range
    else:
        yield from row.excludes
        yield from row.can_contain or ()
