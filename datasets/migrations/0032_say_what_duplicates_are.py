from django.db import migrations


def say(apps, schema_editor):
    """Until now, “remove duplicates” took runs of white space for one space."""
    for model, field in (("Dataset", "preprocessing"), ("Upload", "options")):
        rows = apps.get_model("datasets", model)._base_manager.using(schema_editor.connection.alias)
        for row in rows.filter(**{f"{field}__has_key": "remove_duplicates"}).only("pk", field).iterator():
            values = getattr(row, field)
            if isinstance(chosen := values["remove_duplicates"], bool):
                values["remove_duplicates"] = "spacing" if chosen else ""
                row.save(update_fields=[field])


class Migration(migrations.Migration):
    dependencies = [("datasets", "0031_broken_rules")]

    operations = [migrations.RunPython(say, migrations.RunPython.noop)]
