import errno
import sqlite3
import threading
import time

import pytest
from django.contrib.auth.models import Group
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError, transaction

from annotation_service.db import Trouble, among, snapshot, trouble, write
from tests.threads import at_once


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_does_not_see_what_is_written_meanwhile_and_holds_nobody_up():
    def names():
        return set(Group.objects.values_list("name", flat=True))

    def write_one():
        with write():
            Group.objects.create(name="meanwhile")

    Group.objects.create(name="before")
    with snapshot():
        before = names()
        start = time.monotonic()
        at_once(write_one)
        assert time.monotonic() - start < 5
        during = names()
    assert "before" in before and during == before
    assert names() - before == {"meanwhile"}


@pytest.mark.django_db(transaction=True)
def test_a_write_in_a_transaction_of_django_waits_for_nobody_who_waits_for_it():
    has_database, is_waiting = threading.Event(), threading.Event()
    done = []

    def as_django_admin_does():
        with transaction.atomic():
            Group.objects.create(name="outer")
            has_database.set()
            is_waiting.wait()
            time.sleep(0.2)  # the other one has its turn, and waits for the database
            with write():
                Group.objects.create(name="inner")
        done.append("admin")

    def write_one():
        has_database.wait()
        is_waiting.set()
        with write():
            Group.objects.create(name="other")
        done.append("other")

    at_once(as_django_admin_does, write_one)
    assert sorted(done) == ["admin", "other"]
    assert Group.objects.filter(name__in=["outer", "inner", "other"]).count() == 3


def test_keys_are_looked_up_however_many_they_are(db):
    made = Group.objects.bulk_create(Group(name=f"group {n}") for n in range(1000))
    pks = [group.pk for group in made]
    groups = Group.objects.order_by("-pk").values_list("pk", flat=True)
    for keys in ([], pks[:1], pks[100:200], pks[::3], {*pks[5:9]}, [*pks[:2], *range(10**6, 10**6 + 50_000)]):
        wanted = sorted(set(keys) & set(pks), reverse=True)
        assert list(groups.filter(pk__in=among(keys))) == wanted
    assert not groups.filter(pk__in=among([10**30])).exists()


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (OperationalError, "53100", Trouble.FULL),
        (OperationalError, "53300", Trouble.BUSY),
        (OperationalError, "55P03", Trouble.BUSY),
        (OperationalError, "57014", Trouble.SLOW),
        (OperationalError, "57P01", Trouble.LOST),
        (OperationalError, "54000", None),
        (OperationalError, None, Trouble.LOST),
        (InterfaceError, None, Trouble.LOST),
        (InternalError, "25P03", Trouble.LOST),
        (InternalError, "XX000", None),
        (ProgrammingError, "42P01", None),
        (ProgrammingError, None, None),
    ],
)
def test_what_postgresql_says_is_told_apart(error, code, expected):
    class Cause(Exception):
        sqlstate = code

    assert trouble(made(error, Cause())) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("SQLITE_FULL", Trouble.FULL),
        ("SQLITE_IOERR_WRITE", Trouble.FULL),
        ("SQLITE_IOERR_SHMSIZE", Trouble.FULL),
        ("SQLITE_IOERR_READ", Trouble.LOST),
        ("SQLITE_CANTOPEN", Trouble.LOST),
        ("SQLITE_BUSY", Trouble.BUSY),
        ("SQLITE_BUSY_SNAPSHOT", Trouble.BUSY),
        ("SQLITE_INTERRUPT", Trouble.SLOW),
        ("SQLITE_ERROR", None),  # no such table
    ],
)
def test_what_sqlite_says_is_told_apart(code, expected):
    cause = sqlite3.OperationalError("x")
    cause.sqlite_errorname = code
    assert trouble(made(OperationalError, cause)) is expected


def made(error, cause):
    error = error("x")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("code", "expected"), [(errno.ENOSPC, Trouble.FULL), (errno.EDQUOT, Trouble.FULL), (errno.EACCES, None)]
)
def test_what_a_file_system_says_is_told_apart(code, expected):
    assert trouble(OSError(code, "x")) is expected
