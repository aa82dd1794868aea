"""The items of a project with what everybody did in them: found by a filter in the address, sorted, and as rows of a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Length
from django.http import QueryDict

from annotation_service import words
from annotation_service.db import among
from annotation_service.inputs import whole_number
from annotation_service.models import User
from annotation_service.paging import Column
from datasets.item_lists import NOTHING, ItemList, labels_named, selected_in
from datasets.models import MARKS, Annotation, Item, Mark
from datasets.models.item import ItemQuerySet
from datasets.models.judged import broken_rules
from work import own_items as own
from work.models import Comment, Flag, ItemLabel, ItemWork

from . import access
from .assignment.groups import group_of_each, with_groups
from .models import Project

DONE_BY = "done-"  # and by how many


class FilterChoice(NamedTuple):
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
    "untouched": FilterChoice("untouched", lambda: _none("begun")),
    "begun": FilterChoice("begun and not done by somebody", lambda: Q(work__begun__gt=F("work__done"))),
    "undone": FilterChoice("done by nobody", lambda: _none("done")),
    "done": FilterChoice("done by somebody", lambda: Q(work__done__gt=0)),
}
HAS = {
    "disputed": FilterChoice("disputed", lambda: Q(work__is_disputed=True)),
    "marks": FilterChoice("with marks", lambda: Q(work__marks__gt=0)),
    "unmarked": FilterChoice("without marks", lambda: _none("marks")),
    "flags": FilterChoice("flagged", lambda: _said(Flag.objects.all())),
    **{
        kind.value: FilterChoice(f"flagged: {kind.label.lower()}", partial(_said, Flag.objects.filter(kind=kind)))
        for kind in Flag.Kind
    },
    "open": FilterChoice("with open comments", lambda: _said(Comment.objects.open())),
    "comments": FilterChoice("with comments", lambda: _said(Comment.objects.all())),
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
        return access.items_of(self.project, self.who) if self.who else self.project.all_items()

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


# A project with at most so many annotators has a column for each of them.
MOST_COLUMNS = 8
# So many states of an item are drawn; more are counted.
MOST_DISCS = 10
ORDER = ("done", "begun", "untouched")


@dataclass(slots=True)
class Share:
    """What somebody has to do with an item that is given to them, or that they have begun."""

    person: User
    is_given: bool
    state: str
    since: datetime | None
    marks: int


@dataclass(slots=True)
class ItemRow:
    """An item, with the keys of those to whom it is given, and what is said about it."""

    item: Item
    given: AbstractSet[int] = frozenset()
    begun: dict[int, tuple[datetime | None, datetime | None]] = field(default_factory=dict)
    """Since when people have begun it, and since when they are done."""
    marks: dict[int, int] = field(default_factory=dict)
    flags: list[tuple[str, int, str]] = field(default_factory=list)
    """The kinds of flags, how many people set each, and their names."""
    comments: int = 0
    open_comments: int = 0
    violations: int = 0
    """How often people's marks break a rule. What came with the dataset is nobody's mark before it is accepted."""
    people: Mapping[int, User] = field(default_factory=dict)
    columns: Sequence[User] = ()
    """Those who have a column each."""

    @property
    def work(self) -> ItemWork:
        return getattr(self.item, "work", None) or ItemWork()

    @property
    def count(self) -> int:
        """How many have it."""
        return len(self.given | self.begun.keys())

    @property
    def done(self) -> int:
        return sum(done is not None for _, done in self.begun.values())

    @property
    def names(self) -> str:
        """Such as “done: anna and ben; begun: carla; untouched: dev”."""
        states: dict[str, list[int]] = {state: [] for state in ORDER}
        for person, (_, done) in self.begun.items():
            states["done" if done else "begun"].append(person)
        states["untouched"] += self.given - self.begun.keys()
        return "; ".join(f"{state}: {self._listed(people)}" for state, people in states.items() if people)

    def _listed(self, people: list[int]) -> str:
        return words.listed(sorted(str(self.people[person]) for person in people), 12)

    @property
    def in_columns(self) -> list[Share | None]:
        return [self.share(person.pk) for person in self.columns]

    @property
    def discs(self) -> list[Share]:
        return self.shares() if self.count <= MOST_DISCS else []

    def shares(self) -> list[Share]:
        """Of all who have it: those who are done first, then those who have begun."""
        found = [share for person in self.given | self.begun.keys() if (share := self.share(person))]
        return sorted(found, key=lambda share: (ORDER.index(share.state), share.person.username_folded))

    def share(self, person: int) -> Share | None:
        """None, if they do not have it."""
        if person in self.begun:
            started, done = self.begun[person]
            state, since = ("done", done) if done else ("begun", started)
        elif person in self.given:
            state, since = "untouched", None
        else:
            return None
        return Share(self.people[person], person in self.given, state, since, self.marks.get(person, 0))


def rows_of(project: Project, items: Sequence[Item], columns: Sequence[User], *, with_marks: bool) -> list[ItemRow]:
    """With a fixed number of queries; how many marks each person has, only if it is asked for."""
    rows = {item.pk: ItemRow(item, columns=columns) for item in items}
    begun = Annotation.objects.filter(item__in=items, annotator__isnull=False, started_at__isnull=False)
    for item, person, started, done in begun.values_list("item", "annotator", "started_at", "done_at"):
        rows[item].begun[person] = started, done
    _tell_who_has(rows, project)
    if with_marks:
        for item, person, count in _marks(items):
            rows[item].marks[person] = rows[item].marks.get(person, 0) + count
    for item, flags in _flags(items).items():
        rows[item].flags = flags
    comments = Comment.objects.filter(item__in=items).order_by().values_list("item")
    for item, count, resolved in comments.annotate(Count("pk"), Count("resolved_at")):
        rows[item].comments, rows[item].open_comments = count, count - resolved
    broken = broken_rules(project.dataset.pk).filter(annotation__item__in=items, annotation__annotator__isnull=False)
    for item, count in broken.values_list("annotation__item").annotate(Sum("count")):
        rows[item].violations = count
    people = User.objects.in_bulk({person for row in rows.values() for person in (*row.given, *row.begun)})
    for row in rows.values():
        row.people = people
    return list(rows.values())


def _tell_who_has(rows: Mapping[int, ItemRow], project: Project) -> None:
    """Whoever may annotate what is for everybody without being an annotator, such as a manager, has only what they have begun or
    got by hand."""
    annotators, everybody = frozenset(project.annotators()), frozenset(person.pk for person in project.all_annotating())
    items = Item.objects.filter(pk__in=list(rows))
    for item, group in group_of_each(with_groups(items, project.rule_now, project.rule_now)):
        row = rows[item]
        row.given = group.given(everybody) & (annotators | row.begun.keys() | group.assigned())


def _marks(items: Sequence[Item]) -> Iterable[tuple[int, int, int]]:
    """How many accepted entities, and relations, each person has in each of these items."""
    for model in MARKS.values():
        marks = model._default_manager.filter(
            annotation__item__in=items, annotation__annotator__isnull=False, status=Mark.Status.ACCEPTED
        )
        yield from marks.order_by().values_list("annotation__item", "annotation__annotator").annotate(Count("pk"))


def _flags(items: Sequence[Item]) -> dict[int, list[tuple[str, int, str]]]:
    set_by: dict[int, dict[str, list[str]]] = {}
    flags = Flag.objects.filter(item__in=items).order_by("kind", "person__username_folded")
    for item, kind, name in flags.values_list("item", "kind", "person__username"):
        set_by.setdefault(item, {}).setdefault(kind, []).append(name)
    return {
        item: [(Flag.Kind(kind).label, len(names), words.listed(names, 12)) for kind, names in kinds.items()]
        for item, kinds in set_by.items()
    }


def columns_of(project: Project) -> list[User]:
    """Those who have a column each: the annotators, if they are few."""
    annotators = User.objects.filter(pk__in=project.annotators()[: MOST_COLUMNS + 1]).order_by("username_folded")
    return list(annotators) if len(annotators) <= MOST_COLUMNS else []
