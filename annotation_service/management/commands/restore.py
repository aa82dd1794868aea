from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation_service import backup
from annotation_service.management.base import ServiceCommand


class Command(ServiceCommand):
    help = "Restore what “backup” has written. The service must not run meanwhile."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--replace", action="store_true", help="delete what the database has now")

    def run(self, **options: Any) -> None:
        content = backup.restore(options["file"], self.stdout.write, replace=options["replace"])
        self.stdout.write(f"Restored: {content}")
