import django.db.models.deletion
from django.db import migrations, models

SIGNS = {"dealt": "d", "given": "g", "withheld": "w"}


def write_as_signs(apps, schema_editor):
    """Who had the items before the last change by hand: one text for each item."""
    HandChange = apps.get_model("projects", "HandChange")
    for change in HandChange.objects.all():
        signs = {}
        for way, holders in change.before.items():
            for item, people in holders.items():
                signs.setdefault(item, []).extend(f"{SIGNS[way]}{person}" for person in people)
        change.before = {item: " ".join(own) for item, own in signs.items()}
        change.save(update_fields=["before"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0012_who_asks_to_join")]

    operations = [
        migrations.AddField("project", "next_annotators_per_item", models.PositiveSmallIntegerField(editable=False, null=True)),
        migrations.AddField("project", "next_overlap", models.PositiveSmallIntegerField(default=0, editable=False)),
        migrations.AddField("project", "next_calibration", models.PositiveSmallIntegerField(default=0, editable=False)),
        migrations.AddField("project", "next_below", models.IntegerField(default=-1, editable=False)),
        migrations.AlterField(
            "handchange", "project", models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, to="projects.project")
        ),
        migrations.RunPython(write_as_signs, migrations.RunPython.noop),
    ]
