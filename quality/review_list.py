"""The items of a project that several people are done with: found by a filter in the address, in an order, and shared out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import QueryDict

from annotation_service.blueprints import Right
from annotation_service.db import among, write
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import User
from annotation_service.paging import Column
from datasets.item_lists import NOTHING, ItemList, labels_named
from datasets.models import GIVEN, Annotation, Entity, Layer
from datasets.models.item import ItemQuerySet
from datasets.portions import by_keys
from projects import access
from projects.models import Project
from projects.roles import with_right
from work.own_items import LONG_AGO

from .comparison import Likeness
from .counting import RELATION, items_with
from .models import ReviewAssignment

SHARED_AT_ONCE = 2000

_GOLD = Annotation.objects.filter(layer=Layer.GOLD, item=OuterRef("pk"))
_DECIDED = Exists(_GOLD.filter(done_at__isnull=False))
COLUMNS = [
    Column("number", "No.", F("position"), number=True),
    Column("done", "Done by", Coalesce(F("work__done"), 0), number=True, big_first=True),
    Column("changed", "Last change", Coalesce(F("work__changed_at"), LONG_AGO), big_first=True),
]
STATES = {
    "disputed": ("disputed", Q(work__is_disputed=True)),
    "left": ("not decided yet", ~Q(_DECIDED)),
    "decided": ("decided", Q(_DECIDED)),
    "changed": ("decided, but disputed since", Q(_DECIDED, work__is_disputed=True)),
}

KINDS = {
    Likeness.ONLY.value: "a mark that one has alone",
    Likeness.SPAN.value: "the same label on other words",
    Likeness.LABEL.value: "another label on the same words",
    RELATION: "a difference of relations",
}


@dataclass(frozen=True, kw_only=True)
class ReviewItems(ItemList):
    """Those that at least two people are done with, or about which something is decided. ``mine``: those that are for the user,
    or for all."""

    names: ClassVar = ("q", "state", "kind", "label", "person", "mine", "sort")
    all_columns: ClassVar = COLUMNS

    project: Project
    user: User
    state: str = ""
    kind: str = ""
    person: str = ""
    mine: str = ""

    @classmethod
    def of(cls, project: Project, user: User, data: QueryDict) -> Self:
        return cls.read(data, project=project, dataset=project.dataset, user=user)

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield from super()._asked()
        yield self.state, STATES[self.state][0] if self.state in STATES else self.state
        yield self.kind, f"with {KINDS.get(self.kind, self.kind)}"
        yield self.label, f"with a difference about “{self.label_name}”"
        yield self.person, f"where somebody differs from {self._name}"
        yield self.mine, "for you"

    @property
    def asks_differences(self) -> bool:
        return bool(self.kind or self.label or self.person)

    @property
    def _name(self) -> str:
        return str(self.project.members().filter(user=whole_number(self.person) or 0).first() or self.person)

    def all_ontologies(self) -> QuerySet[Any]:
        return self.project.ontology_set.order_by("kind")

    @property
    def known_count(self) -> int | None:
        return None

    def all_items(self) -> ItemQuerySet:
        compared = Q(work__done__gte=2) | Q(Exists(_GOLD))
        if self.project.given_voice:
            given = Entity.objects.filter(GIVEN, annotation__item=OuterRef("pk"))
            compared |= Q(work__done=1) & Q(Exists(given))
        return self.project.all_items().filter(compared)

    def conditions(self) -> Iterator[Q]:
        yield from super().conditions()
        if self.state:
            yield STATES[self.state][1] if self.state in STATES else NOTHING
        if self.asks_differences:
            labels = labels_named(self.label, self.all_ontologies()) if self.label else None
            person = (whole_number(self.person) or 0) if self.person else None
            is_known = self.kind in ("", *KINDS)
            yield items_with(kind=self.kind, label=labels, person=person) if is_known else NOTHING
        if self.mine:
            yield for_person(self.project, self.user)

    def next_after(self, position: int) -> int | None:
        """The key of the next item that the user can decide about, of those that match: after a position, or the first one."""
        found = self.matching().filter(for_person(self.project, self.user)).order_by("position")
        keys = found.values_list("pk", flat=True)
        return keys.filter(position__gt=position).first() or keys.exclude(position=position).first()

    def left(self) -> Self:
        """The same, without what is decided already."""
        return self if self.state else replace(self, state="left")


def for_person(project: Project, person: User) -> Q:
    """The items about which somebody decides: those that are for them, for all, or for somebody who does not review any more, and
    that they did not annotate themselves."""
    able = reviewers(project).order_by().values("pk")
    found = Q(review=None) | Q(review__person=person) | ~Q(review__person__in=able)
    return found if project.reviews_own else found & ~Q(Exists(access.begun_by([person]).filter(item=OuterRef("pk"))))


def progress_of(project: Project, user: User) -> dict[str, int]:
    """How many items are ``ready`` for a review, and how many of them ``disputed`` and ``decided``."""
    ready = ReviewItems(project=project, dataset=project.dataset, user=user).matching().order_by()
    found = ready.aggregate(ready=Count("pk"), disputed=Count("pk", filter=Q(work__is_disputed=True)))
    return {**found, "decided": project.dataset.decided_items().count()}


class ReviewerShare(NamedTuple):
    """How far somebody is with the items that are for them."""

    name: str
    given: int
    decided: int


def shares(project: Project) -> list[ReviewerShare]:
    rows = ReviewAssignment.objects.filter(item__dataset__project=project, item__removed_at=None)
    gold = Annotation.objects.filter(item=OuterRef("item"), layer=Layer.GOLD, done_at__isnull=False)
    counts = rows.order_by("person__username_folded").values_list("person__username").alias(decided=Exists(gold))
    found = counts.annotate(given=Count("pk"), done=Count("pk", filter=Q(decided=True)))
    return [ReviewerShare(*row) for row in found]


def reviewers(project: Project) -> QuerySet[User]:
    """Those among whom reviews can be shared out."""
    rights = {"membership__project": project, "membership__role__in": with_right(Right.REVIEW)}
    return User.objects.filter(is_active=True, **rights).order_by("username_folded")


def share_out(project: Project, people: Sequence[User], *, by: User) -> int:
    """Let items that are not decided be for these people, evenly and in turn, for nobody those that they annotated themselves;
    returns how many that are."""
    if not people:
        raise Refused("Choose somebody who reviews.")
    with write():
        items = ReviewItems(project=project.locked(), dataset=project.dataset, user=by).matching().exclude(_DECIDED)
        counts = {person.pk: 0 for person in people}
        for keys in by_keys(items, SHARED_AT_ONCE):
            begun = access.begun_by([] if project.reviews_own else people).filter(item__in=among(keys))
            own, person_of = set(begun.values_list("item", "annotator")), dict[int, int | None]()
            for key in keys:
                able = [person for person in counts if (key, person) not in own]
                person_of[key] = chosen = min(able, key=counts.__getitem__, default=None)
                if chosen:
                    counts[chosen] += 1
            ReviewAssignment.put(person_of)
    return sum(counts.values())
