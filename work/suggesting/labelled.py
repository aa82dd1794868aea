"""How words were labelled before."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from django.db import connection

from annotation_service.models import User
from datasets.cleaned import key_of
from ontologies.models import Ontology

# Of words that were marked often only so many marks with each label are counted, of so many labels: the newest of people and,
# because documents come before people, the oldest of those that came with the dataset.
MARKS, LABELS = 100, 10
_AT_ONCE = 200  # SQLite takes 500 SELECTs in one

# The second part is word by word the condition of the index, or SQLite does not use it.
_OF_WORDS = "words_key = {key} AND (status = 'accepted' OR origin = 'given')"
# From one label to the next in the index, however many marks they have: 400 labels of words that were marked 336,000 times are
# found in 4 ms, by DISTINCT in 150 (two cores, PostgreSQL 15).
_NEXT = f"(SELECT MIN(label_id) FROM datasets_entity WHERE {_OF_WORDS} AND label_id > {{after}})"
_KEYS = {
    "sqlite": "SELECT value FROM json_each(%(keys)s)",
    "postgresql": "SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(%(keys)s AS jsonb))",
}
_USED = f"""
WITH RECURSIVE words (key) AS ({{keys}}),
used (key, label) AS (
    SELECT words.key, {_NEXT.format(key="words.key", after="%(first)s - 1")} FROM words
     UNION ALL
    SELECT used.key, {_NEXT.format(key="used.key", after="used.label")} FROM used WHERE used.label < %(last)s
)
SELECT key, label FROM used WHERE label IS NOT NULL
"""
# A subquery for each label: by a join, both databases would look at all marks.
_SOME = f"""
SELECT * FROM (
    SELECT words_key, label_id, annotation_id, batch_id, status, {{given}} AS given FROM datasets_entity
     WHERE {_OF_WORDS} AND label_id = {{label}} ORDER BY id {{order}} LIMIT %(marks)s
) newest
"""
# Whether they are the person's own. In an annotation that nobody has begun, only what a batch put there was meant by a person.
_COUNTS = """
SELECT m.words_key, m.label_id, m.given, COUNT(*), COALESCE(a.annotator_id = %(person)s, FALSE)
  FROM ({some}) m
  JOIN datasets_annotation a ON a.id = m.annotation_id AND (a.annotator_id IS NULL) = m.given
  JOIN datasets_item i ON i.id = a.item_id AND i.removed_at IS NULL
 WHERE m.given OR m.status = 'accepted' AND (a.started_at IS NOT NULL OR m.batch_id IS NOT NULL)
 GROUP BY 1, 2, 3, 5
"""


class Labelled(NamedTuple):
    """How often each label, by its uid, was given to words: by a person, with the dataset, and by everybody in the project."""

    own: Counter[str]
    given: Counter[str]
    project: Counter[str]


def labels_before(words: str, ontology: Ontology, person: User) -> Labelled:
    """How words, the tokens with a space between them, were labelled in the project of the ontology. Case does not matter."""
    key = key_of([words])
    return labels_of_words([key], ontology, person)[key]


def labels_of_words(
    keys: Collection[int], ontology: Ontology, person: User, *, marks: int | None = None
) -> dict[int, Labelled]:
    """The same of many words, by their keys; counting fewer marks of each label is quicker."""
    found = defaultdict[int, Labelled](lambda: Labelled(Counter(), Counter(), Counter()))
    uids = {label.pk: label.uid for label in ontology.labels()}
    with connection.cursor() as cursor:
        span = {"first": min(uids, default=0), "last": max(uids, default=0)}
        cursor.execute(_USED.format(keys=_KEYS[connection.vendor]), {"keys": json.dumps(list(keys)), **span})
        used: dict[int, list[int]] = defaultdict(list)
        for key, label in cursor.fetchall():
            if label in uids:
                used[key].append(label)
        for part in _parts(used):
            cursor.execute(_COUNTS.format(some=part), {"person": person.pk, "marks": marks or MARKS})
            for key, label, is_given, count, is_own in cursor.fetchall():
                for counts, is_counted in zip(found[key], (is_own, is_given, not is_given), strict=True):
                    if is_counted:
                        counts[uids[label]] += count
    return found


def _parts(used: dict[int, list[int]]) -> Iterator[str]:
    """The subqueries for labels of words, not too many in one."""
    some = [
        _SOME.format(key=key, label=label, given=given, order=order)
        for key, labels in used.items()
        for label in sorted(labels)[:LABELS]
        for given, order in (("TRUE", "ASC"), ("FALSE", "DESC"))
    ]
    for start in range(0, len(some), _AT_ONCE):
        yield " UNION ALL ".join(some[start : start + _AT_ONCE])
