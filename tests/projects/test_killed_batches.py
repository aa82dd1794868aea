"""Batches and their undo whose process is killed at any portion: a worker finishes them, and no list is wrong meanwhile."""

from contextlib import suppress
from datetime import timedelta
from unittest import mock

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotation_service import jobs
from annotation_service.models import Job
from datasets.models import Annotation, Entity, Rejection, Relation
from projects import all_alike
from tests import factories, faults
from tests.soak import SOAK
from work.models import Batch

TEXT = "pump oil leaks\noil leaks pump\nnothing\n"
WORDS = {"propagate": "leaks", "accept": "pump", "reject": "pump", "remove": "oil"}


pytestmark = pytest.mark.django_db(transaction=True)


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


def kill():
    connection._rollback()  # as the database does
    raise Killed


@pytest.fixture
def project(alice, carol, monkeypatch):
    """Of each word some marks: suggested or accepted, related, and on items begun or not."""
    monkeypatch.setattr("work.models.batch.ITEMS_AT_ONCE", 1)
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    labels = {label.name: label for label in project.entity_ontology.items()}
    has_part = project.relation_ontology.items().get(name="hasPart")
    for item in project.dataset.items():
        given = factories.annotation(item)
        marks = {}
        for n, token in enumerate(item.tokens):
            if token in ("pump", "oil"):
                mark = {"uid": f"g{n}", "start": n, "end": n, "label": labels["PhysicalObject"]}
                status = "suggested" if token == "pump" else "accepted"
                marks[token] = given.entity_set.create(**mark, status=status, origin="given")
        if len(marks) == 2:
            ends = {"source": marks["pump"], "target": marks["oil"]}
            given.relation_set.create(uid="r", label=has_part, **ends, status="suggested", origin="given")
    Annotation.start(project.dataset.items()[0], carol)
    return project


def as_stored():
    """All that people see, and what decides about suggestions."""
    kept = {model: list(model.objects.order_by("pk").values()) for model in (Entity, Relation, Rejection)}
    return kept | {Annotation: list(Annotation.objects.order_by("pk").values("pk", "item", "annotator", "started_at"))}


def killed(number, work):
    """Whether it was killed at its n-th commit, before or after it; in the long form at its n-th statement, by a signal."""
    if SOAK:
        return faults.killed_at(number, work)
    point, commit = faults.at(number, kill), connection._commit
    with mock.patch.object(connection, "_commit", lambda: (point(), commit(), point())), suppress(Killed):
        work()
        return False
    return True


def let_a_worker_finish():
    Job.objects.update(heartbeat_at=timezone.now() - Job.STALE - timedelta(seconds=1))
    while job := jobs.claim():
        jobs.run(job)


@pytest.mark.soak
@pytest.mark.parametrize("verb", Batch.Verb.values)
def test_a_worker_finishes_what_a_dead_process_left(project, carol, as_carol, verb):
    label = project.entity_ontology.items().get(name="State" if verb == "propagate" else "PhysicalObject").uid
    values = {"verb": verb, "kind": "entity", "form": {"tokens": [WORDS[verb]], "label": label}}

    def told():
        return as_carol.get(reverse("annotations:batches", args=[project.pk])).text

    before, number, kills = as_stored(), 0, 1
    while kills:
        number += 1
        count = Batch.objects.count()
        kills = killed(number, lambda: all_alike.apply(project, carol, values))
        if Batch.objects.count() == count:  # killed before anything was stored
            assert as_stored() == before
            continue
        batch = Batch.objects.first()
        assert batch.state == "stored" or (batch.state == "storing" and "being stored" in told())
        let_a_worker_finish()
        batch.refresh_from_db()
        assert (batch.state, batch.made, batch.to_undo()) == ("stored", 2, (2, 0, 0))
        assert "all still as they were left" in told()
        kills += killed(number, batch.start_undo)
        batch.refresh_from_db()
        if batch.state == "stored":  # killed before it began
            batch.start_undo()
        elif batch.state != "undone":
            assert batch.state == "undoing" and "being undone" in told()
            let_a_worker_finish()
        batch.refresh_from_db()
        assert (batch.state, batch.kept) == ("undone", {"changed": 0, "done": 0})
        assert as_stored() == before and "being" not in told()
    assert number > 7
