"""The part of a project that gives items to people, by its rule and by hand; what was done by hand last can be undone."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any, Self

from django.core.validators import MaxValueValidator
from django.db import connection, models
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils import timezone

from annotation_service import words
from annotation_service.blueprints import Described, Right
from annotation_service.db import among, snapshot, store, write
from annotation_service.inputs import Refused
from annotation_service.leaving import leavings
from annotation_service.models import Job, User
from datasets.models import MARKS, Annotation, Dataset, Item
from datasets.models.item import ItemQuerySet
from work.models.batch import lock_items
from work.models.item_work import delete_annotations

from ..roles import with_right
from . import item_counts
from .assigned import (
    Assignment,
    GivenCounts,
    Withheld,
    annotators_of,
    given_to,
    is_given,
    is_open,
    of_annotators,
    uncalibrated,
)
from .holdings import NOBODY, NONE, Holders, Holdings, count_items, pairs_without
from .rule import MAX_CALIBRATION, AssignmentRule


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


# So long it can be undone.
KEPT = timedelta(days=1)


class HandChange(models.Model):
    """Who had the items that then changed hands, or were withheld from somebody, when items were given or taken by hand: kept for
    a day, or until that is done again in the project."""

    project = models.OneToOneField("projects.Project", on_delete=models.RESTRICT)
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    # For each of these items the people as `who_has` tells them.
    before = models.JSONField()

    def __str__(self) -> str:
        return self.text

    @classmethod
    def keep(cls, project: int, text: str, before: Mapping[str, Holders], after: Mapping[str, Holders]) -> None:
        """In the place of the one that was kept last, if anything has changed."""
        pairs = [(before[way], after[way]) for way in before]
        items = {item for was, now in pairs for item in was.keys() | now.keys() if was.get(item) != now.get(item)}
        kept = {way: {item: sorted(was.get(item, NOBODY)) for item in items} for way, was in before.items()}
        if items:
            cls.objects.filter(project=project).delete()
            cls.objects.create(project_id=project, text=text, before=kept)

    @property
    def items(self) -> list[int]:
        return [int(item) for item in self.before["dealt"]]

    @property
    def row_count(self) -> int:
        return sum(1 + len(people) for holders in self.before.values() for people in holders.values())

    def had(self, way: str, now: Holdings) -> Holders:
        """Who had the items in one of the ways, among the items and people that are still in the project."""
        people = self.before[way]
        return {item: now.people.intersection(people[str(item)]) for item in now.keys}


def who_has(holdings: Holdings) -> dict[str, Holders]:
    """To whom each of the items is dealt, and given by hand, and from whom it is withheld."""
    by_hand = holdings.by_hand
    dealt = {item: own for item, people in holdings.assigned.items() if (own := people - by_hand.get(item, NOBODY))}
    return {"dealt": dealt, "given": by_hand, "withheld": holdings.withheld}


def forget_name(person: User, addresses: Collection[str]) -> None:
    """Of somebody who leaves the service, in what is kept as a text: the last changes, and the answers of jobs that made such."""
    # One of the names that `_names` has put there: a name may be a word of the rest, or the beginning of another one.
    told = re.compile(rf"(?:given to|taken from) (?:\S+(?:,| and) )*{re.escape(person.username)}(?:, | and |\.(?: |$))")
    for change in HandChange.objects.defer("before"):
        if told.search(change.text):
            change.delete()
    for job in Job.objects.filter(kind__in=("by_hand", "undo_by_hand")):
        if told.search(job.result.get("text", "")):
            store(job, result={name: value for name, value in job.result.items() if name != "text"})


leavings.append(forget_name)


@dataclass(frozen=True, slots=True)
class Given:
    """How many times an item is given to somebody, or they had it already. With items that others lose go so many marks that
    batches have put there."""

    given: int
    had: int
    marks: int

    def in_words(self, people: Sequence[User]) -> str:
        """Such as “300 items given to anna. Had already: 12.”"""
        more = f" Had already: {words.number(self.had)}." if self.had else ""
        more += (
            f" Deleted: {words.plural(self.marks, 'mark,marks')} that others had put on all alike."
            if self.marks
            else ""
        )
        return f"{words.plural(self.given, 'item,items')} given to {_names(people)}.{more}"


@dataclass(frozen=True, slots=True)
class Taken:
    """How many times an item is taken away from somebody, or they keep it, for they have begun it, or they did not have it. With
    what is taken, and what others lose for it, go so many marks that batches have put there."""

    taken: int
    kept: int
    had_not: int
    marks: int

    def in_words(self, people: Sequence[User]) -> str:
        more = f" Kept, because begun: {words.number(self.kept)}." if self.kept else ""
        more += f" Deleted with them: {words.plural(self.marks, 'mark,marks')} put on all alike." if self.marks else ""
        return f"{words.plural(self.taken, 'item,items')} taken from {_names(people)}.{more}"


def _names(people: Sequence[User]) -> str:
    return words.listed(map(str, people)) + (", counted for each of them" if len(people) > 1 else "")


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
    def rule(self) -> AssignmentRule:
        return AssignmentRule(self.annotators_per_item, self.overlap, self.calibration)

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

    # --- The rule ---

    def foresee_rule(self, rule: AssignmentRule) -> list[Foreseen]:
        """What another rule would give to those among whom items are shared out, and to others who have more than everybody."""
        rule.check()
        with snapshot():
            annotators, holdings = list(self.annotators()), self.holdings(self.all_items())
            before = holdings.given(self.rule, holdings.assigned)
            after = holdings.given(rule, holdings.shared(rule, annotators))
            had, has, begun = (count_items(holders) for holders in (before, after, holdings.begun))
            gained = count_items({item: people - before[item] for item, people in after.items()})
            lost = had + gained - has
            marks = Counter[int]()
            for (person, item), count in holdings.unbegun_marks.items():
                marks[person] += 0 if person in after[item] else count
            own = {*annotators, *begun, *count_items(holdings.by_hand), *+marks}
            return [
                Foreseen(person, had[key], has[key], gained[key], lost[key], begun[key], marks[key])
                for person in self.all_annotating()
                if (key := person.pk) in own
            ]

    def set_rule(self, rule: AssignmentRule, *, by: User, job: Job | None = None) -> None:
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
        holdings = self.holdings(self.all_items())
        wanted = holdings.shared(self.rule, list(self.annotators()))
        Assignment.delete_pairs(pairs_without(holdings.assigned, wanted))
        Assignment.insert(pairs_without(wanted, holdings.assigned), by=None)

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
        lacking = self.all_items().filter(~self.rule.for_all()).annotate(holders=of_annotators(Assignment))
        keys = list(lacking.filter(holders__lt=min(per_item, len(annotators))).values_list("pk", flat=True))
        new = self.holdings(self.all_items().filter(pk__in=among(keys)))
        loads.subtract(count_items(new.assigned))
        Assignment.insert(pairs_without(new.shared(self.rule, annotators, loads), new.assigned), by=None)
        loads = self._loads(annotators)
        if loads and max(loads.values()) - min(loads.values()) > 1:
            self.lock_items()
            self._deal()

    def _loads(self, annotators: list[int]) -> Counter[int]:
        counts = GivenCounts([self])
        return Counter({person: counts.of(self.pk, person) for person in annotators})

    def _about_items(self, model: type[Assignment] | type[Withheld]) -> QuerySet[Any]:
        return model._default_manager.filter(item__dataset__project=self.pk)

    def holdings(self, items: QuerySet[Item], people: Collection[User] | None = None) -> Holdings:
        """Who of some people has which of some items; without ``people`` all who annotate."""
        people = self.all_annotating() if people is None else people
        return Holdings(items, frozenset(person.pk for person in people))

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

    # --- By hand ---
    #
    # What is given by hand stays with its person, and counts where the rule gives an item to so many people. What is taken away
    # does not come back by the rule, which gives it to others instead.

    def foresee_give(self, items: QuerySet[Item], people: Sequence[User]) -> Given:
        """What `give` would do."""
        return self._giving(self._chosen(items, people, self.working()), self.holdings(self.all_items()))

    def give(self, items: QuerySet[Item], people: Sequence[User], *, by: User, job: Job | None = None) -> Given:
        """Give each of the items to each of the people."""
        with write():
            project = self.locked_for(by)
            project.lock_items()
            chosen = project._chosen(items, people, project.working())
            holdings, for_all = project.holdings(project.all_items()), chosen.for_all(project.rule)
            given, before = project._giving(chosen, holdings), who_has(holdings)
            Withheld.delete_pairs(product(chosen.people, chosen.keys))
            Assignment.insert(product(chosen.people, (item for item in chosen.keys if item not in for_all)), by)
            project._follow_hand(given.in_words(people), before, job)
        return given

    def foresee_take(self, items: QuerySet[Item], people: Sequence[User]) -> Taken:
        """What `take` would do."""
        return self._taking(self._chosen(items, people, self.all_annotating()), self.holdings(self.all_items()))

    def take(self, items: QuerySet[Item], people: Sequence[User], *, by: User, job: Job | None = None) -> Taken:
        """Take each of the items away from each of the people who have not begun it."""
        with write():
            project = self.locked_for(by)
            project.lock_items()
            chosen = project._chosen(items, people, project.all_annotating())
            holdings = project.holdings(project.all_items())
            taken, before = project._taking(chosen, holdings), who_has(holdings)
            Assignment.delete_pairs(pairs_without(chosen.assigned, chosen.begun))
            Withheld.insert(pairs_without(dict.fromkeys(chosen.keys, chosen.people), chosen.begun), by)
            project._follow_hand(taken.in_words(people), before, job)
        return taken

    def _follow_hand(self, text: str, before: dict[str, Holders], job: Job | None) -> None:
        """Share out the rest anew, and keep the way back."""
        self.assign_items()
        HandChange.keep(self.pk, text, before, who_has(self.holdings(self.all_items())))
        if job:
            job.finish(text=text, url=reverse("projects:items", args=[self.pk]))

    def undo_by_hand(self, change_pk: int, *, by: User, job: Job | None = None) -> str:
        """Bring the items back to those who had them before the last change by hand, without what was begun since then. Returns
        what happened."""
        with write():
            project = self.locked_for(by)
            project.lock_items()
            change = HandChange.objects.filter(pk=change_pk, project=self.pk).first()
            if change is None:
                raise Refused(
                    "This cannot be undone any more: items were given or taken again since, or a day has passed."
                )
            now = project.holdings(project._among(change.items))
            Assignment.delete_pairs(pairs_without(now.assigned, now.begun))
            Assignment.insert(pairs_without(change.had("dealt", now), NONE), by=None)
            Assignment.insert(pairs_without(change.had("given", now), NONE), by)
            Withheld.delete_pairs(pairs_without(now.withheld, NONE))
            Withheld.insert(pairs_without(change.had("withheld", now), now.begun), by)
            deleted = project.assign_items()
            change.delete()
            text = f"Undone: {change} What was begun meanwhile has stayed, and marks that went with items do not come back."
            text += f" Deleted now: {words.plural(deleted, 'mark,marks')} put on all alike." if deleted else ""
            if job:
                job.finish(text=text, url=reverse("projects:items", args=[self.pk]))
        return text

    def _chosen(self, items: QuerySet[Item], people: Sequence[User], able: QuerySet[User]) -> Holdings:
        known = set(able)
        if others := [person.username for person in people if person not in known]:
            raise Refused(f"Nobody annotates in this project by the name of {words.listed(others)}.")
        live = items.filter(dataset__project=self.pk, removed_at=None).order_by()
        return self.holdings(self._among(live.values_list("pk", flat=True)), people)

    def _among(self, keys: Iterable[int]) -> ItemQuerySet:
        return self.all_items().filter(pk__in=among(list(keys)))

    def _giving(self, chosen: Holdings, now: Holdings) -> Given:
        had = count_items(chosen.given(self.rule, chosen.assigned)).total()
        marks = self._marks_lost(now, lambda: now.after_giving(chosen, self.rule))
        return Given(len(chosen.keys) * len(chosen.people) - had, had, marks)

    def _taking(self, chosen: Holdings, now: Holdings) -> Taken:
        had, kept = count_items(chosen.given(self.rule, chosen.assigned)).total(), count_items(chosen.begun).total()
        marks = self._marks_lost(now, lambda: now.after_taking(chosen))
        return Taken(had - kept, kept, len(chosen.keys) * len(chosen.people) - had, marks)

    def _marks_lost(self, now: Holdings, change: Callable[[], Holdings]) -> int:
        """How many marks that batches have put on items not begun go with these, when everything is shared out again."""
        if not now.unbegun_marks:
            return 0
        then = change()
        has = then.given(self.rule, then.shared(self.rule, list(self.annotators())))
        return sum(count for (person, item), count in now.unbegun_marks.items() if person not in has[item])
