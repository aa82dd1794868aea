"""The journal of an ontology: one row for each operation, with what it changed before and after."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, models
from django.db.models import F, Q, UniqueConstraint, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from annotation_service.db import among, execute
from annotation_service.models import User
from annotation_service.words import plural

from ..tree import ROOT_UID, NewBranch
from .item import OntologyItem, Setting

FACTS = ("name", "description", "example_terms", "color", "active")
TIMES = ("created_at", "updated_at")
FEW = 20


class OntologyChange(models.Model):
    """One operation, or a row that takes one back or does it again: then ``operation`` is the one that it is about.

    ``items`` is ``{uid: [before, after]}`` with the changed fields only; ``before`` is null for a new item, ``after`` for one
    that was removed by undoing its addition. A place in the tree is ``parent`` (a uid, null at the top) and ``position``, the
    index among the siblings. The creation from a file stores only its ``count``.

    ``stands`` tells whether the effect of a row is in force. The rows about one operation take each other back in turn.
    """

    class Kind(models.TextChoices):
        OPERATION = "operation"
        UNDO = "undo"
        REDO = "redo"
        REVERT = "revert"

    ontology = models.ForeignKey(
        "ontologies.Ontology", on_delete=models.RESTRICT, related_name="changes", db_index=False
    )
    version = models.PositiveIntegerField()
    kind = models.CharField(max_length=9, choices=Kind, default=Kind.OPERATION)
    verb = models.CharField(max_length=30)
    operation = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT, related_name="followed_by")
    stands = models.BooleanField(default=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)
    items = models.JSONField(default=dict)

    class Meta:
        ordering = ["-version"]
        constraints = [UniqueConstraint(fields=["ontology", "version"], name="ontologychange_version")]

    def __str__(self) -> str:
        return f"{self.title} ({self.count})"

    @property
    def title(self) -> str:
        """Such as “rename”, “undo rename”, “revert rename”, “undo revert rename”."""
        return f"{self.kind} {self.verb}" if self.kind in (self.Kind.UNDO, self.Kind.REDO) else self.verb

    def in_words(self) -> str:
        """Such as “rename “Pump” by alice on 3 May 2024, 10:20 UTC”."""
        return f"{self.title} {self.subject()} by {self.user} on {self.at:%-d %B %Y, %H:%M} UTC"

    def subject(self) -> str:
        """The name of its only item, or the number of its items."""
        return f"“{self.steps()[0].name}”" if self.count == 1 and self.items else plural(self.count, "item,items")

    def steps(self, limit: int | None = None) -> "list[Step]":
        """Before and after, item by item."""
        return steps([self], limit)[0][1]

    def same_operation(self) -> "models.QuerySet[OntologyChange]":
        """The operation and the rows about it, this one among them."""
        operation = self.operation_id or self.pk
        return OntologyChange.objects.filter(Q(pk=operation) | Q(operation=operation))


# --- Reading for people ------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """What an operation did to one field of one item. The field of a new or removed item is the empty string."""

    name: str
    field: str
    before: Any
    after: Any


def steps(changes: list[OntologyChange], limit: int | None = None) -> list[tuple[OntologyChange, list[Step]]]:
    """Rows of one ontology with their first steps."""
    shown = [(change, list(change.items.items())[:limit]) for change in changes]
    known = names({uid for _, items in shown for uid, entry in items if None not in entry}, changes)
    return [(change, [_step(known.get(uid, ""), *entry) for uid, entry in items]) for change, items in shown]


def _step(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Step:
    if before is None or after is None:
        return Step((before or after or {})["name"], "", before, after)
    (field,) = after.keys() - {"position"}
    return Step(name, field, before[field], after[field])


def names(uids: set[str], changes: list[OntologyChange]) -> dict[str, str]:
    """What items are called now or, if they are not there any more, were called; the changes are of their ontology."""
    of_ontology = {"ontology__in": {change.ontology_id for change in changes}}
    found = dict(OntologyItem.objects.filter(**of_ontology, uid__in=among(uids)).values_list("uid", "name"))
    if missing := uids - found.keys():
        removals = OntologyChange.objects.filter(**of_ontology, verb__endswith="add")
        for change in removals.filter(items__has_any_keys=list(missing)[:FEW]):
            for uid in missing & change.items.keys():
                before, after = change.items[uid]
                found.setdefault(uid, (before or after)["name"])
    return dict.fromkeys(uids, "an item that was removed") | found


# --- Writing -----------------------------------------------------------------------------------------------------------


@dataclass
class Change:
    """One operation on a locked ontology: changes its items and keeps what it has changed for the journal."""

    ontology: Any
    verb: str
    items: dict[str, list[Any]] = field(default_factory=dict)
    kind: str = OntologyChange.Kind.OPERATION
    operation: OntologyChange | None = None
    row: OntologyChange | None = None

    def set_each(self, field: str, values: Iterable[Setting]) -> None:
        """Store one field of several items, by primary key, in one statement; values that an item has already are left alone."""
        new: dict[int, Any] = {}
        for pk, uid, before, after in values:
            if before != after:
                new[pk] = json.dumps(after) if field == "example_terms" else after
                self.items[uid] = [{field: before}, {field: after}]
        column = OntologyItem._meta.get_field(field)
        table = OntologyItem._meta.db_table
        source = "json_each(%(values)s)" if connection.vendor == "sqlite" else "json_each_text(%(values)s)"
        execute(
            f'UPDATE {table} SET "{field}" = CAST(each.value AS {column.db_type(connection)}), updated_at = %(time)s'
            f" FROM {source} AS each WHERE {table}.id = CAST(each.key AS bigint)",
            {"values": json.dumps(new), "time": connection.ops.adapt_datetimefield_value(timezone.now())},
        )

    def insert(self, branches: list[NewBranch]) -> list[str]:
        """Store new items; returns their uids."""
        rows = self.ontology.tree.insert(branches)
        for row in rows:
            self.items[row["uid"]] = [None, {name: row[name] for name in FACTS} | _place(row["above"], row["place"])]
        return [row["uid"] for row in rows]

    def delete(self, items: list[OntologyItem]) -> None:
        """Delete items whose branches are among them."""
        siblings = OntologyItem.objects.filter(parent__in=among({item.parent_id for item in items}))
        numbers = Window(RowNumber(), partition_by="parent", order_by="lft")
        rows = siblings.values_list("pk", "parent__uid", numbers)
        places = {pk: _place(above, number - 1) for pk, above, number in rows}
        for item in items:
            state = {name: getattr(item, name) for name in FACTS}
            state |= {name: getattr(item, name).isoformat() for name in TIMES}
            self.items[item.uid] = [state | places[item.pk], None]
        self.ontology.tree.delete(items)

    def move(self, item: OntologyItem, parent: OntologyItem, position: int | None) -> None:
        """Move an item with its branch; ``position`` is its index among its new siblings, None the last."""
        before = item.place()
        self.ontology.tree.move(item, parent, position)
        self.items[item.uid] = [before, item.again().place()]

    def store(self, by: User, count: int | None = None) -> None:
        """Write the row of the journal, if something has changed.

        Taking back is always recorded, even if other steps have meanwhile brought about what it would do: otherwise the same step
        would be the next to be undone for ever.
        """
        if not self.operation:
            self.items = {uid: entry for uid, entry in self.items.items() if entry[0] != entry[1]}
        if not self.items and not count:
            return
        self.ontology.touch(version=self.ontology.version + 1)
        if self.operation:
            self.operation.same_operation().update(stands=~F("stands"))
            self.operation.stands = not self.operation.stands
        self.row = OntologyChange.objects.create(
            ontology=self.ontology,
            version=self.ontology.version,
            kind=self.kind,
            verb=self.verb,
            operation=self.operation,
            user=by,
            at=self.ontology.updated_at,
            count=count or len(self.items),
            items=self.items,
        )


def _place(parent_uid: str, position: int) -> dict[str, Any]:
    return {"parent": None if parent_uid == ROOT_UID else parent_uid, "position": position}
