from typing import Any

from django.core.management.base import CommandParser

from annotation_service.http import PREANNOTATIONS
from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, progress_bar
from projects.models import Project


class Command(ServiceCommand):
    help = "Match the preannotations of a project with its items again, after their rows were changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT")

    def run(self, **options: Any) -> None:
        PREANNOTATIONS.check()
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise Refused(f"There is no project with the id {options['project']}.")
        with progress_bar(self.stderr) as progress:
            outcome = project.suggest(progress=progress)
        self.stdout.write(outcome.in_words())
