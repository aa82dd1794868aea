"""What operations did, in words for people: before and after, item by item."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from annotation_service.db import among

from .item import OntologyItem

if TYPE_CHECKING:
    from .journal import OntologyChange
    from .ontology import Ontology

_FEW = 20


class Step(NamedTuple):
    """What an operation did to one field of one item. The field of a new or removed item is the empty string."""

    uid: str
    name: str
    field: str
    before: Any
    after: Any


def steps(changes: "list[OntologyChange]", limit: int | None = None) -> dict[int, list[Step]]:
    """Before and after of several operations of one ontology, by the operation's key."""
    entries = {change.pk: list(change.items.items())[:limit] for change in changes}
    if not changes:
        return {}
    wanted = {uid for items in entries.values() for uid, _ in items}
    known = names(changes[0].ontology, wanted, changes)
    return {pk: [step for uid, entry in items for step in _steps(uid, entry, known)] for pk, items in entries.items()}


def _steps(uid: str, entry: list[Any], known: dict[str, str]) -> Iterator[Step]:
    before, after = entry
    if before is None or after is None:
        yield Step(uid, (before or after)["name"], "", before, after)
        return
    for name in after:
        if name != "position" or len(after) == 1:
            yield Step(uid, known[uid], name, before[name], after[name])


def names(ontology: "Ontology", uids: Iterable[str], changes: "Iterable[OntologyChange]" = ()) -> dict[str, str]:
    """What items are called now or, if they are not there any more, were called."""
    wanted = set(uids)
    stored = OntologyItem.objects.filter(ontology_id=ontology.pk)
    found = dict(stored.filter(uid__in=among(wanted)).order_by().values_list("uid", "name"))
    found |= _names_in(changes, wanted - found.keys())
    if missing := wanted - found.keys():
        removals = ontology.changes.filter(verb__contains="add", items__has_any_keys=list(missing)[:_FEW])
        found |= _names_in(removals, missing)
    return found | dict.fromkeys(wanted - found.keys(), "an item that was removed")


def _names_in(changes: "Iterable[OntologyChange]", uids: set[str]) -> dict[str, str]:
    """What items were called when they were added, removed or renamed."""
    found: dict[str, str] = {}
    for change in changes if uids else ():
        for uid in uids & change.items.keys():
            if state := next((state for state in change.items[uid] if state and "name" in state), None):
                found.setdefault(uid, state["name"])
    return found
