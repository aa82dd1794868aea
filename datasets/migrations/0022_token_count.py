from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0021_fill_batch_search_text")]

    operations = [
        migrations.AddField(
            "item", "token_count", models.PositiveIntegerField(default=0, editable=False), preserve_default=False
        ),
    ]
