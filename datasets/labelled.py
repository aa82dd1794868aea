"""How words were labelled before."""

from collections import Counter
from typing import NamedTuple

from django.db import connection

from annotation_service.models import User
from ontologies.models import Ontology

from .cleaned import key_of

# Of words that were marked often only so many marks with each label are counted, of so many labels: the newest of people and,
# because documents come before people, the oldest of those that came with the dataset.
MARKS, LABELS = 100, 10

# The second part is word by word the condition of the index, or SQLite does not use it.
_OF_WORDS = "words_key = %(key)s AND (status = 'accepted' OR origin = 'given')"
# From one label to the next, however many marks they have. For a MIN, and without the id in the order of the index, PostgreSQL
# would look at all of these.
_NEXT = f"(SELECT label_id FROM datasets_entity WHERE {_OF_WORDS} AND label_id > {{}} ORDER BY label_id, id LIMIT 1)"
_USED = f"""
WITH RECURSIVE used (label) AS (
    SELECT {_NEXT.format("%(first)s - 1")}
     UNION ALL
    SELECT {_NEXT.format("used.label")} FROM used WHERE used.label < %(last)s
)
SELECT label FROM used WHERE label IS NOT NULL
"""
# A subquery for each label: by a join, both databases would look at all marks.
_SOME = f"""
SELECT * FROM (
    SELECT label_id, annotation_id, status, {{given}} AS given FROM datasets_entity
     WHERE {_OF_WORDS} AND label_id = {{label}} ORDER BY id {{order}} LIMIT %(marks)s
) some_{{given}}_{{label}}
"""
# Whether they are the person's own; null for what does not count. For a join, PostgreSQL would read all annotations.
_COUNTS = """
SELECT m.label_id, m.given, COUNT(*), (
           SELECT COALESCE(a.annotator_id = %(person)s, FALSE)
             FROM datasets_annotation a
             JOIN datasets_item i ON i.id = a.item_id
            WHERE a.id = m.annotation_id AND i.removed_at IS NULL AND (a.annotator_id IS NULL) = m.given
       )
  FROM ({some}) m
 WHERE m.given OR m.status = 'accepted'
 GROUP BY 1, 2, 4
"""


class Labelled(NamedTuple):
    """How often each label, by its uid, was given to words: by a person, with the dataset, and by everybody in the project."""

    own: Counter[str]
    given: Counter[str]
    project: Counter[str]


def labels_before(words: str, ontology: Ontology, person: User) -> Labelled:
    """How words, the tokens with a space between them, were labelled in the project of the ontology. Case does not matter."""
    found = Labelled(Counter(), Counter(), Counter())
    uids = {label.pk: label.uid for label in ontology.labels()}
    params = {"key": key_of([words]), "person": person.pk, "marks": MARKS}
    with connection.cursor() as cursor:
        cursor.execute(_USED, {**params, "first": min(uids, default=0), "last": max(uids, default=0)})
        labels = [label for (label,) in cursor.fetchall() if label in uids][:LABELS]
        parts = [
            _SOME.format(label=label, given=given, order=order)
            for label in labels
            for given, order in (("TRUE", "ASC"), ("FALSE", "DESC"))
        ]
        if parts:
            cursor.execute(_COUNTS.format(some=" UNION ALL ".join(parts)), params)
            for label, is_given, count, is_own in cursor.fetchall():
                for counts, is_counted in zip(found, (is_own, is_given, not is_given), strict=True):
                    if is_counted and is_own is not None:
                        counts[uids[label]] += count
    return found
