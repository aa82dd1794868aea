from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, add_owner, blueprint, opened, user
from annotation_service.words import plural
from ontologies.models import Ontology
from resources.models import FORMATS, PreannotationSet


class Command(ServiceCommand):
    help = "Create constraints or preannotations as a blueprint from a JSON file. Prints its id as the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--kind", required=True, choices=list(FORMATS))
        parser.add_argument("--name", required=True)
        add_owner(parser)
        parser.add_argument("--entity-ontology", required=True, type=int, metavar="ID")
        parser.add_argument("--relation-ontology", type=int, metavar="ID")
        parser.add_argument(
            "--ignore-case", action="store_true", help="of preannotations: “Pump” in a text is an occurrence of “pump”"
        )

        parser.add_argument(
            "--add-labels", action="store_true", help="of preannotations: add labels that the ontologies lack to these"
        )

    def run(self, **options: Any) -> None:
        path, owner = options["file"], user(options["owner"])
        model, kind = FORMATS[options["kind"]]
        relation = options["relation_ontology"]
        values: dict[str, Any] = {}
        ontologies: dict[str, Any] = {
            "entity_ontology": blueprint(Ontology, options["entity_ontology"]),
            "relation_ontology": blueprint(Ontology, relation) if relation is not None else None,
        }
        added = 0
        with opened(path, settings.MAX_RESOURCE_BYTES) as file:
            if issubclass(model, PreannotationSet):
                values |= {"ignore_case": options["ignore_case"], "add_labels": options["add_labels"]}
                added = self._lacking(model(kind=kind, **ontologies), file, options["add_labels"])
            elif options["ignore_case"] or options["add_labels"]:
                raise Refused("--ignore-case and --add-labels are for preannotations.")
            resource_set = model.create(
                source=file, name=options["name"], owner=owner, kind=kind, **ontologies, **values
            )
        if added:
            self.stdout.write(f"Added {plural(added, 'label,labels')} to the ontologies.")
        for warning in resource_set.warnings.first:
            self.stderr.write(f"{path}: {warning}")
        self.stdout.write(f"“{resource_set}”: {resource_set.content_in_words()}.")
        self.stdout.write(str(resource_set.pk))

    def _lacking(self, draft: PreannotationSet, file: IO[bytes], add_labels: bool) -> int:
        """How many labels the ontologies of the draft lack, which are added or else advised to be."""
        draft.feature.check()
        count = sum(map(len, draft.lacking(file).values()))
        if count and not add_labels:
            self.advice = [f"To add the {plural(count, 'label,labels')} that the ontologies lack, add --add-labels."]
        return count
