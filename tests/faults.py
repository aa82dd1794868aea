"""Making things go wrong at a chosen moment: a forked process that is killed, an exception, a full disk."""

import os
import random
import signal
import time
import traceback
from contextlib import ExitStack, contextmanager
from unittest import mock

from django.apps import apps
from django.db import OperationalError, connection, connections

APPS = ("datasets", "projects", "ontologies", "resources")


class Broken(OperationalError):
    """What a database says when it goes away."""


@contextmanager
def watching(point):
    """Call ``point`` before each SQL statement and each block of a COPY, and before and after each commit of this thread."""
    database = connections["default"]
    commit = database._commit

    def statement(execute, sql, params, many, context):
        point()
        return execute(sql, params, many, context)

    def watched_commit():
        point()
        commit()
        point()

    with ExitStack() as stack:
        stack.enter_context(database.execute_wrapper(statement))
        stack.enter_context(mock.patch.object(database, "_commit", watched_commit))
        if connection.vendor == "postgresql":
            from psycopg import Copy

            write = Copy.write
            stack.enter_context(mock.patch.object(Copy, "write", lambda self, data: (point(), write(self, data))[1]))
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


def fail():
    raise Broken("the database went away")


def start_child(work):
    """Run something in a forked process with a connection of its own; returns the process id."""
    connections.close_all()
    if pid := os.fork():
        return pid
    code = 99
    try:
        code = work() or 0
    except BaseException:
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
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
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
