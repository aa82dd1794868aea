"""Items in review: what those say who are done with them, what was decided about that, and deciding."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from annotation_service import words
from annotation_service.db import among, store
from annotation_service.edits import fingerprint
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
from work.models.item_work import disputes_in

from .comparison import GIVEN_VOICE, AnyMark, Marked, MarkGroup, Option, Voice
from .deciding import Deliberation, Ends, Ruling, Standing, TakeOverRule, options_chosen, rulings, settle
from .models.decision import GoldDecision, Verdict, apply, begin, in_force, marked_in
from .voices import Trees, voices_in


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
        return self.is_ready and bool(self.deliberation.disputes)

    @cached_property
    def deliberation(self) -> Deliberation:
        return self._deliberate()

    def _deliberate(self, more: Iterable[Ruling] = (), voices: Sequence[Voice] | None = None) -> Deliberation:
        return Deliberation(
            self.voices if voices is None else voices,
            [*(verdict.ruling for verdict in self.verdicts), *more],
            self.marked,
            rule=TakeOverRule(self.project.agreed, self.project.agreed_least),
            apart=self.trees.apart,
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
        return Seen(standing, newest, fingerprint([sorted(map(str, said)), sorted(decisions)]))

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
        taken = [(group, [option]) for group, option in self._deliberate(voices=given).by_rule]
        return self._store(GoldDecision.Kind.GIVEN, taken, by=by) if taken else None

    def finish(self, *, by: User) -> None:
        """Let the gold be decided as it is. Refused while there are disputes."""
        self.take_agreed(by=by)
        if left := len(self.deliberation.disputes):
            raise Refused(f"Decide {words.plural(left, 'dispute,disputes')} first.")
        self._begin().finish()

    def reopen(self) -> None:
        self._begin().reopen()

    def undo(self, *, by: User) -> GoldDecision:
        """Take back the newest decision of somebody that they have not taken back yet."""
        if decision := self._decisions(by).filter(undone_at=None).last():
            return self._turn(decision, undone_at=timezone.now())
        raise Refused("There is nothing of yours to take back.")

    def redo(self, *, by: User) -> GoldDecision:
        """Bring back what somebody has taken back last, if they have decided nothing since."""
        last = self._decisions(by).filter(undone_at=None).last()
        if decision := self._decisions(by).filter(undone_at__isnull=False, pk__gt=last.pk if last else 0).first():
            return self._turn(decision, undone_at=None)
        raise Refused("There is nothing to bring back.")

    def note_edit(self, before: Marked, *, by: User) -> None:
        """Record what somebody has changed by hand in the gold, which had these marks before."""
        assert self.gold
        was, now = ({*marked.entities, *marked.relations} for marked in (before, self.marked))
        if was == now:
            return
        # A relation goes for all who have it, wherever they had placed its ends.
        made = [verdict.ruling for verdict in self.verdicts]
        ends = Ends.ruled(made, before.entities)
        gone = was - now | {mark for _, mark, _ in made if mark.is_relation and ends.relation(mark) in was - now}
        who = {mark: each.who for group in self.deliberation.groups for each in group.options for mark in each.marks}
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
        self._follow()

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
        return GoldDecision.objects.filter(annotation=self.gold, by=by).order_by("pk")

    def _turn(self, decision: GoldDecision, **undone_at: Any) -> GoldDecision:
        gold = self._begin()
        gold.check_open()
        later = in_force([gold]).filter(decision__gt=decision.pk, what__in=decision.verdict_set.values("what"))
        if newer := later.select_related("decision__by").first():
            raise Refused(f"{newer.decision.by} decided about the same marks since: decide anew instead.")
        store(decision, **undone_at)
        self.verdicts = list(in_force([gold]).select_related("decision__by"))
        apply(gold, settle([verdict.ruling for verdict in self.verdicts]))
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
            self.__dict__.pop(name, None)
        ItemWork.objects.filter(item=self.item).update(is_disputed=self.is_disputed)
        if judge_of(self.item.dataset_id):
            Judging([self.item.pk]).store([self.item.pk])


@contextmanager
def editing(request: Request, pk: int, item_pk: int) -> Iterator[Annotation]:
    """The gold of an item for changes by hand, which are recorded."""
    with access.reviewing(request, pk, item_pk) as (project, item):
        [review] = Review.of(project, [item])
        yield review._begin()
        before = review.marked
        review._look_again()
        review.note_edit(before, by=request.user)


desks[Layer.GOLD] = Desk(access.item_to_review, editing, lambda person, item: Annotation.gold(item))


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
