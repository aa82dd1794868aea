from django.db import migrations

NAME = "Project managers"


def add_group(apps, schema_editor):
    apps.get_model("auth", "Group").objects.get_or_create(name=NAME)


class Migration(migrations.Migration):
    dependencies = [("annotation_service", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    # Backwards the group stays: people may be in it.
    operations = [migrations.RunPython(add_group, migrations.RunPython.noop)]
