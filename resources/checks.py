"""Likely mistakes in the rules of a set. Nothing here reads the database, and nothing is refused: people judge."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from annotation_service.words import number
from ontologies.labels import Labels

from .rules import EntityRule, Lineage, RelationRule, Rules

Row = EntityRule | RelationRule


class Mistake(NamedTuple):
    """``place`` is that of a label in a list, as a JSON path within the entry of the document."""

    position: int
    place: str
    text: str


def likely_mistakes(rows: Sequence[Row], labels: Mapping[str, Labels]) -> list[Mistake]:
    """Rows that say nothing, contradict each other, can never apply or repeat what holds already."""
    checks = _Checks(rows, labels)
    return [mistake for row in rows for mistake in checks.of(row)]


def inactive(rows: Iterable[Row], labels: Mapping[str, Labels]) -> Iterator[Mistake]:
    """Labels that are switched off: rules about them hold only for marks that are there already."""
    off = {label.pk: label.name for each in labels.values() for label in each if not label.active}
    for row in rows if off else ():
        for pk in dict.fromkeys(row.named()):
            if pk in off:
                yield Mistake(
                    row.position, "", f"“{off[pk]}” is switched off: this holds for marks that have it from before."
                )


class _Checks:
    def __init__(self, rows: Sequence[Row], labels: Mapping[str, Labels]) -> None:
        self.rules, self._entities = Rules(rows), labels["entity"]
        self._relation_rows = {(row.relation, row.domain): row for row in rows if isinstance(row, RelationRule)}
        self._rows_of = Counter(relation for relation, _ in self._relation_rows)
        self._excluding: dict[frozenset[int], list[EntityRule]] = {}
        self._limits = {row.domain: row for row in rows if isinstance(row, EntityRule) and row.can_contain is not None}
        for row in rows:
            if isinstance(row, EntityRule):
                for label in row.excludes:
                    self._excluding.setdefault(frozenset((row.domain, label)), []).append(row)

    def of(self, row: Row) -> Iterator[Mistake]:
        if isinstance(row, RelationRule):
            yield from self._of_relation(row)
            yield from self._below_others(row, row.range, ".range")
            return
        if not row.excludes and row.can_contain is None:
            yield Mistake(row.position, "", "This excludes nothing and sets no limit: it can be left out.")
        yield from self._below_others(row, row.excludes, ".excludes")
        yield from self._repeated_exclusions(row)
        yield from self._below_others(row, row.can_contain or (), ".can_contain")
        yield from self._contents(row)

    def _line(self, pk: int) -> Lineage:
        return self._entities.lineage(self._entities.by_pk[pk])

    def _name(self, pk: int) -> str:
        return f"“{self._entities.by_pk[pk].name}”"

    def _below_others(self, row: Row, listed: Sequence[int], place: str) -> Iterator[Mistake]:
        all_listed = set(listed)
        for index, label in enumerate(listed):
            if above := next((other for other in self._line(label)[1:] if other in all_listed), None):
                text = f"{self._name(label)} lies below {self._name(above)}, which is in this list: it can be left out."
                yield Mistake(row.position, f"{place}[{index}]", text)

    def _repeated_exclusions(self, row: EntityRule) -> Iterator[Mistake]:
        for index, label in enumerate(row.excludes):
            exact = frozenset((row.domain, label))
            pairs = (frozenset((one, other)) for one in self._line(row.domain) for other in self._line(label))
            others = ((pair, other) for pair in pairs for other in self._excluding.get(pair, ()) if other is not row)
            # Of two rules about the very same pair, only the second one repeats the other.
            if other := next((other for pair, other in others if pair != exact or other.position < row.position), None):
                text = f"{_rule(other)} excludes {self._name(label)} already: it can be left out."
                yield Mistake(row.position, f".excludes[{index}]", text)

    def _contents(self, row: EntityRule) -> Iterator[Mistake]:
        if row.can_contain is None:
            return
        line = self._line(row.domain)
        above = next((self._limits[label] for label in line[1:] if label in self._limits), None)
        if above and set(above.can_contain or ()) == set(row.can_contain):
            yield Mistake(
                row.position, ".can_contain", f"{_rule(above)} sets the same limit already: it can be left out."
            )
        for index, label in enumerate(row.can_contain):
            if found := self.rules.against_coexisting(line, self._line(label)):
                assert found.row
                outer, inner = self._name(row.domain), self._name(label)
                text = f"{_rule(found.row)} excludes {inner} here: it can never stand inside {outer}."
                yield Mistake(row.position, f".can_contain[{index}]", text)

    def _of_relation(self, row: RelationRule) -> Iterator[Mistake]:
        its_others = (self._relation_rows.get((row.relation, label)) for label in self._line(row.domain)[1:])
        above = next((other for other in its_others if other), None)
        if above and set(above.range) == set(row.range):
            text = f"{_rule(above)} says the same for {self._name(above.domain)}: it can be left out."
            yield Mistake(row.position, "", text)
        elif above is None and not row.range and self._rows_of[row.relation] > 1:
            text = f"Without this rule the relation could not lead from {self._name(row.domain)}, either: it can be left out."
            yield Mistake(row.position, "", text)


def _rule(row: Row) -> str:
    return f"Rule {number(row.position + 1)}"
