"""What was suggested before is of a source, too: of the history or the preannotations of its dataset."""

from django.db import migrations

KINDS = {"history": ("history", "History"), "preannotation": ("preannotations", "Preannotations")}
HAVING = """
    INSERT INTO work_source (dataset_id, name, kind, version, version_at, is_on, created_at)
    SELECT DISTINCT i.dataset_id, '{name}', '{kind}', '', CURRENT_TIMESTAMP, TRUE, CURRENT_TIMESTAMP
      FROM datasets_{table} m
      JOIN datasets_annotation a ON a.id = m.annotation_id
      JOIN datasets_item i ON i.id = a.item_id
     WHERE m.origin = '{origin}'
        ON CONFLICT DO NOTHING
"""
FILL = """
    UPDATE datasets_{table} SET suggested_by_id = (
        SELECT s.id FROM datasets_annotation a
          JOIN datasets_item i ON i.id = a.item_id
          JOIN work_source s ON s.dataset_id = i.dataset_id AND s.kind = '{kind}'
         WHERE a.id = annotation_id)
     WHERE origin = '{origin}'
"""


class Migration(migrations.Migration):
    dependencies = [("datasets", "0037_suggested_by")]

    operations = [
        migrations.RunSQL(statement.format(table=table, origin=origin, kind=kind, name=name), migrations.RunSQL.noop)
        for origin, (kind, name) in KINDS.items()
        for table in ("entity", "relation")
        for statement in (HAVING, FILL)
    ]
