"""Which items are given to whom: all to every member who annotates or, by rows of `Assignment`, each to some of them."""

import heapq
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import Count, Exists, OuterRef, QuerySet, UniqueConstraint

from annotation_service.blueprints import Right
from annotation_service.db import among, first
from annotation_service.models import User
from datasets.models import Annotation, Item
from datasets.models.dataset import goes_with_items

from . import counting
from .roles import ROLES

# What saving a mark asks: 0.06 ms of 3 ms in all; composed by the ORM 1.2 ms.
_GIVEN_ITEM = """
SELECT i.id, i.dataset_id, i.tokens, m.role AS role
  FROM datasets_item i
  JOIN datasets_dataset d ON d.id = i.dataset_id
  JOIN projects_project p ON p.id = d.project_id
  JOIN projects_membership m ON m.project_id = p.id AND m.user_id = %(person)s
 WHERE i.id = %(item)s AND i.removed_at IS NULL AND p.id = %(project)s
   AND (p.annotators_per_item IS NULL
        OR EXISTS (SELECT 1 FROM projects_assignment a WHERE a.item_id = i.id AND a.annotator_id = %(person)s))
"""
Pair = tuple[int, int]  # the keys of an annotator and of an item


class Assignment(models.Model):
    """An item that is given to one person."""

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)

    class Meta:
        constraints = [UniqueConstraint(fields=["item", "annotator"], name="assignment_once")]

    def __str__(self) -> str:
        return f"item {self.item_id} to {self.annotator}"


class AssignsItems(models.Model):
    """The part of a project that gives items to people. Its verbs expect that the project is locked."""

    # Null: everybody gets every item. A number: each item is assigned to so many annotators, evenly.
    annotators_per_item = models.PositiveSmallIntegerField(null=True, blank=True)

    class Meta:
        abstract = True

    def annotators(self) -> QuerySet[Any, int]:
        """The keys of those among whom the items are shared out."""
        raise NotImplementedError

    def all_items(self) -> QuerySet[Item]:
        return Item.objects.filter(dataset__project=self.pk).order_by("position")

    def items_for(self, person: User) -> QuerySet[Item]:
        """The items that are given to a person who annotates."""
        items = self.all_items()
        return items if self.annotators_per_item is None else items.filter(assignment__annotator=person)

    def assign_items(self) -> None:
        """Share all items out evenly, if each goes to some annotators only.

        What somebody has begun stays with them, and as little as possible of the rest changes hands.
        """
        if self.annotators_per_item is not None:
            self._assign_items()
        counting.forget(self.pk)

    def _assign_items(self) -> None:
        self.lock_items()
        current = set(self._assignments().values_list("annotator_id", "item_id"))
        wanted = self._share_out(self.all_items(), current=current)
        for person, pairs in groupby(sorted(current - wanted), itemgetter(0)):
            items = among([item for _, item in pairs])
            Assignment.objects.filter(annotator=person, item__in=items)._raw_delete(self._state.db)
        _insert(wanted - current)

    def assign_changes(self) -> None:
        """Assign the items that have come, and withdraw those that are gone.

        Nothing else changes hands, unless somebody has far more than another now: to share everything out anew takes a second
        in a project of 100,000 items.
        """
        if self.annotators_per_item is not None:
            self._assign_changes()
        counting.forget(self.pk)

    def _assign_changes(self) -> None:
        self._assignments().filter(item__removed_at__isnull=False)._raw_delete(self._state.db)
        loads = Counter(dict.fromkeys(self.annotators(), 0))
        loads.update(dict(self._assignments().values_list("annotator").annotate(Count("pk"))))
        new = self.all_items().filter(~Exists(Assignment.objects.filter(item=OuterRef("pk"))))
        pairs = self._share_out(new, other_items=loads)
        _insert(pairs)
        loads.update(person for person, _ in pairs)
        if loads and max(loads.values()) - min(loads.values()) > 1 + max(loads.values()) // 100:
            self._assign_items()

    def _share_out(self, items: QuerySet[Item], **others: Any) -> set[Pair]:
        annotators = list(self.annotators())
        begun = Annotation.objects.filter(item__in=items.order_by(), annotator__in=annotators)
        return share_out(
            list(items.values_list("pk", flat=True)),
            annotators,
            self.annotators_per_item or 0,
            begun=set(begun.values_list("annotator_id", "item_id")),
            **others,
        )

    def lock_items(self) -> None:
        """Wait for those who are saving marks, and let nobody begin an item until the transaction ends."""
        if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
            items = Item.with_removed.filter(dataset__project=self.pk).select_for_update(no_key=True, of=("self",))
            for _ in items.values_list("pk").iterator(chunk_size=10_000):
                pass

    def _assignments(self) -> QuerySet[Assignment]:
        return Assignment.objects.filter(item__dataset__project=self.pk)


