"""Counts what stands inside what, and what relations connect: constraint sets learn their rules from it."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from django.db import connection

from annotation_service.db import among
from ontologies.labels import Label, Labels
from ontologies.models import Ontology, OntologyItem
from resources.learning import Observed
from resources.models import ConstraintSet
from resources.rules import Lineage

from .models import Dataset


class Source(StrEnum):
    """Whose marks are counted."""

    GIVEN = "given"  # those that came with the dataset
    DONE = "done"  # what annotators have accepted on items that they are done with


# Grouped inside the database: single marks would take ten times as long.
_MARKS = {
    Source.GIVEN: "a.annotator_id IS NULL",
    Source.DONE: "a.annotator_id IS NOT NULL AND a.done_at IS NOT NULL AND e.status = 'accepted'",
}
_FROM = """
  JOIN datasets_annotation a ON a.id = e.annotation_id
  JOIN datasets_item i ON i.id = a.item_id AND i.removed_at IS NULL AND i.dataset_id = %(dataset)s
"""
_ROOMY = f'SELECT e.label_id, COUNT(*) FROM datasets_entity e {_FROM} WHERE e.start < e."end" AND {{marks}} GROUP BY 1'
_NESTED = f"""
SELECT e.label_id, o.label_id, COUNT(*)
  FROM datasets_entity e {_FROM}
  JOIN datasets_entity o ON o.annotation_id = e.annotation_id AND o.start >= e.start AND o."end" <= e."end"
   AND o."end" - o.start < e."end" - e.start
 WHERE {{marks}} AND (a.annotator_id IS NULL OR o.status = 'accepted')
 GROUP BY 1, 2
"""
_RELATED = f"""
SELECT s.label_id, e.label_id, t.label_id, COUNT(*)
  FROM datasets_relation e {_FROM}
  JOIN datasets_entity s ON s.id = e.source_id
  JOIN datasets_entity t ON t.id = e.target_id
 WHERE {{marks}}
 GROUP BY 1, 2, 3
"""


def observe(resource_set: ConstraintSet, dataset: Dataset, source: Source) -> tuple[Observed, list[str]]:
    """What the marks of a dataset are like, in the labels of the set; and the names of those that the set's ontologies lack.

    A label is the same in both if it has the same uid, as copies have, or else the same full name.
    """
    wanted = [_RELATED] if resource_set.kind == "relation" else [_ROOMY, _NESTED]
    results = []
    with connection.cursor() as cursor:
        for sql in wanted:
            cursor.execute(sql.format(marks=_MARKS[source]), {"dataset": dataset.pk})
            results.append(cursor.fetchall())
    counts = [(labels, count) for result in results for *labels, count in result]
    known, missing = _translated({label for labels, _ in counts for label in labels}, resource_set.ontologies.values())
    lineages = [lineage for _, lineage in known.values()]
    observed = Observed({line[place]: line[place:] for line in lineages for place in range(len(line))})
    tables: dict[int, Counter[Any]] = {1: observed.roomy, 2: observed.nested, 3: observed.related}
    for labels, count in counts:
        if all(label in known for label in labels):
            keys = tuple(known[label][0].pk for label in labels)
            tables[len(keys)][keys if len(keys) > 1 else keys[0]] += count
    return observed, missing


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
