"""Brings back what a batch has removed, for both databases: all but what stands there again, breaks a rule, or lacks its label.

A mark that broke a rule when it was removed does so again, as if it had stayed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from annotation_service.db import execute, keys
from datasets.models.rejection import ENTITY_KEY, RELATION_KEY
from datasets.models.violations import broken_by, rules_for

ENTITY_COLUMNS = (
    'id, annotation_id, label_id, uid, status, origin, batch_id, created_at, updated_at, start, "end", words_key'
)
RELATION_COLUMNS = (
    "id, annotation_id, label_id, uid, status, origin, batch_id, created_at, updated_at, source_id, target_id"
)
COLUMNS = {"entity": ENTITY_COLUMNS, "relation": RELATION_COLUMNS}

_HAS_LABEL = "EXISTS (SELECT 1 FROM ontologies_ontologyitem l WHERE l.id = r.label_id)"
_SAME_SPAN = 'e.annotation_id = r.annotation_id AND e.label_id = r.label_id AND e.start = r.start AND e."end" = r."end"'
_FITS = {
    # An open suggestion of the same gives way.
    "entity": f"""{_HAS_LABEL} AND NOT EXISTS (
        SELECT 1 FROM datasets_entity e WHERE {_SAME_SPAN} AND e.status <> 'suggested'
         UNION ALL SELECT 1 FROM datasets_entity e WHERE e.annotation_id = r.annotation_id AND e.uid = r.uid)""",
    "relation": f"""{_HAS_LABEL} AND EXISTS (
        SELECT 1 FROM datasets_entity s JOIN datasets_entity t ON t.id = r.target_id
         WHERE s.id = r.source_id AND CASE r.status
               WHEN 'accepted' THEN s.status = 'accepted' AND t.status = 'accepted'
               WHEN 'suggested' THEN s.status <> 'rejected' AND t.status <> 'rejected' ELSE TRUE END)
       AND NOT EXISTS (
        SELECT 1 FROM datasets_relation o
         WHERE o.source_id = r.source_id AND o.target_id = r.target_id AND o.label_id = r.label_id
         UNION ALL SELECT 1 FROM datasets_relation o WHERE o.annotation_id = r.annotation_id AND o.uid = r.uid)""",
}
_HERE = "removed_by_id = %(batch)s AND annotation_id IN ({annotations})"
_FIND = """
    SELECT r.id, r.is_broken, a.item_id, r.uid FROM datasets_removed{kind} r
      JOIN datasets_annotation a ON a.id = r.annotation_id
     WHERE r.removed_by_id = %(batch)s AND r.annotation_id IN ({annotations}) AND a.done_at IS NULL AND {fits}
"""
_GIVEN_WAY = (
    f"SELECT e.id FROM datasets_entity e JOIN datasets_removedentity r ON {_SAME_SPAN} WHERE r.id IN ({{found}})"
)
_GIVE_WAY = (
    f"DELETE FROM datasets_relation WHERE source_id IN ({_GIVEN_WAY}) OR target_id IN ({_GIVEN_WAY})",
    f"DELETE FROM datasets_entity WHERE id IN ({_GIVEN_WAY})",
)
_BRING = "INSERT INTO datasets_{kind} ({columns}) SELECT {columns} FROM datasets_removed{kind} WHERE id IN ({found})"
_TOUCH = (
    "UPDATE datasets_annotation SET revision = revision + 1"
    " WHERE id IN (SELECT annotation_id FROM datasets_removed{kind} WHERE id IN ({found}))"
)
_TAKE_AGAIN = (
    "DELETE FROM datasets_relation WHERE id IN ({relations}) OR source_id IN ({entities}) OR target_id IN ({entities})",
    "DELETE FROM datasets_entity WHERE id IN ({entities})",
)
_FORGET = """
    DELETE FROM datasets_rejection WHERE annotation_id IN ({annotations}) AND EXISTS (
        SELECT 1 FROM datasets_removed{kind} r JOIN datasets_{kind} m ON m.id = r.id {ends}
         WHERE r.removed_by_id = %(batch)s AND r.is_noted
           AND r.annotation_id = datasets_rejection.annotation_id AND datasets_rejection.what = {what})
