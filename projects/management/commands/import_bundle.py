from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, opened, progress_bar, user
from annotation_service.models import User
from projects.bundle import in_words
from projects.bundle_import import BundleReader, import_bundle


class Command(ServiceCommand):
    help = "Make a project of a bundle. Prints its id as the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--manager", required=True, metavar="USER")
        person = "whose account somebody in the bundle has; all others become authors without one. May be given several times"
        parser.add_argument("--person", action="append", default=[], metavar="NAME=USER", help=person)

    def run(self, **options: Any) -> None:
        manager, people = user(options["manager"]), dict(map(_matched, options["person"]))
        with opened(options["file"], settings.MAX_FILE_BYTES) as file, progress_bar(self.stderr) as progress:
            project = import_bundle(file, manager=manager, people=people, progress=progress)
            self.stdout.write(f"{in_words(BundleReader(file).manifest)}.")
        self.stdout.write(str(project.pk))


def _matched(text: str) -> tuple[str, User]:
    name, sign, account = text.rpartition("=")
    if not sign:
        raise Refused("Write NAME=USER, the name in the bundle first.", place="--person")
    return name, user(account)
