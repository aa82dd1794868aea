"""What the marks of a document break of constraints, item by item while it is read."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

from ontologies.labels import Label
from ontologies.models import Ontology
from resources.rules import PlacedLabel, Rules, Violation

from .items import NewEntity, NewItem

# In an item with more entities than this it is looked first which of them can break anything together: of 2,000 entities, each
# inside the one before, every two would have to be compared.
MANY = 100

Kind = tuple[int, ...]
"""Those of a label's types that rules name. Rules do not tell labels of one kind apart: 2,000 labels make few kinds."""
Pair = tuple[NewEntity, NewEntity, int]
"""Two entities, with the place of the later one in the document."""


class ConstraintCheck:
    """Finds what the marks of new items break. The same kinds of labels meet again and again: what was found for them is kept,
    which takes a tenth of the time."""

    def __init__(self, rules: Rules, ontologies: Mapping[str, Ontology]) -> None:
        self.rules = rules
        self._named = {label for row in rules.rows for label in row.named()}
        self.labels = [ontology.labels() for ontology in ontologies.values()]
        self._lineages: dict[int, list[int]] = {}
        self._kinds: dict[int, Kind] = {}
        self._pairs: dict[tuple[Kind, Kind, bool, bool], list[Violation]] = {}
        self._relations: dict[tuple[int, int, int], Violation | None] = {}

    def broken(self, item: NewItem) -> Iterator[tuple[str, Violation]]:
        """The path of the later mark in the item, and what it breaks."""
        pairs = _meeting(item.entities) if len(item.entities) <= MANY else self._meeting_that_clash(item.entities)
        for one, other, index in pairs:
            for violation in self.between(one, other):
                yield f"$.entities[{index}]", violation
        if item.relations:
            label_of = {entity.uid: entity.label for entity in item.entities}
            for index, (_, label, source, target) in enumerate(item.relations):
                if found := self.against(label_of[source], label, label_of[target]):
                    yield f"$.relations[{index}]", found

    def name_of(self, label: int) -> str:
        return self._label(label).name

    def _meeting_that_clash(self, entities: Sequence[NewEntity]) -> Iterator[Pair]:
        """The same pairs as `_meeting`, kind by kind, without those that may stand together in every way."""
        clashing = self._clashing({self._kind(entity.label) for entity in entities})
        begun: dict[Kind, list[tuple[int, NewEntity]]] = defaultdict(list)
        for index, entity in sorted(enumerate(entities), key=lambda numbered: numbered[1].start):
            kind = self._kind(entity.label)
            for its_kind in clashing[kind]:
                begun[its_kind] = [(place, other) for place, other in begun[its_kind] if other.end >= entity.start]
                for place, other in begun[its_kind]:
                    yield other, entity, max(place, index)
            begun[kind].append((index, entity))

    def _clashing(self, kinds: Collection[Kind]) -> Mapping[Kind, Collection[Kind]]:
        """For each kind those that cannot stand in every way with it."""
        found: dict[Kind, list[Kind]] = defaultdict(list)
        for one, other in combinations_with_replacement(kinds, 2):
            nesting = (self.rules.against_nesting(one, other), self.rules.against_nesting(other, one))
            if any(nesting) or self.rules.against_coexisting(one, other):
                found[one].append(other)
                if one != other:
                    found[other].append(one)
        return found

    def between(self, one: NewEntity, other: NewEntity) -> list[Violation]:
        # Of their places it only matters which of the two lies strictly inside the other.
        is_outer = one.start <= other.start and other.end <= one.end
        is_inner = other.start <= one.start and one.end <= other.end
        key = (self._kind(one.label), self._kind(other.label), is_outer, is_inner)
        found = self._pairs.get(key)
        if found is None:
            spans = PlacedLabel(one.start, one.end, key[0]), PlacedLabel(other.start, other.end, key[1])
            found = self._pairs[key] = list(self.rules.between(*spans))
        if not found:
            return []
        labels = self._lineage(one.label), self._lineage(other.label)
        turned = labels[::-1] if is_inner else labels
        return [each._replace(labels=turned if each.kind == "can_contain" else labels) for each in found]

    def _kind(self, label: int) -> Kind:
        if label not in self._kinds:
            self._kinds[label] = tuple(key for key in self._lineage(label) if key in self._named)
        return self._kinds[label]

    def against(self, source: int, label: int, target: int) -> Violation | None:
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


def _meeting(entities: Sequence[NewEntity]) -> Iterator[Pair]:
    """The pairs of entities that share a token."""
    begun: list[tuple[int, NewEntity]] = []
    end = -1
    for index, entity in sorted(enumerate(entities), key=lambda numbered: numbered[1].start):
        if entity.start > end:  # most share no token
            begun.clear()
        else:
            begun = [(place, other) for place, other in begun if other.end >= entity.start]
        for place, other in begun:
            yield other, entity, max(place, index)
        begun.append((index, entity))
        end = max(end, entity.end)
