"""The journal of an ontology: one row for each operation, with what it changed before and after."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from django.db import connection, models
from django.db.models import UniqueConstraint, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from annotation_service import journal
from annotation_service.db import among, execute
from annotation_service.journal import FEW, JournalRow, Step
from annotation_service.words import added_and_dropped

from ..handing_down import Setting
from ..tree import ROOT_UID, NewBranch
from .item import OntologyItem

FACTS = ("name", "description", "example_terms", "color", "active")
TIMES = ("created_at", "updated_at")


class OntologyChange(JournalRow):
    """Items are named by their uids. A place in the tree is ``parent`` (a uid, null at the top) and ``position``, the index among
    the siblings."""

    ontology = models.ForeignKey(
        "ontologies.Ontology", on_delete=models.RESTRICT, related_name="changes", db_index=False
    )

    class Meta(JournalRow.Meta):
        constraints = [UniqueConstraint(fields=["ontology", "version"], name="ontologychange_version")]

    @classmethod
    def steps_of(cls, changes: Sequence[Self], limit: int | None = None) -> list[tuple[Self, list[Step]]]:
        shown = [(change, list(change.items.items())[:limit]) for change in changes]
        entries = [(uid, *entry) for _, items in shown for uid, entry in items if None not in entry]
        places = {state.get("parent") for _, *states in entries for state in states} - {None}
        known = names({uid for uid, *_ in entries} | places, changes)
        return [(change, [_step(known, uid, *entry) for uid, entry in items]) for change, items in shown]

    def names(self, keys: Collection[str]) -> dict[str, str]:
        return names(set(keys), [self])


def _step(known: Mapping[str, str], uid: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Step:
    if before is None or after is None:
        return Step((before or after or {})["name"], "", before, after)
    (field,) = after.keys() - {"position"}
    was, now = before[field], after[field]
    if field == "parent":
        return Step(known[uid], field, known.get(was), known.get(now))
    in_short = added_and_dropped(was, now) if field == "example_terms" else ""
    return Step(known[uid], field, was, now, in_short)


def names(uids: set[str], changes: Sequence[OntologyChange]) -> dict[str, str]:
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


class Change(journal.Change):
    """One operation on a locked ontology."""

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
        rows = self.thing.tree.insert(branches)
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
        self.thing.tree.delete(items)

    def move(self, item: OntologyItem, parent: OntologyItem, position: int | None) -> None:
        """Move an item with its branch; ``position`` is its index among its new siblings, None the last."""
        before = item.place()
        self.thing.tree.move(item, parent, position)
        self.items[item.uid] = [before, item.again().place()]


def _place(parent_uid: str, position: int) -> dict[str, Any]:
    return {"parent": None if parent_uid == ROOT_UID else parent_uid, "position": position}
