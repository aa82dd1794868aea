"""Making things go wrong at a chosen moment: a forked process that is killed, a lost connection, a full disk."""

import os
import random
import resource
import signal
import sqlite3
import time
import traceback
from contextlib import ExitStack, contextmanager
from unittest import mock

from django.apps import apps
from django.db import connection, connections

APPS = ("datasets", "work", "projects", "ontologies", "resources", "graph")
READS = ("SELECT", "WITH", "BEGIN", "SET", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK", "DROP TABLE IF EXISTS spool")


@contextmanager
def watching(point, after_commits=True):
    """Call ``point`` before each SQL statement and each row of a COPY, and before and after each commit of this thread."""
    database = connections["default"]
    commit = database._commit

    def statement(execute, sql, params, many, context):
        point()
        return execute(sql, params, many, context)

    def watched_commit():
        point()
        commit()
        if after_commits:
            point()

    with ExitStack() as stack:
        stack.enter_context(database.execute_wrapper(statement))
        stack.enter_context(mock.patch.object(database, "_commit", watched_commit))
        if connection.vendor == "postgresql":
            from psycopg import Copy

            write = Copy.write_row
            stack.enter_context(mock.patch.object(Copy, "write_row", lambda self, row: (point(), write(self, row))[1]))
        yield


def at(number, action):
    """A point that does something when it is passed for the n-th time."""
    passed = iter(range(1, number + 1))

    def point():
        if next(passed, 0) == number:
            action()

    return point


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def lose():
    """End the server's side of this thread's connection, as a restart does; a file cannot be read any more."""
    if connection.vendor == "sqlite":
        say("SQLITE_IOERR_READ", "disk I/O error")
    import psycopg

    with psycopg.connect(connection.connection.info.dsn, password=connection.settings_dict["PASSWORD"]) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])


def fill():
    """Say what the database says when its disk is full."""
    if connection.vendor == "sqlite":
        say("SQLITE_FULL", "database or disk is full")
    import psycopg

    if (
        connection.connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE
    ):  # in a COPY it takes nothing else
        raise psycopg.errors.DiskFull("no space left on device")
    with connection.wrap_database_errors:
        connection.connection.execute("DO $$ BEGIN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END $$")


def say(name, text):
    """Raise an error of SQLite as Django does."""
    error = sqlite3.OperationalError(text)
    error.sqlite_errorname = name
    with connection.wrap_database_errors:
        raise error


def leave_room(size):
    """This process can make no file larger than so many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def give_room():
    leave_room(resource.getrlimit(resource.RLIMIT_FSIZE)[1])


class FullDisk:
    """From `begin` to `end` whatever writes meets a full disk."""

    full = False

    def begin(self):
        self.full = True

    def end(self, *_):
        self.full = False

    def __call__(self, execute, sql, params, many, context):
        if self.full and not sql.lstrip().startswith(READS):
            fill()
        return execute(sql, params, many, context)


def start_child(work):
    """Run something in a forked process with a connection of its own; returns the process id."""
    connections.close_all()
    if pid := os.fork():
        return pid
    # While a browser is open its event loop has a connection of its own in this thread; the loop does not run in the child, which
    # finds the thread's, still open in the parent: neither may the child use it nor say goodbye through it.
    connection.connection = None
    code = 99
    try:
        code = work() or 0
    except BaseException:
        give_room()
        traceback.print_exc()
    finally:
        os._exit(code)


def end_of(pid):
    """The exit status of a child, or minus the number of the signal that ended it, when the database has noticed it, too."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if connection.vendor == "postgresql":
        deadline = time.monotonic() + 10
        while _others() and time.monotonic() < deadline:
            time.sleep(0.01)
    return code


def _others():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return cursor.fetchone()[0]


def killed_at(number, work):
    """Whether a child was killed at its n-th point; if not, it came to its end."""

    def watched():
        with watching(at(number, die)):
            work()

    code = end_of(start_child(watched))
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def killed_after(seconds, work):
    """Whether a child was killed after so many seconds, at some moment of its work."""
    pid = start_child(work)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    code = end_of(pid)
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def moments(count, longest):
    """So many random moments up to a number of seconds, in another order each time."""
    return [random.uniform(0, longest) for _ in range(count)]


def rows():
    """All that the apps have stored: the rows of each table."""
    found = {}
    for model in models():
        columns = [field.attname for field in model._meta.concrete_fields]
        found[model._meta.label] = sorted(map(str, model._base_manager.values_list(*columns)))
    return found


def counts(stored):
    return {label: len(of_table) for label, of_table in stored.items()}


def orphans():
    """Rows that name a row which is not there."""
    return [
        f"{model._meta.label}.{field.name}"
        for model in models()
        for field in model._meta.concrete_fields
        if field.is_relation
        and model._base_manager.exclude(**{field.name: None})
        .exclude(**{f"{field.name}__in": field.related_model._base_manager.values("pk")})
        .exists()
    ]


def models():
    return [model for name in APPS for model in apps.get_app_config(name).get_models(include_auto_created=True)]
