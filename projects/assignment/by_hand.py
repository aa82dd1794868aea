"""The part of a project that gives items to people by hand and takes them away; what changed hands last can be undone.

What is given by hand stays with its person, and counts where the rule gives an item to so many people. What is taken away does
not come back by the rule, which gives it to others instead.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from .giving import AssignsItems, Foreseen
from .groups import BEGUN, BY_HAND, DEALT, WITHHELD, Group, People, group_of_each, with_groups

# So long it can be undone.
KEPT = timedelta(days=1)
GIVE, TAKE = "give", "take"
# What an item is when it was given to some people, or taken from them.
VERBS: dict[str, Callable[[Group, People], Group]] = {GIVE: Group.given_by_hand, TAKE: Group.taken_by_hand}


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
class HandCounts:
    """Of all pairs of some items and some people: how many are given or taken, in how many the person had the item before, and in
    how many they have begun it. With what people lose go so many marks that batches have put there."""

    verb: str
    pairs: int
    had: int
    begun: int
    marks: int
    losses: Sequence[Foreseen]
    """Who loses items, whoever loses the most first."""

    @property
    def changed(self) -> int:
        return self.pairs - self.had if self.verb == GIVE else self.had - self.begun

    @property
    def had_not(self) -> int:
        return self.pairs - self.had

    @property
    def lost_in_turn(self) -> int:
        """How many items people lose because others are shared out anew, each counted for each person."""
        return sum(each.lost for each in self.losses) - (self.changed if self.verb == TAKE else 0)

    def in_words(self, people: Sequence[User]) -> str:
        """Such as “300 items given to anna. Had already: 12.”"""
        done, why, others = {
            GIVE: ("given to", "Had already", self.had),
            TAKE: ("taken from", "Kept, because begun", self.begun),
        }[self.verb]
        text = f"{words.plural(self.changed, 'item,items')} {done} {_names(people)}."
        text += f" {why}: {words.number(others)}." if others else ""
        text += f" In turn, people lost {words.plural(self.lost_in_turn, 'item,items')}." if self.lost_in_turn else ""
        text += (
            f" Deleted with what people lost: {words.plural(self.marks, 'mark,marks')} put on all alike."
            if self.marks
            else ""
        )
        return text


def _names(people: Sequence[User]) -> str:
    return words.listed(map(str, people)) + (", counted for each of them" if len(people) > 1 else "")


class GivesByHand(AssignsItems):
    class Meta:
        abstract = True

    def foresee_by_hand(self, verb: str, items: QuerySet[Item], people: Sequence[User]) -> HandCounts:
        """What `change_by_hand` would do."""
        able = set(self.working() if verb == GIVE else self.all_annotating())
        if others := words.listed(person.username for person in people if person not in able):
            raise Refused(f"Nobody annotates in this project by the name of {others}.")
        keys = frozenset(person.pk for person in people)
        planned = self.planned(chosen=self._chosen(items), change=lambda group: VERBS[verb](group, keys))
        pairs = had = begun = 0
        for group, count in planned.groups.items():
            if group.chosen:
                pairs += count * len(keys)
                had += count * len(group.given(planned.everybody) & keys)
                begun += count * len(group.people(BEGUN) & keys)
        losses = [each for each in planned.foresee(self.all_annotating()) if each.lost]
        return HandCounts(verb, pairs, had, begun, planned.marks_lost().total(), losses)

    def change_by_hand(
        self,
        verb: str,
        items: QuerySet[Item],
        people: Sequence[User],
        *,
        by: User,
        job: Job | None = None,
        report: Progress = no_progress,
    ) -> HandCounts:
        """Give each of the items to each of the people, or take it away from those who have not begun it."""
        with self._at_once():
            self._check_changed_by(by)
            counts = self.foresee_by_hand(verb, items, people)
            self.carry_out_by_hand(verb, self._wish(items, people, counts.in_words(people), job), by, job, report)
        return counts

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
        change, people = Undoable(self.pk, text, datetime.fromisoformat(wish["at"])), frozenset(wish["people"])
        for now, _ in self._portions(wish["items"]):
            then = {pk: VERBS[verb](group, people) for pk, group in now.items()}
            change.keep({pk: group for pk, group in now.items() if {*group.held.split()} != {*then[pk].held.split()}})
            self._store_groups(now, then, by)
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

    def _store_groups(self, now: Mapping[int, Group], then: Mapping[int, Group], by: User) -> None:
        """Let people have items in the ways of some groups, in the place of those that they have them in now."""

        def pairs(way: str, of: Mapping[int, Group], without: Mapping[int, Group]) -> list[tuple[int, int]]:
            return [(person, pk) for pk in of for person in of[pk].people(way) - without[pk].people(way)]

        ways: list[tuple[type[Assignment] | type[Withheld], str, User | None]]
        ways = [(Assignment, DEALT, None), (Assignment, BY_HAND, by), (Withheld, WITHHELD, by)]
        for model, way, _ in ways:
            model.delete_pairs(pairs(way, now, then))
        for model, way, whose in ways:
            model.insert(pairs(way, then, now), whose)

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
        for now, project in self._portions([int(pk) for pk in before]):
            everybody = frozenset(project.all_annotating().order_by().values_list("pk", flat=True))
            then = {pk: group.brought_back(before[str(pk)], everybody) for pk, group in now.items()}
            self._store_groups(now, then, by)

    def _chosen(self, items: QuerySet[Item]) -> Q:
        live = items.filter(dataset__project=self.pk, removed_at=None)
        return Q(pk__in=live.order_by().values("pk"))
