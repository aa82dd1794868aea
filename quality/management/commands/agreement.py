import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from annotation_service import words
from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, progress_bar
from projects.models import Project
from quality.agreement import Agreement, Row, make_report

SHOWN_LABELS = 30


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
        for line in _table(found):
            self.stdout.write(line)
        items = words.plural(found.items, "item,items")
        self.stdout.write(
            f"{items} of “{project}” that several are done with; Krippendorff’s alpha {_figure(found.alpha)}"
        )


def _table(found: Agreement) -> Iterator[str]:
    names = found.names
    rows = [("all", found.people.total)]
    for part in (found.people, found.gold):
        rows += [(f"{names[one]} – {names[other]}", row) for (one, other), row in part.pairs.items()]
    labels = sorted(found.people.labels.items(), key=lambda each: -each[1].figures.one - each[1].figures.other)
    rows += [(found.trees.labels[pk].fullname, row) for pk, row in labels[:SHOWN_LABELS]]
    width = max(len(name) for name, _ in rows)
    yield f"{'':{width}}  items  precision  recall    F1  overlap F1  kappa  relations F1"
    for name, row in rows:
        yield f"{name:{width}}  {_line(row)}"


def _line(row: Row) -> str:
    exact, overlap, relations = (row.measure(name) for name in ("exact", "overlap", "relations"))
    columns = [
        (exact.precision, 10),
        (exact.recall, 7),
        (exact.f1, 5),
        (overlap.f1, 11),
        (row.kappa, 6),
        (relations.f1, 13),
    ]
    figures = (f"{_figure(value):>{width}}" for value, width in columns)
    return f"{int(row.figures.items) or '':>5} {' '.join(figures)}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
