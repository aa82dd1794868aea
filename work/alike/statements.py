"""The SQL of batches, for both databases: annotations that nobody has begun, new marks, and keeping what was before."""

from datasets.models import Entity, Mark, Relation
from datasets.models.rejection import ENTITY_KEY, RELATION_KEY

from ..models.batch_change import COLUMNS


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

# The marks that the batch has made.
KEEP_MADE = tuple(
    f"""
    INSERT INTO work_batchchange (batch_id, kind, mark, annotation_id)
    SELECT batch_id, '{kind}', id, annotation_id FROM datasets_{kind}
     WHERE batch_id = %(batch)s AND origin = 'propagation' AND annotation_id IN ({{annotations}})
    """
    for kind in COLUMNS
)


def _keep(kind: str, what: str, ends: str = "") -> str:
    """Keeps marks as they are, before they change or go; with what is noted then, unless that was noted before."""
    columns = [f'"{column}"' for column in COLUMNS[kind]]
    return f"""
        INSERT INTO work_batchchange (batch_id, kind, mark, annotation_id, its_batch, noted, {", ".join(columns)})
        SELECT %(batch)s, '{kind}', m.id, m.annotation_id, m.batch_id, CASE WHEN %(hides)s
               AND m.origin NOT IN ('person', 'propagation') AND NOT EXISTS (
                   SELECT 1 FROM datasets_rejection j WHERE j.annotation_id = m.annotation_id AND j.what = {what})
               THEN {what} ELSE '' END, {", ".join(f"m.{column}" for column in columns)}
          FROM datasets_{kind} m {ends} WHERE m.id IN ({{marks}})
    """


_ENDS = "JOIN datasets_entity s ON s.id = m.source_id JOIN datasets_entity t ON t.id = m.target_id"
KEEP = {
    "entity": _keep("entity", ENTITY_KEY.format("m")),
    "relation": _keep("relation", RELATION_KEY.format("m", "s", "t"), _ENDS),
}
NOTE = """
    INSERT INTO datasets_rejection (annotation_id, what)
    SELECT annotation_id, noted FROM work_batchchange
     WHERE batch_id = %(batch)s AND annotation_id IN ({annotations}) AND noted <> ''
        ON CONFLICT DO NOTHING
"""
