"""What the annotation screen shows: an item, its place among the others, its marks, the labels."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation_service.json_input import to_compact_json
from annotation_service.models import User
from datasets.models import Annotation, Entity, Item, Mark, Relation
from ontologies.models import Ontology
from projects.models import Project

SHOWN_FIELDS: dict[str, tuple[type[Mark], dict[str, str]]] = {
    "entities": (Entity, {"start": "start", "end": "end"}),
    "relations": (Relation, {"source": "source__uid", "target": "target__uid"}),
}


def items_to_read(project: Project, person: User) -> QuerySet[Item]:
    """The items given to somebody, and those that they have worked on."""
    given = project.items_for(person)
    if project.annotators_per_item is None:
        return given
    begun = Annotation.objects.filter(item=OuterRef("pk"), annotator=person)
    return project.all_items().filter(Q(pk__in=given.order_by().values("pk")) | Exists(begun))


def place(project: Project, items: QuerySet[Item], item: Item) -> dict[str, Any]:
    """Where an item stands among those that are given to a person."""
    keys = items.values_list("pk", flat=True)
    before, after = keys.filter(position__lt=item.position), keys.filter(position__gt=item.position)
    return {
        "number": before.count() + 1,
        "count": project.dataset.item_count if project.annotators_per_item is None else items.count(),
        "previous": before.order_by("-position").first(),
        "next": after.first(),
    }


def next_undone(project: Project, person: User, after: int) -> int | None:
    """The next item that the person has not done, from a position on and then from the beginning."""
    done = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, done_at__isnull=False)
    undone = project.items_for(person).filter(~Exists(done)).values_list("pk", flat=True)
    return undone.filter(position__gt=after).first() or undone.filter(position__lt=after).first()


def marked_items(project: Project, person: User) -> QuerySet[Item, int]:
    """The keys of the items on which somebody has marks."""
    marks = Entity.objects.filter(annotation__item=OuterRef("pk"), annotation__annotator=person)
    return project.all_items().filter(Exists(marks)).values_list("pk", flat=True)


def marks_state(annotation: Annotation | None) -> dict[str, Any]:
    state: dict[str, Any] = {"done": annotation is not None and annotation.done_at is not None}
    for name, (model, place_fields) in SHOWN_FIELDS.items():
        fields = {"uid": "uid", **place_fields, "label": "label__uid", "status": "status"}
        marks = model._default_manager.filter(annotation=annotation).exclude(status=Mark.Status.REJECTED).order_by("pk")
        rows = marks.values_list(*fields.values()) if annotation else ()
        state[name] = [dict(zip(fields, row, strict=True)) for row in rows]
    return state


def labels_version(ontologies: Iterable[Ontology]) -> str:
    """Part of the labels' address. A version number may come twice, when a transaction is taken back; a time does not."""
    return "-".join(f"{each.version}.{int(each.updated_at.timestamp() * 1_000_000):x}" for each in ontologies)


def labels_json(ontologies: Iterable[Ontology]) -> bytes:
    """``{kind: [[uid, name, place of the parent or -1, colour, active, description, example terms], ...]}``, in tree order."""
    document = {}
    for ontology in ontologies:
        labels = ontology.labels()
        places = {label.uid: place for place, label in enumerate(labels)}
        document[ontology.kind] = [
            [
                label.uid,
                label.name,
                places.get(label.parent_uid or "", -1),
                label.color,
                int(label.active),
                label.description,
                label.example_terms,
            ]
            for label in labels
        ]
    return to_compact_json(document).encode()
