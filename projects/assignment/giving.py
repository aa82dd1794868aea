"""The part of a project that gives items to people by its rule, and shares out what goes to some of them only."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from django.core.validators import MaxValueValidator
from django.db import connection, models
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from annotation_service.blueprints import Described, Right
from annotation_service.db import among, snapshot, store, write
from annotation_service.inputs import Refused
from annotation_service.jobs import Cancelled
from annotation_service.models import Job, User, start_once
from datasets.importing.document import Progress, no_progress
from datasets.models import MARKS, Annotation, Dataset, Item
from datasets.models.item import ItemQuerySet
from work.models.batch import Turns, lock_items
from work.models.item_work import delete_annotations
from work.models.source import withdraw_on
from work.placing import for_calibration

from ..roles import with_right
from . import item_counts
from .assigned import Assignment, Withheld, annotators_of, given_to, is_given, is_open, uncalibrated
from .dealing import Plan, deal, shared_items, spread
from .groups import BEGUN, BY_HAND, DEALT, WITHHELD, Group, People, group_of_each, groups_of, with_groups
from .rule import MAX_CALIBRATION, AssignmentRule, GivesItems, RuleInChange

# So many are looked at in one query, which locks none.
READ = 10_000
# What somebody does to an item meanwhile is found in the next round; rounds get shorter.
ROUNDS = 20
SHARING_OUT = ("assign", "by_hand", "undo_by_hand")


class Keeps(Protocol):
    """What keeps the way back from a change."""

    def keep(self, groups: Mapping[int, Group]) -> None:
        """The groups of items, before these changed."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """How many items somebody has, and would have after a change; of the former so many are begun, and stay. With
    what is lost go so many marks that batches have put there."""

    person: User
    before: int
    after: int
    gained: int
    lost: int
    begun: int
    marks: int


@dataclass(frozen=True)
class Planned:
    """How items are to be dealt: by the rule that binds them now and the one that will, among these people."""

    now: GivesItems
    rule: AssignmentRule
    annotators: Sequence[int]
    everybody: People
    groups: Mapping[Group, int]
    plan: Plan
    # How many items of each person a change takes away itself, before the rest is dealt.
    taken: Mapping[int, int]

    @property
    def basis(self) -> tuple[Any, ...]:
        """If this has changed, it is to be planned anew."""
        return self.rule, self.annotators, self.everybody

    @property
    def shares(self) -> Iterator[tuple[Group, People, int]]:
        """How many items of each group are to be assigned to whom."""
        for group, shares in self.plan.items():
            for people, count in shares.items():
                yield group, people, count

    @property
    def holders(self) -> Iterator[tuple[People, int]]:
        """Who would have how many items together."""
        return ((group.then_given(self.everybody, people), count) for group, people, count in self.shares)

    def count_moved(self) -> int:
        """How many items change hands."""
        return sum(count for group, people, count in self.shares if self.is_change(group, people))

    def is_change(self, group: Group, people: People) -> bool:
        strangers = group.people(WITHHELD) - self.everybody
        return group.was_for_all != group.for_all or people != group.assigned() or bool(strangers)

    def marks_lost(self) -> Counter[int]:
        """How many marks of each person, put by batches on items not begun, go with the items."""
        marks = Counter[int]()
        for group, people, count in self.shares:
            if put := group.put():
                has = group.then_given(self.everybody, people)
                marks.update({person: each * count for person, each in put.items() if person not in has})
        return marks

    def foresee(self, people: Iterable[User]) -> list[Foreseen]:
        """What it gives to those among whom items are shared out, and to others who have more than everybody: whoever loses the
        most comes first."""
        had, has, begun, by_hand = (Counter[int]() for _ in range(4))
        lost = Counter(self.taken)
        for group, count in self.groups.items():
            _count(had, group.given(self.everybody), count)
            _count(begun, group.people(BEGUN), count)
            _count(by_hand, group.people(BY_HAND), count)
        for group, assigned, count in self.shares:
            then = group.then_given(self.everybody, assigned)
            _count(has, then, count)
            _count(lost, group.given(self.everybody) - then, count)
        marks = self.marks_lost()
        own = {*self.annotators, *self.taken, *begun, *by_hand, *marks}
        found = [
            Foreseen(person, had[key], has[key], has[key] + lost[key] - had[key], lost[key], begun[key], marks[key])
            for person in people
            if (key := person.pk) in own
        ]
        return sorted(found, key=lambda each: -each.lost)

    def shared(self) -> dict[int, dict[int, int]]:
        """How many items each two of the annotators would share."""
        return shared_items(self.holders, self.annotators)


def _count(total: Counter[int], people: People, count: int) -> None:
    for person in people:
        total[person] += count


class AssignsItems(Described):
    """Whoever annotates may annotate what is for everybody. What else there is is shared out evenly among the annotators."""

    # So many items are locked at once, for some 50 ms; what is about more is done by a job.
    PORTION: ClassVar[int] = 1000

    created_by: Any

    # The rule. Null: everybody gets every item. A number: each item is assigned to so many annotators, evenly.
    annotators_per_item = models.PositiveSmallIntegerField(null=True, blank=True)
    # Percent of the items that go to everybody nevertheless.
    overlap = models.PositiveSmallIntegerField(default=0, validators=[MaxValueValidator(99)])
    # So many of the first items go to everybody, before all others.
    calibration = models.PositiveSmallIntegerField(default=0, validators=[MaxValueValidator(MAX_CALIBRATION)])
    # The rule that takes its place, and binds the items at positions below a number: negative, if there is none.
    next_annotators_per_item = models.PositiveSmallIntegerField(null=True, editable=False)
    next_overlap = models.PositiveSmallIntegerField(default=0, editable=False)
    next_calibration = models.PositiveSmallIntegerField(default=0, editable=False)
    next_below = models.IntegerField(default=-1, editable=False)

    class Meta:
        abstract = True

    @property
    def rule(self) -> AssignmentRule:
        return AssignmentRule(self.annotators_per_item, self.overlap, self.calibration)

    @property
    def is_changing(self) -> bool:
        """Whether another rule takes the place of this one."""
        return self.next_below >= 0

    @property
    def next_rule(self) -> AssignmentRule:
        """The rule that will bind all items."""
        if not self.is_changing:
            return self.rule
        return AssignmentRule(self.next_annotators_per_item, self.next_overlap, self.next_calibration)

    @property
    def rule_now(self) -> GivesItems:
        """What binds the items at this moment."""
        return RuleInChange(self.rule, self.next_rule, self.next_below) if self.is_changing else self.rule

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
        return self.all_items().filter(given_to(person, self.rule_now))

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

    def planned(
        self,
        rule: AssignmentRule | None = None,
        *,
        anew: bool = False,
        chosen: Q | None = None,
        change: Callable[[Group], Group] | None = None,
    ) -> Planned:
        """How items would be dealt by another rule or, ``anew``, so that pairs are as even as can be; after a ``change`` of those
        that are chosen, if there is one. Holds nothing up, and nothing for each item."""
        with snapshot():
            rule, now = rule or self.next_rule, self.rule_now
            annotators = list(self.annotators())
            everybody = frozenset(self.all_annotating().order_by().values_list("pk", flat=True))
            groups = groups_of(with_groups(self.all_items(), now, rule, chosen))
        changed, taken = Counter[Group](), Counter[int]()
        for group, count in groups.items():
            then = change(group) if change and group.chosen else group
            changed[then] += count
            if then is not group:
                _count(taken, group.given(everybody) - then.given(everybody), count)
        plan = deal(changed, annotators, rule.annotators_per_item or 0, everybody, anew=anew)
        return Planned(now, rule, annotators, everybody, groups, plan, taken)

    def foresee_rule(self, rule: AssignmentRule) -> Planned:
        """What another rule would give to whom."""
        rule.check()
        return self.planned(rule)

    def set_rule(
        self, rule: AssignmentRule, *, by: User, job: Job | None = None, report: Progress = no_progress
    ) -> None:
        """Give the items by another rule. What somebody has begun or got by hand stays with them."""
        rule.check()
        with self._at_once():
            self._begin_rule(rule, by)
            self.share_out(report, finish=self._finish(job, rule.stored_in_words()))

    def _begin_rule(self, rule: AssignmentRule, by: User) -> None:
        with write():
            project = self.locked()
            if project.is_changing and project.next_rule == rule:
                return  # by a worker that was killed
            project.locked_for(by)
            project.check_not_changing()
            store(project, **{f"next_{name}": value for name, value in rule.values.items()}, next_below=0)

    def check_not_changing(self) -> None:
        """Raises `Refused` while another rule takes the place of this one."""
        if self.is_changing:
            raise Refused("Items are being shared out by another rule at the moment. Wait until that is done.")

    def _finish(self, job: Job | None, text: str, page: str = "projects:page") -> Callable[[], None] | None:
        return (lambda: job.finish(text=text, url=reverse(page, args=[self.pk]))) if job else None

    # --- Sharing out ---

    def is_large(self) -> bool:
        """Whether its items are shared out by a job, in portions, so that nobody who saves has to wait."""
        return Dataset.objects.filter(project=self.pk, item_count__gt=self.PORTION).exists()

    def _at_once(self) -> AbstractContextManager[None]:
        """One transaction for all that follows, if that is about few items."""
        return nullcontext() if self.is_large() else write()

    def assign_items(self, *, by: User | None = None) -> int:
        """Share out what people have lost or lack; the project is locked. At once or, where there are many items, by a job.
        Returns how many marks, which batches had put on items not begun, went with these."""
        if not self.is_large():
            return self.share_out()
        if self.annotators_per_item or self.is_changing or any(rows.exists() for rows in self._to_share()):
            title = f"Share out the items of “{self}”"
            start_once("assign", title=title, by=by or self.created_by, target={"project": self.pk})
        return 0

    def _to_share(self) -> list[QuerySet[Any]]:
        return [self._about_items(Assignment), self._about_items(Withheld), self._unbegun()]

    def assign_changes(self) -> None:
        """Assign the items that have come, and withdraw those that are gone; the project is locked."""
        if self.annotators_per_item is not None:
            self._about_items(Assignment).filter(by=None, item__removed_at__isnull=False)._raw_delete(self._state.db)
            self.assign_items()
        item_counts.forget(self.pk)

    def sharing_out(self) -> Job | None:
        """The job that lets items change hands at the moment, or will do so soon."""
        waiting = Job.objects.filter(kind__in=SHARING_OUT, target__project=self.pk, finished_at=None)
        return waiting.order_by("pk").first()

    def share_out(
        self,
        report: Progress = no_progress,
        *,
        anew: bool = False,
        keep: Keeps | None = None,
        finish: Callable[[], None] | None = None,
    ) -> int:
        """Share all items out that go to some annotators only. Returns how many marks, which batches had put on items not begun,
        went with these.

        What somebody has begun or got by hand stays with them, and as little as possible of the rest changes hands, unless pairs
        are to be evened out ``anew``. It is planned without locks, and carried out in portions: the old rule binds an item until
        its portion is stored. Whoever takes it up again after a kill plans for what is left. ``finish`` belongs to the last step.
        """
        in_turn, withdrawn = self.in_turn(), 0
        if connection.in_atomic_block:
            self.lock_items()
        for rounds_left in reversed(range(ROUNDS)):
            self._read_rule()
            planned = self.planned(anew=anew)
            complete = self._carry_out(planned, in_turn, report, keep) or not rounds_left
            withdrawn += self._withdraw_batches(in_turn)
            if complete and self._conclude(finish):
                break
        return withdrawn

    def in_turn(self) -> Callable[[], AbstractContextManager[None]]:
        """The transaction of a portion, which joins the one that there is."""
        return write if connection.in_atomic_block else Turns().write

    def _read_rule(self) -> None:
        own = [*self.rule.values, *(f"next_{name}" for name in self.rule.values), "next_below"]
        self.refresh_from_db(fields=own)

    def _carry_out(self, planned: Planned, in_turn: Callable[[], Any], report: Progress, keep: Keeps | None) -> bool:
        """Store a plan, portion by portion; returns whether all was as it was planned for."""
        left = {group: spread(shares) for group, shares in planned.plan.items()}
        total, done, complete = planned.count_moved(), 0, True
        items = with_groups(self.all_items(), planned.now, planned.rule)
        portion: dict[int, tuple[Group, People]] = {}
        position = self.next_below - 1 if self.is_changing else -1
        reached = position
        for position, pk, group in _in_order(items):
            people = next(left.get(group, iter(())), None)
            if people is None:  # somebody has done something to it meanwhile
                complete, people = False, _as_it_is(group, planned.everybody)
            if planned.is_change(group, people):
                portion[pk] = group, people
            if len(portion) == self.PORTION:
                unchanged = self._store_portion(portion, planned, position, in_turn, keep)
                if unchanged is None:
                    return False
                complete, done = complete and unchanged, done + len(portion)
                portion, reached = {}, position
                with suppress(Cancelled):  # too late: some have it already
                    report(done, total, "sharing out")
        if portion or (self.is_changing and position > reached):
            return bool(self._store_portion(portion, planned, position, in_turn, keep)) and complete
        return complete

    def _store_portion(
        self,
        portion: Mapping[int, tuple[Group, People]],
        planned: Planned,
        position: int,
        in_turn: Callable[[], Any],
        keep: Keeps | None,
    ) -> bool | None:
        """Assign these items; the rule that is to come binds what is up to a position. Returns whether they are as they were
        planned for; ``None`` and nothing is stored if the rule or the people are not."""
        with in_turn():
            project = self.locked()
            everybody = frozenset(project.all_annotating().order_by().values_list("pk", flat=True))
            if planned.basis != (project.next_rule, list(project.annotators()), everybody):
                return None
            lock_items(list(portion))
            items = with_groups(project._among(portion), project.rule_now, planned.rule)
            unchanged, before, lost, new = True, {}, [], []
            for pk, group in group_of_each(items):
                was, people = portion[pk]
                if was != group:
                    unchanged, people = False, _as_it_is(group, planned.everybody)
                if planned.is_change(group, people):
                    before[pk], had = group, group.assigned()
                    lost += [(person, pk) for person in had - people]
                    new += [(person, pk) for person in people - had]
            Assignment.delete_pairs(lost)
            Assignment.insert(new, by=None)
            strangers = Withheld.objects.filter(item__in=among(list(before))).exclude(annotator__in=everybody)
            strangers._raw_delete(self._state.db)
            if project.is_changing:
                self.next_below = max(project.next_below, position + 1)
                store(project, next_below=self.next_below)
            if keep:
                keep.keep(before)
        return unchanged

    def _conclude(self, finish: Callable[[], None] | None) -> bool:
        """Let the rule that took the place of another be the only one; returns whether it binds all items."""
        with write():
            project = self.locked()
            if project.is_changing:
                if project.all_items().filter(position__gte=project.next_below).exists():
                    return False  # came just now
                if project.next_rule.calibration > project.calibration:
                    withdraw_on(for_calibration(project.all_items(), project.next_rule.calibration))
                store(project, **project.next_rule.values, next_below=-1)
            item_counts.forget(self.pk)
            if finish:
                finish()
        self._read_rule()
        return True

    def _about_items(self, model: type[Assignment] | type[Withheld]) -> QuerySet[Any]:
        return model._default_manager.filter(item__dataset__project=self.pk)

    def _among(self, keys: Iterable[int]) -> ItemQuerySet:
        return self.all_items().filter(pk__in=among(list(keys)))

    def _unbegun(self) -> QuerySet[Annotation]:
        here = {"item__dataset__project": self.pk, "item__removed_at": None}
        return Annotation.objects.filter(**here, annotator__isnull=False, started_at=None)

    def count_unbegun_marks(self, person: User) -> int:
        """How many marks somebody has put on items that they have not begun, by batches: they go with these items."""
        return _count_put(self._unbegun().filter(annotator=person))

    def _withdraw_batches(self, in_turn: Callable[[], Any]) -> int:
        """Delete what batches of somebody have put on items that they have not begun and that are no longer given to them;
        returns how many marks these were."""
        annotating, count = self.all_annotating().order_by().values("pk"), 0
        others = self._unbegun().exclude(is_given(OuterRef("annotator"), "item__"), annotator__in=annotating)
        while found := list(others.values_list("item", flat=True)[: self.PORTION]):
            with in_turn():
                lock_items(found)
                gone = list(others.filter(item__in=among(found)).values_list("pk", flat=True))
                count += _count_put(Annotation.objects.filter(pk__in=among(gone)))
                delete_annotations(gone)
        return count

    def lock_items(self) -> None:
        """Wait for those who are saving marks, and let nobody begin an item until the transaction ends."""
        if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
            items = Item.with_removed.filter(dataset__project=self.pk).select_for_update(no_key=True, of=("self",))
            for _ in items.values_list("pk").iterator(chunk_size=10_000):
                pass


def _in_order(items: QuerySet[Any]) -> Iterator[tuple[int, int, Group]]:
    """The positions and keys of the items of `with_groups` with their groups, read in parts: others write meanwhile."""
    last = -1
    rows = items.order_by("position").values_list("position", "pk", *Group._fields)
    while some := list(rows.filter(position__gt=last)[:READ]):
        for last, pk, *fields in some:
            yield last, pk, Group(*fields)


def _as_it_is(group: Group, everybody: People) -> People:
    """To whom an item is assigned for which nothing is planned: nobody loses what they have begun, or were given."""
    return group.people(BY_HAND if group.for_all else DEALT + BY_HAND + BEGUN) & everybody


def _count_put(annotations: QuerySet[Annotation]) -> int:
    put = {"annotation__in": annotations.order_by().values("pk"), "batch__isnull": False}
    return sum(model._default_manager.filter(**put).count() for model in MARKS.values())
