"""The rows of a project's item table: who has an item, in which state, and what is said about it; and the details of one."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count

from annotation_service import words
from annotation_service.models import User
from datasets.models import MARKS, Annotation, Item, Mark
from datasets.models.violations import broken_among
from resources.models import rules_of
from work.models import Comment, Flag, ItemWork

from ..assignment.sharing import NOBODY
from ..models import Project

# A project with at most so many annotators has a column for each of them.
MOST_COLUMNS = 8
# So many states of an item are drawn; more are counted.
MOST_DISCS = 10
STATES = ("done", "begun", "untouched")


@dataclass(slots=True)
class Share:
    """What somebody has to do with an item that is given to them, or that they have begun."""

    person: User
    is_given: bool
    state: str
    since: datetime | None
    marks: int


@dataclass(slots=True)
class Row:
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
        states: dict[str, list[int]] = {state: [] for state in STATES}
        for person, (_, done) in self.begun.items():
            states["done" if done else "begun"].append(person)
        states["untouched"] += self.given - self.begun.keys()
        return "; ".join(f"{state}: {self._listed(people)}" for state, people in states.items() if people)

    def _listed(self, people: list[int]) -> str:
        return words.listed(sorted(str(self.people[person]) for person in people), 12)

    @property
    def discs(self) -> list[Share]:
        return self.shares() if self.count <= MOST_DISCS else []

    def shares(self) -> list[Share]:
        """Of all who have it: those who are done first, then those who have begun."""
        found = [share for person in self.given | self.begun.keys() if (share := self.share(person))]
        return sorted(found, key=lambda share: (STATES.index(share.state), share.person.username_folded))

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


def rows_of(project: Project, items: Sequence[Item], *, with_marks: bool) -> list[Row]:
    """With a fixed number of queries; how many marks each person has, only if it is asked for."""
    rows = {item.pk: Row(item) for item in items}
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
    rules = rules_of(project.constraint_sets())
    for broken in broken_among(rules, list(rows)) if rules else ():
        rows[broken.item].violations += broken.annotator is not None
    people = User.objects.in_bulk({person for row in rows.values() for person in (*row.given, *row.begun)})
    for row in rows.values():
        row.people = people
    return list(rows.values())


def _tell_who_has(rows: Mapping[int, Row], project: Project) -> None:
    """Whoever may annotate what is for everybody without being an annotator, such as a manager, has only what they have begun or
    got by hand."""
    standing, annotators = project.standing(Item.objects.filter(pk__in=list(rows))), frozenset(project.annotators())
    for item, people in standing.given(project.rule, standing.assigned).items():
        row = rows[item]
        row.given = people & (annotators | row.begun.keys() | standing.assigned.get(item, NOBODY))


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