"""
_ENDS = "JOIN datasets_entity s ON s.id = m.source_id JOIN datasets_entity t ON t.id = m.target_id"
_AFTER = (
    _FORGET.replace("{kind}", "entity").replace("{ends}", "").replace("{what}", ENTITY_KEY.format("m")),
    _FORGET.replace("{kind}", "relation")
    .replace("{ends}", _ENDS)
    .replace("{what}", RELATION_KEY.format("m", "s", "t")),
    f"DELETE FROM datasets_removedrelation WHERE {_HERE} AND id IN (SELECT id FROM datasets_relation)",
    f"DELETE FROM datasets_removedentity WHERE {_HERE} AND id IN (SELECT id FROM datasets_entity)",
    # A relation whose other end another batch has removed since comes back with that.
    f"""
    UPDATE datasets_removedrelation
       SET removed_by_id = (SELECT MAX(e.removed_by_id) FROM datasets_removedentity e WHERE e.id IN (source_id, target_id))
     WHERE {_HERE} AND EXISTS (
        SELECT 1 FROM datasets_removedentity e WHERE e.id IN (source_id, target_id) AND e.removed_by_id <> %(batch)s)
    """,
)
# What it has removed; of that on items that are done, and of the rest what cannot come back.
COUNT = {
    kind: f"""
    SELECT COUNT(*), COUNT(a.done_at), COUNT(CASE WHEN a.done_at IS NULL AND NOT ({fits}) THEN 1 END)
      FROM datasets_removed{kind} r JOIN datasets_annotation a ON a.id = r.annotation_id
     WHERE r.removed_by_id = %(batch)s
    """
    for kind, fits in _FITS.items()
}
FORGET = tuple(f"DELETE FROM datasets_removed{kind} WHERE removed_by_id = %(batch)s" for kind in ("relation", "entity"))


_IN_ITEMS = """
    SELECT r.id, a.item_id, r.uid FROM datasets_removed{kind} r JOIN datasets_annotation a ON a.id = r.annotation_id
     WHERE r.removed_by_id = %(batch)s AND a.item_id IN ({items})
"""


def note_broken(kind: str, marks: Sequence[int], dataset: int, params: Mapping[str, Any]) -> None:
    """Which of these marks, which are kept and about to go, break a rule."""
    rules = rules_for(dataset)
    entities, relations = (marks, ()) if kind == "entity" else ([0], marks)
    broken = {place for each in broken_by(rules, entities, relations) for place in each.places} if rules else set()
    for kind in COLUMNS if broken else ():
        with connection.cursor() as cursor:
            cursor.execute(_IN_ITEMS.format(kind=kind, items=keys({item for _, item, _ in broken})), params)
            found = keys(pk for pk, *place in cursor.fetchall() if (kind, *place) in broken)
        execute(f"UPDATE datasets_removed{kind} SET is_broken = TRUE WHERE id IN ({found})")


def bring_back(annotations: Sequence[int], dataset: int, params: Mapping[str, Any]) -> None:
    """In these annotations, whose items are locked."""
    here = keys(annotations)
    entities = _bring("entity", here, params)
    relations = _bring("relation", here, params)
    if rules := rules_for(dataset):
        broken = {place for each in broken_by(rules, [*entities, 0], relations) for place in each.places}
        gone = {
            "entities": keys(pk for pk, place in entities.items() if ("entity", *place) in broken),
            "relations": keys(pk for pk, place in relations.items() if ("relation", *place) in broken),
        }
        for statement in _TAKE_AGAIN:
            execute(statement.format(**gone))
    for statement in _AFTER:
        execute(statement.format(annotations=here), params)


def _bring(kind: str, annotations: str, params: Mapping[str, Any]) -> dict[int, tuple[int, str]]:
    """The items and uids of those that came back, by their keys; without those that broke rules before."""
    with connection.cursor() as cursor:
        cursor.execute(_FIND.format(kind=kind, annotations=annotations, fits=_FITS[kind]), params)
        rows = cursor.fetchall()
    found = keys(pk for pk, *_ in rows)
    for statement in (*(_GIVE_WAY if kind == "entity" else ()), _BRING, _TOUCH):
        execute(statement.format(kind=kind, columns=COLUMNS[kind], found=found))
    return {pk: (item, uid) for pk, is_broken, item, uid in rows if not is_broken}
