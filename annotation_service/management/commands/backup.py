from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation_service import backup
from annotation_service.management.base import ServiceCommand


class Command(ServiceCommand):
    help = "Write the database, the kept files and the secret key into one file, while the service runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="a zip file; an older one is replaced when it is done"
        )

    def run(self, **options: Any) -> None:
        path = options["file"].absolute()
        self.stdout.write(f"{path}: {backup.create(path, self.stdout.write)}")
