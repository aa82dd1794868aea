"""Storing many items with their given marks: rows are prepared outside of any transaction into a spool, and the transaction
that stores them only inserts what is ready.

In the spool rows know each other by number, counted from 1: an entity tells which of the annotations it belongs to. When they
are stored, keys are reserved, and each number becomes the key at that place.
"""

import re
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

from django.db import connection
from django.utils import timezone

from annotation_service.db import execute
from annotation_service.inputs import to_compact_json

from ..tokenising import Span
from .items import NewItem

ITEM = "original, tokens, offsets, search_text, external_id, extra_fields"
# What is in the spool: the first columns of a mark are numbers of other rows.
COLUMNS = {
    "item": ITEM,
    "annotation": "item",
    "entity": 'annotation, uid, label_id, start, "end"',
    "relation": "annotation, source, target, uid, label_id",
}
STATUS = "suggested"
# So many items wait in memory, or fewer with much in them: about so many characters.
_BATCH, _BATCH_CHARACTERS = 2000, 2_000_000
_MARK_CHARACTERS = 100
# So many keys are reserved at once.
_KEYS = 4000
_needs_escapes = re.compile(r'[\x00-\x1f"\\]').search
Row = tuple[Any, ...]


class Spool(AbstractContextManager["Spool"]):
    """Takes items with `add`, and puts them into a dataset with `store`."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(COLUMNS, 0)
        self._rows: dict[str, list[Row]] = {table: [] for table in COLUMNS}

    def add(self, items: Iterable[NewItem]) -> None:
        waiting, characters = self._rows["item"], 0
        for item in items:
            # At once, and not for a batch of items: their many small lists would keep the garbage collector busy.
            row = _item_row(item)
            waiting.append(row)
            characters += len(row[0]) + len(row[1]) + len(row[-1])
            if item.entities:  # relations connect them: without entities an item has no marks at all
                self._add_marks(item, self._counts["item"] + len(waiting))
                characters += _MARK_CHARACTERS * (len(item.entities) + len(item.relations))
            if len(waiting) == _BATCH or characters > _BATCH_CHARACTERS:
                self._write()
                characters = 0
        self._write()

    def _add_marks(self, item: NewItem, number: int) -> None:
        annotation = self._append("annotation", (number,))
        places = {
            uid: self._append("entity", (annotation, uid, label, start, end))
            for uid, label, start, end in item.entities
        }
        for uid, label, source, target in item.relations:
            self._append("relation", (annotation, places[source], places[target], uid, label))

    def _append(self, table: str, row: Row) -> int:
        """The number of the row."""
        rows = self._rows[table]
        rows.append(row)
        return self._counts[table] + len(rows)

    def _write(self) -> None:
        for table, rows in self._rows.items():
            self._add(table, rows)
            self._counts[table] += len(rows)
            rows.clear()

    @abstractmethod
    def store(self, dataset_pk: int, first_position: int) -> None:
        """Insert what was added, in the transaction of the caller: the items from that position on."""

    @abstractmethod
    def _add(self, table: str, rows: list[Row]) -> None: ...


def spool() -> Spool:
    return _CopyFiles() if connection.vendor == "postgresql" else _TemporaryTables()


def _item_row(item: NewItem) -> Row:
    """As the database keeps it, JSON as text."""
    _, original, tokens, _, external_id, extra_fields, _, _ = item
    offsets = item.offsets
    # Most tokens need no escapes; those of a line have no other characters than the line, in another case perhaps.
    words = to_compact_json(tokens) if _needs_escapes("".join(tokens)) else '["' + '","'.join(tokens) + '"]'
    pairs = None if offsets is None else f"[{','.join(map(_pairs.__getitem__, offsets))}]"
    return (
        original,
        words,
        pairs,
        original.casefold(),
        external_id,
        to_compact_json(extra_fields) if extra_fields else "{}",
    )


class _Pairs(dict[Span, str]):
    """The JSON of pairs of numbers. Offsets are half of an import's JSON; the same come again and again."""

    _MOST = 50_000

    def __missing__(self, pair: Span) -> str:
        text = f"[{pair[0]},{pair[1]}]"
        if len(self) < self._MOST:
            self[pair] = text
        return text


_pairs = _Pairs()


