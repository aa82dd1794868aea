"""The part of a project that gives items to people by hand and takes them away; what changed hands last can be undone.

What is given by hand stays with its person, and counts where the rule gives an item to so many people. What is taken away does
not come back by the rule, which gives it to others instead.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation_service import words
from annotation_service.db import store, write
from annotation_service.inputs import Refused
from annotation_service.leaving import leavings
from annotation_service.models import Job, User
from datasets.importing.document import Progress, no_progress
from datasets.models import Item
from work.models.batch import lock_items

from .assigned import Assignment, Withheld
from .giving import AssignsItems, Planned
from .groups import BEGUN, BY_HAND, DEALT, WITHHELD, Group, group_of_each, with_groups

# So long it can be undone.
KEPT = timedelta(days=1)


class HandChange(models.Model):
    """Who had some items before they changed hands, or were withheld from somebody, because items were given or taken by hand, or
    pairs evened out: kept for a day, or until that is done again in the project. What was about many items has several rows."""

    project = models.ForeignKey("projects.Project", on_delete=models.RESTRICT)
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    # For each of these items the signs of `Group.held`.
    before = models.JSONField()

    def __str__(self) -> str:
        return self.text

    @classmethod
    def last_of(cls, project: Any) -> "HandChange | None":
        """The row by which the last change is named: the first one that was stored, and the last one to go."""
        return cls.objects.filter(project=project).defer("before").order_by("pk").first()


@dataclass(frozen=True)
class Undoable:
    """A change while it is carried out."""

    project: int
    text: str
    at: datetime

    def keep(self, groups: Mapping[int, Group]) -> None:
        """What these items were before they changed, in the place of what was kept of an earlier change."""
        if not groups:
            return
        own = HandChange.objects.filter(project=self.project)
        own.exclude(at=self.at).delete()
        before = {str(item): group.held for item, group in groups.items()}
        last = own.order_by("pk").last()
        if last and len(last.before) <= AssignsItems.PORTION:
            store(last, before={**before, **last.before})
        else:
            HandChange.objects.create(project_id=self.project, text=self.text, at=self.at, before=before)


def forget_name(person: User, addresses: Collection[str]) -> None:
    """Of somebody who leaves the service, in what is kept as a text: the last changes, and the jobs that made such."""
    # One of the names that `_names` has put there: a name may be a word of the rest, or the beginning of another one.
    told = re.compile(rf"(?:given to|taken from) (?:\S+(?:,| and) )*{re.escape(person.username)}(?:, | and |\.(?: |$))")
    for change in HandChange.objects.defer("before"):
        if told.search(change.text):
            change.delete()
    for job in Job.objects.filter(kind__in=("by_hand", "undo_by_hand")):
        for kept in (job.result, job.target):
            if told.search(kept.get("text", "")):
                del kept["text"]
                job.save(update_fields=["result", "target"])


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


class GivesByHand(AssignsItems):
    class Meta:
        abstract = True

    def count_by_hand(self) -> dict[str, int]:
        """How many times items were given to somebody or taken away by hand."""
        return {
            "given": self._about_items(Assignment).filter(item__removed_at=None).exclude(by=None).count(),
            "withheld": self._about_items(Withheld).filter(item__removed_at=None).count(),
        }

    def foresee_give(self, items: QuerySet[Item], people: Sequence[User]) -> Given:
        """What `give` would do."""
        keys = self._able(people, self.working())
        planned = self.planned(chosen=self._chosen(items), change=lambda group: group.given_by_hand(keys))
        asked, had, _ = _asked(planned, keys)
        return Given(asked - had, had, planned.marks_lost().total())

    def foresee_take(self, items: QuerySet[Item], people: Sequence[User]) -> Taken:
        """What `take` would do."""
        keys = self._able(people, self.all_annotating())
        planned = self.planned(chosen=self._chosen(items), change=lambda group: group.taken_by_hand(keys))
        asked, had, kept = _asked(planned, keys)
        return Taken(had - kept, kept, asked - had, planned.marks_lost().total())

    def give(
        self,
        items: QuerySet[Item],
        people: Sequence[User],
        *,
        by: User,
        job: Job | None = None,
        report: Progress = no_progress,
    ) -> Given:
        """Give each of the items to each of the people."""
        with self._at_once():
            self._check_changed_by(by)
            given = self.foresee_give(items, people)
            self.carry_out_by_hand("give", self._wish(items, people, given.in_words(people), job), by, job, report)
        return given

    def take(
        self,
        items: QuerySet[Item],
        people: Sequence[User],
        *,
        by: User,
        job: Job | None = None,
        report: Progress = no_progress,
    ) -> Taken:
        """Take each of the items away from each of the people who have not begun it."""
        with self._at_once():
            self._check_changed_by(by)
            taken = self.foresee_take(items, people)
            self.carry_out_by_hand("take", self._wish(items, people, taken.in_words(people), job), by, job, report)
        return taken

    def _check_changed_by(self, by: User) -> None:
        with write():
            self.locked_for(by).check_not_changing()

    def _wish(self, items: QuerySet[Item], people: Sequence[User], text: str, job: Job | None) -> dict[str, Any]:
        """What is to be done, kept in the job: after a part of it, other items may match what these were chosen by."""
        chosen = self.all_items().filter(self._chosen(items)).values_list("pk", flat=True)
        wish = {"items": list(chosen), "people": [person.pk for person in people], "text": text}
        wish["at"] = timezone.now().isoformat()
        if job:
            store(job, target={**job.target, **wish})
        return wish

    def carry_out_by_hand(
        self, verb: str, wish: Mapping[str, Any], by: User, job: Job | None, report: Progress = no_progress
    ) -> None:
        """Give or take what is wished, share out the rest anew, and keep the way back."""
        text = wish.get("text", "")  # without it, somebody has left the service meanwhile
        change = Undoable(self.pk, text, datetime.fromisoformat(wish["at"]))
        steps = {"give": self._give, "take": self._take}
        for items, _ in self._portions(wish["items"]):
            steps[verb](items, frozenset(wish["people"]), by, change)
        finish = self._finish(job, text, "projects:items")
        self.share_out(report, keep=change, finish=finish)

    def _portions(self, keys: Sequence[int]) -> Iterator[tuple[dict[int, Group], "GivesByHand"]]:
        """Items with their groups, some at a time, locked in a transaction for each."""
        in_turn = self.in_turn()
        for start in range(0, len(keys), self.PORTION):
            with in_turn():
                project, some = self.locked(), keys[start : start + self.PORTION]
                lock_items(some)
                now = project.rule_now
                yield dict(group_of_each(with_groups(project._among(some), now, now))), project

    def _give(self, items: Mapping[int, Group], people: frozenset[int], by: User, change: Undoable) -> None:
        change.keep({pk: group for pk, group in items.items() if _differ(group, group.given_by_hand(people))})
        Withheld.delete_pairs(product(people, items))
        Assignment.insert(product(people, [pk for pk, group in items.items() if not group.was_for_all]), by)

    def _take(self, items: Mapping[int, Group], people: frozenset[int], by: User, change: Undoable) -> None:
        change.keep({pk: group for pk, group in items.items() if _differ(group, group.taken_by_hand(people))})
        pairs = [(person, pk) for pk, group in items.items() for person in people - group.people(BEGUN)]
        Assignment.delete_pairs(pairs)
        Withheld.insert(pairs, by)

    # --- Pairs ---

    def even_pairs(self, *, by: User, job: Job | None = None, report: Progress = no_progress) -> str:
        """Share out anew what nobody has begun or got by hand, so that every two people share about as many items. Returns what
        happened."""
        with self._at_once():
            self._check_changed_by(by)
            count = words.plural(self.planned(anew=True).count_moved(), "item,items")
            text = f"Pairs evened out: {count} changed hands."
            change = Undoable(self.pk, text, job.created_at if job else timezone.now())
            self.share_out(report, anew=True, keep=change, finish=self._finish(job, text))
        return text

    # --- The way back ---

    def undo_by_hand(self, change_pk: int, *, by: User, job: Job | None = None, report: Progress = no_progress) -> str:
        """Bring the items back to those who had them before the last change by hand, without what was begun since then. Returns
        what happened."""
        with self._at_once():
            self._check_changed_by(by)
            change = HandChange.last_of(self.pk)
            if change is None or change.pk != change_pk:
                raise Refused(
                    "This cannot be undone any more: items were given or taken again since, or a day has passed."
                )
            for row in [*HandChange.objects.filter(project=self.pk).defer("before").order_by("-pk")]:
                self._bring_back(row.before, by)
                if row != change:
                    row.delete()
            deleted = self.share_out(report)
            text = f"Undone: {change} What was begun meanwhile has stayed, and marks that went with items do not come back."
            text += f" Deleted now: {words.plural(deleted, 'mark,marks')} put on all alike." if deleted else ""
            with write():
                HandChange.objects.filter(project=self.pk, at=change.at).delete()
                if finish := self._finish(job, text, "projects:items"):
                    finish()
        return text

    def _bring_back(self, before: Mapping[str, str], by: User) -> None:
        for items, project in self._portions([int(pk) for pk in before]):
            everybody = frozenset(project.all_annotating().order_by().values_list("pk", flat=True))
            had = {pk: Group(held=before[str(pk)]) for pk in items}

            def pairs(
                way: str, of: Mapping[int, Group] = had, among: frozenset[int] = everybody
            ) -> list[tuple[int, int]]:
                return [(person, pk) for pk, group in of.items() for person in group.people(way) & among]

            begun = {*pairs(BEGUN, items)}
            Assignment.delete_pairs({*pairs(DEALT + BY_HAND, items)} - begun)
            Assignment.insert(pairs(DEALT), by=None)
            Assignment.insert(pairs(BY_HAND), by)
            Withheld.delete_pairs(pairs(WITHHELD, items))
            Withheld.insert({*pairs(WITHHELD)} - begun, by)

    def _able(self, people: Sequence[User], able: QuerySet[User]) -> frozenset[int]:
        known = set(able)
        if others := [person.username for person in people if person not in known]:
            raise Refused(f"Nobody annotates in this project by the name of {words.listed(others)}.")
        return frozenset(person.pk for person in people)

    def _chosen(self, items: QuerySet[Item]) -> Q:
        live = items.filter(dataset__project=self.pk, removed_at=None)
        return Q(pk__in=live.order_by().values("pk"))


def _differ(group: Group, other: Group) -> bool:
    return {*group.held.split()} != {*other.held.split()}


def _asked(planned: Planned, people: frozenset[int]) -> tuple[int, int, int]:
    """How many pairs of the chosen items and some people there are; how many of these have the item, and have begun it."""
    asked = had = begun = 0
    for group, count in planned.groups.items():
        if group.chosen:
            asked += count * len(people)
            had += count * len(group.given(planned.everybody) & people)
            begun += count * len(group.people(BEGUN) & people)
    return asked, had, begun
