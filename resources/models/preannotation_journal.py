"""The journal of a preannotation set, and the writing of its rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

from django.db import models
from django.db.models import Max, UniqueConstraint

from annotation_service import edits, journal
from annotation_service.db import among
from annotation_service.inputs import Refused
from annotation_service.journal import Entries, Step

from .journal import ResourceChange
from .preannotation_rows import Preannotation, RowState

BATCH = 2000


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
    def steps_of_row(cls, name: str, entry: Sequence[Any], labels: Mapping[str, str]) -> list[Step]:
        before, after = entry
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
