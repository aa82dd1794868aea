"""How the steps of an ontology's history are taken back: see `annotation_service.journal`."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Q

from annotation_service.db import among
from annotation_service.inputs import Refused
from annotation_service.journal import Entries, done_later

from .. import usage
from ..documents import NewItem
from ..handing_down import Setting
from ..tree import ROOT_UID, NewBranch
from .item import OntologyItem, check_free
from .journal import FACTS, TIMES, Change


def put_back(change: Change, entries: Entries) -> None:
    before, after = next(iter(entries.values()))  # an operation does the same to all its items
    if before is None:
        _remove(change, entries.keys())
    elif after is None:
        _insert_again(change, {uid: entry[0] for uid, entry in entries.items()})
    elif "parent" in before:
        _move_back(change, entries)
    else:
        _set_back(change, entries)


# No item is missing in what follows: a step whose items were removed since has been refused.


def _set_back(change: Change, entries: Entries) -> None:
    (field,) = next(iter(entries.values()))[0]
    back: list[Setting] = []
    stored = change.thing.tree.nodes.filter(uid__in=among(entries))
    for pk, uid, parent_id, now in stored.values_list("pk", "uid", "parent_id", field):
        before = entries[uid][0][field]
        if field == "name":
            check_free(parent_id, before)
        back.append((pk, uid, now, before))
    change.set_each(field, back)


def _move_back(change: Change, entries: Entries) -> None:
    ((uid, (before, _)),) = entries.items()
    item = change.thing.tree.nodes.select_related("parent").get(uid=uid)
    (parent,) = _parents(change, {before["parent"] or ROOT_UID})
    item.check_move(parent)
    change.move(item, parent, before["position"])


def _remove(change: Change, uids: Collection[str]) -> None:
    # On PostgreSQL a mark that is being made with an item waits until the item is removed, and is then refused.
    items = list(change.thing.tree.nodes.filter(uid__in=among(uids)).select_for_update())
    keys = among([item.pk for item in items])
    below = OntologyItem.objects.filter(parent__in=keys).exclude(uid__in=among(uids)).order_by("lft")
    if child := below.first():
        brings = Q(verb__endswith="add") | Q(verb__endswith="move")
        later = change.thing.changes.select_related("user").filter(brings, items__has_key=child.uid)[0]
        raise done_later(f"“{child.name}” was put below an item that would have to be removed", later)
    used, also_by_deleted = usage.all_naming([item.pk for item in items])
    if used:
        are, them = ("The item is", "it") if len(items) == 1 else ("The items are", "them")
        raise Refused(f"{are} used by {used.in_words()} and cannot be removed. Switch {them} off instead.")
    if also_by_deleted:
        raise Refused("Something that used the item was deleted just now. Try again in a minute.")
    change.delete(items)


def _insert_again(change: Change, removed: dict[str, dict[str, Any]]) -> None:
    below: dict[str, list[str]] = defaultdict(list)
    for uid, state in sorted(removed.items(), key=lambda entry: entry[1]["position"]):
        below[state["parent"] or ROOT_UID].append(uid)

    def branch(uid: str, level: int) -> Iterator[NewItem]:
        fields = {name: removed[uid][name] for name in FACTS}
        fields |= {name: datetime.fromisoformat(removed[uid][name]) for name in TIMES}
        yield NewItem(level, uid=uid, **fields)
        for child in below.get(uid, ()):
            yield from branch(child, level + 1)

    change.insert(
        [
            NewBranch(parent, list(branch(top, 1)), removed[top]["position"] - before)
            for parent in _parents(change, below.keys() - removed.keys())
            for before, top in enumerate(below[parent.uid])
        ]
    )


def _parents(change: Change, uids: Collection[str]) -> list[OntologyItem]:
    """The items below which others stood, the root among them if its uid is given."""
    found = list(change.thing.tree.nodes.filter(uid__in=among(uids)))
    if len(found) < len(uids):
        raise Refused("The item that it stood below is not there any more.")
    return found
