"""Counts what stands inside what, and what relations connect: constraint sets learn their rules from it."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import connection

from annotation_service.db import among
from datasets.models import Dataset, Item
from ontologies.labels import Label, Labels
from ontologies.models import Ontology, OntologyItem
from resources.models import ConstraintSet
from resources.proposals import Observed
from resources.rules import Lineage
from resources.spans import IN_REACH, LIE, Lie


class LearnedFrom(StrEnum):
    """Whose marks are counted."""

    GIVEN = "given"  # those that came with the dataset
    DONE = "done"  # what annotators have accepted on items that they are done with


# Grouped inside the database: single marks would take ten times as long.
_MARKS = {
    LearnedFrom.GIVEN: "a.layer = 'given' AND e.origin = 'given'",
    LearnedFrom.DONE: "a.layer = 'own' AND a.done_at IS NOT NULL AND e.status = 'accepted'",
}
_FROM = """
  JOIN datasets_annotation a ON a.id = e.annotation_id
  JOIN datasets_item i ON i.id = a.item_id AND i.removed_at IS NULL AND i.dataset_id = %(dataset)s
"""
_INSIDE = f"""
  FROM datasets_entity e {_FROM}
  JOIN datasets_entity o ON o.annotation_id = e.annotation_id AND {IN_REACH.format("e", "o")} AND o.start >= e.start
   AND {LIE.format("e", "o")} = '{Lie.AROUND}'
 WHERE {{marks}} AND (o.status = 'accepted' OR a.layer = 'given' AND o.origin = 'given')
"""
_RELATED = f"""
  FROM datasets_relation e {_FROM}
  JOIN datasets_entity s ON s.id = e.source_id
  JOIN datasets_entity t ON t.id = e.target_id
 WHERE {{marks}}
"""
_COUNTED = {
    "entity": [
        f'SELECT e.label_id, COUNT(*) FROM datasets_entity e {_FROM} WHERE e.start < e."end" AND {{marks}} GROUP BY 1',
        f"SELECT e.label_id, o.label_id, COUNT(*) {_INSIDE} GROUP BY 1, 2",
    ],
    "relation": [f"SELECT s.label_id, e.label_id, t.label_id, COUNT(*) {_RELATED} GROUP BY 1, 2, 3"],
}
_ORDER = "ORDER BY i.position, a.annotator_id, e.id LIMIT {limit}"
_EXAMPLES = {
    False: f"""SELECT i.id, a.annotator_id, e.start, e."end", o.start, o."end" {_INSIDE}
        AND e.label_id IN ({{first}}) AND o.label_id IN ({{last}}) {_ORDER}""",
    True: f"""SELECT i.id, a.annotator_id, s.start, s."end", t.start, t."end" {_RELATED}
        AND s.label_id IN ({{first}}) AND e.label_id IN ({{label}}) AND t.label_id IN ({{last}}) {_ORDER}""",
}


class Example(NamedTuple):
    """Two entities: one inside the other, or the ends of a relation."""

    item: Item
    annotator: int | None
    words: tuple[str, str]


class Evidence:
    """The marks of a dataset as evidence for the rules of a set.

    ``observed`` has the figures of the marks, in the labels of the set. A label is the same in both if it has the same uid, as
    copies have, or else the same full name; ``missing`` are the full names of those that the set's ontologies lack.
    """

    def __init__(self, constraints: ConstraintSet, dataset: Dataset, source: LearnedFrom) -> None:
        self.dataset, self.source = dataset, source
        counts = [row for sql in _COUNTED[constraints.kind] for row in self._rows(sql)]
        self._known, self.missing = _translated(
            {label for *labels, _ in counts for label in labels}, constraints.ontologies.values()
        )
        lines = [lineage for _, lineage in self._known.values()]
        self.observed = Observed({line[place]: line[place:] for line in lines for place in range(len(line))})
        tables: dict[int, Counter[Any]] = {
            1: self.observed.long,
            2: self.observed.nested,
            3: self.observed.related,
        }
        for *labels, count in counts:
            if all(label in self._known for label in labels):
                keys = tuple(self._known[label][0].pk for label in labels)
                tables[len(keys)][keys if len(keys) > 1 else keys[0]] += count

    def examples(self, first: int, last: int, relation: int | None, limit: int) -> list[Example]:
        """Some of the entities of a type inside those of another, or of the relations between the two types."""
        labels = {"first": self._below(first), "last": self._below(last), "label": self._below(relation or 0)}
        rows = self._rows(_EXAMPLES[relation is not None], limit=limit, **labels)
        items = self.dataset.items().in_bulk({row[0] for row in rows})
        return [
            Example(items[pk], annotator, (items[pk].cleaned.between(*ends[:2]), items[pk].cleaned.between(*ends[2:])))
            for pk, annotator, *ends in rows
            if pk in items
        ]

    def _below(self, label: int) -> str:
        """SQL for the dataset's labels that are of a type."""
        return ", ".join(str(key) for key, (_, lineage) in self._known.items() if label in lineage) or "0"

    def _rows(self, sql: str, **parts: Any) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(sql.format(marks=_MARKS[self.source], **parts), {"dataset": self.dataset.pk})
            return cursor.fetchall()


def _translated(keys: set[int], ontologies: Iterable[Ontology]) -> tuple[dict[int, tuple[Label, Lineage]], list[str]]:
    """The same labels in these ontologies, with their lineages; and the full names of those that are in none of them."""
    there = {ontology.kind: ontology.labels() for ontology in ontologies}
    known: dict[int, tuple[Label, Lineage]] = {}
    missing: list[str] = []
    items = OntologyItem.objects.filter(pk__in=among(keys))
    for ontology in Ontology.objects.filter(pk__in=items.values("ontology")):
        labels = there.get(ontology.kind, Labels())
        here = ontology.labels().by_pk
        for key in keys & here.keys():
            own = here[key]
            if same := labels.by_uid.get(own.uid) or labels.by_fullname.get(own.fullname):
                known[key] = same, labels.lineage(same)
            else:
                missing.append(own.fullname)
    return known, sorted(missing)
