"""Undo, redo and revert.

Undo takes back the user's own newest operation, redo does again what they undid last, until their next operation; revert takes
back any step of the history. All are refused if something later touched the same fields of the same items, or depends on it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from annotation_service.db import among
from annotation_service.inputs import Refused

from .. import usage
from ..documents import NewItem
from ..tree import ROOT_UID, NewBranch
from .item import OntologyItem, Setting, check_free
from .journal import FACTS, FEW, TIMES, Change, OntologyChange, names


def take_back(step: OntologyChange, change: Change) -> None:
    """Apply the opposite of a step as part of another operation, whose kind says why. The step was read after the lock."""
    if step.verb == "create":
        raise Refused("The creation of an ontology cannot be undone.")
    if not step.stands:
        raise Refused("This step has been undone already.")
    # The newest row has the places where things stand now.
    last = step.same_operation().select_related("operation").defer("operation__items").first()
    assert last
    operation = last.operation or last
    if later := _later_change(last):
        uid = _shared_item(last, later)
        assert uid
        raise _refusal(f"“{names({uid}, [later])[uid]}” was changed", later)
    if change.kind == OntologyChange.Kind.REVERT:
        change.verb = f"{'revert' if operation.stands else 'restore'} {operation.verb}"
    else:
        change.verb = step.verb
    change.operation = operation
    before, after = next(iter(last.items.values()))  # an operation does the same to all its items
    if before is None:
        _remove(change, last.items)
    elif after is None:
        _insert_again(change, {uid: entry[0] for uid, entry in last.items.items()})
    elif "parent" in before:
        _move_back(change, last.items)
    else:
        _set_back(change, last.items)


def _refusal(text: str, later: OntologyChange) -> Refused:
    return Refused(f"{text} by a later step: {later.in_words()}. That would have to be undone first.")


def _later_change(step: OntologyChange) -> OntologyChange | None:
    """A newer row on the same fields of the same items, of an operation that is not as it was then: its rows take each other back
    in turn, so that with an even number of newer ones the oldest of these does not stand."""
    rows = OntologyChange.objects.filter(ontology=step.ontology_id, version__gt=step.version).select_related("user")
    if len(step.items) <= FEW:
        rows = rows.filter(items__has_any_keys=list(step.items))
    oldest = {row.operation_id or row.pk: row for row in rows if _shared_item(step, row)}  # they come newest first
    return next((row for row in oldest.values() if row.stands), None)


def _shared_item(one: OntologyChange, other: OntologyChange) -> str | None:
    """The uid of an item of which both changed the same field; adding or removing an item changes all its fields."""
    few, many = sorted((one.items, other.items), key=len)
    for uid in filter(many.__contains__, few):
        if None in few[uid] or None in many[uid] or few[uid][0].keys() & many[uid][0].keys():
            return uid
    return None


# No item is missing in what follows: a step whose items were removed since has been refused.


def _set_back(change: Change, entries: dict[str, list[Any]]) -> None:
    (field,) = next(iter(entries.values()))[0]
    back: list[Setting] = []
    stored = change.ontology.tree.nodes.filter(uid__in=among(entries))
    for pk, uid, parent_id, now in stored.values_list("pk", "uid", "parent_id", field):
        before = entries[uid][0][field]
        if field == "name":
            check_free(parent_id, before)
        back.append((pk, uid, now, before))
    change.set_each(field, back)


def _move_back(change: Change, entries: dict[str, list[Any]]) -> None:
    ((uid, (before, _)),) = entries.items()
    item = change.ontology.tree.nodes.select_related("parent").get(uid=uid)
    (parent,) = _parents(change, {before["parent"] or ROOT_UID})
    item.check_move(parent)
    change.move(item, parent, before["position"])


def _remove(change: Change, uids: Collection[str]) -> None:
    # On PostgreSQL a mark that is being made with an item waits until the item is removed, and is then refused.
    items = list(change.ontology.tree.nodes.filter(uid__in=among(uids)).select_for_update())
    keys = among([item.pk for item in items])
    below = OntologyItem.objects.filter(parent__in=keys).exclude(uid__in=among(uids)).order_by("lft")
    if child := below.first():
        later = change.ontology.changes.select_related("user").filter(items__has_key=child.uid)[0]
        raise _refusal(f"“{child.name}” was put below an item that would have to be removed", later)
    if used := usage.count(keys):
        raise Refused(
            f"{'The item is' if len(items) == 1 else 'The items are'} used by {used.in_words()}"
            " and cannot be removed. Switch it off instead."
        )
    if usage.named_by_deleted(keys):
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
    found = list(change.ontology.tree.nodes.filter(uid__in=among(uids)))
    if len(found) < len(uids):
        raise Refused("The item that it stood below is not there any more.")
    return found
