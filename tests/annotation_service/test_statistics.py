"""Whoever writes much leaves statistics behind by which the database plans: see `annotation_service.db.refresh_statistics`."""

import threading
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection

from annotation_service import db, jobs
from annotation_service.db import refresh_statistics, write
from projects.assignment.rule import AssignmentRule
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
MANY, TEXT = 40, "".join(f"line {n}\n" for n in range(50))


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(db, "MANY_ROWS", MANY)
    monkeypatch.setattr(db, "BULK_ROWS", MANY // 4)
    db._changes.rows.clear()


@contextmanager
def refreshed(trouble=""):
    """The tables whose statistics are refreshed meanwhile; SQLite finds out by itself which they are."""
    tables = set()

    def listen(execute, sql, *args):
        if sql.startswith(("ANALYZE", "PRAGMA optimize")):
            tables.add(sql.split()[2] if sql.startswith("ANALYZE") else "any")
            if trouble:
                raise OperationalError(trouble)
        return execute(sql, *args)

    with connection.execute_wrapper(listen):
        yield tables


def groups(*numbers):
    return Group.objects.bulk_create(Group(name=f"group {n}") for n in numbers)


def expected(table):
    return "any" if connection.vendor == "sqlite" else table


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


WRITES = {
    "import": ("datasets_item", lambda project, by: factories.dataset(owner=by, text=TEXT)),
    "copy": ("datasets_item", lambda project, by: project.dataset.copy_to(by=by)),
    "labels": (
        "ontologies_ontologyitem",
        lambda project, by: factories.ontology(owner=by, items=[{"name": f"Label {n}"} for n in range(MANY)]),
    ),
    "dealing": ("projects_assignment", lambda project, by: project.set_rule(AssignmentRule(1), by=by)),
    "putting into the bin": (
        "datasets_item",
        lambda project, by: project.dataset.remove(project.dataset.items(), by=by),
    ),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_bulk_write_refreshes_the_statistics(project, alice, what):
    table, work = WRITES[what]
    with refreshed() as tables:
        work(project, alice)
    assert expected(table) in tables


def test_they_are_right_at_once(alice):
    dataset = factories.dataset(owner=alice, text=TEXT)
    assert dataset.items().filter(external_id="none").count() == 0  # SQLite looks at what has been asked for
    factories.dataset(owner=alice, text=TEXT)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT COUNT(*) > 0 FROM sqlite_stat1 WHERE tbl = 'datasets_item'")
        else:
            cursor.execute("SELECT reltuples = 100 FROM pg_class WHERE relname = 'datasets_item'")
        assert cursor.fetchone()[0]


def test_portions_of_one_work_count_together_and_the_steps_of_a_person_do_not():
    with refreshed() as tables:
        for n in range(MANY):
            with write():
                groups(n)
        assert not tables
        for n in range(1, 4):
            assert not tables
            with write():
                groups(*range(n * MANY, n * MANY + MANY // 3 + 1))
    assert tables == {expected("auth_group")}


def test_an_edit_that_renumbers_all_labels_refreshes_nothing(alice):
    ontology = factories.ontology(owner=alice, items=[{"name": f"Label {n}"} for n in range(2 * MANY)])
    with refreshed() as tables:
        ontology.add_item("Before", by=alice, parent=factories.item(ontology, "Label 0"))
    assert not tables


def test_what_was_taken_back_does_not_count():
    with refreshed() as tables, pytest.raises(ZeroDivisionError), write():
        groups(*range(2 * MANY))
        raise ZeroDivisionError
    with refreshed() as later, write():
        groups(1)
    assert not tables and not later


def test_the_worker_refreshes_them_once_all_is_deleted(alice, monkeypatch):
    dataset = factories.dataset(owner=alice, text=TEXT)
    stop, purges = threading.Event(), iter([MANY, 0])

    def purge(seconds):
        if not (left := next(purges)):
            stop.set()
        return left

    with refreshed() as tables:
        dataset.erase()
        assert not tables
        monkeypatch.setattr(jobs, "PURGES", [purge])
        jobs.work(stop.is_set, poll=0)
    assert expected("datasets_item") in tables


def test_what_is_stored_stays_if_they_cannot_be_refreshed(alice, caplog):
    with refreshed("canceling statement") as tables:
        dataset = factories.dataset(owner=alice, text=TEXT)
    assert tables and dataset.items().count() == 50
    assert "no new statistics" in caplog.text


def test_nothing_is_refreshed_by_name_that_is_not_there():
    with refreshed() as tables:
        refresh_statistics("datasets_item", "spool_item")
    assert tables == {expected("datasets_item")}
