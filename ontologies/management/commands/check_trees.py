from typing import Any

from django.core.management.base import BaseCommand

from annotation_service import words
from ontologies.models import Ontology, OntologyItem


class Command(BaseCommand):
    help = "Check the tree of every ontology. Prints a line for each unsound one, and exits with 1 if there is any."

    def handle(self, *args: Any, **options: Any) -> None:
        unsound = 0
        ontologies = Ontology.objects.order_by("pk")
        for ontology in ontologies.iterator():
            if found := list(ontology.tree.problems()):
                unsound += 1
                self.stdout.write(f"{ontology.pk} “{ontology}”: {'; '.join(found[:5])}")
        if unsound:
            raise SystemExit(1)
        items = OntologyItem.objects.filter(level__gt=0, ontology__deleted_at=None).count()
        self.stdout.write(f"{words.number(ontologies.count())} ontologies, {words.number(items)} items: all sound")
