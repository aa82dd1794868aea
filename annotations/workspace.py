"""What the annotation screen shows: an item, its place among the others, its marks, the labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation_service.json_input import to_compact_json
from annotation_service.models import User
from datasets.models import Annotation, Entity, Item, Relation
from ontologies.models import Ontology
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item stands among those that are given to a person."""

    number: int
    count: int
    previous: int | None
    next: int | None


def items_of(project: Project, person: User) -> QuerySet[Item]:
    """The items given to somebody, and those that they have worked on, for a manager who reads their marks."""
    if project.annotators_per_item is None:
        return project.items_for(person)
    items = Item.objects.filter(dataset__project=project).order_by("position")
    begun = Annotation.objects.filter(item=OuterRef("pk"), annotator=person)
    return items.filter(Q(pk__in=project.items_for(person).order_by().values("pk")) | Exists(begun))


def place(project: Project, items: QuerySet[Item], item: Item) -> Place:
    keys = items.values_list("pk", flat=True)
    before, after = keys.filter(position__lt=item.position), keys.filter(position__gt=item.position)
    return Place(
        number=before.count() + 1,
        count=project.dataset.item_count if project.annotators_per_item is None else items.count(),
        previous=before.order_by("-position").first(),
        next=after.first(),
    )


def next_undone(project: Project, person: User, after: int = -1) -> int | None:
    """The next item that the person has not done, from a position on and then from the beginning."""
    done = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, done_at__isnull=False)
    undone = project.items_for(person).filter(~Exists(done)).values_list("pk", flat=True)
    return undone.filter(position__gt=after).first() or (
        undone.filter(position__lt=after).first() if after > 0 else None
    )


def first_marked(project: Project, person: User) -> int | None:
    """Where reading somebody's marks begins: at their first mark or, without any, at their first item."""
    items = items_of(project, person).values_list("pk", flat=True)
    marks = Entity.objects.filter(annotation__item=OuterRef("pk"), annotation__annotator=person)
    return items.filter(Exists(marks)).first() or items.first()


def next_marked(project: Project, person: User, after: int) -> int | None:
    """The next item on which somebody has marks of their own, for a manager who reads them."""
    marks = Entity.objects.filter(annotation__item=OuterRef("pk"), annotation__annotator=person)
    items = Item.objects.filter(dataset__project=project, position__gt=after).order_by("position")
    return items.filter(Exists(marks)).values_list("pk", flat=True).first()


def people(project: Project) -> QuerySet[User]:
    """Those whose marks a manager may choose to read."""
    return User.objects.filter(membership__project=project).order_by("username")


def done_count(project: Project, person: User) -> int:
    done = Annotation.objects.filter(annotator=person, done_at__isnull=False)
    return done.filter(item__dataset__project=project, item__removed_at=None).count()


def item_state(item: Item) -> dict[str, Any]:
    return {
        "number": item.number,
        "original": item.original,
        "tokens": item.tokens,
        "offsets": item.offsets,
    }


def marks_state(annotation: Annotation | None) -> dict[str, Any]:
    if annotation is None:
        return {"entities": [], "relations": [], "done": False}
    entities = Entity.objects.filter(annotation=annotation).exclude(status=Entity.Status.REJECTED).order_by("pk")
    relations = Relation.objects.filter(annotation=annotation).exclude(status=Relation.Status.REJECTED).order_by("pk")
    return {
        "entities": _dicts(
            ("uid", "start", "end", "label", "status"),
            entities.values_list("uid", "start", "end", "label__uid", "status"),
        ),
        "relations": _dicts(
            ("uid", "source", "target", "label", "status"),
            relations.values_list("uid", "source__uid", "target__uid", "label__uid", "status"),
        ),
        "done": annotation.done_at is not None,
    }


def _dicts(names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The labels of a project as its workspace loads them: once, and kept by the browser under their version."""

    versions: tuple[tuple[str, int, int, Any], ...]

    @classmethod
    def of(cls, project: Project) -> "LabelSet":
        fields = ("kind", "pk", "version", "updated_at")
        return cls(tuple(project.ontology_set.order_by("kind").values_list(*fields)))

    @property
    def version(self) -> str:
        """Part of the labels' address. A version number may come twice, when a transaction is taken back; a time does not."""
        return "-".join(f"{version}.{int(at.timestamp() * 1_000_000):x}" for _, _, version, at in self.versions)

    @property
    def has_relations(self) -> bool:
        return any(kind == Ontology.Kind.RELATION for kind, *_ in self.versions)

    def as_json(self) -> bytes:
        return _labels_json(self.versions)


@lru_cache(maxsize=16)
def _labels_json(versions: tuple[tuple[str, int, int, Any], ...]) -> bytes:
    """``{kind: [[uid, name, place of the parent or -1, colour, active, description, example terms], ...]}``, in tree order."""
    document = {}
    for kind, pk, version, updated_at in versions:
        labels = Ontology(pk=pk, version=version, updated_at=updated_at).labels()
        places = {label.uid: place for place, label in enumerate(labels)}
        document[kind] = [
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
