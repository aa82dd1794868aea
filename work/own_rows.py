"""What is shown of a person's own items in the rows of their list."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet

from annotation_service.db import looked_up
from datasets.models import MARKS, Annotation, Entity, Item, Mark, Relation
from ontologies.labels import Label

from .models import Comment, Flag
from .own_items import OwnItems

FEW = 3  # labels in a row


@dataclass(slots=True)
class OwnWork:
    """What a person did in an item, and what is suggested to them."""

    state: str = "untouched"
    changed_at: datetime | None = None
    suggestions: int = 0
    by_batch: int = 0
    """Of the marks, those that a batch put there or decided about."""
    comments: int = 0
    """Those that are open."""
    flags: list[Flag] = field(default_factory=list)
    labels: list[tuple[Label, int]] = field(default_factory=list)
    """Of the person's marks, with how many there are; those of entities first."""

    @property
    def marks(self) -> int:
        return sum(count for _, count in self.labels)

    @property
    def first_labels(self) -> list[tuple[Label, int]]:
        return self.labels[:FEW]

    @property
    def more_labels(self) -> int:
        return max(0, len(self.labels) - FEW)


def work_on(items: Sequence[Item], shown: OwnItems) -> list[OwnWork]:
    """What the person did in each of these items, with a fixed number of queries."""
    work = {item.pk: OwnWork() for item in items}
    seen = {each.pk: each for each in Annotation.all_visible_to(shown.person, items).values()}
    for own in seen.values():
        if own.annotator_id:
            found = work[own.item_id]
            found.changed_at = own.changed_at
            found.state = "done" if own.done_at else "begun" if own.started_at else "untouched"
    for flag in Flag.objects.filter(person=shown.person, item__in=items).order_by("kind"):
        work[flag.item_id].flags.append(flag)
    for item in Comment.objects.open().filter(person=shown.person, item__in=items).values_list("item", flat=True):
        work[item].comments += 1
    for ontology in shown.ontologies:
        labels = ontology.labels().by_pk
        for annotation, label, status, count, by_batch in _counted_marks(list(seen), MARKS[ontology.kind]):
            found = work[seen[annotation].item_id]
            if status == Mark.Status.SUGGESTED:
                found.suggestions += count
            elif seen[annotation].annotator_id and status == Mark.Status.ACCEPTED:
                found.labels.append((labels[label], count))
                found.by_batch += by_batch
    return [work[item.pk] for item in items]


def _counted_marks(annotations: Sequence[int], model: type[Entity] | type[Relation]) -> QuerySet[Any, Any]:
    """By keys alone: joined with the annotations, PostgreSQL may look through all marks as long as it knows little of them."""
    found = model._default_manager.filter(looked_up("annotation", annotations))
    marks = found.values_list("annotation", "label", "status")
    return marks.annotate(count=Count("pk"), by_batch=Count("batch")).order_by("-count", "label")
