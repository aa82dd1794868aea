from django.db import migrations


def leave_room(apps, schema_editor):
    """Half of each page stays free on PostgreSQL, so that a moved item is updated in place."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("ALTER TABLE ontologies_ontologyitem SET (fillfactor = 50)")


class Migration(migrations.Migration):
    dependencies = [("ontologies", "0001_initial")]

    operations = [migrations.RunPython(leave_room, migrations.RunPython.noop)]
