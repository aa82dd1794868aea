"""What the marks of a document break of constraints, item by item while it is read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement

from ontologies.labels import Label
from ontologies.models import Ontology
from resources.rules import Rules, Span, Violation

from .items import NewEntity, NewItem

# In an item with more entities than this it is looked first which labels can break anything: of 2,000 entities, each inside the
# one before, every two would have to be compared.
MANY = 100


class ConstraintCheck:
    """Finds what the marks of new items break. The same labels meet again and again: what was found for them is kept, which takes
    a tenth of the time."""

    def __init__(self, rules: Rules, ontologies: Mapping[str, Ontology]) -> None:
        self.rules = rules
        self._named = {label for row in rules.rows for label in row.named()}
        self.labels = [ontology.labels() for ontology in ontologies.values()]
        self._lineages: dict[int, list[int]] = {}
        self._pairs: dict[tuple[int, int, bool, bool], list[Violation]] = {}
        self._relations: dict[tuple[int, int, int], Violation | None] = {}

    def broken(self, item: NewItem) -> Iterator[tuple[str, Violation]]:
        """The path of the later mark in the item, and what it breaks."""
        entities = list(enumerate(item.entities))
        if len(entities) > MANY:
            clashing = self._clashing({entity.label for entity in item.entities})
            entities = [(index, entity) for index, entity in entities if entity.label in clashing]
        for one, other, index in _meeting(entities):
            for violation in self._between(one, other):
                yield f"$.entities[{index}]", violation
        if item.relations:
            label_of = {entity.uid: entity.label for entity in item.entities}
            for index, (_, label, source, target) in enumerate(item.relations):
                if found := self._against(label_of[source], label, label_of[target]):
                    yield f"$.relations[{index}]", found

    def name_of(self, label: int) -> str:
        return self._label(label).name

    def _clashing(self, labels: set[int]) -> set[int]:
        """Those that cannot stand in every way with each of the labels."""
        # Rules do not tell labels apart that have the same of their types named: 2,000 labels make few kinds.
        kinds: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for label in labels:
            kinds[tuple(key for key in self._lineage(label) if key in self._named)].add(label)
        found: set[int] = set()
        for one, other in combinations_with_replacement(kinds, 2):
            nesting = (self.rules.against_nesting(one, other), self.rules.against_nesting(other, one))
            if any(nesting) or self.rules.against_coexisting(one, other):
                found |= kinds[one] | kinds[other]
        return found

    def _between(self, one: NewEntity, other: NewEntity) -> list[Violation]:
        # Of their places it only matters which of the two lies strictly inside the other.
        is_outer = one.start <= other.start and other.end <= one.end
        is_inner = other.start <= one.start and one.end <= other.end
        key = (one.label, other.label, is_outer, is_inner)
        found = self._pairs.get(key)
        if found is None:
            spans = (Span(each.start, each.end, self._lineage(each.label)) for each in (one, other))
            found = self._pairs[key] = list(self.rules.between(*spans))
        return found

    def _against(self, source: int, label: int, target: int) -> Violation | None:
        key = (source, label, target)
        if key not in self._relations:
            self._relations[key] = self.rules.against_relating(*map(self._lineage, key))
        return self._relations[key]

    def _lineage(self, label: int) -> list[int]:
        if label not in self._lineages:
            found: Label | None = self._label(label)
            tree = next(labels for labels in self.labels if label in labels.by_pk)
            line = self._lineages[label] = []
            while found:
                line.append(found.pk)
                found = tree.by_uid[found.parent_uid] if found.parent_uid else None
        return self._lineages[label]

    def _label(self, label: int) -> Label:
        return next(labels.by_pk[label] for labels in self.labels if label in labels.by_pk)


def _meeting(entities: list[tuple[int, NewEntity]]) -> Iterator[tuple[NewEntity, NewEntity, int]]:
    """The pairs of entities that share a token, with the place of the later one in the document."""
    if len(entities) < 2:
        return
    begun: list[tuple[int, NewEntity]] = []
    for index, entity in sorted(entities, key=lambda numbered: numbered[1].start):
        begun = [(place, other) for place, other in begun if other.end >= entity.start]
        for place, other in begun:
            yield other, entity, max(place, index)
        begun.append((index, entity))
