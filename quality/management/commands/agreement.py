import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, progress_bar
from projects.models import Project
from quality import agreement_tables as tables
from quality.agreement import Agreement, make_report
from quality.agreement_tables import AskedFigures, FiguresTable


class Command(ServiceCommand):
    help = (
        "Report how far the people of a project agree, on items that both of two are done with, and with gold that is decided."
        " What has changed is counted first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT")
        parser.add_argument("--json", action="store_true", help="print nothing but a JSON object")

    def run(self, **options: Any) -> None:
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise Refused(f"There is no project with the id {options['project']}.")
        with progress_bar(self.stderr) as progress:
            make_report(project, progress)
        found = Agreement.now(project)
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False, indent=2))
            return
        people, gold = AskedFigures(project, found), AskedFigures(project, found, side="gold")
        self.stdout.write(people.sentence)
        for table in (tables.totals(people), tables.pairs(people), tables.pairs(gold), tables.labels(people)):
            for line in _lines(table):
                self.stdout.write(line)


def _lines(table: FiguresTable) -> Iterator[str]:
    """The table with its columns below each other, those that begin with a number to the right; nothing, if it has no rows."""
    rows = [[name for name, _ in table.head], *([cell.text for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield from ("  ".join(map(str.ljust, row, widths)).rstrip() for row in ([[], *rows] if table.rows else ()))
