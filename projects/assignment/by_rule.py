"""The part of a project that gives items to people, by its rule and by hand."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

from django.core.validators import MaxValueValidator
from django.db import connection, models
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.urls import reverse

from annotation_service.blueprints import Described, Right
from annotation_service.db import among, snapshot, store, write
from annotation_service.models import Job, User
from datasets.models import MARKS, Annotation, Dataset, Item
from datasets.models.item import ItemQuerySet
from work.models.batch import lock_items
from work.models.item_work import delete_annotations

from ..roles import with_right
from ..rule import MAX_CALIBRATION, Rule
from . import item_counts
from .assigned import (
    Assignment,
    GivenCounts,
    Withheld,
    annotators_of,
    count_holders,
    given_to,
    is_given,
    is_open,
    uncalibrated,
)
from .standing import Standing, count_items, pairs_without


@dataclass(frozen=True, slots=True)
class Foreseen:
    """How many items somebody has, and would have by another rule; of the former so many are begun, and stay. With
    what is lost go so many marks that batches have put there."""

    person: User
    before: int
    after: int
    gained: int
    lost: int
    begun: int
    marks: int


class AssignsItems(Described):
    """Whoever annotates may annotate what is for everybody. What else there is is shared out evenly among the annotators."""

    # The rule. Null: everybody gets every item. A number: each item is assigned to so many annotators, evenly.
    annotators_per_item = models.PositiveSmallIntegerField(null=True, blank=True)
    # Percent of the items that go to everybody nevertheless.
    overlap = models.PositiveSmallIntegerField(default=0, validators=[MaxValueValidator(99)])
    # So many of the first items go to everybody, before all others.
    calibration = models.PositiveSmallIntegerField(default=0, validators=[MaxValueValidator(MAX_CALIBRATION)])

    class Meta:
        abstract = True

    @property
    def rule(self) -> Rule:
        return Rule(self.annotators_per_item, self.overlap, self.calibration)

    def annotators(self) -> QuerySet[Any, int]:
        """The keys of those among whom the items are shared out."""
        return annotators_of(self.pk).values_list("pk", flat=True)

    def locked_for(self, person: User | None) -> Self:
        """The project, locked for somebody: refused, unless they manage it now."""
        raise NotImplementedError

    def all_annotating(self) -> QuerySet[User]:
        """Those who may annotate what is given to them; `annotators` are among them."""
        roles = with_right(Right.ANNOTATE)
        return User.objects.filter(membership__project=self.pk, membership__role__in=roles).order_by("username")

    def working(self) -> QuerySet[User]:
        """Those of them who can sign in: nobody else is given anything."""
        return self.all_annotating().filter(is_active=True)

    # --- What is given to somebody ---

    def all_items(self) -> ItemQuerySet:
        # By a join PostgreSQL sorts all of them, with statistics, too: 250 and not 2 ms for the first 50 of 100,000.
        own = Dataset.objects.filter(project=self.pk).values("pk")
        return Item.objects.filter(dataset=Subquery(own)).order_by("position")

    def items_for(self, person: User) -> ItemQuerySet:
        """The items that are given to a person who annotates; of these, until they have done the calibration set, that and what
        they have begun."""
        items = self.assigned_to(person)
        if not self.calibration:
            return items
        return items.filter(is_open(person, self.calibration, self._uncalibrated(person)))

    def assigned_to(self, person: User) -> ItemQuerySet:
        """The items that are given to a person who annotates, the calibration set done or not."""
        return self.all_items().filter(given_to(person, self.rule))

    def calibration_left(self, person: User) -> int:
        """How many items of the calibration set somebody has not done."""
        return self._uncalibrated(person).count() if self.calibration else 0

    def _uncalibrated(self, person: User) -> QuerySet[Item]:
        return uncalibrated(self.all_items(), person, self.calibration)

    def calibration_left_by_person(self) -> Counter[int]:
        """The same for all who annotate, by their keys."""
        if not self.calibration:
            return Counter()
        member = "dataset__project__membership__"
        pairs = self.all_items().order_by().annotate(person=F(f"{member}user"), role=F(f"{member}role"))
        pairs = pairs.filter(role__in=with_right(Right.ANNOTATE))
        left: Any = uncalibrated(pairs, OuterRef("person"), self.calibration)
        return Counter(dict(left.values_list("person").annotate(Count("pk"))))

    def count_by_hand(self) -> dict[str, int]:
        """How many times items were given to somebody or taken away by hand."""
        return {
            "given": self._about_items(Assignment).filter(item__removed_at=None).exclude(by=None).count(),
            "withheld": self._about_items(Withheld).filter(item__removed_at=None).count(),
        }

    def gives_all_to(self, person: User) -> bool:
        """Whether `items_for` finds all items because nothing can be missing."""
        if self.annotators_per_item or self.calibration:
            return False
        return not self._about_items(Withheld).filter(annotator=person).exists()

    # --- The rule ---

    def foresee_rule(self, rule: Rule) -> list[Foreseen]:
        """What another rule would give to those among whom items are shared out, and to others who have more than everybody."""
        rule.check()
        with snapshot():
            annotators, standing = list(self.annotators()), self.standing(self.all_items())
            before = standing.given(self.rule, standing.assigned)
            after = standing.given(rule, standing.shared(rule, annotators))
            had, has, begun = (count_items(holders) for holders in (before, after, standing.begun))
            gained = count_items({item: people - before[item] for item, people in after.items()})
            lost = had + gained - has
            marks = Counter[int]()
            for (person, item), count in standing.unbegun_marks.items():
                marks[person] += 0 if person in after[item] else count
            own = {*annotators, *begun, *count_items(standing.by_hand), *+marks}
            return [
                Foreseen(person, had[key], has[key], gained[key], lost[key], begun[key], marks[key])
                for person in self.all_annotating()
                if (key := person.pk) in own
            ]

    def set_rule(self, rule: Rule, *, by: User, job: Job | None = None) -> None:
        """Give the items by another rule. What somebody has begun or got by hand stays with them."""
        rule.check()
        with write():
            project = self.locked_for(by)
            store(project, **rule.values)
            project.assign_items()
            if job:
                job.finish(text=rule.stored_in_words(), url=reverse("projects:page", args=[self.pk]))

    def assign_items(self) -> int:
        """Share all items out evenly that go to some annotators only; the project is locked. Returns how many marks, which
        batches had put on items not begun, went with these.

        What somebody has begun or got by hand stays with them, and as little as possible of the rest changes hands.
        """
        strangers = {"annotator__in": self.all_annotating().order_by().values("pk")}
        for model in (Assignment, Withheld):
            self._about_items(model).exclude(**strangers)._raw_delete(self._state.db)
        if self.annotators_per_item is None:
            self._about_items(Assignment).filter(by=None)._raw_delete(self._state.db)
        else:
            self.lock_items()
            self._deal()
        return self._follow_up()

    def _deal(self) -> None:
        standing = self.standing(self.all_items())
        wanted = standing.shared(self.rule, list(self.annotators()))
        Assignment.delete_pairs(pairs_without(standing.assigned, wanted))
        Assignment.deal(pairs_without(wanted, standing.assigned))

    def assign_changes(self) -> None:
        """Assign the items that have come, and withdraw those that are gone; the project is locked.

        Nothing else changes hands, unless somebody has more than another now: to share everything out anew takes a second in a
        project of 100,000 items.
        """
        if self.annotators_per_item is not None:
            self._assign_changes(self.annotators_per_item, list(self.annotators()))
        self._follow_up()

    def _assign_changes(self, per_item: int, annotators: list[int]) -> None:
        self._about_items(Assignment).filter(by=None, item__removed_at__isnull=False)._raw_delete(self._state.db)
        loads = self._loads(annotators)
        lacking = self.all_items().filter(~self.rule.for_all()).annotate(holders=count_holders())
        keys = list(lacking.filter(holders__lt=min(per_item, len(annotators))).values_list("pk", flat=True))
        new = self.standing(self.all_items().filter(pk__in=among(keys)))
        loads.subtract(count_items(new.assigned))
        Assignment.deal(pairs_without(new.shared(self.rule, annotators, loads), new.assigned))
        loads = self._loads(annotators)
        if loads and max(loads.values()) - min(loads.values()) > 1:
            self.lock_items()
            self._deal()

    def _loads(self, annotators: list[int]) -> Counter[int]:
        counts = GivenCounts([self])
        return Counter({person: counts.of(self.pk, person) for person in annotators})

    def _about_items(self, model: type[Assignment] | type[Withheld]) -> QuerySet[Any]:
        return model._default_manager.filter(item__dataset__project=self.pk)

    def standing(self, items: QuerySet[Item], people: Collection[User] | None = None) -> Standing:
        """Who of some people has which of some items; without ``people`` all who annotate."""
        people = self.all_annotating() if people is None else people
        return Standing(items, frozenset(person.pk for person in people))

    def _follow_up(self) -> int:
        withdrawn = self._withdraw_batches()
        item_counts.forget(self.pk)
        return withdrawn

    def _withdraw_batches(self) -> int:
        """Delete what batches of somebody have put on items that they have not begun and that are no longer given to them;
        returns how many marks these were."""
        unbegun = Annotation.objects.filter(
            item__dataset__project=self.pk, item__removed_at=None, annotator__isnull=False, started_at=None
        )
        annotating = self.all_annotating().order_by().values("pk")
        others = unbegun.exclude(is_given(OuterRef("annotator"), "item__"), annotator__in=annotating)
        if found := list(others.values_list("item", flat=True)):
            lock_items(found)
            gone = list(others.values_list("pk", flat=True))
            put = {"annotation__in": among(gone), "batch__isnull": False}
            count = sum(model._default_manager.filter(**put).count() for model in MARKS.values())
            delete_annotations(gone)
            return count
        return 0

    def lock_items(self) -> None:
        """Wait for those who are saving marks, and let nobody begin an item until the transaction ends."""
        if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
            items = Item.with_removed.filter(dataset__project=self.pk).select_for_update(no_key=True, of=("self",))
            for _ in items.values_list("pk").iterator(chunk_size=10_000):
                pass