class _TemporaryTables(Spool):
    """SQLite: temporary tables are filled without locking the database, then one statement each moves their rows."""

    _ITEMS = (
        f"INSERT INTO datasets_item (id, dataset_id, position, {ITEM})"
        f" SELECT %(item)s + id, %(dataset)s, %(first)s + id - 1, {ITEM} FROM temp.spool_item ORDER BY id"
    )
    _MARKS = (
        "INSERT INTO datasets_annotation (id, item_id, started_at)"
        " SELECT %(annotation)s + id, %(item)s + item, %(now)s FROM temp.spool_annotation ORDER BY id",
        'INSERT INTO datasets_entity (id, annotation_id, uid, label_id, start, "end", status, created_at, updated_at)'
        ' SELECT %(entity)s + id, %(annotation)s + annotation, uid, label_id, start, "end", %(status)s, %(now)s, %(now)s'
        " FROM temp.spool_entity ORDER BY id",
        "INSERT INTO datasets_relation"
        " (id, annotation_id, source_id, target_id, uid, label_id, status, created_at, updated_at)"
        " SELECT %(relation)s + id, %(annotation)s + annotation, %(entity)s + source, %(entity)s + target, uid, label_id,"
        " %(status)s, %(now)s, %(now)s FROM temp.spool_relation ORDER BY id",
    )

    def __enter__(self) -> "_TemporaryTables":
        self.__exit__()
        execute("PRAGMA temp.page_size = 65536")  # the largest: fewer calls of the operating system
        for table, columns in COLUMNS.items():
            execute(f"CREATE TEMP TABLE spool_{table} (id INTEGER PRIMARY KEY, {columns})")
        return self

    def __exit__(self, *error: object) -> None:
        for table in COLUMNS:
            execute(f"DROP TABLE IF EXISTS temp.spool_{table}")

    def _add(self, table: str, rows: list[Row]) -> None:
        columns = COLUMNS[table]
        marks = ", ".join(["%s"] * (columns.count(",") + 1))
        with connection.cursor() as cursor:
            # A deferred transaction, not Django's: writing to the temporary table takes no lock.
            own = not connection.in_atomic_block
            if own:
                cursor.execute("BEGIN DEFERRED")
            try:
                cursor.executemany(f"INSERT INTO temp.spool_{table} ({columns}) VALUES ({marks})", rows)
                if own:
                    cursor.execute("COMMIT")
            except BaseException:
                if own and connection.connection.in_transaction:  # some errors have ended it already
                    cursor.execute("ROLLBACK")
                raise

    def store(self, dataset_pk: int, first_position: int) -> None:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        params: dict[str, Any] = {"dataset": dataset_pk, "first": first_position, "status": STATUS, "now": now}
        params |= {table: self._last_key(table) for table in COLUMNS}
        # The JSON was written here. To parse it again takes as long as to insert it, and everybody who writes has to wait.
        execute("PRAGMA ignore_check_constraints = ON")
        try:
            execute(self._ITEMS, params)
        finally:
            execute("PRAGMA ignore_check_constraints = OFF")
        for statement in self._MARKS:
            execute(statement, params)

    def _last_key(self, table: str) -> int:
        """Nobody else writes now, so the keys after it are free."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [f"datasets_{table}"])
            row = cursor.fetchone()
        return row[0] if row else 0


class _CopyFiles(Spool):
    """PostgreSQL: rows wait in files in the format that COPY reads."""

    _escapes = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
    _special = re.compile(r"[\\\t\n\r]").search

    def __enter__(self) -> "_CopyFiles":
        self._open = ExitStack()
        self._files: dict[str, IO[str]] = {
            table: self._open.enter_context(TemporaryFile("w+", encoding="utf-8", newline="\n"))  # noqa: SIM115
            for table in COLUMNS
        }
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def _add(self, table: str, rows: list[Row]) -> None:
        self._files[table].writelines("\t".join(map(self._written, row)) + "\n" for row in rows)

    def _written(self, value: str | int | None) -> str:
        if value is None:
            return r"\N"
        text = str(value)
        return text.translate(self._escapes) if self._special(text) else text

    def store(self, dataset_pk: int, first_position: int) -> None:
        keys = {table: self._reserve(table) for table in COLUMNS}
        items, annotations, entities = keys["item"], keys["annotation"], keys["entity"]
        now = str(timezone.now())

        def item(number: int, line: str) -> str:
            return f"{dataset_pk}\t{first_position + number - 1}\t{line}"

        def annotation(_: int, line: str) -> str:
            return f"{now}\t{items[int(line)]}\n"

        def entity(_: int, line: str) -> str:
            number, rest = line.split("\t", 1)
            return f"{STATUS}\t{now}\t{now}\t{annotations[int(number)]}\t{rest}"

        def relation(_: int, line: str) -> str:
            number, source, target, rest = line.split("\t", 3)
            ends = f"{entities[int(source)]}\t{entities[int(target)]}"
            return f"{STATUS}\t{now}\t{now}\t{annotations[int(number)]}\t{ends}\t{rest}"

        mark = "status, created_at, updated_at, annotation_id"
        self._copy("item", f"dataset_id, position, {ITEM}", keys, item)
        self._copy("annotation", "started_at, item_id", keys, annotation)
        self._copy("entity", f'{mark}, uid, label_id, start, "end"', keys, entity)
        self._copy("relation", f"{mark}, source_id, target_id, uid, label_id", keys, relation)

    def _reserve(self, table: str) -> "array[int]":
        """A key for each row; the first place is empty, because rows are counted from 1."""
        keys, sql = array("q", [0]), "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
        with connection.cursor() as cursor:
            while missing := self._counts[table] + 1 - len(keys):
                cursor.execute(sql, [f"datasets_{table}", min(missing, _KEYS)])
                keys.extend(key for (key,) in cursor.fetchall())
        return keys

    def _copy(self, table: str, columns: str, keys: "dict[str, array[int]]", row: Callable[[int, str], str]) -> None:
        file = self._files[table]
        file.seek(0)
        numbered = enumerate(zip(keys[table][1:], file, strict=True), start=1)
        rows = (f"{key}\t{row(number, line)}" for number, (key, line) in numbered)
        with connection.cursor() as cursor, cursor.copy(f"COPY datasets_{table} (id, {columns}) FROM STDIN") as copy:
            while block := "".join(islice(rows, 1000)):
                copy.write(block)
