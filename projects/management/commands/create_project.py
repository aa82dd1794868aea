from typing import Any

from django.core.management.base import CommandParser

from annotation_service import jobs
from annotation_service.management.base import ServiceCommand, blueprint, user
from datasets.models import Dataset
from ontologies.models import Ontology
from projects.models import BrokenRules, Project
from resources.models import ConstraintSet, PreannotationSet, ResourceSet
from work.placing import JOB


class Command(ServiceCommand):
    help = "Create a project from blueprints. Prints its id as the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--manager", required=True, metavar="USER")
        parser.add_argument("--dataset", required=True, type=int, metavar="ID")
        parser.add_argument("--entity-ontology", required=True, type=int, metavar="ID")
        parser.add_argument("--relation-ontology", type=int, metavar="ID")
        several: dict[str, Any] = {"action": "append", "default": [], "help": "may be given several times"}
        parser.add_argument("--constraints", type=int, metavar="ID", **several)
        parser.add_argument("--preannotations", type=int, metavar="ID", **several)
        parser.add_argument("--annotator", metavar="USER", **several)
        parser.add_argument(
            "--violations",
            choices=["refuse", "keep"],
            default="refuse",
            help="what to do about marks of the dataset that break the constraints (default: %(default)s)",
        )

    def run(self, **options: Any) -> None:
        resources: list[ResourceSet] = [
            *(blueprint(ConstraintSet, pk) for pk in options["constraints"]),
            *(blueprint(PreannotationSet, pk) for pk in options["preannotations"]),
        ]
        try:
            project = self._create(resources, **options)
        except BrokenRules:
            self.advice = ["To take these marks as they are, add --violations keep."]
            raise
        jobs.finish(kind=JOB, target__project=project.pk)
        self.stdout.write(f"Created the project “{project}” with {project.dataset.content_in_words()}.")
        self.stdout.write(str(project.pk))

    def _create(self, resources: list[ResourceSet], **options: Any) -> Project:
        relation = options["relation_ontology"]
        return Project.create(
            name=options["name"],
            by=user(options["manager"]),
            dataset=blueprint(Dataset, options["dataset"]),
            entity_ontology=blueprint(Ontology, options["entity_ontology"]),
            relation_ontology=blueprint(Ontology, relation) if relation is not None else None,
            resources=resources,
            annotators=list(dict.fromkeys(user(name) for name in options["annotator"])),
            keep_violations=options["violations"] == "keep",
        )
