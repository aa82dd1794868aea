"""The items of a project with what everybody did in them: found by a filter in the address, and sorted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Length
from django.http import QueryDict

from annotation_service import words
from annotation_service.db import among
from annotation_service.inputs import whole_number
from annotation_service.models import User
from annotation_service.paging import Column
from datasets.item_lists import NOTHING, ItemList, labels_named, selected_in
from datasets.models.item import ItemQuerySet
from work import own_items as own
from work.models import Comment, Flag, ItemLabel

from .. import access
from ..models import Project

DONE_BY = "done-"  # and by how many


class Choice(NamedTuple):
    """What can be chosen in a filter, in words, and the items that match it."""

    words: str
    condition: Callable[[], Q]


def _said(rows: QuerySet[Any]) -> Q:
    """The items that flags or comments are about."""
    return Q(pk__in=rows.values("item"))


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
    Column("changed", "Last change", Coalesce(F("work__changed_at"), own.LONG_AGO), big_first=True),
]


@dataclass(frozen=True, kw_only=True)
class ProjectItems(ItemList):
    """The items of a project with the work of all or, with a ``person``, those that are given to them or that they worked on.

    State, marks, flags, comments and label are then theirs; what only several can do stays that of all. ``label`` is a label, one
    above it, or a part of its full name.
    """

    names: ClassVar = ("q", "state", "has", "label", "person", "sort")
    all_columns: ClassVar = COLUMNS

    project: Project
    state: str = ""
    person: str = ""
    who: User | None = None
    """Whom ``person`` names, if they are somebody of the project."""

    @classmethod
    def of(cls, project: Project, data: QueryDict) -> "ProjectItems":
        found = cls.read(data, project=project, dataset=project.dataset, selected=selected_in(data))
        return replace(found, who=access.somebody_of(project, found.person)) if found.person else found

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield from super()._asked()
        yield self.state, self._state_in_words()
        yield self.has, HAS[self.has].words if self.has in HAS else f"with {self.has}"
        yield self.label, f"with the label “{self.label_name}”"
        yield self.person, f"of {self.who or self.person}"

    def _state_in_words(self) -> str:
        if (count := self._done_by) is not None:
            return f"done by {words.plural(count, 'person,people')}"
        return STATES[self.state].words if self.state in STATES and not self.person else self.state

    def states(self) -> list[tuple[str, str]]:
        """What can be chosen as a state."""
        most = max(self.project.annotators().count(), self._done_by or 0)
        numbers = [(f"{DONE_BY}{n}", f"done by {words.plural(n, 'person,people')}") for n in range(1, most + 1)]
        return [(value, choice.words) for value, choice in STATES.items()] + numbers

    def all_ontologies(self) -> QuerySet[Any]:
        return self.project.ontology_set.order_by("kind")

    # --- The items ---

    def all_items(self) -> ItemQuerySet:
        if self.who and not self.project.gives_all_to(self.who):
            return access.items_of(self.project, self.who)
        return self.project.all_items()

    @property
    def _done_by(self) -> int | None:
        """By how many people the items shall be done, if that is asked."""
        return whole_number(self.state.removeprefix(DONE_BY), digits=9) if self.state.startswith(DONE_BY) else None

    def conditions(self) -> Iterator[Q]:
        yield from super().conditions()
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
            labels = among(labels_named(self.label, self.all_ontologies()))
            yield Q(pk__in=ItemLabel.objects.filter(label__in=labels).values("item"))

    def _of_person(self) -> Iterator[Q]:
        """As the person themselves would find them."""
        assert self.who
        return own.OwnItems(
            dataset=self.dataset,
            given=self.project.all_items(),
            person=self.who,
            ontologies=self.all_ontologies(),
            state="" if self._done_by is not None else self.state,
            has=self.has if self.has in own.HAS else "",
            label=self.label,
        ).conditions()
