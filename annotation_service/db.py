"""How the service writes to its database, and which errors of database and disk pass."""

import errno
import json
import logging
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from django.core.cache.backends.db import DatabaseCache
from django.db import DatabaseError, InterfaceError, OperationalError, connection, models, transaction
from django.db.backends.signals import connection_created
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

M = TypeVar("M", bound=models.Model)

log = logging.getLogger(__name__)
_sqlite_turn = threading.RLock()


@contextmanager
def write() -> Iterator[None]:
    """One write transaction; nested ones join the outer one.

    SQLite has no queue for writers: each sleeps up to 100 ms and tries again, and an unlucky one waits for seconds. A lock
    of this process in front of it lets the threads take turns. Whoever is in a transaction already, such as one that Django admin
    begins, has the database: to wait for the turn of somebody who waits for the database would stop both.

    Where one has changed many rows, or several together, the statistics of their tables are refreshed after the commit.
    """
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with _sqlite_turn if connection.vendor == "sqlite" else nullcontext():
        _changes.begin()
        with transaction.atomic(), connection.execute_wrapper(_changes):
            yield
        _changes.end()


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything as it was at one moment, without holding up those who write. Nothing may be written inside."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        # Django's own transactions take the write lock at once; this one only reads.
        execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            try:
                execute("ROLLBACK")
            except DatabaseError:
                connection.close()  # or else the next transaction would begin within this one
                raise
    else:
        with transaction.atomic():
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


def data_version() -> int:
    """On SQLite, a number that changes when another connection has written. On PostgreSQL writers do not wait for one another."""
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        return cursor.fetchone()[0]


def execute(sql: str, params: Mapping[str, Any] | None = None) -> int:
    """Run one statement with ``%(name)s`` parameters; returns the number of rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount


def store(row: models.Model, **values: Any) -> None:
    """Store these fields of a row, and no others."""
    for field, value in values.items():
        setattr(row, field, value)
    row.save(update_fields=values)


def first(model: type[M], sql: str, params: Mapping[str, Any]) -> M | None:
    """The first of `rows`, or ``None``."""
    return next(iter(rows(model, sql, params)), None)


def rows(model: type[M], sql: str, params: Mapping[str, Any]) -> list[M]:
    """The rows of a written-out query with ``%(name)s`` parameters. Columns that are no fields of the model become attributes.

    For what annotators wait for all day long: the ORM takes several times as long as the query itself to compose it, and
    0.1 ms for each query to find out what its columns are.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        columns = tuple(column[0] for column in cursor.description)
        fetched = cursor.fetchall()
    fields, converters = _reading(model, columns)
    instances = []
    for row in fetched:
        values = list(row)
        for place, expression, convert in converters:
            values[place] = convert(values[place], expression, connection)
        found = dict(zip(columns, values, strict=True))
        instance = model.from_db(connection.alias, fields.values(), [found.pop(column) for column in fields])
        vars(instance).update(found)
        instances.append(instance)
    return instances


@cache
def _reading(model: type[models.Model], columns: tuple[str, ...]) -> tuple[dict[str, str], list[tuple[int, Any, Any]]]:
    """For columns of a result: the names of the fields that they are, and what makes values of Python of those in each place."""
    fields = {field.column: field for field in model._meta.concrete_fields if field.column in columns}
    converters = []
    for place, column in enumerate(columns):
        if column in fields:
            expression = fields[column].get_col(model._meta.db_table)
            found = [*connection.ops.get_db_converters(expression), *expression.get_db_converters(connection)]
            converters += [(place, expression, convert) for convert in found]
    return {column: field.attname for column, field in fields.items()}, converters


def among(keys: Collection[int] | Collection[str]) -> Any:
    """However many keys, for ``field__in``: as one parameter, for databases limit their number and Django looks at each. Numbers
    that fit no column are in none."""
    if not keys:
        return ()
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps(list(keys))])
    if isinstance(next(iter(keys)), str):
        return RawSQL("SELECT unnest(%s::text[])", [list(keys)])
    most: Any = models.BigIntegerField.MAX_BIGINT
    return RawSQL("SELECT unnest(%s::bigint[])", [[key for key in keys if key <= most]])


# --- What the planner knows ------------------------------------------------------------------------------------------------

# As long as fewer rows of a table have changed, no plan goes wrong by much. PostgreSQL's own upkeep comes up to a minute late, or
# never where it is switched off: meanwhile it takes 20,000 new rows for one, and compares all with all.
MANY_ROWS = 2000
# A transaction that changes fewer rows is one person's work, and nobody waits for statistics in it.
BULK_ROWS = 100
# Nobody searches in JSON, and to look at that of 20,000 items takes 1.4 of 1.5 s. Temporary tables may be gone.
_WHAT_TO_ANALYZE = """
SELECT t.name, string_agg(quote_ident(attname), ', ') FROM unnest(%s::text[]) t (name)
  JOIN pg_attribute ON attrelid = to_regclass(t.name) AND attnum > 0 AND NOT attisdropped AND atttypid <> 'jsonb'::regtype
 GROUP BY t.name
"""
# Of an index of SQLite, so many entries are looked at: in 60 ms with 600,000 rows. With the 400 that its authors name it takes a
# dataset of 20,000 items for 400, and counting 280,000 marks by their labels 2.1 and not 1.0 s.
ANALYSIS_LIMIT = 10_000
# Not what an UPDATE changes: as many rows as before, such as 10,000 labels for one that is moved. See `changed`.
_changing = re.compile(r'\s*(INSERT INTO|DELETE FROM) "?(\w+)').match


