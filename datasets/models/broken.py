"""Which marks break the constraints of their project together with some that are about to change: what a save asks."""

import hashlib
import json
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, NamedTuple

from django.db import connection

from ontologies.models import OntologyItem
from resources.models import rules_at
from resources.rules import PlacedLabel, Rules, Violation

# Only accepted marks count and, on given annotations, those that came with the dataset. Written out because whoever saves a mark
# waits for both: 0.1 ms, composed by the ORM 0.9.
COUNTS = """(({0}.status = 'accepted' AND {1}.status = 'accepted')
       OR (a.annotator_id IS NULL AND {0}.origin = 'given' AND {1}.origin = 'given'))"""
_PAIRS = f"""
SELECT a.item_id, a.annotator_id, e.uid, e.label_id, e.start, e."end", o.uid, o.label_id, o.start, o."end"
  FROM datasets_entity e
  JOIN datasets_entity o ON o.annotation_id = e.annotation_id AND o.start <= e."end" AND o."end" >= e.start
  JOIN datasets_annotation a ON a.id = e.annotation_id
 WHERE {COUNTS.format("e", "o")} AND {{which}}
"""
_RELATIONS = f"""
SELECT a.item_id, a.annotator_id, r.uid, r.label_id, s.uid, s.label_id, t.uid, t.label_id
  FROM datasets_relation r
  JOIN datasets_entity s ON s.id = r.source_id
  JOIN datasets_entity t ON t.id = r.target_id
  JOIN datasets_annotation a ON a.id = r.annotation_id
 WHERE {COUNTS.format("r", "r")} AND {{which}}
"""
_CONSTRAINTS = """
SELECT c.id, c.name, c.updated_at
  FROM resources_constraintset c
  JOIN datasets_dataset d ON d.project_id = c.project_id
 WHERE d.id = %(dataset)s
 ORDER BY c.kind
"""


class Broken(NamedTuple):
    """Two entities, or a relation, that break a constraint; ``marks`` are the uids of the two or, of a relation, of its ends."""

    item: int
    annotator: int | None
    marks: tuple[str, str]
    relation: str
    """The uid of the relation, empty for entities."""
    violation: Violation
    state: tuple[Any, ...]
    """The labels and places of all marks involved."""

    @property
    def uids(self) -> tuple[str, ...]:
        """The uids of all marks involved."""
        return (*self.marks, self.relation) if self.relation else self.marks

    @property
    def places(self) -> list[tuple[str, int, str]]:
        """The two entities or the relation, each as its kind, item and uid."""
        if self.relation:
            return [("relation", self.item, self.relation)]
        return [("entity", self.item, uid) for uid in self.marks]

    @property
    def key(self) -> frozenset[str] | str:
        """Names the pair or the relation, whatever becomes of it."""
        return self.relation or frozenset(self.marks)

    @property
    def fingerprint(self) -> str:
        """Changes with each of the marks."""
        text = json.dumps([self.relation, sorted(self.marks), sorted(map(str, self.state))])
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def rules_for(dataset: int) -> Rules | None:
    """What the constraints of a dataset's project allow; None if it has none."""
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS, {"dataset": dataset})
        return rules_at(tuple(cursor.fetchall()))


def broken_by(rules: Rules, entities: Collection[int], relations: Collection[int]) -> Iterator[Broken]:
    """What entities and relations with these keys break, together with the other marks of their annotation."""
    if not entities:  # a mark that is not stored yet
        return
    one_of = {"e": ", ".join(map(str, entities)) or "0", "r": ", ".join(map(str, relations)) or "0"}
    at_ends = "(r.id IN ({r}) OR r.source_id IN ({e}) OR r.target_id IN ({e}))".format(**one_of)
    yield from _broken(rules, "e.id IN ({e}) AND o.id <> e.id".format(**one_of), at_ends)


def _broken(
    rules: Rules,
    which_pairs: str,
    which_relations: str,
) -> Iterator[Broken]:
    with connection.cursor() as cursor:
        cursor.execute(_PAIRS.format(which=which_pairs))
        pairs = cursor.fetchall()
        cursor.execute(_RELATIONS.format(which=which_relations))
        relations = cursor.fetchall()
    used = chain(((row[3], row[7]) for row in pairs), ((row[3], row[5], row[7]) for row in relations))
    lines = OntologyItem.lineages(set(chain.from_iterable(used)))
    for item, annotator, one, label, start, end, other, its_label, its_start, its_end in pairs:
        spans = PlacedLabel(start, end, lines[label]), PlacedLabel(its_start, its_end, lines[its_label])
        for violation in rules.between(*spans):
            places = (one, label, start, end), (other, its_label, its_start, its_end)
            yield Broken(item, annotator, (one, other), "", violation, places)
    for item, annotator, uid, label, source, source_label, target, target_label in relations:
        if found := rules.against_relating(lines[source_label], lines[label], lines[target_label]):
            yield Broken(item, annotator, (source, target), uid, found, (source_label, label, target_label))
