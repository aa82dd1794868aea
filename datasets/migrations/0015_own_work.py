from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0014_batches")]

    operations = [
        migrations.AddField("annotation", "changed_at", models.DateTimeField(blank=True, null=True)),
    ]
