from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation_service.management.base import ServiceCommand, add_owner, blueprint, opened, user
from ontologies.models import Ontology
from resources.models import FORMATS


class Command(ServiceCommand):
    help = "Create constraints or preannotations as a blueprint from a JSON file. Prints its id as the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--kind", required=True, choices=list(FORMATS))
        parser.add_argument("--name", required=True)
        add_owner(parser)
        parser.add_argument("--entity-ontology", required=True, type=int, metavar="ID")
        parser.add_argument("--relation-ontology", type=int, metavar="ID")

    def run(self, **options: Any) -> None:
        path, owner = options["file"], user(options["owner"])
        model, kind = FORMATS[options["kind"]]
        relation = options["relation_ontology"]
        entity_ontology = blueprint(Ontology, options["entity_ontology"])
        relation_ontology = blueprint(Ontology, relation) if relation is not None else None
        with opened(path, settings.MAX_RESOURCE_BYTES) as file:
            resource_set = model.create(
                kind=kind,
                source=file,
                name=options["name"],
                owner=owner,
                entity_ontology=entity_ontology,
                relation_ontology=relation_ontology,
            )
        for warning in resource_set.warnings.first:
            self.stderr.write(f"{path}: {warning}")
        self.stdout.write(f"“{resource_set}”: {resource_set.content_in_words()}.")
        self.stdout.write(str(resource_set.pk))
