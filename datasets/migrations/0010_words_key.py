from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0009_revision")]

    operations = [
        migrations.AddField(
            model_name="entity", name="words_key", field=models.BigIntegerField(editable=False, null=True)
        ),
    ]
