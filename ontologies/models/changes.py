"""The journal of an ontology: one row for each operation, with what it changed before and after; how they are made and undone."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db import connection, models
from django.db.models import Q, QuerySet, UniqueConstraint, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from annotation_service.db import among, execute
from annotation_service.events import Event
from annotation_service.inputs import Refused
from annotation_service.journal import FEW, Change, Entries, JournalRow, Step, done_later
from annotation_service.models import User
from annotation_service.words import added_and_dropped, plural

from .. import colors, usage
from ..documents import NewLabel
from ..switches import handed_down
from ..tree import ROOT_UID, NewBranch, Place
from .item import OntologyItem, check_free

FACTS = ("name", "description", "example_terms", "color", "off_by")
TIMES = ("created_at", "updated_at")
LABELS_CHANGED = Event("labels.changed", "Labels of the project have changed, or their states, names or places.")
MOST_TOLD = 100  # of the labels that an operation has changed


class OntologyChange(JournalRow):
    """Items are named by their uids. A place in the tree is ``parent`` (a uid, null at the top) and ``position``, the index among
    the siblings. ``off_by`` is the event that switched an item off; an item that was moved may have both."""

    ontology = models.ForeignKey(
        "ontologies.Ontology", on_delete=models.RESTRICT, related_name="changes", db_index=False
    )
    remark = models.TextField(blank=True)  # which labels stay off at a switch, or go off in a move

    class Meta(JournalRow.Meta):
        constraints = [UniqueConstraint(fields=["ontology", "version"], name="ontologychange_version")]

    def known_of(self, items: Sequence[tuple[str, Sequence[Any]]]) -> dict[str, str]:
        """The names of those that were there before and after, and of what they stood below."""
        entries = [(uid, *states) for uid, states in items if None not in states]
        places = {state.get("parent") for _, *states in entries for state in states} - {None}
        return self.names({uid for uid, *_ in entries} | places)

    @classmethod
    def steps_of_item(cls, known: Any, key: str, before: Any, after: Any) -> list[Step]:
        return [_step(known, key, field, before, after) for field in _fields(before, after)]

    def names(self, keys: Collection[str]) -> dict[str, str]:
        """What items are called now or, if they are not there any more, were called."""
        uids, here = set(keys), {"ontology": self.ontology_id}
        found = dict(OntologyItem.objects.filter(**here, uid__in=among(uids)).values_list("uid", "name"))
        if missing := uids - found.keys():
            is_removal = Q(verb__endswith="add") | Q(verb__endswith="update from file")
            removals = OntologyChange.objects.filter(is_removal, **here)
            for change in removals.filter(items__has_any_keys=list(missing)[:FEW]):
                for uid in missing & change.items.keys():
                    before, after = change.items[uid]
                    found.setdefault(uid, (before or after)["name"])
        return dict.fromkeys(uids, "an item that was removed") | found


State = dict[str, Any] | None
"""Of an item before or after an operation; None if it was or is not there."""


def _fields(before: State, after: State) -> list[str]:
    """Those that are told of an item: its place alone, if it was moved."""
    return [""] if before is None or after is None else ["parent"] if "parent" in after else list(after)


def _step(known: Mapping[str, str], uid: str, field: str, before: State, after: State) -> Step:
    if before is None or after is None:
        return Step((before or after or {})["name"], "", before, after)
    was, now = before[field], after[field]
    if field == "off_by":
        return Step(known[uid], "active", not was, not now)
    if field == "parent" and was == now:
        old, new = (f"place {state['position'] + 1}" for state in (before, after))
        return Step(known[uid], "place", old, new, f"from {old} to {new}" + (f" below “{known[now]}”" if now else ""))
    if field == "parent":
        return Step(known[uid], field, known.get(was), known.get(now))
    in_short = added_and_dropped(was, now) if field == "example_terms" else ""
    return Step(known[uid], field, was, now, in_short)


# --- Changing ----------------------------------------------------------------------------------------------------------

Setting = tuple[int, str, Any, Any]
"""The primary key and the uid of an item, and the value of a field before and after."""


class TreeChange(Change):
    """One operation on a locked ontology."""

    def store(self, by: User, count: int | None = None) -> None:
        super().store(by, count)
        if self.row:
            LABELS_CHANGED.happened(self.thing.project_id, lambda: self._told(by))

    def _told(self, by: User) -> dict[str, Any]:
        uids = list(islice(self.items, MOST_TOLD))
        what = {"ontology": self.thing.pk, "version": self.thing.version, "verb": self.row.title}
        return {**what, "count": self.row.count, "labels": uids, "user": by.username}

    def set_each(self, field: str, values: Iterable[Setting]) -> None:
        """Store one field of several items, by primary key, in one statement; values that an item has already are left alone."""
        new: dict[int, Any] = {}
        for pk, uid, before, after in values:
            if before != after:
                new[pk] = json.dumps(after) if field == "example_terms" else after
                entry = self.items.setdefault(uid, [{}, {}])
                entry[0].setdefault(field, before)
                entry[1][field] = after
        column = OntologyItem._meta.get_field(field)
        table = OntologyItem._meta.db_table
        source = "json_each(%(values)s)" if connection.vendor == "sqlite" else "json_each_text(%(values)s)"
        execute(
            f'UPDATE {table} SET "{field}" = CAST(each.value AS {column.db_type(connection)}), updated_at = %(time)s'
            f" FROM {source} AS each WHERE {table}.id = CAST(each.key AS bigint)",
            {"values": json.dumps(new), "time": connection.ops.adapt_datetimefield_value(timezone.now())},
        )

    def hand_down(self, field: str, wanted: Mapping[str, Any], items: QuerySet[Any], *, branch: bool = True) -> None:
        """Store the wanted values, by uid, and among the items in tree order those for what is below: a colour in variations."""
        missing = set(wanted)
        places: Counter[int | None] = Counter()
        new: dict[int | None, Any] = {}
        values: list[Setting] = []
        for pk, uid, parent_id, before in items.values_list("pk", "uid", "parent_id", field):
            place = places[parent_id]
            places[parent_id] += 1
            if uid in missing:
                missing.discard(uid)
                new[pk] = wanted[uid]
            elif branch and parent_id in new:
                new[pk] = colors.child_of(new[parent_id], place) if field == "color" else new[parent_id]
            else:
                continue
            values.append((pk, uid, before, new[pk]))
        if missing:
            raise Refused("Some of the items are not there any more. Reload the page.")
        self.set_each(field, values)

    def insert(self, branches: list[NewBranch]) -> list[str]:
        """Store new items; returns their uids."""
        rows = self.thing.tree.insert(branches)
        for row in rows:
            self.items[row["uid"]] = [None, {name: row[name] for name in FACTS} | _place(row["above"], row["place"])]
        return [row["uid"] for row in rows]

    def delete(self, items: list[OntologyItem]) -> None:
        """Delete items whose branches are among them. Those that are off with the one above them will be as it is then, should
        they come back."""
        standing = _standing(items)
        for item in items:
            state = {name: getattr(item, name) for name in FACTS}
            state |= {name: getattr(item, name).isoformat() for name in TIMES}
            place, event = standing[item.pk]
            state |= {"off_by": ""} if item.off_by == event else {}
            self.items[item.uid] = [state | place, None]
        self.thing.tree.delete(items)

    def move(self, places: Sequence[Place]) -> None:
        """Move items with their branches. What comes to stand below one that is off goes off with it."""
        items = [item for item, *_ in places]
        before = _standing(items)
        self.thing.tree.move(places)
        uids = {item.uid for item in items}
        after = _standing(self.thing.tree.nodes.filter(uid__in=among(uids)))
        self.items |= {item.uid: [before[item.pk][0], after[item.pk][0]] for item in items}
        if off := next((parent for _, parent, _ in places if parent.off_by), None):
            gone = [each for each in handed_down(self.thing.events(uids), {}) if each[2] != each[3]]
            self.set_each("off_by", gone)
            self.facts["remark"] = f"{plural(len(gone), 'item goes,items go')} off, like “{off}”." if gone else ""

    # --- Taking back ---

    def put_back(self, entries: Entries) -> None:
        """No item is missing here: a step whose items were removed since has been refused."""
        if added := [uid for uid, (before, _) in entries.items() if before is None]:
            self._remove(added)
        changed = {uid: before for uid, (before, after) in entries.items() if None not in (before, after)}
        self._move_back({uid: before for uid, before in changed.items() if "parent" in before})
        back: dict[str, dict[str, Any]] = defaultdict(dict)
        for uid, before in changed.items():
            for field in before.keys() - {"parent", "position"}:
                back[field][uid] = before[field]
        for field, wanted in back.items():
            self._set_back(field, wanted)
        if removed := {uid: before for uid, (before, after) in entries.items() if after is None}:
            self._insert_again(removed)

    def _set_back(self, field: str, wanted: Mapping[str, Any]) -> None:
        if field == "off_by":  # others may have come to stand below what goes off, or above what comes on
            self.set_each(field, handed_down(self.thing.events(), wanted))
            return
        back: list[Setting] = []
        stored = self.thing.tree.nodes.filter(uid__in=among(wanted))
        for pk, uid, parent_id, now in stored.values_list("pk", "uid", "parent_id", field):
            if field == "name":
                check_free(parent_id, wanted[uid])
            back.append((pk, uid, now, wanted[uid]))
        self.set_each(field, back)

    def _move_back(self, wanted: Mapping[str, Mapping[str, Any]]) -> None:
        if wanted:
            items = {item.uid: item for item in self.thing.tree.nodes.filter(uid__in=among(wanted))}
            parents = {each.uid: each for each in self._parents({at["parent"] or ROOT_UID for at in wanted.values()})}
            places = [(items[uid], parents[at["parent"] or ROOT_UID], at["position"]) for uid, at in wanted.items()]
            self.move(sorted(places, key=itemgetter(2)))

    def _remove(self, uids: Collection[str]) -> None:
        # On PostgreSQL a mark that is being made with an item waits until the item is removed, and is then refused.
        items = list(self.thing.tree.nodes.filter(uid__in=among(uids)).select_for_update())
        keys = among([item.pk for item in items])
        below = OntologyItem.objects.filter(parent__in=keys).exclude(uid__in=among(uids)).order_by("lft")
        if child := below.first():
            about = self.thing.changes.select_related("user").filter(items__has_key=child.uid)
            put = next((row for row in about if _is_about_place(row.items[child.uid])), None)
            if put is None:
                raise Refused(f"“{child.name}” stands below an item that would have to be removed.")
            raise done_later(f"“{child.name}” was put below an item that would have to be removed", put)
        used, also_by_deleted = usage.all_naming([item.pk for item in items])
        if used:
            are, them = ("The item is", "it") if len(items) == 1 else ("The items are", "them")
            raise Refused(f"{are} used by {used.in_words()} and cannot be removed. Switch {them} off instead.")
        if also_by_deleted:
            raise Refused("Something that used the item was deleted just now. Try again in a minute.")
        self.delete(items)

    def _insert_again(self, removed: dict[str, dict[str, Any]]) -> None:
        below: dict[str, list[str]] = defaultdict(list)
        for uid, state in sorted(removed.items(), key=lambda entry: entry[1]["position"]):
            below[state["parent"] or ROOT_UID].append(uid)

        def branch(uid: str, level: int) -> Iterator[NewLabel]:
            fields = {name: removed[uid][name] for name in FACTS}
            fields |= {name: datetime.fromisoformat(removed[uid][name]) for name in TIMES}
            yield NewLabel(level, uid=uid, **fields)
            for child in below.get(uid, ()):
                yield from branch(child, level + 1)

        self.insert(
            [
                NewBranch(parent, list(branch(top, 1)), removed[top]["position"] - before)
                for parent in self._parents(below.keys() - removed.keys())
                for before, top in enumerate(below[parent.uid])
            ]
        )

    def _parents(self, uids: Collection[str]) -> list[OntologyItem]:
        """The items below which others stood, the root among them if its uid is given."""
        found = list(self.thing.tree.nodes.filter(uid__in=among(uids)))
        if len(found) < len(uids):
            raise Refused("The item that it stood below is not there any more.")
        return found


def _is_about_place(entry: Sequence[Any]) -> bool:
    """Whether an operation added, removed or moved an item; the others change its fields."""
    return None in entry or "parent" in entry[0]


def _standing(items: Iterable[OntologyItem]) -> dict[int, tuple[dict[str, Any], str]]:
    """The places of items and of their siblings, by key, each with the event of the one above."""
    siblings = OntologyItem.objects.filter(parent__in=among({item.parent_id for item in items}))
    numbers = Window(RowNumber(), partition_by="parent", order_by="lft")
    rows = siblings.values_list("pk", "parent__uid", "parent__off_by", numbers)
    return {pk: (_place(above, number - 1), event) for pk, above, event, number in rows}


def _place(parent_uid: str, position: int) -> dict[str, Any]:
    return {"parent": None if parent_uid == ROOT_UID else parent_uid, "position": position}
