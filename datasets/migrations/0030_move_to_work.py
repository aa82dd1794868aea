import django.db.models.deletion
from django.db import migrations, models

MOVED = ("Answer", "Comment", "Flag", "ItemLabel", "ItemWork", "RemovedEntity", "RemovedRelation", "Batch")


def batch():
    return models.ForeignKey(
        blank=True,
        db_index=False,
        editable=False,
        null=True,
        on_delete=django.db.models.deletion.RESTRICT,
        related_name="+",
        to="work.batch",
    )


class Migration(migrations.Migration):
    """The app `work` has these models now, in the same tables."""

    dependencies = [
        ("datasets", "0029_changed_with_item"),
        ("work", "0001_initial"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("entity", "batch", batch()),
                migrations.AlterField("relation", "batch", batch()),
                *(migrations.DeleteModel(name) for name in MOVED),
            ],
        ),
    ]
