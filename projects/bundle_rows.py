"""Rows that are read from a bundle: they wait in temporary tables, outside of any transaction, until all of them are known to be
right. Then one statement for each model stores them, and others wait for no longer than that."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import connection
from django.db.models import AutoField, Model

from annotation_service.db import execute
from datasets.importing.storage import BATCH, json_unchecked, new_keys, offset_of_keys, write_rows
from ontologies.counterparts import key_map


class BundleRows:
    """Of some models, in the order in which they can be stored. A row has a number by which other rows refer to it; whatever else
    they refer to has a number, too, for which `store` gets the key."""

    def __init__(self, models: Collection[type[Model]]) -> None:
        self._models = {model: list(model._meta.concrete_fields) for model in models}
        self._numbers = {model: new_keys(model._meta.db_table) for model in models}
        self._waiting: dict[type[Model], list[tuple[Any, ...]]] = defaultdict(list)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        rooms = [_waiting_room(model) for model in self._models]
        try:
            for room, model in zip(rooms, self._models, strict=True):
                execute(f"DROP TABLE IF EXISTS {room}")
                rows = f"SELECT {self._columns(model)} FROM {model._meta.db_table} LIMIT 0"
                execute(f"CREATE TEMPORARY TABLE {room} AS {rows}")
            yield
        finally:
            for room in rooms:
                execute(f"DROP TABLE IF EXISTS {room}")

    def _columns(self, model: type[Model]) -> str:
        return ", ".join(f'"{field.column}"' for field in self._models[model])

    def add(self, model: type[Model], values: Mapping[str, Any]) -> int:
        """Returns the number of the row. What is not among the values is as in a new instance."""
        number, row, rows = 0, list[Any](), self._waiting[model]
        for field in self._models[model]:
            if isinstance(field, AutoField):
                number = next(self._numbers[model])
                row.append(number)
            else:
                value = values[field.name] if field.name in values else field.get_default()
                row.append(field.get_db_prep_save(value, connection))
        rows.append(tuple(row))
        if len(rows) == BATCH:
            self._write(model)
        return number

    def write(self) -> None:
        """The last ones."""
        for model in self._waiting:
            self._write(model)

    def _write(self, model: type[Model]) -> None:
        if rows := self._waiting[model]:
            write_rows(_waiting_room(model), rows)
            rows.clear()

    def store(self, keys: Mapping[type[Model], Mapping[int, int]]) -> None:
        """In the transaction of the caller."""
        offsets = {model: offset_of_keys(model._meta.db_table) for model in self._models}

        def stored(field: Any) -> str:
            target = field.model if isinstance(field, AutoField) else field.related_model
            if target in keys:
                return f'(SELECT new FROM {_waiting_room(target)} WHERE old = "{field.column}")'
            return f'"{field.column}" + {offsets[target]}' if target in offsets else f'"{field.column}"'

        with ExitStack() as stack, json_unchecked():
            for model, its_keys in keys.items():
                stack.enter_context(key_map(_waiting_room(model), its_keys))
            for model, fields in self._models.items():
                rows = f"SELECT {', '.join(map(stored, fields))} FROM {_waiting_room(model)}"
                execute(f"INSERT INTO {model._meta.db_table} ({self._columns(model)}) {rows}")


def _waiting_room(model: type[Model]) -> str:
    return f"bundle_{model._meta.model_name}"
