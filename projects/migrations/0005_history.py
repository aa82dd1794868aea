from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0004_shortcuts")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="history",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "Nothing"),
                    ("own", "Words that the annotator has marked before"),
                    ("everybody", "Words that anybody has marked before"),
                ],
                max_length=9,
            ),
        ),
    ]
