"""Giving items to people, or taking them away, by hand, on top of the rule; what was done last can be undone."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product

from django.db import models
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from annotation_service import words
from annotation_service.db import among, store, write
from annotation_service.inputs import Refused
from annotation_service.leaving import leavings
from annotation_service.models import Job, User
from datasets.models import Item
from datasets.models.item import ItemQuerySet

from .assigned import Assignment, Withheld
from .by_rule import AssignsItems
from .holdings import NOBODY, NONE, Holders, Holdings, count_items, pairs_without

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
    HandChange.objects.filter(text__contains=person.username).delete()
    for job in Job.objects.filter(kind__in=("by_hand", "undo_by_hand")):
        if person.username in job.result.get("text", ""):
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


class AssignsByHand(AssignsItems):
    """What is given by hand stays with its person, and counts where the rule gives an item to so many people. What is taken away
    does not come back by the rule, which gives it to others instead."""

    class Meta:
        abstract = True

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
