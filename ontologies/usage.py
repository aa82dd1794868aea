"""What uses the items of an ontology: marks, constraints, preannotations. Marks of texts that were removed from their dataset do
not count."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Model, Q, QuerySet

from annotation_service.db import among
from annotation_service.models import User
from annotation_service.words import plural

if TYPE_CHECKING:
    from .models import Ontology, OntologyItem

MARKS = "marks"


class Counts(dict[str, int]):
    """How many rows there are, by what people call several of them."""

    @property
    def total(self) -> int:
        return sum(self.values())

    def in_words(self) -> str:
        """Such as “3 marks, 1 constraint”."""
        return ", ".join(plural(count, f"{what.removesuffix('s')},{what}") for what, count in self.items())

    def __add__(self, other: "Counts") -> "Counts":
        return Counts({what: self.get(what, 0) + other.get(what, 0) for what in {**self, **other}})


@dataclass(frozen=True, slots=True)
class ProjectUsage:
    project_pk: int
    project_name: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Usage:
    own: Counts
    """What names the item itself: in its project or, of a blueprint, in blueprints."""
    projects: list[ProjectUsage]
    """What names the item's copies in projects that the viewer may see, the most first."""
    elsewhere: Counts
    """What names its copies in other projects."""

    @property
    def total(self) -> int:
        return self.own.total + sum(each.counts.total for each in self.projects) + self.elsewhere.total


def by_uid(ontology: "Ontology", made_by: User | None = None) -> dict[str, int]:
    """Marks of each item and, of a blueprint, of its copies in projects: one grouped query for all rows of the tree. Of all
    people's marks, or of one person's."""
    from .models import OntologyItem

    marks = _marks(ontology)
    which = Q(ontology=ontology)
    if ontology.is_blueprint:
        which |= Q(ontology__copied_from=ontology, ontology__project__isnull=False)
    counted: dict[str, Any] = {f"{marks}__isnull": False, f"{marks}__annotation__item__removed_at": None}
    if made_by:
        counted[f"{marks}__annotation__annotator"] = made_by
    used = OntologyItem.objects.filter(which, **counted)
    return dict(used.order_by().values_list("uid").annotate(Count(marks)))


def below(ontology: "Ontology", marks: Mapping[str, int]) -> dict[str, int]:
    """How many marks the items below each item have together, only where there are any; ``marks`` are those of each item."""
    sums: Counter[str] = Counter()
    for label in reversed(ontology.labels().all):
        if label.parent_uid and (count := marks.get(label.uid, 0) + sums[label.uid]):
            sums[label.parent_uid] += count
    return sums


def of_item(item: "OntologyItem", visible: Collection[int], made_by: User | None = None) -> Usage:
    from .models import OntologyItem

    copies: dict[int, list[Any]] = {}  # the project's key and name by the item's key
    if item.ontology.is_blueprint:
        alike = OntologyItem.objects.filter(uid=item.uid, ontology__copied_from=item.ontology_id)
        columns = ("pk", "ontology__project", "ontology__project__name")
        copies = {pk: place for pk, *place in alike.exclude(ontology__project=None).values_list(*columns)}
    counts: dict[int | None, Counts] = defaultdict(Counts)
    for what, rows in pointing_to([item.pk, *copies]):
        marks = what == MARKS
        if marks:
            rows = rows.filter(annotation__item__removed_at=None)
            rows = rows.filter(annotation__annotator=made_by) if made_by else rows
        by_project = rows.order_by().values_list("label__ontology__project" if marks else "resource__project")
        for project, count in by_project.annotate(count=Count("pk")):
            counts[project][what] = counts[project].get(what, 0) + count
    own = counts.pop(item.ontology.project_id, Counts())
    elsewhere = Counts()
    projects = []
    for project, name in copies.values():
        if project in visible and project in counts:
            projects.append(ProjectUsage(project, name, counts[project]))
        elif project in counts:
            elsewhere += counts[project]
    return Usage(own, sorted(projects, key=lambda each: (-each.counts.total, each.project_name)), elsewhere)


def pointing_to(items: list[int]) -> Iterator[tuple[str, QuerySet[Any]]]:
    """The rows of each other model that point to items with these keys, each row once, with what people call such rows."""
    from .models import OntologyItem

    words: dict[type[Model], str] = {}
    where: dict[type[Model], Q] = defaultdict(Q)
    for relation in OntologyItem._meta.related_objects:
        model, field = relation.related_model, relation.field
        if relation.many_to_many:
            listed = relation.through._base_manager.filter(**{f"{field.m2m_reverse_field_name()}__in": among(items)})
            where[model] |= Q(pk__in=listed.values(field.m2m_field_name()))
        elif model is not OntologyItem:
            where[model] |= Q(**{f"{field.name}__in": among(items)})
        called = str(model._meta.verbose_name_plural).rpartition(" ")[
            2
        ]  # entity and relation constraints are constraints
        words[model] = MARKS if str(relation.related_name).endswith("_marks") else called
    for model, which in where.items():
        yield words[model], model._base_manager.filter(which)


def _marks(ontology: "Ontology") -> str:
    return "entity_marks" if ontology.is_entity else "relation_marks"
