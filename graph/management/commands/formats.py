from typing import Any

from annotation_service.file_formats import FORMATS
from annotation_service.management.base import ServiceCommand
from graph.exports import GRAPH_FORMATS


class Command(ServiceCommand):
    help = "List the formats of files that come in and go out, and what each has no place for."

    def run(self, **options: Any) -> None:
        for format in sorted(FORMATS, key=lambda each: (each.noun, each.name)):
            ways = " and ".join(format.ways)
            loses = f"; no place for {format.loses}" if format.loses else ""
            self.stdout.write(f"{format.name:<14}{format.noun.split()[-1]:<10}{ways:<12}{format.label}{loses}")
        for each in GRAPH_FORMATS.values():
            self.stdout.write(f"{each.name:<14}{'graphs':<10}{'out':<12}{each.title}: {each.note}")
