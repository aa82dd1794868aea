import json
from collections import defaultdict
from typing import Any

from django.core.management.base import CommandParser

from annotation_service import words
from annotation_service.db import snapshot
from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand
from projects.models import Project
from projects.violation_report import ViolationReport
from resources.rules import RuleName

SHOWN_EXAMPLES = 5


class Command(ServiceCommand):
    help = (
        "Report the marks of a project that break its constraints: those that came with the dataset, and each"
        " annotator's accepted ones; of each in an item at most 300. Exits with 0 whether or not there are any."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", type=int, metavar="PROJECT")
        parser.add_argument(
            "--json",
            action="store_true",
            help="print nothing but a JSON array of violations",
        )

    def run(self, **options: Any) -> None:
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise Refused(f"There is no project with the id {options['project']}.")
        with snapshot():
            self._print(project, as_json=options["json"])

    def _print(self, project: Project, *, as_json: bool) -> None:
        report = ViolationReport(project, now=True)
        if as_json:
            self.stdout.write(json.dumps(list(report.entries()), ensure_ascii=False, indent=2))
            return
        examples: dict[RuleName, list[str]] = defaultdict(list)
        for row, places in report.places():
            who = f", {report.people[row.annotation.annotator_id]}" if row.annotation.annotator_id else ""
            for place in places:
                examples[row.name].append(
                    f"  item {words.number(report.numbers[row.annotation.item_id])}{who}: {place.text}"
                )
        for rule, people in report.by_rule().items():
            violation = report.broken(rule)
            named = "no rule for the source" if violation.position is None else f"rule {violation.position + 1}"
            counts = ", ".join(
                f"{report.people[person] if person else 'given'} {words.number(count)}"
                for person, count in people.most_common()
            )
            self.stdout.write(
                f"“{violation.set.name}”, {named} ({rule.kind}): {words.number(people.total())} ({counts})"
            )
            for example in examples[rule][:SHOWN_EXAMPLES]:
                self.stdout.write(example)
        self.stdout.write(f"{words.plural(report.total, 'violation,violations')} in “{project}”.")
