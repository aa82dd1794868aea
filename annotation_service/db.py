"""How the service writes to its database."""

import errno
import json
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from django.db import OperationalError, connection, models, transaction
from django.db.models.expressions import RawSQL

from .inputs import Refused

M = TypeVar("M", bound=models.Model)

_sqlite_turn = threading.RLock()


@contextmanager
def write() -> Iterator[None]:
    """One write transaction; nested ones join the outer one.

    SQLite has no queue for writers: each sleeps up to 100 ms and tries again, and an unlucky one waits for seconds. A lock
    of this process in front of it lets the threads take turns.
    """
    with _sqlite_turn if connection.vendor == "sqlite" else nullcontext(), transaction.atomic():
        yield


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
            execute("ROLLBACK")
    else:
        with transaction.atomic():
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


def execute(sql: str, params: Mapping[str, Any] | None = None) -> int:
    """Run one statement with ``%(name)s`` parameters; returns the number of rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount


def first(model: type[M], sql: str, params: Mapping[str, Any]) -> M | None:
    """The first row of a written-out query with ``%(name)s`` parameters, or ``None``.

    For what annotators wait for all day long: the ORM takes several times as long as the query itself to compose it.
    """
    return next(iter(model._base_manager.raw(sql, params)), None)


def among(keys: Collection[int] | Collection[str]) -> Any:
    """However many keys, for ``field__in``: as one parameter, for databases limit their number and Django looks at each."""
    if not keys:
        return ()
    if connection.vendor == "sqlite":
        return RawSQL("SELECT value FROM json_each(%s)", [json.dumps(list(keys))])
    kind = "text" if isinstance(next(iter(keys)), str) else "bigint"
    return RawSQL(f"SELECT unnest(%s::{kind}[])", [list(keys)])


@contextmanager
def full_disk_refused() -> Iterator[None]:
    """Say in words that there is no room, be it for a file, for the database or for what it sorts."""
    try:
        yield
    except (OSError, OperationalError) as error:
        cause = error.__cause__ or error
        is_full = (
            getattr(cause, "errno", None) in {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
            or getattr(cause, "sqlite_errorname", "") in {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"}
            or getattr(cause, "sqlstate", "") == "53100"
        )
        if not is_full:
            raise
        raise Refused(
            "There is no room left on the server’s disk, so nothing was stored. Tell your administrator."
        ) from error
