from django.db import migrations, models

ANNOTATIONS = 2000
# A later change of its marks makes `counted` differ from the revision, as before.
FILL = """
    UPDATE datasets_annotation SET
        accepted = (SELECT COUNT(*) FROM datasets_entity m WHERE m.annotation_id = datasets_annotation.id AND m.status = 'accepted')
                 + (SELECT COUNT(*) FROM datasets_relation m WHERE m.annotation_id = datasets_annotation.id AND m.status = 'accepted'),
        suggested = (SELECT COUNT(*) FROM datasets_entity m WHERE m.annotation_id = datasets_annotation.id AND m.status = 'suggested')
                 + (SELECT COUNT(*) FROM datasets_relation m WHERE m.annotation_id = datasets_annotation.id AND m.status = 'suggested')
    WHERE counted > 0 AND id BETWEEN %s AND %s
"""


def fill(apps, schema_editor):
    connection = schema_editor.connection
    annotations = apps.get_model("datasets", "Annotation").objects.using(connection.alias)
    ends = annotations.aggregate(first=models.Min("pk"), last=models.Max("pk"))
    for first in range(ends["first"] or 1, (ends["last"] or 0) + 1, ANNOTATIONS):
        with connection.cursor() as cursor:
            cursor.execute(FILL, [first, first + ANNOTATIONS - 1])


class Migration(migrations.Migration):
    # Not in one transaction, which would hold up everybody and grow with the number of annotations.
    atomic = False

    dependencies = [("datasets", "0027_kept_marks")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
