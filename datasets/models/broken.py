"""Which marks break the constraints of their project together with some that are about to change: what a save asks."""

import hashlib
import json
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection

from annotation_service.db import keys
from ontologies.models import Ontology
from resources.judging import Judge
from resources.models import Version, rules_at, versions_in
from resources.rules import Violation
from resources.spans import IN_REACH

from ..importing.items import NewEntity

# Only accepted marks count and, on given annotations, those that came with the dataset. Written out because whoever saves a mark
# waits for both: 0.1 ms, composed by the ORM 0.9.
COUNTS = """(({0}.status = 'accepted' AND {1}.status = 'accepted')
       OR (a.layer = 'given' AND {0}.origin = 'given' AND {1}.origin = 'given'))"""
_PAIRS = f"""
SELECT a.item_id, e.uid, e.label_id, e.start, e."end", o.uid, o.label_id, o.start, o."end"
  FROM datasets_entity e
  JOIN datasets_entity o ON o.annotation_id = e.annotation_id AND {IN_REACH.format("e", "o")}
  JOIN datasets_annotation a ON a.id = e.annotation_id
 WHERE {COUNTS.format("e", "o")} AND e.id IN ({{e}}) AND o.id <> e.id
"""
_RELATIONS = f"""
SELECT a.item_id, r.uid, r.label_id, s.uid, s.label_id, t.uid, t.label_id
  FROM datasets_relation r
  JOIN datasets_entity s ON s.id = r.source_id
  JOIN datasets_entity t ON t.id = r.target_id
  JOIN datasets_annotation a ON a.id = r.annotation_id
 WHERE {COUNTS.format("r", "r")} AND (r.id IN ({{r}}) OR r.source_id IN ({{e}}) OR r.target_id IN ({{e}}))
"""


class Broken(NamedTuple):
    """Two entities, or a relation, that break a constraint; ``marks`` are the uids of the two or, of a relation, of its ends."""

    item: int
    marks: tuple[str, str]
    relation: str
    """The uid of the relation, empty for entities."""
    violation: Violation
    state: tuple[Any, ...]
    """The labels and places of all marks involved."""

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


def judge_of(dataset: int) -> Judge | None:
    """Of the rules of a dataset's project as they are now, None if it has none. Kept until they or its labels change."""
    return _judge(versions_in("(SELECT project_id FROM datasets_dataset WHERE id = %(key)s)", dataset))


@lru_cache(maxsize=20)
def _judge(versions: tuple[Version, ...]) -> Judge | None:
    rules = rules_at(tuple((each.key, each.name, each.at) for each in versions if each.what == "rules"))
    trees = [each.key for each in versions if each.what == "labels"]
    return Judge(rules, Ontology.objects.filter(pk__in=trees).order_by("pk")) if rules else None


def broken_by(judge: Judge, entities: Collection[int], relations: Collection[int]) -> Iterator[Broken]:
    """What entities and relations with these keys break, together with the other marks of their annotation."""
    if not entities:  # a mark that is not stored yet
        return
    at = {"e": keys(entities), "r": keys(relations)}
    with connection.cursor() as cursor:
        cursor.execute(_PAIRS.format(**at))
        pairs = cursor.fetchall()
        cursor.execute(_RELATIONS.format(**at))
        related = cursor.fetchall()
    for item, *values in pairs:
        one, other = NewEntity(*values[:4]), NewEntity(*values[4:])
        for violation in judge.between(one, other):
            yield Broken(item, (one.uid, other.uid), "", violation, (one, other))
    for item, uid, label, source, source_label, target, target_label in related:
        if found := judge.against(source_label, label, target_label):
            yield Broken(item, (source, target), uid, found, (source_label, label, target_label))
