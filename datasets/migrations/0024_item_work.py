import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0023_fill_token_count"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            "ItemWork",
            [
                (
                    "item",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.RESTRICT,
                        primary_key=True,
                        related_name="work",
                        serialize=False,
                        to="datasets.item",
                    ),
                ),
                ("begun", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("marks", models.PositiveIntegerField(default=0)),
                ("is_disputed", models.BooleanField(default=False)),
                ("changed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            "ItemLabel",
            [
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "item",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.RESTRICT, to="datasets.item"
                    ),
                ),
                ("label", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["label", "item"], name="item_label")],
                "constraints": [models.UniqueConstraint(fields=["item", "label"], name="item_label_once")],
            },
        ),
        migrations.AddField(
            "annotation", "counted", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        ),
        migrations.AddIndex(
            "annotation",
            models.Index(
                condition=models.Q(annotator__isnull=False, counted__lt=models.F("revision")),
                fields=["item"],
                name="annotation_uncounted",
            ),
        ),
    ]
