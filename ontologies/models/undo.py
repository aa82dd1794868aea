"""Undo, redo and revert.

Undo takes back the user's own newest operation, redo does again what they undid last, until their next operation; revert takes
back any step of the history. All are refused if something later touched the same fields of the same items, or depends on it.
"""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from annotation_service.db import among
from annotation_service.inputs import Refused

from .. import usage
from ..documents import NewItem
from ..tree import ROOT_UID, NewBranch
from .item import OntologyItem, Setting, check_free
from .journal import FACTS, FEW, TIMES, Change, OntologyChange, names

_GONE = "An item of this step is not there any more."
_NO_PARENT = "The item that it stood below is not there any more."


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
    for later in _later_changes(last):
        uid = next(uid for uid, entry in last.items.items() if _share_a_field(entry, later.items.get(uid)))
        raise _refusal(f"“{names({uid}, [later, last])[uid]}” was changed", later)
    if change.kind == OntologyChange.Kind.REVERT:
        change.verb = f"{'revert' if operation.stands else 'restore'} {operation.verb}"
    else:
        change.verb = step.verb
    change.operation = operation
    before, after = next(iter(last.items.values()))  # an operation does the same to all its items
    if before is None:
        _remove(change, list(last.items))
    elif after is None:
        _insert_again(change, {uid: entry[0] for uid, entry in last.items.items()})
    elif "parent" in before:
        _move_back(change, last.items)
    else:
        _set_back(change, last.items)


def _refusal(text: str, later: OntologyChange) -> Refused:
    return Refused(f"{text} by a later step: {later.in_words()}. That would have to be undone first.")


def _later_changes(step: OntologyChange) -> list[OntologyChange]:
    """Newer rows on the same fields of the same items, without those that took each other back: of one operation, pairs."""
    rows = OntologyChange.objects.filter(ontology=step.ontology_id, version__gt=step.version).select_related("user")
    if len(step.items) <= FEW:
        rows = rows.filter(items__has_any_keys=list(step.items))
    by_operation: dict[int, list[OntologyChange]] = defaultdict(list)
    for row in rows:
        few, many = sorted((step.items, row.items), key=len)
        if any(_share_a_field(entry, many.get(uid)) for uid, entry in few.items()):
            by_operation[row.operation_id or row.pk].append(row)
    return [rows[-1] for rows in by_operation.values() if len(rows) % 2]


def _share_a_field(entry: list[Any], other: list[Any] | None) -> bool:
    """Adding or removing an item touches all its fields."""
    if other is None:
        return False
    return None in entry or None in other or not entry[0].keys().isdisjoint(other[0])


def _set_back(change: Change, entries: dict[str, list[Any]]) -> None:
    (field,) = next(iter(entries.values()))[0]
    back: list[Setting] = []
    stored = change.ontology.tree.nodes.filter(uid__in=among(entries))
    for pk, uid, parent_id, now in stored.values_list("pk", "uid", "parent_id", field):
        before, after = entries[uid]
        if now != after[field]:
            raise Refused("An item is not as this step left it.")
        if field == "name":
            check_free(parent_id, before[field])
        back.append((pk, uid, now, before[field]))
    if len(back) < len(entries):
        raise Refused(_GONE)
    change.set_each(field, back)


def _move_back(change: Change, entries: dict[str, list[Any]]) -> None:
    ((uid, (before, _)),) = entries.items()
    item = _items(change, {uid}, _GONE)[uid].again()
    (parent,) = _items(change, {before["parent"] or ROOT_UID}, _NO_PARENT).values()
    item.check_move(parent)
    change.move(item, parent, before["position"])


def _remove(change: Change, uids: list[str]) -> None:
    # On PostgreSQL a mark that is being made with an item waits until the item is removed, and is then refused.
    items = list(_items(change, uids, _GONE, lock=True).values())
    keys = [item.pk for item in items]
    below = OntologyItem.objects.filter(parent__in=among(keys)).exclude(uid__in=among(uids)).order_by("lft")
    if child := below.first():
        text = f"“{child.name}” was put below an item that would have to be removed"
        changes = change.ontology.changes.select_related("user")
        if later := changes.filter(items__has_key=child.uid).first():
            raise _refusal(text, later)
        raise Refused(f"{text}.")
    if used := usage.count(among(keys)):
        raise Refused(
            f"{'The item is' if len(items) == 1 else 'The items are'} used by {used.in_words()}"
            " and cannot be removed. Switch it off instead."
        )
    change.delete(items)


def _insert_again(change: Change, removed: dict[str, dict[str, Any]]) -> None:
    below: dict[str, list[str]] = defaultdict(list)
    for uid, state in sorted(removed.items(), key=lambda entry: entry[1]["position"]):
        below[state["parent"] or ROOT_UID].append(uid)
    branches = []
    for parent_uid, parent in _items(change, below.keys() - removed.keys(), _NO_PARENT).items():
        for before, top in enumerate(below[parent_uid]):
            items = []
            stack = [(1, top)]
            while stack:
                level, uid = stack.pop()
                state = removed[uid]
                fields = {name: state[name] for name in FACTS}
                fields |= {name: datetime.fromisoformat(state[name]) for name in TIMES if name in state}
                items.append(NewItem(level, uid=uid, **fields))
                stack += [(level + 1, child) for child in reversed(below.get(uid, ()))]
            branches.append(NewBranch(parent, items, removed[top]["position"] - before))
    change.insert(branches)


def _items(change: Change, uids: Collection[str], refusal: str, *, lock: bool = False) -> dict[str, OntologyItem]:
    """Items by uid, the root among them if its uid is given."""
    found = change.ontology.tree.nodes.filter(uid__in=among(uids))
    items = {item.uid: item for item in (found.select_for_update() if lock else found)}
    if len(items) < len(uids):
        raise Refused(refusal)
    return items
