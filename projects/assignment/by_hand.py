"""The part of a project in which items are given to people, or taken away from them, by hand: on top of its rule."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from django.db.models import QuerySet
from django.urls import reverse

from annotation_service import words
from annotation_service.db import among, write
from annotation_service.inputs import Refused
from annotation_service.models import Job, User
from datasets.models import Item
from datasets.models.item import ItemQuerySet

from .assigned import Assignment, Withheld
from .by_rule import AssignsItems
from .hand_change import HandChange, who_has
from .sharing import NONE, Holders
from .standing import Standing, count_items, pairs_without


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
        return self._giving(self._chosen(items, people, self.working()), self.standing(self.all_items()))

    def give(self, items: QuerySet[Item], people: Sequence[User], *, by: User, job: Job | None = None) -> Given:
        """Give each of the items to each of the people."""
        with write():
            project = self.locked_for(by)
            project.lock_items()
            chosen = project._chosen(items, people, project.working())
            standing, for_all = project.standing(project.all_items()), chosen.for_all(project.rule)
            given, before = project._giving(chosen, standing), who_has(standing)
            Withheld.delete_pairs(product(chosen.people, chosen.keys))
            Assignment.insert(product(chosen.people, (item for item in chosen.keys if item not in for_all)), by)
            project._follow_hand(given.in_words(people), before, job)
        return given

    def foresee_take(self, items: QuerySet[Item], people: Sequence[User]) -> Taken:
        """What `take` would do."""
        return self._taking(self._chosen(items, people, self.all_annotating()), self.standing(self.all_items()))

    def take(self, items: QuerySet[Item], people: Sequence[User], *, by: User, job: Job | None = None) -> Taken:
        """Take each of the items away from each of the people who have not begun it."""
        with write():
            project = self.locked_for(by)
            project.lock_items()
            chosen = project._chosen(items, people, project.all_annotating())
            standing = project.standing(project.all_items())
            taken, before = project._taking(chosen, standing), who_has(standing)
            Assignment.delete_pairs(pairs_without(chosen.assigned, chosen.begun))
            Withheld.insert(pairs_without(dict.fromkeys(chosen.keys, chosen.people), chosen.begun), by)
            project._follow_hand(taken.in_words(people), before, job)
        return taken

    def _follow_hand(self, text: str, before: dict[str, Holders], job: Job | None) -> None:
        """Share out the rest anew, and keep the way back."""
        self.assign_items()
        HandChange.keep(self.pk, text, before, who_has(self.standing(self.all_items())))
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
            now = project.standing(project._among(change.items))
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

    def _chosen(self, items: QuerySet[Item], people: Sequence[User], able: QuerySet[User]) -> Standing:
        known = set(able)
        if others := [person.username for person in people if person not in known]:
            raise Refused(f"Nobody annotates in this project by the name of {words.listed(others)}.")
        live = items.filter(dataset__project=self.pk, removed_at=None).order_by()
        return self.standing(self._among(live.values_list("pk", flat=True)), people)

    def _among(self, keys: Iterable[int]) -> ItemQuerySet:
        return self.all_items().filter(pk__in=among(list(keys)))

    def _giving(self, chosen: Standing, now: Standing) -> Given:
        had = count_items(chosen.given(self.rule, chosen.assigned)).total()
        marks = self._marks_lost(now, lambda: now.after_giving(chosen, self.rule))
        return Given(len(chosen.keys) * len(chosen.people) - had, had, marks)

    def _taking(self, chosen: Standing, now: Standing) -> Taken:
        had, kept = count_items(chosen.given(self.rule, chosen.assigned)).total(), count_items(chosen.begun).total()
        marks = self._marks_lost(now, lambda: now.after_taking(chosen))
        return Taken(had - kept, kept, len(chosen.keys) * len(chosen.people) - had, marks)

    def _marks_lost(self, now: Standing, change: Callable[[], Standing]) -> int:
        """How many marks that batches have put on items not begun go with these, when everything is shared out again."""
        if not now.unbegun_marks:
            return 0
        then = change()
        has = then.given(self.rule, then.shared(self.rule, list(self.annotators())))
        return sum(count for (person, item), count in now.unbegun_marks.items() if person not in has[item])
