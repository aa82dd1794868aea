from django.db import migrations, transaction

from datasets.cleaned import CleanedText

# Items read and rewritten in one transaction, and rows fetched at a time: an item may have 100,000 characters.
ITEMS, ROWS = 1000, 50


def rebuild(apps, schema_editor):
    """The search looked into the original; now it looks into what people read. Those in the bin follow: they may come back."""
    connection = schema_editor.connection
    items = apps.get_model("datasets", "Item").objects.using(connection.alias).order_by("pk")
    rows = items.values_list("pk", "original", "tokens", "offsets", "search_text")
    last, is_over = 0, False
    while not is_over:
        count, changed = 0, []
        for pk, original, tokens, offsets, before in rows.filter(pk__gt=last)[:ITEMS].iterator(chunk_size=ROWS):
            last, count = pk, count + 1
            after = str(CleanedText.of(original, tokens, offsets)).casefold()
            if after != before:
                changed.append((after, pk))
        is_over = count < ITEMS
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.executemany("UPDATE datasets_item SET search_text = %s WHERE id = %s", changed)


class Migration(migrations.Migration):
    # Not in one transaction, which would hold up everybody and grow with the number of items.
    atomic = False

    dependencies = [("datasets", "0004_deleted_at")]

    operations = [migrations.RunPython(rebuild, migrations.RunPython.noop)]
