"""Items in review: what those say who are done with them, what was decided about that, and deciding."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, NamedTuple

from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation_service import words
from annotation_service.db import among, store, write
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import User
from annotations.requests import Desk, desks
from datasets.models import Annotation, Item, Layer
from datasets.models.broken import judge_of
from datasets.models.judged import Judging
from projects import access
from projects.models import Project
from work.models import ItemWork
from work.models.item_work import disputes_in, refresh

from .comparison import GIVEN_VOICE, AnyMark, Marked, MarkGroup, Option, Voice, groups_of
from .deciding import Deliberation, Ends, Ruling, Standing, TakeOverRule, options_chosen, rulings, settle
from .models.decision import GoldDecision, Verdict, apply, begin, in_force
from .voices import Trees, marked_in, voices_in


class Seen(NamedTuple):
    """A group as it is shown to those who decide about it."""

    standing: Standing
    decision: GoldDecision | None
    """The last about it."""
    sign: str
    """Another one whenever something else is said or decided about it."""


class Review:
    """One item. Whatever writes expects that the item was locked before `of` was called."""

    def __init__(
        self,
        project: Project,
        item: Item,
        voices: Sequence[Voice],
        trees: Trees,
        gold: Annotation | None,
        marked: Marked,
    ) -> None:
        self.project, self.item, self.voices, self.trees = project, item, voices, trees
        self.gold, self.marked = gold, marked
        self.verdicts: list[Verdict] = []

    @classmethod
    def of(cls, project: Project, items: Sequence[Item]) -> "list[Review]":
        """Those of several items of a project, with a fixed number of queries."""
        keys = [item.pk for item in items]
        voices, trees = voices_in(keys, given=project.given_voice), Trees(project.ontology_set.all())
        golds = {gold.item_id: gold for gold in Annotation.objects.filter(item__in=among(keys), layer=Layer.GOLD)}
        marked = marked_in([gold.pk for gold in golds.values()])
        reviews = {}
        for item in items:
            if gold := golds.get(item.pk):
                gold.item = item
            stored = marked[gold.pk] if gold else Marked()
            reviews[item.pk] = cls(project, item, voices.get(item.pk, []), trees, gold, stored)
        for verdict in in_force(golds.values()).select_related("decision__by", "annotation"):
            reviews[verdict.annotation.item_id].verdicts.append(verdict)
        return list(reviews.values())

    @property
    def is_ready(self) -> bool:
        """Whether there is something to decide about."""
        return len(self.voices) > 1 or self.gold is not None

    @property
    def is_decided(self) -> bool:
        return self.gold is not None and self.gold.done_at is not None

    @property
    def is_disputed(self) -> bool:
        return len(self.voices) > 1 and bool(self.deliberation.disputes)

    @cached_property
    def groups(self) -> list[MarkGroup]:
        return groups_of(self.voices, self.trees.apart)

    @cached_property
    def deliberation(self) -> Deliberation:
        return self._deliberate()

    def _deliberate(self, more: Iterable[Ruling] = ()) -> Deliberation:
        rule = TakeOverRule(self.project.agreed, self.project.agreed_least)
        return self._of_groups(self.groups, len(self.voices), rule, more)

    def _of_groups(
        self, groups: Sequence[MarkGroup], people: int, rule: TakeOverRule, more: Iterable[Ruling] = ()
    ) -> Deliberation:
        return Deliberation(
            groups,
            people,
            [*(verdict.ruling for verdict in self.verdicts), *more],
            self.marked,
            rule=rule,
            is_on=self.trees.is_on,
            judge=judge_of(self.item.dataset_id),
        )

    @cached_property
    def seen(self) -> list[Seen]:
        last = {verdict.mark: verdict.decision for verdict in self.verdicts}
        return [self._seen(standing, last) for standing in self.deliberation.standings]

    def _seen(self, standing: Standing, last: Mapping[AnyMark, GoldDecision]) -> Seen:
        decisions = {decision.pk: decision for mark in standing.group.marks if (decision := last.get(mark))}
        said = [[sorted(map(str, option.marks)), option.who] for option in standing.group.options]
        newest = decisions[max(decisions)] if decisions else None
        return Seen(standing, newest, _sign([sorted(map(str, said)), sorted(decisions)]))

    @property
    def sign(self) -> str:
        """Another one whenever anything else is said or decided about the item."""
        return _sign([each.sign for each in self.seen])

    # --- Deciding ---

    def decide(self, sign: str, choice: str, *, by: User, reason: str = "") -> GoldDecision:
        """Take one, all or none of the options of the group with this sign, and with it what the rule takes over. Raises
        `Refused` if there is no such group any more, or if what is chosen cannot be made."""
        self._check_ready()
        found = next((each for each in self.seen if each.sign == sign), None)
        if found is None:
            raise Refused("This was marked or decided otherwise meanwhile. Look at it again.")
        group = found.standing.group
        decision = self._store(GoldDecision.Kind.CHOICE, [(group, options_chosen(group, choice))], by=by, reason=reason)
        if why := next((each.why for each in self.deliberation.standings if each.group == group), ""):
            raise Refused(why)
        return decision

    def take_agreed(self, *, by: User) -> GoldDecision | None:
        """Take over what the rule says, if there is something."""
        self._check_ready()
        return self._store(GoldDecision.Kind.RULE, [], by=by) if self.deliberation.by_rule else None

    def take_given(self, *, by: User) -> GoldDecision | None:
        """Take over what came with the dataset, as far as nothing is decided about it and it can be made."""
        given = [
            voice for voice in voices_in([self.item.pk], given=True).get(self.item.pk, []) if voice.who == GIVEN_VOICE
        ]
        found = self._of_groups(groups_of(given, self.trees.apart), 1, TakeOverRule("least", 1)).by_rule
        taken = [(group, [option]) for group, option in found]
        return self._store(GoldDecision.Kind.GIVEN, taken, by=by) if taken else None

    def finish(self, *, by: User, sign: str | None = None) -> None:
        """Let the gold be decided as it is. Refused while there are disputes, and if it is not as somebody with a ``sign`` saw
        it."""
        if sign not in (None, self.sign):
            raise Refused("Something was marked or decided here meanwhile. Look at it again.")
        self.take_agreed(by=by)
        if left := len(self.deliberation.disputes):
            raise Refused(f"Decide {words.plural(left, 'dispute,disputes')} first.")
        self._begin().finish()

    def reopen(self) -> None:
        self._begin().reopen()

    def last_of(self, by: User) -> GoldDecision | None:
        """What somebody can undo: their newest decision. What the rule takes over comes and goes with others."""
        return self._decisions(by).filter(undone_at=None).last()

    def undone_by(self, by: User) -> GoldDecision | None:
        """What somebody can bring back: what they have undone last, if they have decided nothing since."""
        last = self.last_of(by)
        return self._decisions(by).filter(undone_at__isnull=False, pk__gt=last.pk if last else 0).first()

    def undo(self, *, by: User, seen: int | None = None) -> GoldDecision:
        """Take back somebody's newest decision, if it is the one that they have ``seen``."""
        decision = self.last_of(by)
        if decision is None or seen not in (None, decision.pk):
            raise Refused(
                "There is nothing of yours to take back." if decision is None else "You took this back already."
            )
        return self._turn(decision, undone_at=timezone.now())

    def redo(self, *, by: User, seen: int | None = None) -> GoldDecision:
        decision = self.undone_by(by)
        if decision is None or seen not in (None, decision.pk):
            raise Refused("There is nothing to bring back.")
        return self._turn(decision, undone_at=None)

    def begin_editing(self) -> Annotation:
        """The gold, to be changed by hand: then `note_edit` follows."""
        self._check_ready()
        return self._begin()

    def note_edit(self, *, by: User) -> None:
        """Record what somebody has changed by hand in the gold since this was read."""
        assert self.gold
        before, self.marked = self.marked, marked_in([self.gold.pk])[self.gold.pk]
        was, now = ({*marked.entities, *marked.relations} for marked in (before, self.marked))
        if was == now:
            return
        # A relation goes for all who have it, wherever they had placed its ends.
        made = [verdict.ruling for verdict in self.verdicts]
        ends = Ends.ruled(made, before.entities)
        gone = was - now | {mark for _, mark, _ in made if mark.is_relation and ends.relation(mark) in was - now}
        who = {mark: each.who for group in self.groups for each in group.options for mark in each.marks}
        options = [Option((mark,), who.get(mark, ())) for mark in sorted(gone | now - was, key=str)]
        together = [option for option in options if not option.mark.is_relation]
        groups = [together, *([option] for option in options if option.mark.is_relation)]
        decision = GoldDecision.make(
            self.gold,
            GoldDecision.Kind.EDIT,
            [
                (MarkGroup(tuple(some), frozenset()), [each for each in some if each.mark in now])
                for some in groups
                if some
            ],
            by=by,
            voices={person for mark in gone for person in who.get(mark, ())},
        )
        self._add(decision)
        self._look_again()

    def _store(
        self, kind: str, chosen: list[tuple[MarkGroup, list[Option]]], *, by: User, reason: str = ""
    ) -> GoldDecision:
        """A decision with the marks that follow from it."""
        gold = self._begin()
        gold.check_open()
        more = [ruling for place, (group, taken) in enumerate(chosen) for ruling in rulings(group, taken, place)]
        groups = [*chosen, *((group, [option]) for group, option in self._deliberate(more).by_rule)]
        decision = GoldDecision.make(gold, kind, groups, by=by, voices=[who for who, _ in self.voices], reason=reason)
        self._add(decision)
        is_asked = kind == GoldDecision.Kind.CHOICE
        self._follow({mark for _, taken in chosen for option in taken for mark in option.marks} if is_asked else ())
        return decision

    def _decisions(self, by: User) -> QuerySet[GoldDecision]:
        own = GoldDecision.objects.filter(annotation=self.gold, by=by).exclude(kind=GoldDecision.Kind.RULE)
        return own.select_related("by").order_by("pk")

    def _turn(self, decision: GoldDecision, **undone_at: Any) -> GoldDecision:
        gold = self._begin()
        gold.check_open()
        later = in_force([gold]).filter(decision__gt=decision.pk, what__in=decision.verdict_set.values("what"))
        if newer := later.select_related("decision__by").first():
            who = "Somebody" if self.project.is_blind else newer.decision.by
            raise Refused(f"{who} decided about the same marks since: decide anew instead.")
        store(decision, **undone_at)
        self.verdicts = list(in_force([gold]).select_related("decision__by"))
        wanted = settle([verdict.ruling for verdict in self.verdicts])
        apply(gold, wanted, checking={*wanted.entities, *wanted.relations})
        self._look_again()
        return decision

    def _begin(self) -> Annotation:
        self.gold = begin(self.item)
        return self.gold

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise Refused("Fewer than two people are done with this item.")

    def _add(self, decision: GoldDecision) -> None:
        self.verdicts += in_force([decision.annotation]).filter(decision=decision).select_related("decision__by")

    def _follow(self, asked: Collection[AnyMark] = ()) -> None:
        """Let the gold have the marks that follow from the verdicts, those that somebody asks for if they can be made."""
        assert self.gold
        apply(self.gold, self._deliberate().gold, checking=asked)
        self._look_again()

    def _look_again(self) -> None:
        assert self.gold
        self.marked = marked_in([self.gold.pk])[self.gold.pk]
        for name in ("deliberation", "seen"):
            vars(self).pop(name, None)
        ItemWork.objects.filter(item=self.item).update(is_disputed=self.is_disputed)
        if judge_of(self.item.dataset_id):
            Judging([self.item.pk]).store([self.item.pk])