class _Changes(threading.local):
    """How many rows of each table a thread has changed since it had the statistics refreshed. A wrapper around the statements
    of its transactions, so that no bulk write can be forgotten."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self._now: Counter[str] = Counter()

    def begin(self) -> None:
        self._now.clear()
        self._deleted = 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if change := _changing(sql):
            (verb, table), rows = change.groups(), context["cursor"].rowcount
            if not rows and " RETURNING " in sql:  # SQLite tells the number after they are read
                rows = sql.count("), (") + 1
            self.add(table, rows)
            self._deleted += rows if verb == "DELETE FROM" else 0
        return result

    def add(self, table: str, rows: int) -> None:
        if rows > 0:
            self._now[table] += rows

    def end(self) -> None:
        """After the commit. Much is deleted in small steps, after which the worker has statistics refreshed once."""
        if (total := self._now.total()) >= BULK_ROWS:
            self.rows.update(self._now)
            if total - self._deleted >= BULK_ROWS:
                refresh_statistics()


_changes = _Changes()


def changed(table: str, rows: int) -> None:
    """Count rows of which no statement tells: that went into a table by COPY, or that queries find or leave out from now on."""
    _changes.add(table, rows)


def refresh_statistics(*tables: str) -> None:
    """Let the database look at tables, so that it plans with what is there now: by default, if this thread has changed many rows
    of one, at all that it has changed. Plans go wrong by what they take small tables for, too, and nothing else looks at those.

    What somebody else is looking at already is left to them, and an error is only logged: what was written is stored.
    """
    if not tables:
        if max(_changes.rows.values(), default=0) < MANY_ROWS:
            return
        tables = tuple(_changes.rows)
        _changes.rows.clear()
    try:
        if connection.vendor == "sqlite":
            with write():  # or it fails where somebody else writes while it looks
                execute(f"PRAGMA analysis_limit = {ANALYSIS_LIMIT}")
                execute("PRAGMA optimize")  # it knows itself which tables are meant
        else:
            with connection.cursor() as cursor:
                cursor.execute(_WHAT_TO_ANALYZE, [sorted(tables)])
                for table, columns in cursor.fetchall():
                    cursor.execute(f"ANALYZE (SKIP_LOCKED) {table} ({columns})")
    except DatabaseError as error:
        log.warning("no new statistics of %s: %s", ", ".join(tables), error)


# --- Sets of rows ----------------------------------------------------------------------------------------------------------


def keys(numbers: Iterable[int]) -> str:
    """For IN (…) in SQL that is written out."""
    return ", ".join(map(str, numbers)) or "0"


class Written(models.Func):
    """A time as the files have it, written by the database."""

    output_field = models.CharField()
    template = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        cut = "substr(%(expressions)s, 1, 10) || 'T' || substr(%(expressions)s, 12, 8) || 'Z'"
        return self.as_sql(compiler, connection, template=cut, **context)


def count_of(rows: models.QuerySet[Any], field: str, of: str = "pk") -> Coalesce:
    """How many rows have in a field the key of the row that a query around it looks at, or what that has in the field ``of``."""
    its_rows = rows.filter(**{field: models.OuterRef(of)}).order_by().values(field)
    counted = its_rows.annotate(count=models.Count("pk")).values("count")
    return Coalesce(models.Subquery(counted), 0, output_field=models.IntegerField())


def copy_rows(rows: models.QuerySet[Any], **others: Any) -> None:
    """Insert a copy of each row, in their order, inside the database: none travels through Python. ``others`` are the values or
    expressions of the fields that copies have otherwise; a key of their own is one if it is named there."""
    fields = [field for field in rows.model._meta.concrete_fields if not field.primary_key or field.name in others]
    values = [others.get(field.name, models.F(field.attname)) for field in fields]
    chosen = [
        each if hasattr(each, "resolve_expression") else models.Value(each, output_field=field)
        for field, each in zip(fields, values, strict=True)
    ]
    sql, params = rows.values_list(*chosen).query.sql_with_params()
    columns = ", ".join(f'"{field.column}"' for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {rows.model._meta.db_table} ({columns}) {sql}", params)


def delete_rows(sets: Iterable[models.QuerySet[Any]], until: float) -> int:
    """Delete the rows of these sets, in their order, until that moment of ``time.monotonic()``; returns how many went.

    The ORM would look for rows to cascade to; here, sets that others point to come last. Whatever the moment, some rows go: few
    at first, for an item with a long text takes 200 times as long as one with a short text.
    """
    count = 0
    for rows in sets:
        most = 32
        while keys := list(rows.values_list("pk", flat=True)[:most]):
            rows.model._base_manager.filter(pk__in=among(keys))._raw_delete(rows.db)
            count += len(keys)
            if time.monotonic() >= until:
                return count
            most *= 2
    return count


# --- Statements that take too long -------------------------------------------------------------------------------------------


class _Watch:
    """Ends a statement of SQLite when it has worked for too long. What a transaction has written before is taken back then.

    A wrapper around statements that notes when one begins, in 0.6 µs. The clock is looked at between so many instructions of
    SQLite, which take about 20 ms: for quicker statements never.
    """

    INSTRUCTIONS = 1_000_000
    # Between two looks Python may have worked on rows that it has got: no more than so much of that time counts.
    MOST = 0.5

    def __init__(self, seconds: float) -> None:
        self.seconds, self.last, self.worked = seconds, 0.0, 0.0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.last, self.worked = time.monotonic(), 0.0
        return execute(sql, params, many, context)

    def is_over(self) -> bool:
        now = time.monotonic()
        self.worked += min(now - self.last, self.MOST)
        self.last = now
        return self.worked > self.seconds


def limit_statements(seconds: float) -> None:
    """Let no statement of this process take longer, on connections that it opens from now on: it fails as `Trouble.SLOW`."""

    def limit(connection: Any, **more: Any) -> None:
        if connection.vendor == "sqlite":
            watch = _Watch(seconds)
            connection.execute_wrappers[:] = [watch]  # in the place of the one of a connection that was closed
            connection.connection.set_progress_handler(watch.is_over, watch.INSTRUCTIONS)
        else:
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, false)", [f"{seconds * 1000:.0f}"])

    connection_created.connect(limit, weak=False, dispatch_uid="limit_statements")


# --- When the database or the disk fails -----------------------------------------------------------------------------------


class Trouble(Enum):
    """What is nobody's mistake and passes; in words for people."""

    LOST = "The database does not answer at the moment. Try again in a minute."
    BUSY = "The database is busy with something else. Try again in a minute."
    SLOW = (
        "This took too long, so it was stopped. Look for less at a time, such as with a narrower filter or a longer search text,"
        " or try again when less is going on. If it happens again, tell your administrator."
    )
    FULL = "There is no room left on the server’s disk, so nothing was stored. Tell your administrator."


