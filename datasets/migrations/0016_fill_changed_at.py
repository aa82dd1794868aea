from django.db import migrations
from django.db.models import F
from django.db.models.functions import Coalesce


def fill(apps, schema_editor):
    """The nearest that is known."""
    annotations = apps.get_model("datasets", "Annotation").objects.using(schema_editor.connection.alias)
    annotations.exclude(annotator=None).update(changed_at=Coalesce(F("done_at"), F("started_at")))


class Migration(migrations.Migration):
    # By itself: PostgreSQL cannot change a table whose rows were just changed in the same transaction.
    dependencies = [("datasets", "0015_own_work")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
