from django.db import migrations, models

ITEMS = 2000


def fill(apps, schema_editor):
    connection = schema_editor.connection
    length = "jsonb_array_length" if connection.vendor == "postgresql" else "json_array_length"
    items = apps.get_model("datasets", "Item").objects.using(connection.alias)
    ends = items.aggregate(first=models.Min("pk"), last=models.Max("pk"))
    for first in range(ends["first"] or 1, (ends["last"] or 0) + 1, ITEMS):
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE datasets_item SET token_count = {length}(tokens) WHERE id BETWEEN %s AND %s",
                [first, first + ITEMS - 1],
            )


class Migration(migrations.Migration):
    # Not in one transaction, which would hold up everybody and grow with the number of items.
    atomic = False

    dependencies = [("datasets", "0022_token_count")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
