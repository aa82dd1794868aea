from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation_service import access
from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand, add_owner, blueprint, opened, user
from annotation_service.models import User
from annotation_service.words import plural
from ontologies.models import Ontology
from resources.models import FORMATS, PreannotationSet, ResourceSet


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
        values: dict[str, Any] = {
            "kind": kind,
            "entity_ontology": blueprint(Ontology, options["entity_ontology"]),
            "relation_ontology": blueprint(Ontology, relation) if relation is not None else None,
        }
        with opened(path, settings.MAX_RESOURCE_BYTES) as file:
            if issubclass(model, PreannotationSet):
                resource_set = self._preannotations(model(**values), file, owner, options)
            elif options["ignore_case"] or options["add_labels"]:
                raise Refused("--ignore-case and --add-labels are for preannotations.")
            else:
                resource_set = model.create(source=file, name=options["name"], owner=owner, **values)
        for warning in resource_set.warnings.first:
            self.stderr.write(f"{path}: {warning}")
        self.stdout.write(f"“{resource_set}”: {resource_set.content_in_words()}.")
        self.stdout.write(str(resource_set.pk))

    def _preannotations(
        self, draft: PreannotationSet, file: IO[bytes], owner: User, options: dict[str, Any]
    ) -> ResourceSet:
        """A set of the kind of the draft, with its ontologies."""
        draft.check_enabled()
        lacking = draft.lacking(file)
        count = sum(map(len, lacking.values()))
        if options["add_labels"]:
            for ontology in (draft.ontologies[kind] for kind in lacking):
                if not access.can_edit(owner, ontology):
                    raise Refused(f"“{owner}” may not add labels to “{ontology}”.")
            create: Any = PreannotationSet.create_with_labels
        else:
            create = PreannotationSet.create
            if count:
                labels = plural(count, "label,labels")
                self.advice = [f"To add the {labels} that the ontologies lack, add --add-labels."]
        made = create(
            kind=draft.kind,
            source=file,
            name=options["name"],
            owner=owner,
            ignore_case=options["ignore_case"],
            entity_ontology=draft.entity_ontology,
            relation_ontology=draft.relation_ontology,
        )
        if count:
            self.stdout.write(f"Added {plural(count, 'label,labels')} to the ontologies.")
        return made