_FULL_DISK = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_SQLITE = {
    "SQLITE_FULL": Trouble.FULL,
    "SQLITE_IOERR_WRITE": Trouble.FULL,
    "SQLITE_IOERR_SHMSIZE": Trouble.FULL,
    "SQLITE_IOERR": Trouble.LOST,
    "SQLITE_CANTOPEN": Trouble.LOST,
    "SQLITE_BUSY": Trouble.BUSY,
    "SQLITE_LOCKED": Trouble.BUSY,
    "SQLITE_INTERRUPT": Trouble.SLOW,
}
# Codes and classes of codes. The limits of what a statement may be (54) are OperationalErrors, too, but do not pass.
_POSTGRESQL = {
    "53100": Trouble.FULL,
    "53": Trouble.BUSY,  # no memory, no connection left
    "40": Trouble.BUSY,  # a deadlock
    "55P03": Trouble.BUSY,  # lock_timeout
    "57014": Trouble.SLOW,  # statement_timeout
    "57": Trouble.LOST,  # shut down, restarting
    "08": Trouble.LOST,
    "58": Trouble.LOST,
    "25P03": Trouble.LOST,  # idle_in_transaction_session_timeout
}


def trouble(error: BaseException | None) -> Trouble | None:
    """Which trouble an error tells of; ``None`` for all other errors. Each of Django's has the driver's as its cause."""
    if isinstance(error, OSError):
        return Trouble.FULL if error.errno in _FULL_DISK else None
    if not isinstance(error, DatabaseError | InterfaceError):
        return None
    cause = error.__cause__ or error
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "")
        return _SQLITE.get(name) or _SQLITE.get("_".join(name.split("_")[:2]))
    if code := getattr(cause, "sqlstate", None):
        return _POSTGRESQL.get(code) or _POSTGRESQL.get(code[:2])
    # No server has answered.
    return Trouble.LOST if isinstance(error, OperationalError | InterfaceError) else None


class Cache(DatabaseCache):
    """Django's keeps silent when it cannot write, and allauth would take that for too many attempts to sign in."""

    def _base_set(self, *args: Any, **options: Any) -> bool:
        stored = super()._base_set(*args, **options)  # type: ignore[misc]
        if not stored:  # if that was an error, this one fails, too
            execute(
                "INSERT INTO cache (cache_key, value, expires) VALUES ('probe', '', CURRENT_TIMESTAMP)"
                " ON CONFLICT (cache_key) DO UPDATE SET expires = CURRENT_TIMESTAMP"
            )
        return stored