@contextmanager
def editing(request: Request, pk: int, item_pk: int) -> Iterator[Annotation]:
    """The gold of an item for changes by hand, which are recorded."""
    with access.reviewing(request, pk, item_pk) as (project, item):
        [review] = Review.of(project, [item])
        yield review.begin_editing()
        review.note_edit(by=request.user)


desks[Layer.GOLD] = Desk(access.item_to_review, editing, lambda person, item: Annotation.gold(item))


def refresh_disputes(project: Project, seconds: float) -> bool:
    """Find anew, for so many seconds, which items are disputed, where something has changed; returns whether that was all. After
    a change of the rule, of constraints, or of the labels that are on, these are all items."""
    judge, labels = judge_of(project.dataset.pk), Trees(project.ontology_set.all()).labels.values()
    off = sorted(label.pk for label in labels if not label.active)
    rule = [project.agreed, project.agreed_least, project.given_voice, judge.key if judge else "", off]
    key = hashlib.blake2b(json.dumps(rule).encode(), digest_size=12).hexdigest()
    if project.review_key != key:
        with suppress(DatabaseError), write():
            Project.objects.filter(pk=project.pk).update(review_key=key)
            done = Annotation.objects.filter(item__dataset__project=project, layer=Layer.OWN, done_at__isnull=False)
            done.update(counted=0)
    return refresh(project.dataset.pk, seconds)


def _sign(what: Any) -> str:
    """A key of the service goes into it: it tells nobody who said what."""
    return salted_hmac("quality.sign", json.dumps(what)).hexdigest()[:20]


def disputed_among(items: Collection[int]) -> set[int]:
    """Those of some items in which something is to be decided."""
    by_project: dict[Any, list[Item]] = defaultdict(list)
    for item in Item.objects.filter(pk__in=among(list(items)), dataset__project__isnull=False).select_related(
        "dataset"
    ):
        by_project[item.dataset.project_id].append(item)
    projects = Project.objects.in_bulk(by_project)
    return {
        review.item.pk
        for key, project in projects.items()
        for review in Review.of(project, by_project[key])
        if review.is_disputed
    }


disputes_in.append(disputed_among)
