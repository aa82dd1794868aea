"""The items of a project with what everybody did in them: found by a filter in the address, and sorted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Length
from django.http import QueryDict

from annotation_service import words
from annotation_service.db import among, apart
from annotation_service.inputs import whole_number
from annotation_service.models import User
from annotation_service.paging import Column, Page, sort_columns
from datasets.items.listing import NOTHING, SelectableItems, is_selected, selected_in
from datasets.models import Dataset
from datasets.models.item import ItemQuerySet
from work import own_items as own
from work.models import Comment, Flag, ItemLabel

from .. import access
from ..models import Project

PAGE_SIZE = 50
DONE_BY = "done-"  # and by how many
_LONG_AGO = Value(datetime(1, 1, 1, tzinfo=UTC))


class Choice(NamedTuple):
    """What can be chosen in a filter, in words, and the items that match it."""

    words: str
    condition: Callable[[], Q]


def _said(rows: QuerySet[Any]) -> Q:
    """The items that flags or comments are about."""
    return apart(Q(Exists(rows.filter(item=OuterRef("pk")))))


def _none(figure: str) -> Q:
    """The items in which this figure of `ItemWork` is 0; those without any work have none."""
    return Q(work=None) | Q(**{f"work__{figure}": 0})


STATES = {
    "untouched": Choice("untouched", lambda: _none("begun")),
    "begun": Choice("begun and not done by somebody", lambda: Q(work__begun__gt=F("work__done"))),
    "undone": Choice("done by nobody", lambda: _none("done")),
    "done": Choice("done by somebody", lambda: Q(work__done__gt=0)),
}
HAS = {
    "disputed": Choice("disputed", lambda: Q(work__is_disputed=True)),
    "marks": Choice("with marks", lambda: Q(work__marks__gt=0)),
    "unmarked": Choice("without marks", lambda: _none("marks")),
    "flags": Choice("flagged", lambda: _said(Flag.objects.all())),
    **{
        kind.value: Choice(f"flagged: {kind.label.lower()}", partial(_said, Flag.objects.filter(kind=kind)))
        for kind in Flag.Kind
    },
    "open": Choice("with open comments", lambda: _said(Comment.objects.open())),
    "comments": Choice("with comments", lambda: _said(Comment.objects.all())),
}
COLUMNS = [
    Column("number", "No.", F("position"), number=True),
    Column("done", "Done", Coalesce(F("work__done"), 0), big_first=True),
    Column("marks", "Marks", Coalesce(F("work__marks"), 0), number=True, big_first=True),
    Column("length", "Length", Length("search_text"), number=True, big_first=True),
    Column("changed", "Last change", Coalesce(F("work__changed_at"), _LONG_AGO), big_first=True),
]


@dataclass(frozen=True, slots=True)
class ProjectItems(SelectableItems):
    """The items of a project that match everything in an address, and their order.

    Without a ``person``, everything is asked about the work of all. With one, the items are those that are given to them or that
    they have worked on, and state, marks, flags, comments and label are theirs; what only several can do stays that of all.
    ``label`` is a label, one above it, or a part of its full name; ``selected`` has the keys of items chosen one by one.
    """

    names: ClassVar = ("q", "state", "has", "label", "person", "sort")

    project: Project
    dataset: Dataset
    q: str = ""
    state: str = ""
    has: str = ""
    label: str = ""
    person: str = ""
    sort: str = ""
    selected: tuple[str, ...] = ()
    who: User | None = None
    """Whom ``person`` names, if they are somebody of the project."""

    @classmethod
    def of(cls, project: Project, data: QueryDict) -> "ProjectItems":
        values = cls.values_of(data, cls.names)
        if values["sort"].removeprefix("-") not in {column.name for column in COLUMNS}:
            values["sort"] = ""
        who = access.somebody_of(project, values["person"]) if values["person"] else None
        return cls(project, project.dataset, **values, selected=selected_in(data), who=who)

    @property
    def is_empty(self) -> bool:
        """Whether all items match."""
        return not any((self.q, self.state, self.has, self.label, self.person, self.selected))

    def in_words(self) -> str:
        """Such as “with “pump”, done by 2 people, disputed”; empty if all items match."""
        parts = (
            (self.selected, f"{words.number(len(self.selected))} selected"),
            (self.q, f"with “{self.q}”"),
            (self.state, self._state_in_words()),
            (self.has, HAS[self.has].words if self.has in HAS else f"with {self.has}"),
            (self.label, f"with the label “{self.label_name}”"),
            (self.person, f"of {self.who or self.person}"),
        )
        return ", ".join(text for value, text in parts if value)

    def _state_in_words(self) -> str:
        if (count := self._done_by) is not None:
            return f"done by {words.plural(count, 'person,people')}"
        if self.person:
            return own.STATES.get(self.state, self.state)
        return STATES[self.state].words if self.state in STATES else self.state

    @property
    def label_name(self) -> str:
        found = (ontology.labels().by_uid.get(self.label) for ontology in (self._ontologies() if self.label else ()))
        return next((label.fullname for label in found if label), self.label)

    # --- Pages ---

    @property
    def columns(self) -> list[Column]:
        return sort_columns(self.sort, COLUMNS, default="number")

    def page(self, wanted: str | None) -> Page:
        """The keys of the items on a page: sorting and searching are slower when the database carries the texts along."""
        count = self.dataset.item_count if self.is_empty else None
        keys = self.items().values_list("pk", flat=True)
        if self.who and (self.state or self.has or self.label):  # to find the first takes as long as to find all
            return Page.of_list(list(keys), wanted, size=PAGE_SIZE)
        return Page.of(keys, wanted, size=PAGE_SIZE, count=count, scan=not self.is_empty)

    def states(self) -> list[tuple[str, str]]:
        """What can be chosen as a state."""
        most = max(self.project.annotators().count(), self._done_by or 0)
        numbers = [(f"{DONE_BY}{n}", f"done by {words.plural(n, 'person,people')}") for n in range(1, most + 1)]
        return [(value, choice.words) for value, choice in STATES.items()] + numbers

    # --- The items ---

    def _all(self) -> ItemQuerySet:
        if self.who and not self.project.gives_all_to(self.who):
            return access.items_of(self.project, self.who)
        return self.project.all_items()

    def _ontologies(self) -> QuerySet[Any]:
        return self.project.ontology_set.order_by("kind")

    @property
    def _done_by(self) -> int | None:
        """By how many people the items shall be done, if that is asked."""
        return whole_number(self.state.removeprefix(DONE_BY), digits=9) if self.state.startswith(DONE_BY) else None

    def _conditions(self) -> Iterator[Q]:
        if self.selected:
            yield is_selected(self.selected)
        if (count := self._done_by) is not None:
            yield Q(work__done=count) if count else _none("done")
        if self.person:
            yield from self._of_person() if self.who else [NOTHING]
            if self.has and self.has not in own.HAS:
                yield HAS[self.has].condition() if self.has in HAS else NOTHING
            return
        if self.state and count is None:
            yield STATES[self.state].condition() if self.state in STATES else NOTHING
        if self.has:
            yield HAS[self.has].condition() if self.has in HAS else NOTHING
        if self.label:
            labels = [label.pk for ontology in self._ontologies() for label in own.labels_named(self.label, ontology)]
            # Distinct: so PostgreSQL expects no more keys than there are items.
            yield apart(Q(pk__in=ItemLabel.objects.filter(label__in=among(labels)).values("item").distinct()))

    def _of_person(self) -> Iterator[Q]:
        """As the person themselves would find them."""
        assert self.who
        state = "" if self._done_by is not None else self.state
        has = self.has if self.has in own.HAS else ""
        theirs = own.OwnItems(
            self.dataset,
            self.project.all_items(),
            None,
            self.who,
            self._ontologies(),
            state=state,
            has=has,
            label=self.label,
        )
        yield from map(apart, theirs._conditions())
