"""The journals of resource sets, and the writing of their rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Max, UniqueConstraint

from annotation_service import edits, journal
from annotation_service.db import among
from annotation_service.inputs import Refused
from annotation_service.journal import Entries, JournalRow, Step
from annotation_service.words import added_and_dropped

from .rows import BATCH, ConstraintRow, Lists, Preannotation, RowState

# Added to positions while others are moved: no two rows of a set may ever have the same one.
_FAR = 1_000_000_000
Uids = Sequence[str] | None


class ResourceChange(JournalRow):
    """Labels are named by their uids. The ``position`` is that of a row that was added or removed."""

    of: ClassVar[str]  # the field that points to the set

    class Meta(JournalRow.Meta):
        abstract = True

    def known_of(self, items: Sequence[tuple[str, Sequence[Any]]]) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The names of the rows, and of labels."""
        return self.names([key for key, _ in items]), getattr(self, self.of).names_by_uid()

    def names(self, keys: Collection[str]) -> dict[str, str]:
        names: dict[str, str] = getattr(self, self.of).row_names(keys)
        return names


# --- Constraint sets -----------------------------------------------------------------------------------------------------


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
    def steps_of_item(cls, known: Any, key: str, before: Any, after: Any) -> list[Step]:
        rows, labels = known
        name = rows[key]
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
        changed = edits.changes(SimpleNamespace(**before), wanted, was or {})
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


# --- Preannotation sets --------------------------------------------------------------------------------------------------


class PreannotationChange(ResourceChange):
    """Rows are named by their primary keys."""

    nouns = "preannotation,preannotations"
    of = "preannotation_set"

    preannotation_set = models.ForeignKey(
        "resources.PreannotationSet", on_delete=models.RESTRICT, related_name="changes", db_index=False
    )

    class Meta(ResourceChange.Meta):
        constraints = [UniqueConstraint(fields=["preannotation_set", "version"], name="preannotationchange_version")]

    @classmethod
    def steps_of_item(cls, known: Any, key: str, before: Any, after: Any) -> list[Step]:
        rows, labels = known
        name = rows[key]
        if before is None or after is None:
            return [Step(name, "", before, after)]
        steps = []
        for field in after:
            values = (
                labels.get(each, each) if "label" in field else str(each) for each in (before[field], after[field])
            )
            steps.append(Step(name, field.replace("_", " "), *values))
        return steps


class RowChange(journal.Change):
    """One operation on the rows of a locked preannotation set."""

    def add(self, values: RowState) -> None:
        """Store a new row, last."""
        if missing := [field.name for field in self._model.content_fields() if field.name not in values]:
            raise Refused(f"The {missing[0].replace('_', ' ')} is needed.")
        state = self._model.cleaned(values) | {"position": self._next_position()}
        self._check_active(state)
        self._create([self._model(resource_set=self.thing)], [state])

    def set(self, pk: int, values: RowState, was: Mapping[str, str] | None = None) -> None:
        """Store values of a row. Raises `Conflict` if somebody else has changed one of them; see `edits`."""
        changed = edits.changes(SimpleNamespace(**self.thing.state(pk)), self._model.cleaned(values), was or {})
        self._check_active(changed)
        self._change(pk, changed)

    def remove(self, pks: Collection[int]) -> None:
        self.items |= {str(pk): [state, None] for pk, state in self.thing.states(pks)}
        self.thing.rows().filter(pk__in=among(pks)).order_by().delete()

    def put_back(self, entries: Entries) -> None:
        self.remove([int(key) for key, (before, _) in entries.items() if before is None])
        for key, (before, after) in entries.items():
            if before is not None and after is not None:
                self._change(int(key), before)
        states = {int(key): dict(before) for key, (before, after) in entries.items() if after is None}
        self._take_free_positions(states.values())
        self._create([self._model(pk=pk, resource_set=self.thing) for pk in states], list(states.values()))

    @property
    def _model(self) -> Any:  # type[Preannotation], with the fields that its subclasses have
        return self.thing.row_model

    def _create(self, rows: Sequence[Preannotation], states: Sequence[RowState]) -> None:
        self.thing.room_for(len(rows))
        self._fill(rows, states)
        self._model.objects.bulk_create(rows, batch_size=BATCH)
        self.items |= {str(row.pk): [None, state] for row, state in zip(rows, states, strict=True)}

    def _change(self, pk: int, values: RowState) -> None:
        if values:
            before, row = self.thing.state(pk), self.thing.rows().get(pk=pk)
            self._fill([row], [values])
            row.save()
            self.items[str(pk)] = [{field: before[field] for field in values}, values]

    def _fill(self, rows: Sequence[Preannotation], states: Sequence[RowState]) -> None:
        """Give rows their values. Raises `Refused` if another row of the set has the same."""
        for field in states[0] if states else ():
            values = [state[field] for state in states]
            if field in self._model.label_fields:
                labels = self.thing.hold_labels(self._model.ontology_kind(field), set(values))
                values = [labels[uid] for uid in values]
            for row, value in zip(rows, values, strict=True):
                setattr(row, field, value)
        for row in rows:
            row.fold()
        columns = [field.attname for field in self._model.content_fields()]
        alike = self.thing.rows().filter(search_text__in=among({row.search_text for row in rows}))
        taken = set(alike.exclude(pk__in=among([row.pk for row in rows if row.pk])).values_list(*columns))
        if any(tuple(getattr(row, column) for column in columns) in taken for row in rows):
            raise Refused(f"{self._model.repeated} is in this set already.")

    def _check_active(self, values: RowState) -> None:
        """Labels that are switched off are not chosen anew."""
        for field in self._model.label_fields:
            label = self.thing.labels_for(field).by_uid.get(values.get(field, ""))
            if label and not label.active:
                ontology = self.thing.ontologies[self._model.ontology_kind(field)]
                raise Refused(f"“{label.fullname}” is switched off in “{ontology}”, so it cannot be used.")

    def _next_position(self) -> int:
        last: int | None = self.thing.rows().aggregate(last=Max("position"))["last"]
        return 0 if last is None else last + 1

    def _take_free_positions(self, states: Iterable[RowState]) -> None:
        """Rows come back to their places, or behind all others where a newer one stands there."""
        wanted = among([state["position"] for state in states])
        taken = set(self.thing.rows().filter(position__in=wanted).values_list("position", flat=True))
        free = count(self._next_position())
        for state in states:
            if state["position"] in taken:
                state["position"] = next(free)
