"""Batches that are not undone can be undone as before: what they removed and what they left goes into one table."""

from django.db import migrations

MARK = {
    "entity": ["label_id", "uid", "origin", "created_at", "start", '"end"', "words_key"],
    "relation": ["label_id", "uid", "origin", "created_at", "source_id", "target_id"],
}
SUGGESTION = "m.origin NOT IN ('person', 'propagation')"
SPAN = "(COALESCE({0}.start, r{0}.start) || '-' || COALESCE({0}.\"end\", r{0}.\"end\") || ':' || COALESCE({0}.label_id, r{0}.label_id))"
WHAT = {
    "entity": "(m.start || '-' || m.\"end\" || ':' || m.label_id)",
    "relation": f"({SPAN.format('s')} || '>' || {SPAN.format('t')} || ':' || m.label_id)",
}
ENDS = {
    "entity": "",
    # An end may have been removed, too.
    "relation": """
        LEFT JOIN datasets_entity s ON s.id = m.source_id LEFT JOIN datasets_removedentity rs ON rs.id = m.source_id
        LEFT JOIN datasets_entity t ON t.id = m.target_id LEFT JOIN datasets_removedentity rt ON rt.id = m.target_id
    """,
}
REMOVED = """
    INSERT INTO work_batchchange
           (batch_id, kind, mark, annotation_id, its_batch, noted, is_broken, status, updated_at, {into})
    SELECT m.removed_by_id, '{kind}', m.id, m.annotation_id, m.batch_id,
           CASE WHEN m.is_noted THEN COALESCE({what}, '') ELSE '' END, m.is_broken, m.status, m.updated_at, {columns}
      FROM datasets_removed{kind} m {ends}
"""
MADE = """
    INSERT INTO work_batchchange (batch_id, kind, mark, annotation_id)
    SELECT m.batch_id, '{kind}', m.id, m.annotation_id
      FROM datasets_{table} m JOIN datasets_batch b ON b.id = m.batch_id
     WHERE b.undone_at IS NULL AND b.verb = 'propagate' AND m.origin = 'propagation'
"""
# When it was suggested is not known any more.
DECIDED = """
    INSERT INTO work_batchchange (batch_id, kind, mark, annotation_id, noted, status, updated_at, {into})
    SELECT m.batch_id, '{kind}', m.id, m.annotation_id,
           CASE WHEN m.status = 'rejected' AND {suggestion} THEN {what} ELSE '' END, 'suggested', m.created_at, {columns}
      FROM datasets_{table} m JOIN datasets_batch b ON b.id = m.batch_id {ends}
     WHERE b.undone_at IS NULL AND NOT (b.verb = 'propagate' AND m.origin = 'propagation')
"""


def fill(apps, schema_editor):
    connection = schema_editor.connection
    batches = apps.get_model("work", "Batch").objects.using(connection.alias).filter(undone_at=None)
    for pk, stored_at, kept in batches.values_list("pk", "stored_at", "kept"):
        if kept:
            batches.filter(pk=pk).update(undo_began_at=stored_at)
    for kind, columns in MARK.items():
        names = {"kind": kind, "what": WHAT[kind], "ends": ENDS[kind], "suggestion": SUGGESTION}
        names |= {"into": ", ".join(columns), "columns": ", ".join(f"m.{column}" for column in columns)}
        with connection.cursor() as cursor:
            cursor.execute(REMOVED.format(**names))
            # What was removed may come back, and be undone then.
            for table in (kind, f"removed{kind}"):
                for statement in (MADE, DECIDED):
                    cursor.execute(statement.format(table=table, **names))


class Migration(migrations.Migration):
    dependencies = [("work", "0002_batch_changes")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.DeleteModel("RemovedRelation"),
        migrations.DeleteModel("RemovedEntity"),
    ]