def given_item(person: User, project_pk: int, item_pk: int) -> Item | None:
    """One of the items that `items_for` finds, if the person annotates in the project."""
    if max(project_pk, item_pk) >= 2**63:
        return None
    item: Any = first(Item, _GIVEN_ITEM, {"person": person.pk, "project": project_pk, "item": item_pk})
    return item if item and Right.ANNOTATE in ROLES[item.role].rights else None


def _insert(pairs: set[Pair]) -> None:
    rows = sorted(pairs, key=itemgetter(1, 0))
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO projects_assignment (annotator_id, item_id) VALUES (%s, %s)", rows)


def share_out(
    items: list[int],
    annotators: list[int],
    per_item: int,
    *,
    current: AbstractSet[Pair] = frozenset(),
    begun: AbstractSet[Pair] = frozenset(),
    other_items: Mapping[int, int] = MappingProxyType({}),
) -> set[Pair]:
    """Who gets which item: ``per_item`` annotators each, or all if there are fewer.

    What was begun stays. Missing annotators are those who have the fewest items; then items that nobody has begun move from
    those who have too many to those who have too few. ``other_items`` is how many items each annotator has besides these.
    """
    holders: dict[int, set[int]] = {item: set() for item in items}
    people = set(annotators)
    for person, item in current | begun:
        if item in holders and person in people:
            holders[item].add(person)
    wanted = min(per_item, len(annotators))
    load = Counter({person: other_items.get(person, 0) for person in annotators})
    for item in items:
        for person in sorted(holders[item]):
            if len(holders[item]) > wanted and (person, item) not in begun:
                holders[item].discard(person)
        load.update(holders[item])
    _fill_up(items, holders, wanted, load)
    _even_out(items, holders, load, begun)
    return {(person, item) for item in items for person in holders[item]}


def _fill_up(items: list[int], holders: dict[int, set[int]], wanted: int, load: Counter[int]) -> None:
    """Give each item to so many people as are missing, those with the fewest items first."""
    queue = [(count, person) for person, count in load.items()]
    heapq.heapify(queue)
    for item in items:
        passed_over = []
        while len(holders[item]) < wanted:
            count, person = heapq.heappop(queue)
            if person not in holders[item]:
                holders[item].add(person)
                load[person] += 1
                count += 1
            passed_over.append((count, person))
        for entry in passed_over:
            heapq.heappush(queue, entry)


def _even_out(items: list[int], holders: dict[int, set[int]], load: Counter[int], begun: AbstractSet[Pair]) -> None:
    """Move items from those with more than their share to those with the fewest."""
    share = sum(load.values()) / len(load) if load else 0
    for item in items:
        for giver in sorted(holders[item]):
            if load[giver] <= share or (giver, item) in begun:
                continue
            taker = min(load.keys() - holders[item], key=lambda person: (load[person], person), default=giver)
            if load[giver] - load[taker] > 1:
                holders[item] ^= {giver, taker}
                load[giver] -= 1
                load[taker] += 1


goes_with_items.append((Assignment, "item"))
