from collections import defaultdict

from django.db import migrations, transaction

from datasets.cleaned import key_of

# Marks written in one transaction, and texts fetched at a time: an item may have 100,000 characters.
MARKS, TEXTS = 900, 50


def fill(apps, schema_editor):
    connection = schema_editor.connection
    items, entities = (apps.get_model("datasets", name).objects.using(connection.alias) for name in ("Item", "Entity"))
    rows = entities.filter(words_key=None).order_by("pk").values_list("annotation__item", "pk", "start", "end")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:MARKS]):
        last = batch[-1][1]
        marks = defaultdict(list)
        for item, *mark in batch:
            marks[item].append(mark)
        texts = items.filter(pk__in=marks).order_by("pk").values_list("pk", "tokens").iterator(chunk_size=TEXTS)
        keys = [(key_of(tokens[start : end + 1]), pk) for item, tokens in texts for pk, start, end in marks[item]]
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.executemany("UPDATE datasets_entity SET words_key = %s WHERE id = %s", keys)


class Migration(migrations.Migration):
    # Not in one transaction, which would hold up everybody and grow with the number of marks.
    atomic = False

    dependencies = [("datasets", "0010_words_key")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
