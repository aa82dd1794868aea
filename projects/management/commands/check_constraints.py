import json
from collections import Counter
from typing import Any

from django.core.management.base import CommandParser

from annotation_service import words
from annotation_service.db import snapshot
from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand
from projects.models import Project
from projects.violations import Report

SHOWN_EXAMPLES = 5


class Command(ServiceCommand):
    help = (
        "Report the marks of a project that break its constraints: those that came with the dataset, and each"
        " annotator's accepted ones. Exits with 0 whether or not there are any."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT")
        parser.add_argument("--json", action="store_true", help="print nothing but a JSON array of all violations")

    def run(self, **options: Any) -> None:
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise Refused(f"There is no project with the id {options['project']}.")
        with snapshot():
            self._print(project, as_json=options["json"])

    def _print(self, project: Project, *, as_json: bool) -> None:
        report = Report(project)
        if as_json:
            self.stdout.write(json.dumps(list(report.entries()), ensure_ascii=False, indent=2))
            return
        for found in report.by_rule().values():
            violation = found[0].violation
            rule = "no rule for the source" if violation.position is None else f"rule {violation.position + 1}"
            people = Counter(report.people[each.annotator] if each.annotator else "given" for each in found)
            counts = ", ".join(f"{who} {words.number(count)}" for who, count in people.most_common())
            self.stdout.write(
                f"“{violation.set.name}”, {rule} ({violation.kind}): {words.number(len(found))} ({counts})"
            )
            for each in found[:SHOWN_EXAMPLES]:
                who = f", {report.people[each.annotator]}" if each.annotator else ""
                self.stdout.write(f"  item {words.number(report.numbers[each.item])}{who}: {report.sentence(each)}")
        self.stdout.write(f"{words.plural(len(report.broken), 'violation,violations')} in “{project}”.")
