from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = "Bring database and static files up to date and, in a new database, make the demo."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="leave a new database empty")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write("Preparing the database and the static files")
        call_command("migrate", verbosity=0)
        call_command("createcachetable", verbosity=0)
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        if not options["no_demo"]:
            call_command("demo")
