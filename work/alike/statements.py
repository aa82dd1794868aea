"""The SQL of batches, for both databases: annotations that nobody has begun, suggestions about which is decided, removing."""

from datasets.models import Entity, Mark, Relation
from datasets.models.rejection import ENTITY_KEY, RELATION_KEY

from ..models.bringing_back import COLUMNS


def _copy(model: type[Mark], ends: str = "", joins: str = "") -> str:
    """Copies the given marks of items into the annotations of a person; ``ends`` are those of relations."""
    table, own = model._meta.db_table, {"id", "annotation_id", "source_id", "target_id"}
    columns = [f'"{field.column}"' for field in model._meta.concrete_fields if field.column not in own]
    return f"""
        INSERT INTO {table} (annotation_id, {ends and "source_id, target_id, "}{", ".join(columns)})
        SELECT o.id, {ends}{", ".join(f"m.{column}" for column in columns)}
          FROM datasets_annotation o
          JOIN datasets_annotation g ON g.item_id = o.item_id AND g.annotator_id IS NULL
          JOIN {table} m ON m.annotation_id = g.id {joins}
         WHERE o.item_id IN ({{items}}) AND o.annotator_id = %(person)s ORDER BY o.id, m.id
    """


# A later batch begins with a higher revision than one that was undone: open screens see that something has changed.
NEW_ANNOTATIONS = """
    INSERT INTO datasets_annotation (item_id, annotator_id, revision)
    SELECT i.id, %(person)s, %(batch)s + COALESCE(
               (SELECT g.revision FROM datasets_annotation g WHERE g.item_id = i.id AND g.annotator_id IS NULL), 0)
      FROM datasets_item i WHERE i.id IN ({items}) ORDER BY i.position
"""
_COPIED_ENDS = """
    JOIN datasets_entity gs ON gs.id = m.source_id
    JOIN datasets_entity gt ON gt.id = m.target_id
    JOIN datasets_entity s ON s.annotation_id = o.id AND s.uid = gs.uid
    JOIN datasets_entity t ON t.annotation_id = o.id AND t.uid = gt.uid
"""
COPY_GIVEN = (_copy(Entity), _copy(Relation, "s.id, t.id, ", _COPIED_ENDS))
_MADE = "status, origin, batch_id, created_at, updated_at"
MAKE_ENTITIES = (
    f'INSERT INTO datasets_entity (annotation_id, label_id, uid, start, "end", words_key, {_MADE})'
    " VALUES (%s, %s, %s, %s, %s, %s, 'accepted', 'propagation', %s, %s, %s)"
)
MAKE_RELATIONS = (
    f"INSERT INTO datasets_relation (annotation_id, label_id, uid, source_id, target_id, {_MADE})"
    " VALUES (%s, %s, %s, %s, %s, 'accepted', 'propagation', %s, %s, %s)"
)
NEXT_REVISIONS = "UPDATE datasets_annotation SET revision = revision + 1 WHERE id IN ({annotations})"
DECIDE = (
    "UPDATE datasets_{table} SET status = '{status}', batch_id = %(batch)s, updated_at = %(at)s WHERE id IN ({marks})"
)

_NOTE = "INSERT INTO datasets_rejection (annotation_id, what) SELECT m.annotation_id, {what} FROM {marks} ON CONFLICT DO NOTHING"
_FROM_SUGGESTION = "m.origin NOT IN ('person', 'propagation')"
# What is suggested at an entity is rejected with it.
_RELATIONS = f"""
    datasets_relation m
    JOIN datasets_entity s ON s.id = m.source_id
    JOIN datasets_entity t ON t.id = m.target_id
    WHERE {_FROM_SUGGESTION}
"""
NOTE_REJECTED = {
    "entity": (
        _NOTE.format(
            what=ENTITY_KEY.format("m"), marks=f"datasets_entity m WHERE {_FROM_SUGGESTION} AND m.id IN ({{marks}})"
        ),
        _NOTE.format(
            what=RELATION_KEY.format("m", "s", "t"),
            marks=f"{_RELATIONS} AND (m.source_id IN ({{marks}}) OR m.target_id IN ({{marks}}))",
        ),
    ),
    "relation": (_NOTE.format(what=RELATION_KEY.format("m", "s", "t"), marks=f"{_RELATIONS} AND m.id IN ({{marks}})"),),
}
REJECT_AT = """
    UPDATE datasets_relation SET status = 'rejected', batch_id = %(batch)s, updated_at = %(at)s
     WHERE status = 'suggested' AND (source_id IN ({marks}) OR target_id IN ({marks}))
"""


def _keep(kind: str, what: str, marks: str) -> str:
    """Keeps marks as they are, before they go."""
    columns = COLUMNS[kind]
    is_noted = f"""{_FROM_SUGGESTION} AND NOT EXISTS (
        SELECT 1 FROM datasets_rejection j WHERE j.annotation_id = m.annotation_id AND j.what = {what})"""
    return f"""
        INSERT INTO datasets_removed{kind} (removed_by_id, is_noted, is_broken, {columns})
        SELECT %(batch)s, {is_noted}, FALSE, {", ".join(f"m.{column}" for column in columns.split(", "))}
          FROM datasets_{kind} m {marks}
    """


_KEEP_RELATIONS = _keep(
    "relation",
    RELATION_KEY.format("m", "s", "t"),
    "JOIN datasets_entity s ON s.id = m.source_id JOIN datasets_entity t ON t.id = m.target_id WHERE {which}",
)
_OF_RELATIONS = {
    "entity": "(m.source_id IN ({marks}) OR m.target_id IN ({marks}))",
    "relation": "m.id IN ({marks})",
}
_KEEP_ENTITIES = _keep("entity", ENTITY_KEY.format("m"), "WHERE m.id IN ({marks})")
# The relations at an entity go with it.
KEEP = {
    "entity": (_KEEP_ENTITIES, _KEEP_RELATIONS.replace("{which}", _OF_RELATIONS["entity"])),
    "relation": (_KEEP_RELATIONS.replace("{which}", _OF_RELATIONS["relation"]),),
}
REMOVE = {
    "entity": (
        "DELETE FROM datasets_relation WHERE source_id IN ({marks}) OR target_id IN ({marks})",
        "DELETE FROM datasets_entity WHERE id IN ({marks})",
    ),
    "relation": ("DELETE FROM datasets_relation WHERE id IN ({marks})",),
}
