"""The items that are given to a person, with what they did in them: found by a filter, sorted, and walked through."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FilteredRelation,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Length
from django.db.models.lookups import GreaterThan

from annotation_service.inputs import whole_number
from annotation_service.models import User
from annotation_service.paging import Column
from datasets.item_lists import NOTHING, ItemList, labels_named, with_labels
from datasets.models import MARKS, Annotation, Item, Layer, Mark
from datasets.models.item import ItemQuerySet
from ontologies.labels import Label
from ontologies.models import Ontology

from .models import Batch, BatchChange, Comment, Flag
from .models.item_work import marks_in

STATES = ("undone", "untouched", "begun", "done")
HAS = {
    "marks": "with marks",
    "suggestions": "with undecided suggestions",
    "flags": "flagged",
    **{kind.value: f"flagged: {kind.label.lower()}" for kind in Flag.Kind},
    "open": "with open comments",
    "comments": "with comments",
    "later": "left for later",
}
LONG_AGO = Value(datetime(1, 1, 1, tzinfo=UTC))
# In ``own``, the person's annotation of the item, if there is one.
COLUMNS = [
    Column("number", "No.", F("position"), number=True),
    Column("length", "Length", Length("search_text"), number=True, big_first=True),
    Column(
        "marks",
        "Marks",
        Case(When(own=None, then=0), default=marks_in(Mark.Status.ACCEPTED, "own__"), output_field=IntegerField()),
        big_first=True,
    ),
    Column("changed", "Last change", Coalesce(F("own__changed_at"), LONG_AGO), big_first=True),
]
SHOWN_LABELS = 3  # in a row


@dataclass(frozen=True, kw_only=True)
class OwnItems(ItemList):
    """The items given to a person.

    ``label`` is that of a mark of theirs, or one above it, or a part of its full name. Undecided suggestions are those that they
    see: before they begin an item, those that came with it. ``on_page`` is how many the workspace shows at once, if the address
    says it.
    """

    names: ClassVar = ("q", "state", "has", "label", "batch", "sort", "on_page")
    all_columns: ClassVar = COLUMNS

    given: ItemQuerySet
    person: User
    ontologies: Iterable[Ontology]
    later: Sequence[int] = ()
    """The keys of what they left for later, the oldest first."""
    state: str = ""
    batch: str = ""
    on_page: str = ""

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield from super()._asked()
        yield self.state, self.state
        yield self.has, HAS.get(self.has, f"with {self.has}")
        yield self.label, f"with the label “{self.label_name}”"
        yield self.batch, "with places of a batch"

    def way_in_words(self) -> str:
        """What previous and next lead through, such as in “pump”, undone, by length; empty for all items by number."""
        order = {"number": "from the end" if self.sort == "-number" else ""}
        order |= {"length": "by length", "marks": "by marks", "changed": "by last change"}
        which = f"in {self.in_words().removeprefix('with ')}" if not self.is_empty else ""
        return ", ".join(filter(None, (which, order[self.sort.removeprefix("-") or "number"])))

    def all_ontologies(self) -> Iterable[Ontology]:
        return self.ontologies

    # --- Items ---

    def all_items(self) -> ItemQuerySet:
        return self.given

    @property
    def known_count(self) -> None:
        """Who has which item is asked each time."""

    def undone(self) -> "OwnItems":
        """Those of the list that its person has not done."""
        return replace(self, state="undone") if self.state in ("", "done") else self

    def left_for_later(self) -> int:
        """How many items were left for later and are not done."""
        everything = replace(self, q="", state="", has="later", label="", batch="")
        return everything.count() if self.later else 0

    def first_behind(self, item: Item | None) -> int | None:
        """The key of the first one behind an item and, if there is none, from the beginning. What was left for later comes
        last."""
        passed = [*self.later, item.pk] if item else self.later
        for way in [self.around(item)[1], self.keys()] if item else [self.keys()]:
            if found := way.exclude(pk__in=passed).first():
                return found
        left = set(self.keys().filter(pk__in=self.later))
        return next((key for key in self.later if key in left), None)

    def _keyed(self, items: ItemQuerySet) -> ItemQuerySet:
        return items.alias(own=FilteredRelation("annotation", condition=Q(annotation__annotator=self.person)))

    # --- What is asked for ---

    def conditions(self) -> Iterator[Q]:
        yield from super().conditions()
        if self.state:
            yield self._in_state()
        if self.has:
            yield self._with_something()
        if self.label:
            yield self._labelled()
        if self.batch:
            yield self._of_batch()

    def _where(self, *conditions: Q | GreaterThan, **values: Any) -> Q:
        """The items of which the person has such an annotation."""
        own = Annotation.objects.filter(*conditions, annotator=self.person, **values)
        return Q(pk__in=own.values("item"))

    def _in_state(self) -> Q:
        done, started = self._where(done_at__isnull=False), self._where(started_at__isnull=False)
        begun = self._where(started_at__isnull=False, done_at=None)
        return {"done": done, "undone": ~done, "begun": begun, "untouched": ~started}.get(self.state, NOTHING)

    def _with_something(self) -> Q:
        if self.has == "later":
            return Q(pk__in=self.later) & ~self._where(done_at__isnull=False)
        if self.has == "marks":
            return self._where(GreaterThan(marks_in(Mark.Status.ACCEPTED), 0))
        if self.has == "suggestions":
            return self._where(GreaterThan(marks_in(Mark.Status.SUGGESTED), 0)) | self._came_with_suggestions()
        flags, comments = Flag.objects.filter(person=self.person), Comment.objects.filter(person=self.person)
        said: dict[str, QuerySet[Any]] = {"flags": flags, "comments": comments, "open": comments.open()}
        said |= {kind: flags.filter(kind=kind) for kind in Flag.Kind.values}
        return Q(pk__in=said[self.has].values("item")) if self.has in said else NOTHING

    def _came_with_suggestions(self) -> Q:
        """Items with suggestions of which the person has no annotation of their own."""
        suggested = _any(each.filter(status=Mark.Status.SUGGESTED) for each in self._marks())
        came = Annotation.objects.filter(suggested, item=OuterRef("pk"), layer=Layer.GIVEN)
        return Q(Exists(came)) & ~self._where()

    def _labelled(self) -> Q:
        labels = labels_named(self.label, self.ontologies)
        marks = (with_labels(each.exclude(status=Mark.Status.REJECTED), labels) for each in self._marks())
        return self._where(_any(marks))

    def _marks(self) -> Iterator[QuerySet[Any]]:
        """Of the kinds of the project."""
        return (MARKS[ontology.kind]._default_manager.all() for ontology in self.ontologies)

    def _of_batch(self) -> Q:
        """Where a batch of the person left something, or removed it."""
        batch = whole_number(self.batch) or 0
        left = (model._default_manager.filter(batch=batch) for model in MARKS.values())
        removed = BatchChange.objects.filter(batch=batch, batch__verb=Batch.Verb.REMOVE)
        return self._where(reduce(or_, (Q(pk__in=rows.values("annotation")) for rows in (*left, removed))))


def _any(marks: Iterable[QuerySet[Any]]) -> Q:
    """Annotations that have one of these marks. Not by EXISTS, for which PostgreSQL looks at all marks of all people: 0.3 and not
    0.01 s for the 4,000 annotations of one of 50 people with a million marks."""
    found = (Subquery(each.filter(annotation=OuterRef("pk")).values("pk")[:1]) for each in marks)
    return reduce(or_, (Q(GreaterThan(pk, 0)) for pk in found))


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
        return self.labels[:SHOWN_LABELS]

    @property
    def more_labels(self) -> int:
        return max(0, len(self.labels) - SHOWN_LABELS)


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
        marks = MARKS[ontology.kind]._default_manager.filter(annotation__in=list(seen))
        counted = marks.values_list("annotation", "label", "status").annotate(
            count=Count("pk"), by_batch=Count("batch")
        )
        for annotation, label, status, count, by_batch in counted.order_by("-count", "label"):
            found = work[seen[annotation].item_id]
            if status == Mark.Status.SUGGESTED:
                found.suggestions += count
            elif seen[annotation].annotator_id and status == Mark.Status.ACCEPTED:
                found.labels.append((labels[label], count))
                found.by_batch += by_batch
    return [work[item.pk] for item in items]
