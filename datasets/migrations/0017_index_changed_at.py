import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0016_fill_changed_at"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.AlterField(
            "annotation",
            "annotator",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            "annotation", models.Index(fields=["annotator", "changed_at"], name="annotation_changed")
        ),
        migrations.AddIndex(
            "entity",
            models.Index(condition=models.Q(status="suggested"), fields=["annotation"], name="entity_suggested"),
        ),
    ]
