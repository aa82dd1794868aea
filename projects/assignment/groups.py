"""Who has the items of a project, in groups: all items that the same people have, in the same ways, are one.

Their number follows from what people have done and not from how many items there are, so that a million items can be planned for.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BooleanField, Case, Count, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.fields import TextField

from datasets.models import MARKS, Item

from .rule import GivesItems

People = frozenset[int]
NOBODY: People = frozenset()
# What people have to do with an item. A sign of `Group.held` is one of these letters with a person's key.
DEALT, BY_HAND, WITHHELD, BEGUN, PUT = "dgwbm"

# One statement for all of it: 100,000 items take 0.5 s, and separate ones by item 2 s more in Python. The order makes what is the
# same look the same.
_SIGNS = """(SELECT COALESCE({join}(sign, ' '), '') FROM (
    SELECT (CASE WHEN by_id IS NULL THEN 'd' ELSE 'g' END) || annotator_id AS sign
      FROM projects_assignment WHERE item_id = datasets_item.id
    UNION ALL SELECT 'w' || annotator_id FROM projects_withheld WHERE item_id = datasets_item.id
    UNION ALL SELECT 'b' || annotator_id
      FROM datasets_annotation WHERE item_id = datasets_item.id AND annotator_id IS NOT NULL AND started_at IS NOT NULL
    {put} ORDER BY 1) signs)"""
# Marks that batches of a person have put on an item that this person has not begun: they go with it.
_PUT = """UNION ALL SELECT 'm' || a.annotator_id || ':' || COUNT(*)
      FROM datasets_annotation a JOIN {table} m ON m.annotation_id = a.id
     WHERE a.item_id = datasets_item.id AND a.annotator_id IS NOT NULL AND a.started_at IS NULL AND m.batch_id IS NOT NULL
     GROUP BY a.annotator_id"""


class Group(NamedTuple):
    """What items have in common, by two rules: the one that binds them, and another."""

    was_for_all: bool = False
    for_all: bool = False
    chosen: bool = False
    held: str = ""

    def people(self, ways: str) -> People:
        """Those who have these items in one of some ways."""
        return frozenset(int(sign[1:]) for sign in self.held.split() if sign[0] in ways)

    def assigned(self) -> People:
        return self.people(DEALT + BY_HAND)

    def given(self, everybody: People) -> People:
        """Of all who annotate, those who have these items: as `AssignmentRule.given` says it for the database."""
        return self._given(everybody, self.assigned(), for_all=self.was_for_all)

    def then_given(self, everybody: People, assigned: People) -> People:
        """The same by the other rule, were they ``assigned`` so."""
        return self._given(everybody, assigned, for_all=self.for_all)

    def _given(self, everybody: People, assigned: People, *, for_all: bool) -> People:
        return (everybody if for_all else assigned & everybody) - self.people(WITHHELD)

    def put(self) -> Counter[int]:
        """How many marks batches of people have put on each of these items, which they have not begun."""
        signs = (sign[1:].split(":") for sign in self.held.split() if sign[0] == PUT)
        total = Counter[int]()
        for person, marks in signs:
            total[int(person)] += int(marks)
        return total

    def given_by_hand(self, people: Collection[int]) -> "Group":
        """What it is when some people have got it by hand: where it is for everybody, they have it anyway."""
        new = () if self.was_for_all else (f"{BY_HAND}{person}" for person in people)
        return self._with(new, without=DEALT + WITHHELD, of=people)

    def taken_by_hand(self, people: Collection[int]) -> "Group":
        """What it is when it was taken by hand from those of some people who have not begun it."""
        losers = frozenset(people) - self.people(BEGUN)
        return self._with((f"{WITHHELD}{person}" for person in losers), without=DEALT + BY_HAND, of=losers)

    def brought_back(self, held: str, everybody: People) -> "Group":
        """What it is when those of everybody who had it before have it again, as they had it. Whoever has begun it meanwhile
        keeps it."""
        had, begun = Group(held=held), self.people(BEGUN)
        signs = {f"{way}{person}" for way in DEALT + BY_HAND for person in had.people(way) & everybody}
        signs |= {f"{WITHHELD}{person}" for person in had.people(WITHHELD) & everybody - begun}
        return self._with(signs, without=DEALT + BY_HAND + WITHHELD, of=everybody - (begun - had.assigned()))

    def _with(self, new: Iterable[str], *, without: str, of: Collection[int]) -> "Group":
        signs = {*self.held.split()}.difference(f"{way}{person}" for way in without for person in of)
        return self._replace(held=" ".join(sorted(signs.union(new))))


def with_groups(items: QuerySet[Item], now: GivesItems, then: GivesItems, chosen: Q | None = None) -> QuerySet[Any]:
    """Items with the columns of their groups."""
    put = " ".join(_PUT.format(table=model._meta.db_table) for model in MARKS.values())
    join = "group_concat" if connection.vendor == "sqlite" else "string_agg"
    columns = {"was_for_all": now.for_all(), "for_all": then.for_all(), "chosen": chosen or Q(pk__in=())}
    flags = {name: _flag(condition) for name, condition in columns.items()}
    return items.annotate(**flags, held=RawSQL(_SIGNS.format(join=join, put=put), (), TextField()))


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())


def groups_of(items: QuerySet[Any]) -> Counter[Group]:
    """How many of the items of `with_groups` are in each group."""
    rows = items.order_by().values_list(*Group._fields).annotate(Count("pk"))
    groups = Counter[Group]()
    for *fields, count in rows.iterator(chunk_size=10_000):
        groups[Group(*fields)] += count
    return groups


def group_of_each(items: QuerySet[Any]) -> Iterator[tuple[int, Group]]:
    """The keys of the items of `with_groups`, in their order, each with its group."""
    for pk, *fields in items.values_list("pk", *Group._fields).iterator(chunk_size=10_000):
        yield pk, Group(*fields)
