"""Who has which items of a project at one moment, and who would have them by another rule."""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import Aggregate, Count, Q, QuerySet, TextField

from datasets.models import MARKS, Annotation, Item

from ..rule import Rule
from .assigned import Assignment, Pair, Withheld
from .sharing import NOBODY, Holders, share_out


class Listed(Aggregate):
    """The numbers of a group, separated by commas: to read 200,000 pairs one by one takes a second."""

    function = "GROUP_CONCAT"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="STRING_AGG(%(expressions)s::text, ',')", **context)


@dataclass(frozen=True)
class Standing:
    """About some items, in their order, and some people who annotate; all by their keys."""

    items: QuerySet[Item]
    people: frozenset[int]

    @cached_property
    def keys(self) -> list[int]:
        return list(self.items.values_list("pk", flat=True))

    @cached_property
    def assigned(self) -> Holders:
        return self._holders(Assignment.objects)

    @cached_property
    def by_hand(self) -> Holders:
        return self._holders(Assignment.objects.exclude(by=None))

    @cached_property
    def withheld(self) -> Holders:
        return self._holders(Withheld.objects)

    @cached_property
    def begun(self) -> Holders:
        return self._holders(Annotation.objects.exclude(annotator=None).exclude(started_at=None))

    @cached_property
    def done(self) -> Holders:
        return self._holders(Annotation.objects.exclude(annotator=None).exclude(done_at=None))

    @cached_property
    def unbegun_marks(self) -> Counter[Pair]:
        """How many marks batches of people have put on items that these have not begun: they go with the items."""
        unbegun = Annotation.objects.filter(annotator__in=self.people, started_at=None)
        here = unbegun.filter(item__in=self.items.order_by().values("pk"))
        counts = Counter[Pair]()
        for model in MARKS.values():
            put = model._default_manager.filter(annotation__in=here, batch__isnull=False)
            pairs = put.order_by().values_list("annotation__annotator", "annotation__item")
            for person, item, count in pairs.annotate(Count("pk")):
                counts[person, item] += count
        return counts

    def after_giving(self, chosen: "Standing", rule: Rule) -> "Standing":
        """What it would be, had all people of another standing got all of its items by hand."""
        for_all = chosen.for_all(rule)
        given = {item: chosen.people for item in chosen.keys if item not in for_all}
        everything = dict.fromkeys(chosen.keys, chosen.people)
        return self._with(
            assigned=_joined(self.assigned, given),
            by_hand=_joined(self.by_hand, given),
            withheld=_without(self.withheld, everything),
        )

    def after_taking(self, chosen: "Standing") -> "Standing":
        """What it would be, had all people of another standing lost all of its items but those that they have begun."""
        taken = {item: chosen.people - chosen.begun.get(item, NOBODY) for item in chosen.keys}
        return self._with(
            assigned=_without(self.assigned, taken),
            by_hand=_without(self.by_hand, taken),
            withheld=_joined(self.withheld, taken),
        )

    def _with(self, **known: Holders) -> "Standing":
        changed = replace(self)
        vars(changed).update(vars(self), **known)
        return changed

    def _holders(self, rows: Any) -> Holders:
        listed = rows.filter(item__in=self.items.order_by().values("pk")).order_by().values("item")
        found = list(listed.annotate(people=Listed("annotator")).values_list("item", "people"))
        people = json.loads(f"[{','.join(f'[{names}]' for _, names in found)}]")
        return {
            item: own
            for (item, _), names in zip(found, people, strict=True)
            if (own := self.people.intersection(names))
        }

    def for_all(self, rule: Rule) -> set[int]:
        """Those of the items that are for everybody."""
        if rule.annotators_per_item is None:
            return set(self.keys)
        everybodys = Q() if rule.overlap or rule.calibration else Q(pk=None)
        return set(self.items.filter(rule.for_all(), everybodys).order_by().values_list("pk", flat=True))

    def given(self, rule: Rule, assigned: Holders) -> Holders:
        """Who has each item, by a rule and what is assigned by it."""
        for_all = dict.fromkeys(self.for_all(rule), self.people)  # one set for all items, not a copy for each
        for item in for_all.keys() & self.withheld.keys():
            for_all[item] = self.people - self.withheld[item]
        return {item: for_all[item] if item in for_all else assigned.get(item, NOBODY) for item in self.keys}

    def shared(self, rule: Rule, annotators: Collection[int], other_items: Counter[int] | None = None) -> Holders:
        """What would be assigned by a rule: as little as possible changes hands, and nothing that is begun.

        Those who annotate without being ``annotators`` keep what they have begun or got by hand, on top. ``other_items`` is how
        many items each annotator has besides these.
        """
        for_all = self.for_all(rule)
        fixed = {
            item: people | self.by_hand.get(item, NOBODY)
            for item, people in {**self.by_hand, **self.begun}.items()
            if item not in for_all
        }
        loads = Counter(dict.fromkeys(annotators, len(for_all)))
        for item in for_all & self.withheld.keys():
            loads.subtract(self.withheld[item])
        loads.update(other_items or {})
        dealt = share_out(
            [item for item in self.keys if item not in for_all],
            annotators,
            rule.annotators_per_item or 0,
            current=self.assigned,
            fixed=fixed,
            withheld=self.withheld,
            other_items=loads,
        )
        others = self.people.difference(annotators)
        return {
            **{item: people for item, people in self.by_hand.items() if item in for_all},
            **{item: people | (fixed.get(item, NOBODY) & others) for item, people in dealt.items()},
        }


def _joined(holders: Holders, others: Holders) -> Holders:
    return {item: holders.get(item, NOBODY) | others.get(item, NOBODY) for item in holders.keys() | others.keys()}


def _without(holders: Holders, others: Holders) -> Holders:
    return {item: people - others.get(item, NOBODY) for item, people in holders.items()}


def count_items(holders: Holders) -> Counter[int]:
    """How many items each person has. Mostly many items have the same people."""
    total = Counter[int]()
    for people, items in Counter(map(frozenset, holders.values())).items():
        for person in people:
            total[person] += items
    return total


def pairs_without(holders: Holders, others: Holders) -> Iterator[Pair]:
    """Who has what and has it not among others."""
    for item, people in holders.items():
        for person in people - others.get(item, NOBODY):
            yield person, item
