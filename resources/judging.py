"""Rules together with the labels that they are about: what marks break, found once for all that are alike.

The same labels meet again and again, and rules do not tell labels of one *kind* apart: those of the same named types.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Protocol

from ontologies.labels import Label
from ontologies.models import Ontology

from .rules import Lineage, Rules, Violation
from .spans import Lie, Placed

KEPT = 10_000
Kind = tuple[int, ...]


class JudgedEntity(Placed, Protocol):
    """An entity; its label is given by the key."""

    @property
    def label(self) -> int: ...


class Judge:
    """With ``stands_for``, as if every mark had the label with the key that its own has there."""

    def __init__(
        self, rules: Rules, ontologies: Iterable[Ontology], stands_for: Mapping[int, int] | None = None
    ) -> None:
        self.rules, self.trees = rules, [ontology.labels() for ontology in ontologies]
        self.stands_for = stands_for or {}
        self._named = {label for row in rules.rows for label in row.named()}
        self._lineages: dict[int, Lineage] = {}
        self._kinds: dict[int, Kind] = {}
        self.judge = lru_cache(KEPT)(self._judge)
        self.against = lru_cache(KEPT)(self._against)

    @cached_property
    def key(self) -> str:
        """Another one where the judgements may be others: after a change of the rules or of the tree, not of a name."""
        decides = [*self.rules.rows, *sorted((label, self.kind(label)) for label in self._labels())]
        return hashlib.blake2b(repr(decides).encode(), digest_size=12).hexdigest()

    @cached_property
    def kinds(self) -> list[Kind]:
        """All that labels have; the first is that of labels about which no rule says anything."""
        return [(), *sorted({kind for label in self._labels() if (kind := self.kind(label))})]

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The places in `kinds` of the labels about which a rule says something."""
        places = {kind: place for place, kind in enumerate(self.kinds)}
        return {label: place for label in self._labels() if (place := places[self.kind(label)])}

    def between(self, one: JudgedEntity, other: JudgedEntity) -> Iterator[Violation]:
        """What two entities break together."""
        lie = Lie.of(one, other)
        found = self.judge(self.kind(one.label), self.kind(other.label), lie) if lie else ()
        if not found:
            return
        labels = self.lineage(one.label), self.lineage(other.label)
        for each in found:
            is_turned = each.kind == "can_contain" and lie == Lie.INSIDE
            yield each._replace(labels=labels[::-1] if is_turned else labels)

    def kind(self, label: int) -> Kind:
        if label not in self._kinds:
            self._kinds[label] = tuple(key for key in self.lineage(label) if key in self._named)
        return self._kinds[label]

    def lineage(self, label: int) -> Lineage:
        if label not in self._lineages:
            meant = self.stands_for.get(label, label)
            tree = next(labels for labels in self.trees if meant in labels.by_pk)
            self._lineages[label] = tree.lineage(tree.by_pk[meant])
        return self._lineages[label]

    def name_of(self, label: int) -> str:
        return self._label(label).name

    def _label(self, label: int) -> Label:
        return next(labels.by_pk[label] for labels in self.trees if label in labels.by_pk)

    def _labels(self) -> Iterable[int]:
        return self.stands_for or [label.pk for labels in self.trees for label in labels]

    def _judge(self, one: Kind, other: Kind, lie: Lie) -> tuple[Violation, ...]:
        return tuple(self.rules.judge(one, other, lie))

    def _against(self, source: int, label: int, target: int) -> Violation | None:
        """Why a relation cannot lead from a source to a target, all given by the keys of their labels."""
        return self.rules.against_relating(*map(self.lineage, (source, label, target)))
