from django.db import migrations


def forget(apps, schema_editor):
    """People who cannot sign in are not waited for any more: an item may be done without them."""
    apps.get_model("projects", "ItemCounts").objects.update(begun=None, done=None)


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0010_hand_change"),
    ]

    operations = [
        migrations.RunPython(forget, migrations.RunPython.noop),
    ]
