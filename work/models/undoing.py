"""The SQL that takes a batch back, for both databases.

A mark is as the batch left it while it was changed at the moment of the batch. Of items that are done nothing is touched.
"""

from datasets.models.rejection import ENTITY_KEY, RELATION_KEY

# Named twice, so that PostgreSQL finds marks by batch and annotation, and not all those of the batch each time.
_OPEN = """annotation_id IN ({annotations})
   AND m.annotation_id IN (SELECT id FROM datasets_annotation WHERE id IN ({annotations}) AND done_at IS NULL)"""
_AS_LEFT = "m.batch_id = %(batch)s AND m.updated_at = %(at)s"
_ACCEPTED_AT = """EXISTS (SELECT 1 FROM datasets_relation r WHERE r.source_id = m.id AND r.status = 'accepted'{0}
     UNION ALL SELECT 1 FROM datasets_relation r WHERE r.target_id = m.id AND r.status = 'accepted'{0})"""


def _find(table: str, status: str, origin: str = "", also: str = "") -> str:
    which = f"{_AS_LEFT} AND m.status = '{status}'{origin} AND m.{_OPEN}{also}"
    return f"SELECT m.id FROM datasets_{table} m WHERE {which} ORDER BY m.id"


def _suggest(table: str) -> tuple[str, str]:
    """Suggestions again."""
    return (
        _TOUCH.format(table),
        f"UPDATE datasets_{table} SET status = 'suggested', batch_id = NULL, updated_at = %(now)s WHERE id IN ({{found}})",
    )


_TOUCH = (
    "UPDATE datasets_annotation SET revision = revision + 1"
    " WHERE id IN (SELECT annotation_id FROM datasets_{0} WHERE id IN ({{found}}))"
)
_MADE = " AND m.origin = 'propagation'"
_SUGGESTED = " AND m.origin <> 'propagation'"
_UNRELATED = f" AND NOT {_ACCEPTED_AT.format('')}"

# Each is what finds marks, and what is then done with them.
Step = tuple[str, tuple[str, ...]]
UNDO_MAKING: tuple[Step, ...] = (
    (
        _find("relation", "accepted", _MADE),
        (_TOUCH.format("relation"), "DELETE FROM datasets_relation WHERE id IN ({found})"),
    ),
    (_find("relation", "accepted", _SUGGESTED), _suggest("relation")),
    (
        # What is suggested or rejected at a mark goes with it; it is suggested again together with its ends.
        _find("entity", "accepted", _MADE, _UNRELATED),
        (
            _TOUCH.format("entity"),
            "DELETE FROM datasets_relation WHERE source_id IN ({found}) OR target_id IN ({found})",
            "DELETE FROM datasets_entity WHERE id IN ({found})",
        ),
    ),
    (_find("entity", "accepted", _SUGGESTED, _UNRELATED), _suggest("entity")),
)
_FORGET_ENTITIES = f"""
    DELETE FROM datasets_rejection WHERE EXISTS (
        SELECT 1 FROM datasets_entity m WHERE m.id IN ({{found}})
           AND m.annotation_id = datasets_rejection.annotation_id AND datasets_rejection.what = {ENTITY_KEY.format("m")})
       AND annotation_id IN (SELECT annotation_id FROM datasets_entity WHERE id IN ({{found}}))
"""
_FORGET_RELATIONS = f"""
    DELETE FROM datasets_rejection WHERE EXISTS (
        SELECT 1 FROM datasets_relation m
          JOIN datasets_entity s ON s.id = m.source_id
          JOIN datasets_entity t ON t.id = m.target_id
         WHERE m.id IN ({{found}})
           AND m.annotation_id = datasets_rejection.annotation_id
           AND datasets_rejection.what = {RELATION_KEY.format("m", "s", "t")})
       AND annotation_id IN (SELECT annotation_id FROM datasets_relation WHERE id IN ({{found}}))
"""
_BOTH_ENDS_THERE = """ AND NOT EXISTS (
    SELECT 1 FROM datasets_entity e WHERE e.id IN (m.source_id, m.target_id) AND e.status = 'rejected')"""
UNDO_REJECTING: tuple[Step, ...] = (
    (_find("entity", "rejected"), (_FORGET_ENTITIES, *_suggest("entity"))),
    (_find("relation", "rejected", "", _BOTH_ENDS_THERE), (_FORGET_RELATIONS, *_suggest("relation"))),
)

PLACES = """
    SELECT a.id, a.item_id FROM datasets_annotation a
      JOIN datasets_item i ON i.id = a.item_id
     WHERE a.id IN (SELECT annotation_id FROM datasets_entity WHERE batch_id = %(batch)s
                     UNION SELECT annotation_id FROM datasets_relation WHERE batch_id = %(batch)s
                     UNION SELECT annotation_id FROM datasets_removedentity WHERE removed_by_id = %(batch)s
                     UNION SELECT annotation_id FROM datasets_removedrelation WHERE removed_by_id = %(batch)s)
     ORDER BY i.position
"""
_COUNT = """
    SELECT COUNT(*), COUNT(a.done_at), COUNT(CASE WHEN a.done_at IS NULL AND (m.updated_at <> %(at)s{changed}) THEN 1 END)
      FROM datasets_{table} m JOIN datasets_annotation a ON a.id = m.annotation_id
     WHERE m.batch_id = %(batch)s
"""
_OTHERS = " AND (r.batch_id IS NULL OR r.batch_id <> %(batch)s OR r.updated_at <> %(at)s)"
COUNT = {
    "entity": _COUNT.format(table="entity", changed=f" OR {_ACCEPTED_AT.format(_OTHERS)}"),
    "relation": _COUNT.format(table="relation", changed=""),
}

# Of those that nobody has begun, the ones in which no batch has left or removed anything, and what was marked before suggests
# nothing.
EMPTY = """
    SELECT a.id FROM datasets_annotation a
     WHERE a.id IN ({annotations}) AND a.started_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM datasets_entity m WHERE m.annotation_id = a.id
                        AND (m.batch_id IS NOT NULL OR m.origin = 'history'))
       AND NOT EXISTS (SELECT 1 FROM datasets_relation m WHERE m.annotation_id = a.id AND m.batch_id IS NOT NULL)
       AND NOT EXISTS (SELECT 1 FROM datasets_removedentity m WHERE m.annotation_id = a.id)
       AND NOT EXISTS (SELECT 1 FROM datasets_removedrelation m WHERE m.annotation_id = a.id)
"""
CONTENT = (
    ("removedrelation", "annotation_id"),
    ("removedentity", "annotation_id"),
    ("relation", "annotation_id"),
    ("entity", "annotation_id"),
    ("rejection", "annotation_id"),
    ("annotation", "id"),
)

_THEIR_ITEMS = "item_id IN (SELECT item_id FROM datasets_annotation WHERE id IN ({annotations}))"
# What is known of the items of annotations that are about to go: what is left in these items is counted again.
FORGET_WORK = (
    f"UPDATE datasets_annotation SET counted = 0 WHERE {_THEIR_ITEMS}",
    f"DELETE FROM datasets_itemwork WHERE {_THEIR_ITEMS}",
    f"DELETE FROM datasets_itemlabel WHERE {_THEIR_ITEMS}",
)
