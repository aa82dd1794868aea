"""What goes with items and datasets when they are removed or deleted."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Count, QuerySet

from annotation_service.db import among

from .annotation import Annotation
from .item import Item, ItemQuerySet
from .mark import Mark
from .marks import GIVEN, Entity, Relation
from .rejection import Rejection

# Models with a field `annotation`, and models with the field that points to items or datasets. The apps above add theirs.
goes_with_annotations: list[type[models.Model]] = [Relation, Entity, Rejection]
goes_with_items: list[tuple[type[models.Model], str]] = [(Annotation, "item")]
goes_with_datasets: list[tuple[type[models.Model], str]] = []
# Marks point to these.
goes_after_marks: list[tuple[type[models.Model], str]] = []
# When many items are deleted, so many are locked and deleted with their marks before the next.
ITEMS_AT_ONCE = 500


class MarkCount(NamedTuple):
    """The marks of some items: ``given`` with the dataset, and ``made`` by so many ``people``."""

    given: int
    made: int
    people: int

    @classmethod
    def of(cls, items: ItemQuerySet) -> "MarkCount":
        """A suggestion is nobody's mark before it is accepted."""
        given, people = 0, Counter[int]()
        annotations = Annotation.objects.filter(item__in=items.order_by().values("pk"))
        for model in (Entity, Relation):
            marks = model.objects.filter(annotation__in=annotations)
            given += marks.filter(GIVEN).count()
            made = marks.filter(annotation__annotator__isnull=False, status=Mark.Status.ACCEPTED)
            people.update(dict(made.order_by().values_list("annotation__annotator").annotate(Count("pk"))))
        return cls(given, people.total(), len(people))


def with_marks(items: ItemQuerySet) -> Iterator[QuerySet[Any]]:
    """The rows of items and of all that goes with them, in an order in which they can be deleted. Annotators lock the item whose
    marks they change, so that none come in between."""
    locked = items.select_for_update(of=("self",)).values_list("pk", flat=True)
    while keys := list(locked[:ITEMS_AT_ONCE]):
        for model in goes_with_annotations:
            yield model._base_manager.filter(annotation__item__in=among(keys))
        for model, field in goes_with_items:
            yield model._base_manager.filter(**{f"{field}__in": among(keys)})
        yield Item.with_removed.filter(pk__in=among(keys))
