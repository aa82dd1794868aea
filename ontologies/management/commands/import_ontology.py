from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation_service.management.base import ServiceCommand, add_owner, opened, user
from ontologies.documents import notes_on, read_ontology
from ontologies.models import Ontology, OntologyKind


class Command(ServiceCommand):
    help = "Create an ontology blueprint from a JSON file. Prints its id as the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--kind", required=True, choices=OntologyKind.values)
        parser.add_argument("--name", required=True)
        add_owner(parser)

    def run(self, **options: Any) -> None:
        path, kind, owner = options["file"], options["kind"], user(options["owner"])
        with opened(path, settings.MAX_ONTOLOGY_BYTES) as file:
            items = read_ontology(file, kind)
        ontology = Ontology.create(kind=kind, name=options["name"], owner=owner, items=items)
        self.stdout.write(f"“{ontology}”: {ontology.content_in_words()}.{notes_on(items)}")
        self.stdout.write(str(ontology.pk))
