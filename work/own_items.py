"""The items that are given to a person, with what they did in them: found by a filter, sorted, and walked through."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import GreaterThan
from django.http import QueryDict

from annotation_service.db import among, looked_up, whole
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.items.listing import NOTHING, branch_of
from datasets.models import MARKS, Annotation, Dataset, Item, Mark
from datasets.models.item import ItemQuerySet
from ontologies.labels import Label
from ontologies.models import Ontology

from .kept import kept_items
from .models import REMOVED, Comment, Flag
from .models.figures import marks_in
from .own_way import OwnWay, Sets

STATES = {"undone": "undone", "untouched": "untouched", "begun": "begun", "done": "done"}
HAS = {
    "marks": "with marks",
    "suggestions": "with undecided suggestions",
    "flags": "flagged",
    **{kind.value: f"flagged: {kind.label.lower()}" for kind in Flag.Kind},
    "open": "with open comments",
    "comments": "with comments",
    "later": "left for later",
}
# Marks with a label in all annotations of a project: up to so many, they are looked at, and otherwise those of the person.
FEW_MARKS = 50_000


@dataclass(frozen=True, slots=True)
class OwnItems(OwnWay):
    """The items given to a person that match everything in an address, and their order.

    ``label`` is that of a mark of theirs, or one above it, or a part of its full name. Undecided suggestions are those that they
    see: before they begin an item, those that came with it. ``on_page`` is how many the workspace shows at once, if the address
    says it.
    """

    names: ClassVar = ("q", "state", "has", "label", "batch", "sort", "on_page")

    dataset: Dataset
    given: ItemQuerySet
    given_count: int | None
    """If it is known."""
    person: User
    ontologies: Iterable[Ontology]
    later: Sequence[int] = ()
    """The keys of what they left for later, the oldest first."""
    q: str = ""
    state: str = ""
    has: str = ""
    label: str = ""
    batch: str = ""
    sort: str = ""
    on_page: str = ""

    @classmethod
    def of(cls, data: QueryDict, **whose: Any) -> "OwnItems":
        values: dict[str, Any] = cls.values_of(data, cls.names)
        found = cls(**whose, **values)
        known = {column.name for column in found.columns}
        return found if found.sort.removeprefix("-") in known else found.without_order()

    @property
    def is_empty(self) -> bool:
        """Whether all items match."""
        return self._asks_for_state_only and not self.state

    @property
    def _asks_for_state_only(self) -> bool:
        return not any((self.q, self.has, self.label, self.batch))

    def in_words(self) -> str:
        """Such as “with “pump”, undone”; empty if all items match."""
        parts = (
            (self.q, f"with “{self.q}”"),
            (self.state, STATES.get(self.state, self.state)),
            (self.has, HAS.get(self.has, f"with {self.has}")),
            (self.label, f"with the label “{self.label_name}”"),
            (self.batch, "with places of a batch"),
        )
        return ", ".join(text for value, text in parts if value)

    def way_in_words(self) -> str:
        """What previous and next lead through, such as in “pump”, undone, by length; empty for all items by number."""
        order = {"number": "from the end" if self.sort == "-number" else ""}
        order |= {"length": "by length", "marks": "by marks", "changed": "by last change"}
        which = f"in {self.in_words().removeprefix('with ')}" if not self.is_empty else ""
        return ", ".join(filter(None, (which, order[self.sort.removeprefix("-") or "number"])))

    @property
    def label_name(self) -> str:
        return next((label.fullname for label in branch_of(self.label, self.ontologies)), self.label)

    # --- Items ---

    def all(self) -> "OwnItems":
        return replace(self, q="", state="", has="", label="", batch="")

    def undone(self) -> "OwnItems":
        """Those of the list that its person has not done."""
        return replace(self, state="undone") if self.state in ("", "done") else self

    def left_for_later(self) -> int:
        """How many items were left for later and are not done."""
        return replace(self.all(), has="later").matching().count() if self.later else 0

    # --- What is asked for ---

    def _all(self) -> ItemQuerySet:
        return self.given

    def _conditions(self) -> Iterator[Q]:
        for sets, are_those in self._sets():
            if are_those:
                yield reduce(or_, (Q(pk__in=keys) for keys in sets), NOTHING)
            else:  # to look at each item takes half the time of making a set, and PostgreSQL a hundredth
                yield from (~Q(Exists(keys.filter(item=OuterRef("pk")))) for keys in sets)

    def _sets(self) -> Iterator[Sets]:
        if self.state:
            yield self._in_state()
        if self.has == "later":
            yield [Item.objects.filter(pk__in=among(self.later)).values_list("pk", flat=True)], True
            yield [self._done()], False
        elif self.has:
            yield self._with_something(), True
        if self.label:
            yield [self._labelled()], True
        if self.batch:
            yield [self._of_batch()], True

    def _in_state(self) -> Sets:
        started = self._own().filter(started_at__isnull=False)
        return {
            "done": ([self._done()], True),
            "undone": ([self._done()], False),
            "begun": ([_items_of(started.filter(done_at=None))], True),
            "untouched": ([_items_of(started)], False),
        }.get(self.state, ([], True))

    def _done(self) -> QuerySet[Any, int]:
        return _items_of(self._own().filter(done_at__isnull=False))

    def _with_something(self) -> list[QuerySet[Any, int]]:
        flags, comments = Flag.objects.filter(person=self.person), Comment.objects.filter(person=self.person)
        found: dict[str, QuerySet[Any]] = {"flags": flags, "comments": comments, "open": comments.open()}
        found |= {kind: flags.filter(kind=kind) for kind in Flag.Kind.values}
        if self.has == "marks":
            return [self._own_with(Mark.Status.ACCEPTED)]
        if self.has == "suggestions":
            return [self._own_with(Mark.Status.SUGGESTED), self._came_with_suggestions()]
        return [_items_of(found[self.has])] if self.has in found else []

    def _own_with(self, status: str) -> QuerySet[Any, int]:
        return _items_of(self._own().alias(count=marks_in(status)).filter(count__gt=0))

    def _came_with_suggestions(self) -> QuerySet[Any, int]:
        """What came with items of which the person has no annotation of their own."""
        models = (MARKS[ontology.kind] for ontology in self.ontologies)
        status = Mark.Status.SUGGESTED
        marks = (model._default_manager.filter(annotation=OuterRef("pk"), status=status) for model in models)
        came = Annotation.objects.filter(reduce(or_, (Q(Exists(some)) for some in marks)), annotator=None)
        own = self._own().filter(item=OuterRef("item"))
        first, last = kept_items(self.dataset).range
        return _items_of(came.filter(~Exists(own), item__gte=first, item__lte=last))

    def _of_batch(self) -> QuerySet[Any, int]:
        """Where a batch of the person left something, or removed it."""
        batch, there = whole_number(self.batch) or 0, Q()
        for kind in MARKS:
            there |= Q(pk__in=MARKS[kind]._default_manager.filter(batch=batch).values("annotation"))
            there |= Q(pk__in=REMOVED[kind]._default_manager.filter(removed_by=batch).values("annotation"))
        return _items_of(self._own().filter(there))

    def _labelled(self) -> QuerySet[Any, int]:
        labelled = reduce(or_, (self._with_label(ontology) for ontology in self.ontologies))
        return _items_of(self._own().filter(labelled))

    def _with_label(self, ontology: Ontology) -> Q:
        """Annotations with a mark that has the label."""
        labels = [label.pk for label in labels_named(self.label, ontology)]
        marks = MARKS[ontology.kind]._default_manager.exclude(status=Mark.Status.REJECTED)
        labelled = marks.filter(looked_up("label", labels)).values_list("annotation", flat=True)
        if len(found := whole(labelled[: FEW_MARKS + 1])) <= FEW_MARKS:
            return Q(pk__in=among(set(found)))
        # Not the index of labels, which SQLite would ask for each of them in each annotation: this halves the time.
        # Not by EXISTS, for which PostgreSQL may look at a million marks first: 0.3 s.
        marks = marks.alias(its_label=F("label_id") + 0).filter(annotation=OuterRef("pk"), its_label__in=among(labels))
        return Q(GreaterThan(Subquery(marks.values("pk")[:1]), 0))


def labels_named(text: str, ontology: Ontology) -> list[Label]:
    """A label, named by its uid or full name, and all labels below it; otherwise those whose full name contains the text."""
    labels, folded = ontology.labels(), text.casefold()
    if exact := labels.by_uid.get(text) or labels.by_fullname.get(text):
        return branch_of(exact.uid, [ontology])
    return [label for label in labels if folded in label.fullname.casefold()]


def _items_of(rows: QuerySet[Any]) -> QuerySet[Any, int]:
    return rows.values_list("item", flat=True)
