"""What somebody did in some items, as tests want it."""

from collections.abc import Mapping
from uuid import uuid4

from annotation_service.models import User
from datasets.models import Annotation, Entity
from ontologies.models import OntologyItem
from projects.models import Project
from tests import factories
from work.models.batch import Batch


def label_of(project: Project, name: str) -> OntologyItem:
    return OntologyItem.objects.get(ontology__project=project, ontology__kind="entity", name=name)


def mark(project: Project, person: User, number: int, name: str = "State", start: int = 0, end: int = 0) -> Entity:
    """A mark of this person in the item with this number."""
    annotation = Annotation.start(project.dataset.items()[number - 1], person)
    return annotation.add_entity(uid=uuid4().hex[:16], label=label_of(project, name), start=start, end=end)


def batch_of(project: Project, person: User) -> Batch:
    """One that marked words as a state."""
    label = label_of(project, "State").uid
    return Batch.objects.create(
        dataset=project.dataset, person=person, verb="propagate", kind="entity", label=label, words="x"
    )


def work(project: Project, person: User, states: Mapping[int, str]) -> None:
    """Bring items, by their numbers, into these states. With ``suggested`` comes a suggestion, in the others is a mark."""
    for number, state in states.items():
        item = project.dataset.items()[number - 1]
        if state == "suggested":
            came = factories.annotation(item)
            label = label_of(project, "PhysicalObject")
            came.entity_set.create(uid="came", label=label, start=0, end=0, status="suggested", origin="given")
            continue
        annotation = Annotation.start(item, person)
        mark(project, person, number)
        if state == "done":
            annotation.finish()
