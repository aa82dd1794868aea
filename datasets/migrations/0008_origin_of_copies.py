from django.db import migrations

# Annotators begin with copies of the given marks: these have the same uids, and come from where the given ones do.
SQL = """
    UPDATE datasets_{0} SET origin = 'given'
     WHERE origin = 'person' AND EXISTS (
        SELECT 1 FROM datasets_annotation a
          JOIN datasets_annotation g ON g.item_id = a.item_id AND g.annotator_id IS NULL
          JOIN datasets_{0} m ON m.annotation_id = g.id
         WHERE a.id = datasets_{0}.annotation_id AND m.uid = datasets_{0}.uid AND m.origin = 'given')
"""


class Migration(migrations.Migration):
    dependencies = [("datasets", "0007_rejection")]

    operations = [
        migrations.RunSQL(SQL.format(model), migrations.RunSQL.noop) for model in ("entity", "relation")
    ]
