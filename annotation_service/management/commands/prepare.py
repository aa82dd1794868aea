from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

OLD_DATABASE = """\
This database was made by an earlier layout of the service, which this version cannot take over. Nothing was changed.
To keep what is in it, go back to the checkout that made it and export each project:
{exports}
Then start anew: {how}."""


class Command(BaseCommand):
    help = "Bring database and static files up to date and, in a new database, make the demo."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="leave a new database empty")

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_old_database()
        self.stdout.write("Preparing the database and the static files")
        call_command("migrate", verbosity=0)
        call_command("createcachetable", verbosity=0)
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        if not options["no_demo"]:
            call_command("demo")


def refuse_old_database() -> None:
    """Earlier layouts kept people in Django's own table, and their migrations have other contents under the same names."""
    tables = connection.introspection.table_names()
    if "auth_user" not in tables:
        return
    projects = []
    if "projects_project" in tables:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, name FROM projects_project ORDER BY id")
            projects = cursor.fetchall()
    postgres = connection.vendor == "postgresql"
    how = "create a new database" if postgres else f"move the folder {settings.VAR_DIR} away"
    exports = [
        f"    .venv/bin/python manage.py export project {pk} --output {pk}.zip   # {name}" for pk, name in projects
    ]
    raise CommandError(OLD_DATABASE.format(exports="\n".join(exports) or "    (there are none)", how=how))
