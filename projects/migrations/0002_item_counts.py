from django.db import migrations, models
from django.db.models import RESTRICT


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="ItemCounts",
            fields=[
                (
                    "project",
                    models.OneToOneField(
                        on_delete=RESTRICT, primary_key=True, serialize=False, to="projects.project"
                    ),
                ),
                ("begun", models.PositiveIntegerField(null=True)),
                ("done", models.PositiveIntegerField(null=True)),
            ],
        ),
        migrations.RemoveField(model_name="project", name="members"),
        migrations.RunSQL(
            "INSERT INTO projects_itemcounts (project_id) SELECT id FROM projects_project",
            migrations.RunSQL.noop,
        ),
    ]
