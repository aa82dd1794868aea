"""The SQL that puts suggestions on items, for both databases.

``t`` is an annotation of an item that was looked through: the given one, or somebody's. ``s`` and ``o`` are entities that
preannotations suggest on its item, ``w`` is a relation between two of them.
"""

from datasets.models.rejection import ENTITY_KEY, RELATION_KEY

COLUMNS = {
    "suggested_item": "item_id bigint PRIMARY KEY",
    "suggested_entity": 'id bigint PRIMARY KEY, item_id bigint, start integer, "end" integer, label_id bigint, uid text,'
    " own integer, words_key bigint",
    "suggested_relation": "id bigint PRIMARY KEY, item_id bigint, source_id bigint, target_id bigint, label_id bigint, uid text",
    "suggested_refused": "annotation_id bigint, entity_id bigint, PRIMARY KEY (annotation_id, entity_id)",
}
TABLES = (*COLUMNS, "suggested_to", "suggested_pair", "withdrawn_relation", "withdrawn_entity")
# Nothing but the last ones tells the databases what is in these tables.
INDEXES = (
    "CREATE INDEX suggested_entity_item ON suggested_entity (item_id)",
    "CREATE INDEX suggested_relation_item ON suggested_relation (item_id)",
    *(f"ANALYZE {table}" for table in list(COLUMNS)[:3]),
)

_SAME = 'e.annotation_id = {0}.id AND e.label_id = {1}.label_id AND e.start = {1}.start AND e."end" = {1}."end"'


def _is_there(entity: str) -> str:
    return f"EXISTS (SELECT 1 FROM datasets_entity e WHERE {_SAME.format('t', entity)})"


def _is_rejected(what: str) -> str:
    return f"EXISTS (SELECT 1 FROM datasets_rejection j WHERE j.annotation_id = t.id AND j.what = {what})"


def _is_refused(entity: str) -> str:
    return f"EXISTS (SELECT 1 FROM suggested_refused f WHERE f.annotation_id = t.id AND f.entity_id = {entity}.id)"


def _can_be_an_end(entity: str) -> str:
    hidden = f"EXISTS (SELECT 1 FROM datasets_entity e WHERE {_SAME.format('t', entity)} AND e.status = 'rejected')"
    return f"NOT {hidden} AND NOT {_is_rejected(ENTITY_KEY.format(entity))} AND NOT {_is_refused(entity)}"


_INSERT_ENTITIES = (
    "INSERT INTO datasets_entity"
    ' (annotation_id, label_id, uid, start, "end", words_key, status, origin, created_at, updated_at) '
)
_NEW_ENTITY = "t.id, s.label_id, s.uid, s.start, s.\"end\", s.words_key, 'suggested', 'preannotation', %(now)s, %(now)s"

PREPARE = (
    # Every item with suggestions gets a given annotation.
    """
    INSERT INTO datasets_annotation (item_id, started_at)
    SELECT i.id, %(now)s FROM datasets_item i
    WHERE i.removed_at IS NULL AND i.id IN (SELECT item_id FROM suggested_entity)
      AND NOT EXISTS (SELECT 1 FROM datasets_annotation a WHERE a.item_id = i.id AND a.annotator_id IS NULL)
    ORDER BY i.position
    """,
    """
    CREATE TEMPORARY TABLE suggested_to AS
    SELECT a.id, a.item_id, a.annotator_id IS NULL AS is_given, (a.annotator_id IS NULL OR a.done_at IS NULL) AS is_open
    FROM suggested_item m
    JOIN datasets_item i ON i.id = m.item_id AND i.removed_at IS NULL
    JOIN datasets_annotation a ON a.item_id = i.id
    ORDER BY a.id
    """,
    "CREATE INDEX suggested_to_id ON suggested_to (id)",
    "ANALYZE suggested_to",
)

MEETING_ACCEPTED = f"""
    SELECT t.id, s.id, s.label_id, s.start, s."end", a.label_id, a.start, a."end"
    FROM suggested_to t
    JOIN datasets_entity a ON a.annotation_id = t.id AND a.status = 'accepted'
    JOIN suggested_entity s ON s.item_id = t.item_id AND s.start <= a."end" AND s."end" >= a.start
    WHERE t.is_open AND NOT {_is_there("s")}
"""

