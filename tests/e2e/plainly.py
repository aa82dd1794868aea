"""One person's marks, said as plainly as possible: what the annotation screen must agree with."""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ENDS = ("source", "target")
PLACES = {"entity": ("start", "end"), "relation": ENDS}


@dataclass
class Plain:
    """The marks of an item."""

    entity: dict[str, dict[str, Any]] = field(default_factory=dict)
    relation: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: bool = False

    @classmethod
    def of(cls, entities, relations, done) -> "Plain":
        """From marks as the page or a bundle has them."""
        return cls(_by_uid("entity", entities), _by_uid("relation", relations), bool(done))

    def marks(self, kind: str) -> dict[str, dict[str, Any]]:
        return getattr(self, kind)

    def at(self, kind: str, label: str, *place) -> str | None:
        """The uid of the mark that says so."""
        wanted = (label, *place)
        return next((uid for uid, mark in self.marks(kind).items() if _said(kind, mark) == wanted), None)

    def perform(self, operation: dict[str, Any]) -> None:
        """Do what one operation of the page does."""
        kind, verb, uid = (operation.get(key, "") for key in ("kind", "verb", "uid"))
        if kind == "item":
            self.done = operation["done"]
        elif verb == "remove":
            del self.marks(kind)[uid]
            self.relation = {key: each for key, each in self.relation.items() if self._has_ends(each)}
        else:
            changes = {key: operation[key] for key in ("label", *PLACES[kind]) if key in operation}
            mark = self.marks(kind)[uid] = self.marks(kind).get(uid, {}) | changes | {"status": "accepted"}
            for end in ENDS if kind == "relation" else ():
                self.entity[mark[end]]["status"] = "accepted"

    def is_sound(self) -> bool:
        return all(self._has_ends(each) for each in self.relation.values())

    def _has_ends(self, relation: dict[str, Any]) -> bool:
        return all(relation[end] in self.entity for end in ENDS)

    def facts(self) -> dict[tuple[str, str], Any]:
        """All there is, one by one."""
        marks = {(kind, uid): mark for kind in PLACES for uid, mark in self.marks(kind).items()}
        return marks | {("item", "done"): self.done}

    def said(self) -> tuple[list, list, bool]:
        """What all marks say, whatever their uids are."""
        entity = {uid: _said("entity", mark) for uid, mark in self.entity.items()}
        relation = [
            (each["label"], *(entity[each[end]] for end in ENDS), each["status"]) for each in self.relation.values()
        ]
        return sorted((*entity[uid], mark["status"]) for uid, mark in self.entity.items()), sorted(relation), self.done

    def named_in(self, other: "Plain") -> dict[str, str]:
        """What another one that says the same calls the marks that have other uids there."""
        names: dict[str, str] = {}
        for kind in PLACES:
            for uid, mark in self.marks(kind).items():
                there = other.at(kind, *(names.get(each, each) for each in _said(kind, mark)))
                if there and there != uid:
                    names[uid] = there
        return names

    def renamed(self, names: dict[str, str]) -> "Plain":
        return Plain(_renamed(self.entity, names), _renamed(self.relation, names), self.done)

    def copy(self) -> "Plain":
        return deepcopy(self)


class Step(NamedTuple):
    """What somebody did to an item: the facts that it changed, before and after it. None is a mark that is not there."""

    item: int
    before: dict[tuple[str, str], Any]
    after: dict[tuple[str, str], Any]

    @classmethod
    def between(cls, item: int, before: Plain, after: Plain) -> "Step":
        old, new = before.facts(), after.facts()
        changed = [key for key in old | new if old.get(key) != new.get(key)]
        return cls(item, {key: old.get(key) for key in changed}, {key: new.get(key) for key in changed})

    def reversed(self) -> "Step":
        return Step(self.item, self.after, self.before)

    def applied(self, plain: Plain) -> Plain | None:
        """What becomes of marks; nothing, if these are not as they were before the step."""
        there, result = plain.facts(), plain.copy()
        if any(there.get(key) != value for key, value in self.before.items()):
            return None
        for (kind, uid), value in self.after.items():
            if kind == "item":
                result.done = value
            elif value is None:
                del result.marks(kind)[uid]
            else:
                result.marks(kind)[uid] = deepcopy(value)
        return result if result.is_sound() else None


class History:
    """What one tab can undo and redo, the last first."""

    def __init__(self) -> None:
        self.undo: list[Step] = []
        self.redo: list[Step] = []

    def note(self, step: Step) -> None:
        self.undo.append(step.reversed())
        self.redo.clear()

    def rename(self, names: dict[str, str]) -> None:
        for steps in (self.undo, self.redo):
            steps[:] = [Step(item, _renamed(before, names), _renamed(after, names)) for item, before, after in steps]

    def taken_back(self, way: str) -> None:
        here, there = (self.undo, self.redo) if way == "undo" else (self.redo, self.undo)
        there.append(here.pop().reversed())


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(each, names) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_renamed(each, names) for each in value)
    return names.get(value, value) if isinstance(value, str) else value


def _said(kind: str, mark: dict[str, Any]) -> tuple:
    return tuple(mark[key] for key in ("label", *PLACES[kind]))


def _by_uid(kind: str, marks) -> dict[str, dict[str, Any]]:
    return {mark["uid"]: {key: mark[key] for key in (*PLACES[kind], "label", "status")} for mark in marks}
