from django.db import migrations


def flatten(apps, schema_editor):
    """The operations on lines of text stood in an object of their own, and the tokeniser beside it, too."""
    Upload = apps.get_model("datasets", "Upload")
    for upload in Upload.objects.filter(options__has_key="preprocessing").iterator():
        operations = upload.options.pop("preprocessing") or {}
        upload.options |= operations
        upload.save(update_fields=["options"])


class Migration(migrations.Migration):
    dependencies = [("datasets", "0002_initial")]

    operations = [migrations.RunPython(flatten, migrations.RunPython.noop)]
