"""The page of the matrix: what each label may do with each other one."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from annotation_service import access, words
from annotation_service.http import Request
from ontologies.labels import Label, Labels

from .editor import SHOWN_RULES
from .matrix import Branches, Cell, Line, Lines, entity_cell, lines, named_by, relation_cell
from .models import ConstraintSet, rules_of
from .rules import EntityRule, Lineage, RelationRule, Rules
from .views import head

OFFERED_RELATIONS = 300
GLYPHS = {"excluded": "✕", "inside": "▣", "outside": "", "free": "·", "leads": "→", "barred": ""}


@require_GET
def matrix(request: Request, pk: int) -> HttpResponse:
    """The page or, for what was opened or chosen in it, the table alone."""
    constraints = access.readable(request, ConstraintSet, pk)
    name = "resources/_matrix.html" if request.htmx else "resources/matrix.html"
    return render(request, name, head(request, constraints) | {"table": Table(constraints, request)})


@require_GET
def cell(request: Request, pk: int) -> HttpResponse:
    """Why two labels may or may not do something."""
    constraints = access.readable(request, ConstraintSet, pk)
    table = Table(constraints, request)
    pair = [table.labels.by_uid.get(request.GET.get(side, "")) for side in ("row", "column")]
    row, column = pair
    if row is None or column is None:
        raise Http404
    context = {"constraints": constraints, "row": row, "column": column, "reasons": table.reasons(row, column)}
    return render(request, "resources/_cell.html", context)


class Row(NamedTuple):
    line: Line
    toggle: str
    """The address of the table with this branch opened or closed."""
    whole: str
    """The same with everything in the branch."""
    cells: SafeString


class Table:
    """The rules of a set over the labels that are shown; of relations the rules of one."""

    def __init__(self, constraints: ConstraintSet, request: Request) -> None:
        self.rules = rules_of([constraints]) or Rules([])
        self.labels = constraints.entity_ontology.labels()
        self.relation_labels = constraints.relation_ontology.labels() if constraints.relation_ontology else Labels()
        self.branches = Branches.read(request.GET.get("tree", "")[:10_000])
        self.relation = self._relation(request.GET.get("relation", ""))

    def _name(self, pk: int) -> str:
        return (self.labels.by_pk.get(pk) or self.relation_labels.by_pk[pk]).name

    # --- Relations ---

    @cached_property
    def relations(self) -> list[dict[str, Any]]:
        """The relations to choose from, in tree order, and how each comes to its rules: those without any, while they are few."""
        found = []
        for place, label in enumerate(self.relation_labels):
            if place >= OFFERED_RELATIONS and label.pk not in self.with_rules and label != self.relation:
                continue
            rows = self._rows_of(self.relation_labels.lineage(label))
            above = self.relation_labels.by_pk[rows[0].relation] if rows and rows[0].relation != label.pk else None
            found.append({"label": label, "count": len(rows), "above": above})
        return found

    @cached_property
    def with_rules(self) -> set[int]:
        """The relations that have rules of their own."""
        return {row.relation for row in self.rules.rows if isinstance(row, RelationRule)}

    def _rows_of(self, line: Lineage) -> list[RelationRule]:
        return list((self.rules.of_relation(line) or {}).values())

    def _relation(self, uid: str) -> Label | None:
        """The one that was chosen or else the first one that has rules."""
        first = (label for label in self.relation_labels if label.pk in self.with_rules)
        return self.relation_labels.by_uid.get(uid) or next(first, next(iter(self.relation_labels), None))

    @cached_property
    def relation_line(self) -> Lineage:
        return self.relation_labels.lineage(self.relation) if self.relation else ()

    # --- Lines ---

    @cached_property
    def rows_shown(self) -> Collection[EntityRule | RelationRule]:
        """The rules that the table is about."""
        return self._rows_of(self.relation_line) if self.relation else self.rules.rows

    @cached_property
    def lines(self) -> Lines:
        return lines(self.labels, named_by(self.rows_shown), self.branches)

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

    def _toggled(self, line: Line) -> Branches:
        uid = line.label.uid
        if line.shown:
            return self.branches.with_one(uid, "closed")
        # What rules name shows by itself, unless there was no room for it at first.
        by_itself = line.hidden and uid in self.branches.closed
        return self.branches.with_one(uid, "" if by_itself else "opened")

    # --- Cells ---

    def rows(self) -> Iterator[Row]:
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
            yield Row(row, self._address(self._toggled(row)), whole, format_html_join("", "{}", cells))

    def _cell(self, one: Lineage, other: Lineage) -> Cell:
        if self.relation:
            return relation_cell(self.rules, one, self.relation_line, other)
        return entity_cell(self.rules, one, other)

    def _drawn(self, cell: Cell) -> SafeString:
        style = f"{cell.state} own" if cell.is_own else cell.state
        title = format_html(' title="{}"', self._rule_in_words(cell)) if cell.rule else ""
        return format_html('<td class="{}"{}>{}</td>', style, title, GLYPHS[cell.state])

    def _rule_in_words(self, cell: Cell) -> str:
        """Such as “Rule 2: PhysicalObject can contain only Location”."""
        rule = cell.rule
        assert rule
        domain = self._name(rule.domain)
        if isinstance(rule, RelationRule):
            text = f"{self._name(rule.relation)} leads from {domain} {self._listed('to', rule.range) or 'nowhere'}"
        elif cell.state == "excluded":
            text = f"{domain} {self._listed('excludes', rule.excludes)}"
        else:
            text = f"{domain} can contain {self._listed('only', rule.can_contain or ()) or 'nothing'}"
        return f"Rule {words.number(rule.position + 1)}: {text}"

    def _listed(self, lead: str, labels: Collection[int]) -> str:
        return f"{lead} {words.listed(map(self._name, labels))}" if labels else ""

    def reasons(self, row: Label, column: Label) -> list[dict[str, Any]]:
        """What the table says of two labels, in whole sentences: both ways, if that says more."""
        pairs = [self.labels.lineage(label) for label in (row, column)]
        cells = [self._cell(*pairs), self._cell(*reversed(pairs))]
        if row == column or self.relation or cells[0].state == "excluded":
            cells = cells[:1]
        return [{"cell": each, "text": each.in_words(self._name)} | self._place(each) for each in cells]

    def _place(self, cell: Cell) -> dict[str, Any]:
        """Where the rule stands on the page of the rules."""
        if (rule := cell.rule) is None:
            return {}
        key = self.labels.by_pk[rule.domain].uid
        if isinstance(rule, RelationRule):
            key = f"{self.relation_labels.by_pk[rule.relation].uid}-{key}"
        page = rule.position // SHOWN_RULES + 1
        return {
            "number": rule.position + 1,
            "url": f"{reverse('resources:page', args=[rule.set.pk])}?page={page}#rule-{key}",
        }