_WITHDRAWN_RELATIONS = """
    CREATE TEMPORARY TABLE withdrawn_relation AS
    SELECT r.id, t.id AS annotation_id FROM suggested_to t
    JOIN datasets_relation r ON r.annotation_id = t.id AND r.status = 'suggested' AND r.origin = 'preannotation'
    JOIN datasets_entity a ON a.id = r.source_id
    JOIN datasets_entity b ON b.id = r.target_id
    WHERE NOT EXISTS (
        SELECT 1 FROM suggested_relation w
        JOIN suggested_entity s ON s.id = w.source_id
        JOIN suggested_entity o ON o.id = w.target_id
        WHERE w.item_id = t.item_id AND w.label_id = r.label_id
          AND s.label_id = a.label_id AND s.start = a.start AND s."end" = a."end"
          AND o.label_id = b.label_id AND o.start = b.start AND o."end" = b."end")
"""
_WITHDRAW_RELATIONS = "DELETE FROM datasets_relation WHERE id IN (SELECT id FROM withdrawn_relation)"
_ADD_ENTITIES = f"""
    {_INSERT_ENTITIES}
    SELECT {_NEW_ENTITY} FROM suggested_to t JOIN suggested_entity s ON s.item_id = t.item_id
    WHERE t.is_open AND s.own = 1
      AND NOT {_is_there("s")} AND NOT {_is_rejected(ENTITY_KEY.format("s"))} AND NOT {_is_refused("s")}
    ORDER BY t.id, s.id
"""
_PAIRS = f"""
    CREATE TEMPORARY TABLE suggested_pair AS
    SELECT t.id AS annotation_id, w.source_id, w.target_id, w.label_id, w.uid
    FROM suggested_to t
    JOIN suggested_relation w ON w.item_id = t.item_id
    JOIN suggested_entity s ON s.id = w.source_id
    JOIN suggested_entity o ON o.id = w.target_id
    WHERE t.is_open AND {_can_be_an_end("s")} AND {_can_be_an_end("o")}
      AND NOT {_is_rejected(RELATION_KEY.format("w", "s", "o"))}
    ORDER BY t.id, w.id
"""
_ADD_ENDS = f"""
    {_INSERT_ENTITIES}
    SELECT {_NEW_ENTITY} FROM suggested_to t
    JOIN (SELECT annotation_id, source_id AS id FROM suggested_pair
          UNION SELECT annotation_id, target_id FROM suggested_pair) p ON p.annotation_id = t.id
    JOIN suggested_entity s ON s.id = p.id
    WHERE NOT {_is_there("s")}
    ORDER BY t.id, s.id
"""
_ADD_RELATIONS = """
    INSERT INTO datasets_relation
        (annotation_id, source_id, target_id, label_id, uid, status, origin, created_at, updated_at)
    SELECT p.annotation_id, a.id, b.id, p.label_id, p.uid, 'suggested', 'preannotation', %(now)s, %(now)s
    FROM suggested_pair p
    JOIN suggested_entity s ON s.id = p.source_id
    JOIN suggested_entity o ON o.id = p.target_id
    JOIN datasets_entity a ON a.annotation_id = p.annotation_id
     AND a.label_id = s.label_id AND a.start = s.start AND a."end" = s."end"
    JOIN datasets_entity b ON b.annotation_id = p.annotation_id
     AND b.label_id = o.label_id AND b.start = o.start AND b."end" = o."end"
    WHERE NOT EXISTS (
        SELECT 1 FROM datasets_relation r WHERE r.source_id = a.id AND r.target_id = b.id AND r.label_id = p.label_id)
"""
# Last: an entity at which something stands is kept, be it a relation that somebody rejected.
_WITHDRAWN_ENTITIES = f"""
    CREATE TEMPORARY TABLE withdrawn_entity AS
    SELECT e.id, t.id AS annotation_id FROM suggested_to t
    JOIN datasets_entity e ON e.annotation_id = t.id AND e.status = 'suggested' AND e.origin = 'preannotation'
    WHERE NOT EXISTS (
        SELECT 1 FROM suggested_entity s WHERE s.item_id = t.item_id AND s.own = 1 AND {_SAME.format("t", "s")})
      AND NOT EXISTS (SELECT 1 FROM datasets_relation r WHERE r.source_id = e.id)
      AND NOT EXISTS (SELECT 1 FROM datasets_relation r WHERE r.target_id = e.id)
"""
_WITHDRAW_ENTITIES = "DELETE FROM datasets_entity WHERE id IN (SELECT id FROM withdrawn_entity)"
# New rows have higher keys than there were before.
_NEXT_REVISIONS = """
    UPDATE datasets_annotation SET revision = revision + 1
    WHERE id <= %(annotation)s AND id IN (SELECT id FROM suggested_to) AND id IN (
        SELECT annotation_id FROM withdrawn_relation
        UNION SELECT annotation_id FROM withdrawn_entity
        UNION SELECT annotation_id FROM datasets_entity WHERE id > %(entity)s
        UNION SELECT annotation_id FROM datasets_relation WHERE id > %(relation)s)
"""

STORE = (
    _WITHDRAWN_RELATIONS,
    _WITHDRAW_RELATIONS,
    _ADD_ENTITIES,
    _PAIRS,
    _ADD_ENDS,
    _ADD_RELATIONS,
    _WITHDRAWN_ENTITIES,
    _WITHDRAW_ENTITIES,
    _NEXT_REVISIONS,
)
LAST_KEY = "SELECT COALESCE(MAX(id), 0) FROM datasets_{}"
COUNT = tuple(
    f"SELECT COUNT(*) FROM suggested_to t JOIN {table} m ON m.annotation_id = t.id"
    " WHERE t.is_given AND m.origin = 'preannotation'"
    for table in ("datasets_entity", "datasets_relation")
)
