"""Constraints of relations: which entities they may connect."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ontologies.labels import Labels

from .constraint_kinds import (
    ConstraintKind,
    MatrixCell,
    Mistake,
    Reach,
    ShownList,
    first_of,
    listed_below_others,
    lists_it,
    numbered,
)
from .proposals import Observed, Proposal, relating
from .rules import Lineage, NameOf, RelationRule, Rules


class RelationConstraints(ConstraintKind):
    title = "Relations"
    about = "Which entities a relation may connect."
    how_rules_work = (
        (
            "",
            """Each rule says to which labels a relation may lead from a label. It holds for everything below the labels that it
            names; the rule for the nearest label decides.""",
        ),
        (
            "",
            """Once a relation has a rule, it cannot lead from labels that have none. A relation without rules is free, unless a
            relation above it has some.""",
        ),
    )
    free = "None: relations connect everything"
    rule = RelationRule
    titles = {"range": "leads to"}

    # --- On the page of a set ---

    def lists(self, rule: RelationRule, rules: Rules, labels: Labels) -> list[ShownList]:
        return [ShownList("range", "leads to", [labels.by_pk[key] for key in rule.range], nothing="nowhere")]

    def mistakes(self, rows: Sequence[RelationRule], rules: Rules, labels: Labels) -> Iterator[Mistake]:
        by_labels = {(row.relation, row.domain): row for row in rows}
        rows_of = Counter(relation for relation, _ in by_labels)
        for row in rows:
            its_others = (by_labels.get((row.relation, label)) for label in labels.line(row.domain)[1:])
            above = next((other for other in its_others if other), None)
            if above and set(above.range) == set(row.range):
                says = f"{numbered(above)} says the same for “{labels.by_pk[above.domain].name}”"
                yield Mistake(row, "", f"{says}: it can be left out.")
            elif above is None and not row.range and rows_of[row.relation] > 1:
                says = f"Without this rule the relation could not lead from “{labels.by_pk[row.domain].name}”, either"
                yield Mistake(row, "", f"{says}: it can be left out.")
            yield from listed_below_others(row, "range", labels)

    # --- In the details of a label ---

    def reaches(self, rule: RelationRule, rules: Rules, line: Lineage) -> Iterator[Reach]:
        if rule.relation in line:
            if rule in rules.of_relation(line).values():
                yield Reach(rule, rule.relation, "leads to" if rule.range else "leads nowhere", rule.range, rule.domain)
            return
        by_domain = rules.of_relation([rule.relation])
        if rule is next((by_domain[label] for label in line if label in by_domain), None):
            says = "leads from it only to" if rule.range else "leads nowhere"
            yield Reach(rule, rule.domain, says, rule.range, rule.relation)
        if named := first_of(rule.range, line):
            yield Reach(rule, named, "may lead to it from", [rule.domain], rule.relation)

    # --- In the matrix ---

    matrix_title = "Where the relation may lead"
    glyphs = {"leads": "→", "barred": ""}

    settable = {"leads": ("range", "may lead there")}

    def of_relation(self, rules: Rules, line: Lineage) -> Sequence[RelationRule]:
        return list(rules.of_relation(line).values())

    def cell(self, rules: Rules, one: Lineage, other: Lineage, relation: Lineage) -> MatrixCell:
        labels = one, relation, other
        by_domain = rules.of_relation(relation)
        row = next((by_domain[label] for label in one if label in by_domain), None)
        is_own = bool(row and (row.relation, row.domain) == (relation[0], one[0]))
        if found := rules.against_relating(*labels):
            return MatrixCell("barred", row, is_own, labels, found)
        return MatrixCell("leads", row, is_own and bool(row and other[0] in row.range), labels)

    def allowed_in_words(self, cell: MatrixCell, quoted: NameOf) -> str:
        source, relation, target = (quoted(line[0]) for line in cell.labels)
        if cell.rule is None:
            return f"{relation} may lead from {source} to {target}: no rule limits {relation}."
        why = lists_it(cell.rule, "range", cell.labels[2], quoted)
        return f"{relation} may lead from {source} to {target}: {why}."

    def begins_in_words(self, rules: Rules, one: Lineage, relation: Lineage, quoted: NameOf) -> str:
        if rules.of_relation(relation[:1]):
            return ""
        return (
            f"{quoted(relation[0])} has no rules of its own yet: with the first one it may lead only where they say so."
        )

    # --- Learned from marks ---

    learned_list = "range"
    learned_from = "related"

    def propose(self, observed: Observed, depth: int) -> list[Proposal]:
        return relating(observed, depth)

    def breaks(self, rules: Rules, *lines: Lineage) -> bool:
        source, relation, target = lines
        return rules.against_relating(source, relation, target) is not None
