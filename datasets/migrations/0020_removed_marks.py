
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0019_own_lists"),
    ]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="search_text",
            field=models.TextField(default="", editable=False),
        ),
        migrations.AlterField(
            model_name="batch",
            name="verb",
            field=models.CharField(
                choices=[
                    ("propagate", "marked"),
                    ("accept", "accepted"),
                    ("reject", "rejected"),
                    ("remove", "removed"),
                ],
                max_length=9,
            ),
        ),
        migrations.CreateModel(
            name="RemovedEntity",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("is_noted", models.BooleanField(default=False)),
                ("is_broken", models.BooleanField(default=False)),
                ("label_id", models.BigIntegerField()),
                ("uid", models.CharField(max_length=100)),
                (
                    "status",
                    models.CharField(
                        choices=[("suggested", "Suggested"), ("accepted", "Accepted"), ("rejected", "Rejected")],
                        max_length=9,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("given", "the dataset"),
                            ("person", "a person"),
                            ("preannotation", "a preannotation"),
                            ("propagation", "a propagation"),
                            ("history", "what was marked before"),
                        ],
                        max_length=13,
                    ),
                ),
                ("batch_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("start", models.PositiveIntegerField()),
                ("end", models.PositiveIntegerField()),
                ("words_key", models.BigIntegerField()),
                (
                    "annotation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="+", to="datasets.annotation"
                    ),
                ),
                (
                    "removed_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="+", to="datasets.batch"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "removed entities",
            },
        ),
        migrations.CreateModel(
            name="RemovedRelation",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("is_noted", models.BooleanField(default=False)),
                ("is_broken", models.BooleanField(default=False)),
                ("label_id", models.BigIntegerField()),
                ("uid", models.CharField(max_length=100)),
                (
                    "status",
                    models.CharField(
                        choices=[("suggested", "Suggested"), ("accepted", "Accepted"), ("rejected", "Rejected")],
                        max_length=9,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("given", "the dataset"),
                            ("person", "a person"),
                            ("preannotation", "a preannotation"),
                            ("propagation", "a propagation"),
                            ("history", "what was marked before"),
                        ],
                        max_length=13,
                    ),
                ),
                ("batch_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("source_id", models.BigIntegerField()),
                ("target_id", models.BigIntegerField()),
                (
                    "annotation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="+", to="datasets.annotation"
                    ),
                ),
                (
                    "removed_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT, related_name="+", to="datasets.batch"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
    ]
