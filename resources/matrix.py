"""The rules of a set as a table: what each label may do with each other one, and which rule says so.

A tree of thousands of labels does not fit into a table. It shows the labels that rules name, in branches that open and close.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from annotation_service import access
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import User
from annotation_service.paging import search_text
from ontologies.labels import Label, Labels

from .constraint_kinds import MatrixCell, numbered
from .models import ConstraintSet, rules_of
from .rules import Lineage, Rule, Rules
from .rules_page import acts, link_to_rule, reads
from .views import standing

SHOWN_AT_FIRST = 40
MOST_SHOWN = 100  # a table of 10,000 cells
OFFERED_RELATIONS = 300


@reads
def matrix(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """The page or, for what was opened or chosen in it, the table alone."""
    if request.htmx and "lines" in request.GET:
        return _refreshed(request, constraints)
    context = standing(request, constraints) | {"table": Matrix(constraints, request.GET)}
    if request.htmx:
        return render(request, "resources/_matrix.html", context)
    if key := request.GET.get("rule", ""):  # where they came from in the list of rules
        context["back"] = link_to_rule(constraints.pk, key, q=search_text(request))
    return render(request, "resources/matrix.html", context)


@acts
def set_cell(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """Store or remove what a cell says by a rule of its own; answer with the table as it is then, in the same lines."""
    say(constraints, request.GET, request.POST, request.POST.get("wanted") == "1", by=request.user)
    return _refreshed(request, constraints)


def say(
    constraints: ConstraintSet, asked: Mapping[str, str], sent: Mapping[str, str], is_wanted: bool, *, by: User
) -> None:
    """Put the label of a column into a list of the rule that the label of a row has of its own, or take it out: which labels and
    which list is ``sent``; what is ``asked`` for tells the relation."""
    table, field = Matrix(constraints, asked), sent.get("list", "")
    row, column = table.ends(sent)
    if field not in (name for name, _ in constraints.of_kind.settable.values()):
        raise Http404
    if is_wanted:
        table.check_settable(row, column, field)
    constraints.set_pair(table.key_of(row), column.uid, field, is_wanted, by=by)


def _refreshed(request: Request, constraints: ConstraintSet) -> HttpResponse:
    context = standing(request, constraints) | {"table": Matrix(constraints, request.GET)}
    return render(request, "resources/_matrix_refreshed.html", context)


@reads
def cell(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """Why two labels may or may not do something."""
    table = Matrix(constraints, request.GET)
    row, column = table.ends(request.GET)
    context = {"resource": constraints, "row": row, "column": column, "reasons": table.reasons(row, column)}
    context["begins"] = access.can_edit(request.user, constraints) and table.begins(row)
    return render(request, "resources/_cell.html", context)


# --- Lines ---------------------------------------------------------------------------------------------------------------


class MatrixLine(NamedTuple):
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


class MatrixLines(list[MatrixLine]):
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


def lines(labels: Labels, named: Collection[int], branches: Branches, kept: Collection[str] = ()) -> MatrixLines:
    """The labels that rules name, with the types above them, level by level while they are few; and what else was opened. Or
    those that are ``kept``, by uids."""
    named_below: Counter[str] = Counter()  # and the labels themselves
    for pk in named:
        named_below.update(labels.by_pk[above].uid for above in labels.lineage(labels.by_pk[pk]))
    shown, chosen, at_first = MatrixLines(), dict[str, list[Label]](), 0
    level, room = [""], MOST_SHOWN
    while level:
        below: list[str] = []
        for uid in level:
            children = labels.children.get(uid, [])
            usual = [label for label in children if named_below[label.uid]]
            at_first += len(usual)
            if uid and not kept and uid not in branches.opened | branches.whole and at_first > SHOWN_AT_FIRST:
                continue
            is_whole = uid in branches.whole or (uid in branches.opened and not usual)
            wanted = children if is_whole or not (uid or named) else usual
            if kept:
                wanted = [label for label in children if label.uid in kept]
            chosen[uid] = wanted[:room]
            room -= len(chosen[uid])
            shown.left_out += len(wanted) - len(chosen[uid])
            below += [label.uid for label in chosen[uid] if kept or label.uid not in branches.closed]
        level = below
    rest = chosen[""][::-1]
    while rest:  # from here on in tree order
        label = rest.pop()
        its_shown = chosen.get(label.uid, [])
        rest += its_shown[::-1]
        hidden = named_below[label.uid] - (label.pk in named) - sum(named_below[child.uid] for child in its_shown)
        children = labels.children.get(label.uid, [])
        shown.append(MatrixLine(label, labels.lineage(label), len(children), len(its_shown), hidden))
    return shown


# --- The table ---------------------------------------------------------------------------------------------------------


class MatrixRow(NamedTuple):
    line: MatrixLine
    toggle: str
    """The address of the table with this branch opened or closed."""
    whole: str
    """The same with everything in the branch."""
    cells: SafeString


class Matrix:
    """The rules of a set over the labels that are shown; of relations the rules of one."""

    def __init__(self, constraints: ConstraintSet, asked: Mapping[str, str]) -> None:
        self.kind, self.rules = constraints.of_kind, rules_of([constraints]) or Rules([])
        self.labels = constraints.entity_ontology.labels()
        self.relation_labels = constraints.relation_ontology.labels() if constraints.relation_ontology else Labels()
        self.branches = Branches.read(asked.get("tree", "")[:10_000])
        *relation, self.at = asked.get("rule", "").split("-")  # the row to begin with
        if label := self.labels.by_uid.get(self.at):
            above = {self.labels.by_pk[pk].uid for pk in self.labels.lineage(label)[1:]}
            self.branches = self.branches._replace(opened=self.branches.opened | above)
        self.kept = set(asked.get("lines", "").split(",")) - {""}
        self.relation = self._relation(asked.get("relation", "".join(relation)))

    def _name(self, pk: int) -> str:
        return (self.labels.by_pk.get(pk) or self.relation_labels.by_pk[pk]).name

    @property
    def title(self) -> str:
        return f"Where “{self.relation.name}” may lead" if self.relation else self.kind.matrix_title

    # --- Relations ---

    @cached_property
    def relations(self) -> list[dict[str, Any]]:
        """The relations to choose from, in tree order, and how each comes to its rules: those without any, while they are few."""
        found = []
        for place, label in enumerate(self.relation_labels):
            if place >= OFFERED_RELATIONS and label.pk not in self.with_rules and label != self.relation:
                continue
            rows = self._rows_of(self.relation_labels.lineage(label))
            above = self.relation_labels.by_pk[rows[0].key[0]] if rows and rows[0].key[0] != label.pk else None
            found.append({"label": label, "count": len(rows), "above": above})
        return found

    @cached_property
    def with_rules(self) -> set[int]:
        """The relations that have rules of their own."""
        return {row.key[0] for row in self.rules.rows} if self.relation_labels else set()

    def _rows_of(self, line: Lineage) -> Sequence[Rule]:
        """The rules that a relation obeys."""
        return self.kind.of_relation(self.rules, line)

    def _relation(self, uid: str) -> Label | None:
        """The one that was chosen or else the first one that has rules."""
        first = (label for label in self.relation_labels if label.pk in self.with_rules)
        return self.relation_labels.by_uid.get(uid) or next(first, next(iter(self.relation_labels), None))

    @cached_property
    def relation_line(self) -> Lineage:
        return self.relation_labels.lineage(self.relation) if self.relation else ()

    # --- Lines ---

    @cached_property
    def rows_shown(self) -> Sequence[Rule]:
        """The rules that the table is about."""
        return self._rows_of(self.relation_line) if self.relation else self.rules.rows

    @cached_property
    def lines(self) -> MatrixLines:
        named = {label for row in self.rows_shown for label in row.named() if label in self.labels.by_pk}
        return lines(self.labels, named, self.branches, self.kept)

    @property
    def other_tops(self) -> int:
        """How many labels of the top level are left out because no rule names anything in them."""
        return len(self.labels.children.get("", [])) - sum(line.label.level == 1 for line in self.lines)

    @property
    def every_top(self) -> str:
        return self._address(self.branches.with_one("", "whole"))

    def _address(self, branches: Branches) -> str:
        values = {"relation": self.relation.uid if self.relation else "", "tree": str(branches)}
        return "?" + urlencode({name: value for name, value in values.items() if value})

    def _toggled(self, line: MatrixLine) -> Branches:
        uid = line.label.uid
        if line.shown:
            return self.branches.with_one(uid, "closed")
        # What rules name shows by itself, unless there was no room for it at first.
        by_itself = line.hidden and uid in self.branches.closed
        return self.branches.with_one(uid, "" if by_itself else "opened")

    # --- Cells ---

    def ends(self, sent: Mapping[str, str]) -> tuple[Label, Label]:
        """The labels of the row and the column that a request names."""
        row, column = (self.labels.by_uid.get(sent.get(side, "")) for side in ("row", "column"))
        if row is None or column is None:
            raise Http404
        return row, column

    def key_of(self, row: Label) -> str:
        """The key of the rule that the row has of its own."""
        return f"{self.relation.uid}-{row.uid}" if self.relation else row.uid

    def check_settable(self, row: Label, column: Label, field: str) -> None:
        """Refuse what a rule of types above forbids: it says something else than this list would."""
        cell = self._cell(self.labels.lineage(row), self.labels.lineage(column))
        says, _ = self.kind.settable.get(cell.state, (field, ""))
        if cell.violation and not cell.is_own and says != field:
            raise Refused(
                f"{self.kind.cell_in_words(cell, self._name)} As long as that holds, it cannot be allowed here."
            )

    def begins(self, row: Label) -> str:
        line, name = self.labels.lineage(row), lambda pk: f"“{self._name(pk)}”"
        return self.kind.begins_in_words(self.rules, line, self.relation_line, name)

    def rows(self) -> Iterator[MatrixRow]:
        drawn: dict[tuple[str, bool, int], SafeString] = {}  # few cells differ: the text of thousands is made once
        for row in self.lines:
            cells: list[tuple[SafeString]] = []
            for column in self.lines:
                each = self._cell(row.lineage, column.lineage)
                key = each.state, each.is_own, each.rule.position if each.rule else -1
                if key not in drawn:
                    drawn[key] = self._drawn(each)
                cells.append((drawn[key],))
            whole = self._address(self.branches.with_one(row.label.uid, "whole"))
            yield MatrixRow(row, self._address(self._toggled(row)), whole, format_html_join("", "{}", cells))

    def _cell(self, one: Lineage, other: Lineage) -> MatrixCell:
        return self.kind.cell(self.rules, one, other, self.relation_line)

    def _drawn(self, cell: MatrixCell) -> SafeString:
        style = f"{cell.state} own" if cell.is_own else cell.state
        title = format_html(' title="{}: {}"', numbered(cell.rule), self._says(cell)) if cell.rule else ""
        return format_html('<td class="{}"{}>{}</td>', style, title, self.kind.glyphs[cell.state])

    def _says(self, cell: MatrixCell) -> str:
        """Such as “PhysicalObject can contain only Location”."""
        return cell.rule.in_words("excludes" if cell.state == "excluded" else "", self._name) if cell.rule else ""

    def reasons(self, row: Label, column: Label) -> list[dict[str, Any]]:
        """What the table says of two labels, in whole sentences: both ways, if that says more."""
        pairs = [self.labels.lineage(label) for label in (row, column)]
        cells = [self._cell(*pairs), self._cell(*reversed(pairs))]
        if row == column or self.relation or cells[0].state == "excluded":
            cells = cells[:1]
        return [{"cell": each, "text": self.kind.cell_in_words(each, self._name)} | self._place(each) for each in cells]

    def _place(self, cell: MatrixCell) -> dict[str, Any]:
        """Where the rule stands on the page of the rules."""
        if (rule := cell.rule) is None:
            return {}
        by_pk = self.relation_labels.by_pk | self.labels.by_pk
        key = "-".join(by_pk[label].uid for label in rule.key)
        return {"number": rule.position + 1, "url": link_to_rule(rule.set.pk, key)}
