"""Constraints of entities: which of them can share words, and what can stand inside what."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from annotation_service import words
from ontologies.labels import Labels

from .constraint_kinds import (
    ConstraintKind,
    Inherited,
    MatrixCell,
    Mistake,
    Reach,
    ShownList,
    first_of,
    listed_below_others,
    lists_it,
    numbered,
)
from .proposals import Observed, Proposal, can_contain
from .rules import EntityRule, Lineage, NameOf, Rules


class EntityConstraints(ConstraintKind):
    title = "Entities"
    about = "Which labels cannot share words, and what may stand inside what."
    how_rules_work = (
        (
            "Excludes",
            """marks with these labels cannot share words, whichever of the two was there first. It holds for everything below
            both labels.""",
        ),
        (
            "Can contain",
            """only these labels may stand inside a longer mark of the type. The limit of the nearest label decides; without
            one, anything may that is not excluded.""",
        ),
    )
    free = "None: entities stand together freely"
    rule = EntityRule
    titles = {"excludes": "excludes", "can_contain": "can contain"}

    # --- On the page of a set ---

    def lists(self, rule: EntityRule, rules: Rules, labels: Labels) -> list[ShownList]:
        inherited = list(self._inherited_exclusions(rule, rules, labels))
        excluded = ShownList("excludes", "excludes", [labels.by_pk[key] for key in rule.excludes], inherited)
        return [excluded, self._contents(rule, rules, labels)]

    def _inherited_exclusions(self, rule: EntityRule, rules: Rules, labels: Labels) -> Iterator[Inherited]:
        seen = set(rule.excludes)
        for own in labels.line(rule.domain):
            for key, other in rules.excluding(own).items():
                if key not in seen:
                    seen.add(key)
                    why = "by its own rule" if other.domain == key else f"from {labels.by_pk[other.domain].name}"
                    yield Inherited(labels.by_pk[key], why)

    def _contents(self, rule: EntityRule, rules: Rules, labels: Labels) -> ShownList:
        above = rules.limiting(labels.line(rule.domain)[1:])
        theirs = [labels.by_pk[key] for key in above.can_contain or ()] if above else []
        name = labels.by_pk[above.domain].name if above else ""
        if rule.can_contain is None:
            own, inherited = None, [Inherited(label, f"from {name}") for label in theirs]
            replaces = f"nothing, from {name}" if above and not theirs else ""
        else:
            own, inherited = [labels.by_pk[key] for key in rule.can_contain], []
            some = words.listed(label.name for label in theirs) if theirs else "nothing"
            replaces = f"“{some}” from {name}" if above else ""
        return ShownList("can_contain", "can contain", own, inherited, replaces, "nothing", can_be_missing=True)

    def mistakes(self, rows: Sequence[EntityRule], rules: Rules, labels: Labels) -> Iterator[Mistake]:
        excluding = defaultdict[frozenset[int], list[EntityRule]](list)
        for row in rows:
            for label in row.excludes:
                excluding[frozenset((row.domain, label))].append(row)
        for row in rows:
            if not row.excludes and row.can_contain is None:
                yield Mistake(row, "", "This excludes nothing and sets no limit: it can be left out.")
            yield from listed_below_others(row, "excludes", labels)
            for index, label in enumerate(row.excludes):
                exact = frozenset((row.domain, label))
                pairs = (frozenset((one, other)) for one in labels.line(row.domain) for other in labels.line(label))
                others = ((pair, other) for pair in pairs for other in excluding.get(pair, ()) if other is not row)
                # Of two rules about the very same pair, only the second one repeats the other.
                if other := next((it for pair, it in others if pair != exact or it.position < row.position), None):
                    text = f"{numbered(other)} excludes “{labels.by_pk[label].name}” already: it can be left out."
                    yield Mistake(row, f".excludes[{index}]", text)
            yield from listed_below_others(row, "can_contain", labels)
            yield from self._mistakes_in_contents(row, rules, labels)

    def _mistakes_in_contents(self, row: EntityRule, rules: Rules, labels: Labels) -> Iterator[Mistake]:
        if row.can_contain is None:
            return
        line = labels.line(row.domain)
        above = rules.limiting(line[1:])
        if above and set(above.can_contain or ()) == set(row.can_contain):
            text = f"{numbered(above)} sets the same limit already: it can be left out."
            yield Mistake(row, ".can_contain", text)
        for index, label in enumerate(row.can_contain):
            found = rules.against_coexisting(line, labels.line(label))
            if found and found.row:
                outer, inner = (f"“{labels.by_pk[pk].name}”" for pk in (row.domain, label))
                text = f"{numbered(found.row)} excludes {inner} here: it can never stand inside {outer}."
                yield Mistake(row, f".can_contain[{index}]", text)

    # --- In the details of a label ---

    def reaches(self, rule: EntityRule, rules: Rules, line: Lineage) -> Iterator[Reach]:
        if rule.domain in line and rule.excludes:
            yield Reach(rule, rule.domain, "cannot share words with", rule.excludes)
        if rule is rules.limiting(line):
            says = "can contain only" if rule.can_contain else "can contain nothing"
            yield Reach(rule, rule.domain, says, rule.can_contain or ())
        if rule.domain not in line and (named := first_of(rule.excludes, line)):
            yield Reach(rule, named, "cannot share words with", [rule.domain])
        if named := first_of(rule.can_contain or (), line):
            yield Reach(rule, named, "may stand inside", [rule.domain])

    # --- In the matrix ---

    matrix_title = "What may share words with what, and stand inside what"
    glyphs = {"excluded": "✕", "inside": "▣", "outside": "", "free": "·"}

    settable = {"excluded": ("excludes", "cannot share words"), "inside": ("can_contain", "may stand inside")}

    def cell(self, rules: Rules, one: Lineage, other: Lineage, relation: Lineage = ()) -> MatrixCell:
        """Whether the two cannot share words, and whether the other one may stand inside the one."""
        if found := rules.against_coexisting(one, other):
            row, ends = found.row, ((one[0], other[0]), (other[0], one[0]))
            is_own = isinstance(row, EntityRule) and any(row.domain == a and b in row.excludes for a, b in ends)
            return MatrixCell("excluded", row, is_own, (one, other), found)
        limit = rules.limiting(one)
        is_own = bool(limit and limit.domain == one[0])
        if found := rules.against_nesting(one, other):
            return MatrixCell("outside", limit, is_own, (one, other), found)
        is_own = is_own and bool(limit and other[0] in (limit.can_contain or ()))
        return MatrixCell("inside" if limit else "free", limit, is_own, (one, other))

    def allowed_in_words(self, cell: MatrixCell, quoted: NameOf) -> str:
        outer, inner = (quoted(line[0]) for line in cell.labels)
        if cell.rule is None:
            return f"{inner} may stand inside {outer}: no rule limits what {outer} can contain."
        return f"{inner} may stand inside {outer}: {lists_it(cell.rule, 'can_contain', cell.labels[1], quoted)}."

    def begins_in_words(self, rules: Rules, one: Lineage, relation: Lineage, quoted: NameOf) -> str:
        if rules.limiting(one[:1]):
            return ""
        outer = quoted(one[0])
        return (
            f"{outer} has no limit of its own yet: with the first ▣ in its row it may contain only what has one there."
        )

    # --- Learned from marks ---

    learned_list = "can_contain"
    learned_from = "nested"

    def propose(self, observed: Observed, depth: int) -> list[Proposal]:
        return can_contain(observed, depth)

    def breaks(self, rules: Rules, *lines: Lineage) -> bool:
        outer, inner = lines
        return bool(rules.against_nesting(outer, inner) or rules.against_coexisting(outer, inner))
