import re

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

NAMES = re.compile(
    r"^(?:Hello (\S+),$|(\S+) (?:has given this address for an account at|invites you to the project) )", re.MULTILINE
)


def fill(apps, schema_editor):
    """What mails that are kept already say of people."""
    people = apps.get_model("annotation_service", "User").objects
    mails = apps.get_model("annotation_service", "Mail").objects
    for pk, body in mails.values_list("pk", "body"):
        if found := NAMES.search(body):
            mails.filter(pk=pk).update(about=people.filter(username=found[1] or found[2]).first())


class Migration(migrations.Migration):
    dependencies = [
        ("annotation_service", "0005_names_that_look_alike"),
    ]

    operations = [
        migrations.AddField(
            model_name="mail",
            name="about",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
