from django.db import migrations, models

from annotation_service.models import skeleton


def fill(apps, schema_editor):
    """Of names that look alike the one that was there first; the others stay, too."""
    people = apps.get_model("annotation_service", "User").objects
    taken = set()
    for pk, name in people.filter(anonymised_at=None).order_by("pk").values_list("pk", "username"):
        if (drawn := skeleton(name)) not in taken:
            taken.add(drawn)
            people.filter(pk=pk).update(username_skeleton=drawn)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation_service", "0004_leaving_and_mails"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="username_skeleton",
            field=models.CharField(editable=False, max_length=300, null=True, unique=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
