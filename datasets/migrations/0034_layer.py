from django.conf import settings
from django.db import migrations, models

# What came with the dataset was told by a missing annotator. Back again it is, if there is no gold: that would be lost.
FILL = "UPDATE datasets_annotation SET layer = 'given' WHERE annotator_id IS NULL"


class Migration(migrations.Migration):
    dependencies = [("datasets", "0033_text_corrections"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.AddField(
            "annotation",
            "layer",
            models.CharField(
                choices=[("own", "made by annotators"), ("given", "came with the dataset"), ("gold", "decided")],
                db_default="own",
                default="own",
                max_length=5,
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RemoveConstraint("annotation", "annotation_one_given"),
        migrations.AddConstraint(
            "annotation",
            models.UniqueConstraint(condition=models.Q(layer="given"), fields=("item",), name="annotation_one_given"),
        ),
        migrations.AddConstraint(
            "annotation",
            models.UniqueConstraint(condition=models.Q(layer="gold"), fields=("item",), name="annotation_one_gold"),
        ),
        migrations.AddConstraint(
            "annotation",
            models.CheckConstraint(
                condition=models.Q(annotator__isnull=False, layer="own")
                | models.Q(~models.Q(layer="own"), annotator=None),
                name="annotation_whose",
            ),
        ),
    ]
