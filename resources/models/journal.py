"""The journals of resource sets; that of a constraint set, and the writing of its rules."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import F, UniqueConstraint

from annotation_service import edits, journal
from annotation_service.inputs import Refused
from annotation_service.journal import Entries, JournalRow, Step
from annotation_service.words import added_and_dropped

from .rows import ConstraintRow, Lists

# Added to positions while others are moved: no two rows of a set may ever have the same one.
_FAR = 1_000_000_000
Uids = Sequence[str] | None


class ResourceChange(JournalRow):
    """Labels are named by their uids. The ``position`` is that of a row that was added or removed."""

    of: ClassVar[str]  # the field that points to the set

    class Meta(JournalRow.Meta):
        abstract = True

    @classmethod
    def steps_of(cls, changes: Sequence[Self], limit: int | None = None) -> list[tuple[Self, list[Step]]]:
        if not changes:
            return []
        thing = getattr(changes[0], cls.of)
        shown = [(change, list(change.items.items())[:limit]) for change in changes]
        rows, labels = thing.row_names([key for _, items in shown for key, _ in items]), thing.names_by_uid()
        return [
            (change, [step for key, entry in items for step in cls.steps_of_row(rows[key], entry, labels)])
            for change, items in shown
        ]

    @classmethod
    def steps_of_row(cls, name: str, entry: Sequence[Any], labels: Mapping[str, str]) -> list[Step]:
        raise NotImplementedError

    def names(self, keys: Collection[str]) -> dict[str, str]:
        names: dict[str, str] = getattr(self, self.of).row_names(keys)
        return names


class ConstraintChange(ResourceChange):
    """Rules are named by their keys."""

    nouns = "rule,rules"
    of = "constraint_set"

    constraint_set = models.ForeignKey(
        "resources.ConstraintSet", on_delete=models.RESTRICT, related_name="changes", db_index=False
    )

    class Meta(ResourceChange.Meta):
        constraints = [UniqueConstraint(fields=["constraint_set", "version"], name="constraintchange_version")]

    @classmethod
    def steps_of_row(cls, name: str, entry: Sequence[Any], labels: Mapping[str, str]) -> list[Step]:
        before, after = entry
        if before is not None and after is not None:
            return [_step(labels, name, field.replace("_", " "), before[field], after[field]) for field in after]
        lists = [
            f"{field.replace('_', ' ')} {_in_words(labels, uids)}"
            for field, uids in (before or after or {}).items()
            if field != "position"
        ]
        return [Step(name, "", before, after, "; ".join(lists))]


def rule_name(names: Mapping[str, str], key: str) -> str:
    """What a rule is called: by its domain or, of a relation, such as “hasPart from Activity”."""
    return " from ".join(_names(names, key.split("-")))


def _step(names: Mapping[str, str], name: str, field: str, before: Uids, after: Uids) -> Step:
    told = _in_words(names, before), _in_words(names, after)
    return Step(name, field, *told, f"{field} {_difference(names, before, after)}")


def _difference(names: Mapping[str, str], before: Uids, after: Uids) -> str:
    if before is None or after is None:
        return f"{_in_words(names, before)} → {_in_words(names, after)}"
    return added_and_dropped(_names(names, before), _names(names, after))


def _in_words(names: Mapping[str, str], uids: Uids) -> str:
    return "anything" if uids is None else ", ".join(_names(names, uids)) or "nothing"


def _names(names: Mapping[str, str], uids: Sequence[str]) -> list[str]:
    return [names.get(uid, "a label that was removed") for uid in uids]


class RuleChange(journal.Change):
    """One operation on the rules of a locked constraint set."""

    def add(self, key: str, state: Lists, position: int | None = None) -> None:
        """Store a new rule, last or at a position."""
        model: type[ConstraintRow] = self.thing.row_model
        uids = key.split("-")
        if len(uids) != len(model.key_fields):
            raise Refused(f"A rule needs {'a relation and a domain' if len(model.key_fields) == 2 else 'a domain'}.")
        count = self.thing.room_for(1)
        position = count if position is None else min(position, count)
        ends = {
            field: self.thing.hold_labels(model.ontology_kind(field), [uid])[uid]
            for field, uid in zip(model.key_fields, uids, strict=True)
        }
        if self.thing.rules_with(key).exists():
            raise Refused(f"There is a rule for “{self.thing.rule_name(key)}” already.")
        self._move_from(position, 1)
        row = model(**{"resource_set": self.thing, "position": position, **ends})
        state = {field: state.get(field, None if field == model.optional_list else []) for field in model.list_fields}
        self._write(row, state)
        self.items[key] = [None, state | {"position": position}]

    def state(self, key: str) -> Lists:
        return self._rule(key).state()

    def set(self, key: str, wanted: Lists, was: Mapping[str, str] | None = None) -> None:
        """Store lists of a rule. Raises `Conflict` if somebody else has changed one of them; see `edits`."""
        row = self._rule(key)
        before = row.state()
        changed = edits.changes(_Seen(before), wanted, was or {})
        if changed:
            self._write(row, before | changed, changed)
            self.items[key] = [{field: before[field] for field in changed}, changed]

    def remove(self, key: str, was: str | None = None) -> None:
        """Raises `Conflict` if somebody else has changed the rule."""
        row = self._rule(key)
        state = row.state()
        if was is not None and was != edits.fingerprint(state):
            raise edits.Conflict(dict(state))
        self.items[key] = [state | {"position": row.position}, None]
        row.delete()
        self._move_from(row.position + 1, -1)

    def put_back(self, entries: Entries) -> None:
        # From the last to the first and back: so each of several rules gets the position that it had.
        added = [(after["position"], key) for key, (before, after) in entries.items() if before is None]
        for _, key in sorted(added, reverse=True):
            self.remove(key)
        removed = [(before["position"], key, before) for key, (before, after) in entries.items() if after is None]
        for position, key, state in sorted(removed):
            self.add(key, {name: uids for name, uids in state.items() if name != "position"}, position)
        for key, (before, after) in entries.items():
            if before is not None and after is not None:
                self.set(key, before)

    def _rule(self, key: str) -> ConstraintRow:
        row: ConstraintRow | None = self.thing.rules_with(key).first()
        if row is None:
            raise Refused(f"The rule for “{self.thing.rule_name(key)}” is not there any more.")
        return row

    def _move_from(self, position: int, by: int) -> None:
        """Move all rules from a position on."""
        rows = self.thing.rows()
        rows.filter(position__gte=position).update(position=F("position") + _FAR + by)
        rows.filter(position__gte=_FAR).update(position=F("position") - _FAR)

    def _write(self, row: ConstraintRow, state: Lists, changed: Collection[str] | None = None) -> None:
        """Store a rule, and its lists: all or those that have changed."""
        row.check_lists(state, self.thing.names_by_uid())
        listed = [uid for uids in state.values() for uid in uids or ()]
        items = self.thing.hold_labels("entity", listed)
        row.set_limit(state)
        row.save()
        for field in state if changed is None else changed:
            row.store_list(field, [items[uid].pk for uid in state[field] or ()])


class _Seen:
    """A state whose lists are read as fields."""

    def __init__(self, state: Lists) -> None:
        self.__dict__.update(state)
