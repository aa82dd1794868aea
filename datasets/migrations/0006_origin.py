from django.db import migrations, models

_CHOICES = [("given", "the dataset"), ("person", "a person"), ("preannotation", "a preannotation")]
_ON_GIVEN_ANNOTATIONS = (
    "UPDATE datasets_{} SET origin = 'given'"
    " WHERE annotation_id IN (SELECT id FROM datasets_annotation WHERE annotator_id IS NULL)"
)


class Migration(migrations.Migration):
    dependencies = [("datasets", "0005_search_in_cleaned_text")]

    operations = [
        operation
        for model in ("entity", "relation")
        for operation in (
            migrations.AddField(
                model_name=model,
                name="origin",
                field=models.CharField(choices=_CHOICES, default="person", max_length=13),
            ),
            migrations.RunSQL(_ON_GIVEN_ANNOTATIONS.format(model), migrations.RunSQL.noop),
        )
    ]
