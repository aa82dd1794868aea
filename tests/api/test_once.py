"""A request with a key that is killed, or comes twice at once, and is sent again: done once, and answered alike."""

from itertools import count
from threading import BoundedSemaphore
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.utils import timezone

from annotation_service.models import Job
from api import operations
from api.jobs import forget_old
from api.models import KeptAnswer, Token
from datasets.models import Dataset
from ontologies.models import Ontology
from tests import factories, faults
from tests.api.asks import request
from tests.soak import amount
from tests.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(alice):
    return Token.make(alice, "t", scope="manage")[1]


def send(token, ontology, key="k", name="Once"):
    return request(
        "POST", f"/api/v1/ontologies/{ontology.pk}/copies", token, {"name": name}, **{"Idempotency-Key": key}
    )


@pytest.mark.soak
def test_killed_at_any_moment_and_sent_again_it_is_done_once(token, alice):
    ontology = factories.ontology(owner=alice)
    for number in count(1):
        key = f"k{number}"

        was_killed = faults.killed_at(number, lambda key=key: (send(token, ontology, key, key), None)[1])
        answers = [send(token, ontology, key, key) for _ in range(2)]
        assert [each.status_code for each in answers] == [201, 201]
        assert answers[0].content == answers[1].content
        assert Ontology.objects.filter(name=key).count() == 1
        if not was_killed:  # it had fewer statements
            break
    assert number > 10


@pytest.mark.soak
def test_an_upload_that_is_killed_while_it_is_stored_keeps_its_file(token, alice):
    """Until its answer is stored, too: stored again, it is there once."""
    for number in count(1, amount(2, 1)):
        with_name = {"file_name": "a.txt", "name": f"d{number}", "kind": "standard", "dry_run": "1"}
        begun = request("POST", f"/api/v1/datasets?{urlencode(with_name)}", token, b"pump leaks\nmotor\n")
        address, key = f"/api/v1/uploads/{begun.json()['id']}/store", {"Idempotency-Key": f"s{number}"}

        was_killed = faults.killed_at(
            number, lambda at=(address, key): (request("POST", at[0], token, **at[1]), None)[1]
        )
        answers = [request("POST", address, token, **key) for _ in range(2)]
        assert [each.status_code for each in answers] == [200, 200]
        assert Dataset.objects.filter(name=f"d{number}").get().row_count == 2
        if not was_killed:
            break
    assert number > 10


def test_sent_many_times_at_once_it_is_done_once(token, alice):
    ontology = factories.ontology(owner=alice)
    answers = at_once(*[lambda: send(token, ontology)] * 6)
    assert {(each.status_code, each.content) for each in answers} == {(201, answers[0].content)}
    assert Ontology.objects.filter(name="Once").count() == 1


def test_what_was_refused_is_tried_again(token, alice):
    ontology = factories.ontology(owner=alice)
    assert send(token, ontology, name=" ").status_code == 422
    assert KeptAnswer.objects.count() == 0
    assert send(token, ontology).status_code == 201


def test_of_long_work_the_job_is_kept_and_shown_as_it_is_then(token, alice, settings):
    settings.JOB_ROWS = 0
    ontology = factories.ontology(owner=alice)
    first, again = send(token, ontology), send(token, ontology)
    assert (
        (first.status_code, first.json()["id"])
        == (again.status_code, again.json()["id"])
        == (202, Job.objects.get().pk)
    )
    Job.objects.update(state="done", result={"text": "Ready."})
    assert (send(token, ontology).status_code, send(token, ontology).json()["text"]) == (200, "Ready.")


def test_answers_are_forgotten_after_a_day(token, alice):
    send(token, factories.ontology(owner=alice))
    forget_old()
    assert KeptAnswer.objects.count() == 1
    KeptAnswer.objects.update(at=timezone.now() - KeptAnswer.KEPT * 2)
    forget_old()
    assert KeptAnswer.objects.count() == 0


def test_a_project_is_erased_with_tokens_whose_answers_are_kept(alice):
    project = factories.project(by=alice)
    own = Token.make(alice, "t", scope="manage", project=project)[1]
    answer = request("POST", f"/api/v1/projects/{project.pk}/agreement", own, **{"Idempotency-Key": "k"})
    assert (answer.status_code, KeptAnswer.objects.count()) == (202, 1)
    project.erase()
    assert not Token.objects.exists()
    KeptAnswer.objects.update(at=timezone.now() - KeptAnswer.KEPT * 2)
    forget_old()
    assert KeptAnswer.objects.count() == 0


def test_programs_that_wait_leave_threads_to_people(token, alice, settings, monkeypatch):
    """As many as may wait do; the next one is answered at once, and follows the job itself."""
    settings.JOB_ROWS = 0
    ontology = factories.ontology(owner=alice)
    job = send(token, ontology).json()["id"]
    monkeypatch.setattr(operations, "_waiting", BoundedSemaphore(1))
    monkeypatch.setattr(operations.time, "sleep", lambda seconds: answers.append(ask()))
    monkeypatch.setattr(operations.time, "monotonic", iter(range(0, 90, 9)).__next__)

    def ask():
        return request("GET", f"/api/v1/jobs/{job}", token, Prefer="wait=10").status_code

    answers = []
    assert ask() == 202 and answers == [202]
    assert operations._waiting.acquire(blocking=False)


def test_reading_works_on_a_full_disk(token):
    disk = faults.FullDisk()
    disk.begin()
    with connection.execute_wrapper(disk):
        assert request("GET", "/api/v1/me", token).status_code == 200
