"""What taking back an operation has to store, and what forbids it."""

from collections import Counter, defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings

from annotation_service.db import among
from annotation_service.inputs import Refused

from .. import usage
from ..documents import MAX_LEVELS, NewItem
from ..tree import NewBranch
from .item import OntologyItem, Setting, check_free

if TYPE_CHECKING:
    from .journal import Change, OntologyChange
    from .ontology import Ontology

FACTS = ("name", "description", "example_terms", "color", "active")
TIMES = ("created_at", "updated_at")
_GONE = "An item of this step is not there any more."


class LaterChange(Refused):
    """A step is not taken back because a later one, ``change``, depends on it."""

    def __init__(self, text: str, change: "OntologyChange") -> None:
        self.change = change
        super().__init__(f"{text} by a later step: {change.in_words()}. That would have to be undone first.")


class Inverse:
    """The opposite of one operation on which nothing later of the journal depends."""

    def __init__(self, change: "OntologyChange") -> None:
        self.ontology = change.ontology
        self.unplanted: dict[str, dict[str, Any]] = {}  # the items to be stored again
        self.planted: list[str] = []  # the items to be removed
        self.places: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.values: dict[str, dict[str, tuple[Any, Any]]] = defaultdict(dict)  # by field and uid
        for uid, (before, after) in change.items.items():
            if after is None:
                self.unplanted[uid] = before
            elif before is None:
                self.planted.append(uid)
            elif "parent" in before:
                self.places[uid] = before, after
            else:
                for name, value in before.items():
                    self.values[name][uid] = value, after[name]

    def apply(self, change: "Change") -> None:
        """Store it as part of another operation. Raises `Refused` if that cannot be."""
        self._remove(change)
        self._plant_again(change)
        self._move_back(change)
        self._set_back(change)

    # --- Fields ---

    def _set_back(self, change: "Change") -> None:
        for name, values in self.values.items():
            stored = OntologyItem.objects.filter(ontology_id=self.ontology.pk)
            back: list[Setting] = []
            found = stored.filter(uid__in=among(values)).order_by()
            for pk, uid, parent_id, now in found.values_list("pk", "uid", "parent_id", name):
                before, left = values[uid]
                if now != left:
                    raise Refused("An item is not as this step left it.")
                if name == "name":
                    check_free(parent_id, {before})
                back.append((pk, uid, now, before))
            if len(back) < len(values):
                raise Refused(_GONE)
            change.set_each(name, back)

    # --- Places ---

    def _move_back(self, change: "Change") -> None:
        for uid, (before, _) in self.places.items():
            item = self._items([uid])[uid]
            parent = self._parents({before["parent"]})[before["parent"]]
            item.check_move(parent)
            change.move(item, parent, before["position"])

    # --- Items ---

    def _remove(self, change: "Change") -> None:
        if not self.planted:
            return
        items = self._items(self.planted, lock=True)
        keys = [item.pk for item in items.values()]
        for uid, name in OntologyItem.objects.filter(parent__in=among(keys)).order_by("lft").values_list("uid", "name"):
            if uid not in items:
                self._refuse_for_child(uid, name)
        self._check_unused(keys)
        parents = {item.parent_id for item in items.values() if item.parent_id}
        above = dict(OntologyItem.objects.filter(pk__in=among(parents), level__gt=0).values_list("pk", "uid"))
        siblings = OntologyItem.objects.filter(parent__in=among(parents)).order_by("lft").values_list("pk", "parent_id")
        index: dict[int, int] = {}
        count: Counter[int | None] = Counter()
        for pk, parent_id in siblings:
            index[pk] = count[parent_id]
            count[parent_id] += 1
        for item in items.values():
            state = {name: getattr(item, name) for name in FACTS}
            state |= {name: getattr(item, name).isoformat() for name in TIMES}
            place = {"parent": above.get(item.parent_id), "position": index[item.pk]}
            change.items[item.uid] = [state | place, None]
        self.ontology.tree.delete(items.values())

    def _refuse_for_child(self, uid: str, name: str) -> None:
        text = f"“{name}” was put below an item that would have to be removed"
        if later := newest_of(self.ontology, uid):
            raise LaterChange(text, later)
        raise Refused(f"{text}.")

    def _check_unused(self, keys: list[int]) -> None:
        if used := usage.count(among(keys)):
            raise Refused(
                f"{'The item is' if len(self.planted) == 1 else 'The items are'} used by {used.in_words()}"
                " and cannot be removed. Switch it off instead."
            )

    def _plant_again(self, change: "Change") -> None:
        if not self.unplanted:
            return
        if self.ontology.row_count + len(self.unplanted) > settings.MAX_ONTOLOGY_ITEMS:
            raise Refused(f"An ontology has at most {settings.MAX_ONTOLOGY_ITEMS:,} items.")
        below: dict[str | None, list[str]] = defaultdict(list)
        for uid, state in sorted(self.unplanted.items(), key=lambda entry: entry[1]["position"]):
            below[state["parent"]].append(uid)
        parents = self._parents({uid for uid in below if uid not in self.unplanted})
        branches = []
        for parent_uid, parent in parents.items():
            check_free(parent.pk, {self.unplanted[uid]["name"] for uid in below[parent_uid]})
            for before, uid in enumerate(below[parent_uid]):
                items = self._branch(uid, below)
                if parent.level + max(item.level for item in items) > MAX_LEVELS:
                    raise Refused(f"A tree has at most {MAX_LEVELS} levels.")
                branches.append(NewBranch(parent, items, self.unplanted[uid]["position"] - before))
        change.insert(branches)

    def _branch(self, top: str, below: dict[str | None, list[str]]) -> list[NewItem]:
        items = []
        stack = [(1, top)]
        while stack:
            level, uid = stack.pop()
            state = self.unplanted[uid]
            fields = {name: state[name] for name in FACTS}
            fields |= {name: datetime.fromisoformat(state[name]) for name in TIMES if name in state}
            items.append(NewItem(level, uid=uid, **fields))
            stack += [(level + 1, child) for child in reversed(below.get(uid, ()))]
        return items

    # --- Reading ---

    def _items(self, uids: Collection[str], *, lock: bool = False) -> dict[str, OntologyItem]:
        found = OntologyItem.objects.filter(ontology_id=self.ontology.pk)
        # On PostgreSQL a mark that is being made with an item waits until the item is removed, and is then refused.
        found = found.select_for_update() if lock else found.select_related("parent", "ontology")
        items = {item.uid: item for item in found.filter(uid__in=among(uids))}
        if len(items) < len(uids):
            raise Refused(_GONE)
        return items

    def _parents(self, uids: set[str | None]) -> dict[str | None, OntologyItem]:
        """Items by uid; the root stands at None."""
        named = {uid for uid in uids if uid}
        stored = OntologyItem.objects.filter(ontology_id=self.ontology.pk)
        found: dict[str | None, OntologyItem] = {item.uid: item for item in stored.filter(uid__in=among(named))}
        if len(found) < len(named):
            raise Refused("The item that it stood below is not there any more.")
        return found | ({None: self.ontology.root} if None in uids else {})


def newest_of(ontology: "Ontology", uid: str) -> "OntologyChange | None":
    """The newest operation that changed an item."""
    return ontology.changes.select_related("user").filter(items__has_key=uid).order_by("-version").first()
