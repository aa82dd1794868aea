"""Counts what stands inside what, and what relations connect: constraint sets learn their rules from it."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet
from django.db.models.lookups import GreaterThan

from annotation_service.db import among
from datasets.models import GIVEN, Dataset, Entity, Item, Mark, Relation
from ontologies.labels import Label, Labels
from ontologies.models import Ontology, OntologyItem
from resources.models import ConstraintSet
from resources.proposals import Observed
from resources.rules import Lineage


class Source(StrEnum):
    """Whose marks are counted."""

    GIVEN = "given"  # those that came with the dataset
    DONE = "done"  # what annotators have accepted on items that they are done with


_MARKS = {
    Source.GIVEN: GIVEN,
    Source.DONE: Q(annotation__annotator__isnull=False, annotation__done_at__isnull=False, status=Mark.Status.ACCEPTED),
}
# Strictly inside it stands another entity, which counts.
_HOLDS = (
    Q(annotation__entity__status=Mark.Status.ACCEPTED)
    | Q(annotation__annotator=None, annotation__entity__origin=Mark.Origin.GIVEN),
    Q(annotation__entity__start__gte=F("start"), annotation__entity__end__lte=F("end")),
    GreaterThan(F("end") - F("start"), F("annotation__entity__end") - F("annotation__entity__start")),
)


class Example(NamedTuple):
    """Two entities: one inside the other, or the ends of a relation."""

    item: Item
    annotator: int | None
    words: tuple[str, str]


class Evidence:
    """The marks of a dataset as evidence for the rules of a set.

    ``observed`` has the figures of the marks, in the labels of the set. A label is the same in both if it has the same uid, as
    copies have, or else the same full name; ``missing`` are the full names of those that the set's ontologies lack.
    """

    def __init__(self, constraints: ConstraintSet, dataset: Dataset, source: Source) -> None:
        self.dataset, self.source = dataset, source
        counts = [row for labels in self._counted(constraints.kind) for row in labels.annotate(Count("pk"))]
        self._known, self.missing = _translated(
            {label for *labels, _ in counts for label in labels}, constraints.ontologies.values()
        )
        lines = [lineage for _, lineage in self._known.values()]
        self.observed = Observed({line[place]: line[place:] for line in lines for place in range(len(line))})
        tables: dict[int, Counter[Any]] = {
            1: self.observed.long,
            2: self.observed.nested,
            3: self.observed.related,
        }
        for *labels, count in counts:
            if all(label in self._known for label in labels):
                keys = tuple(self._known[label][0].pk for label in labels)
                tables[len(keys)][keys if len(keys) > 1 else keys[0]] += count

    def examples(self, first: int, last: int, relation: int | None, limit: int) -> list[Example]:
        """Some of the entities of a type inside those of another, or of the relations between the two types."""
        firsts, lasts = self._below(first), self._below(last)
        if relation is None:
            one, other = "", "annotation__entity__"
            marks = self._marks(Entity, *_HOLDS, label__in=firsts, annotation__entity__label__in=lasts)
        else:
            one, other = "source__", "target__"
            ends = {"source__label__in": firsts, "target__label__in": lasts}
            marks = self._marks(Relation, label__in=self._below(relation), **ends)
        places = [f"{end}{field}" for end in (one, other) for field in ("start", "end")]
        marks = marks.order_by("annotation__item__position", "annotation__annotator_id", "pk")
        rows = list(marks.values_list("annotation__item", "annotation__annotator", *places)[:limit])
        items = self.dataset.items().in_bulk({row[0] for row in rows})
        return [
            Example(items[pk], annotator, (items[pk].cleaned.between(*ends[:2]), items[pk].cleaned.between(*ends[2:])))
            for pk, annotator, *ends in rows
            if pk in items
        ]

    def _marks(self, model: type[Entity] | type[Relation], *conditions: Any, **values: Any) -> QuerySet[Any]:
        here = {"annotation__item__dataset": self.dataset, "annotation__item__removed_at": None}
        return model._default_manager.filter(_MARKS[self.source], *conditions, **here, **values).order_by()

    def _counted(self, kind: str) -> list[QuerySet[Any]]:
        """The labels of marks, to be counted inside the database: single marks would take ten times as long."""
        if kind == "relation":
            return [self._marks(Relation).values_list("source__label", "label", "target__label")]
        long = self._marks(Entity, start__lt=F("end")).values_list("label")
        return [long, self._marks(Entity, *_HOLDS).values_list("label", "annotation__entity__label")]

    def _below(self, label: int) -> Any:
        """The dataset's labels that are of a type."""
        return among([key for key, (_, lineage) in self._known.items() if label in lineage])


def _translated(keys: set[int], ontologies: Iterable[Ontology]) -> tuple[dict[int, tuple[Label, Lineage]], list[str]]:
    """The same labels in these ontologies, with their lineages; and the full names of those that are in none of them."""
    there = {ontology.kind: ontology.labels() for ontology in ontologies}
    known: dict[int, tuple[Label, Lineage]] = {}
    missing: list[str] = []
    items = OntologyItem.objects.filter(pk__in=among(keys))
    for ontology in Ontology.objects.filter(pk__in=items.values("ontology")):
        labels = there.get(ontology.kind, Labels())
        here = ontology.labels().by_pk
        for key in keys & here.keys():
            own = here[key]
            if same := labels.by_uid.get(own.uid) or labels.by_fullname.get(own.fullname):
                known[key] = same, labels.lineage(same)
            else:
                missing.append(own.fullname)
    return known, sorted(missing)
