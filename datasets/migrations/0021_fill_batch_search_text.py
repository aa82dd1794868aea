from django.db import migrations


def fill(apps, schema_editor):
    batches = apps.get_model("datasets", "Batch").objects.using(schema_editor.connection.alias)
    for batch in batches.only("words").iterator():
        batch.search_text = " ".join(batch.words.casefold().split())
        batch.save(update_fields=["search_text"])


class Migration(migrations.Migration):
    dependencies = [("datasets", "0020_removed_marks")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
