"""What people get when the database is lost or the disk is full: 503 or 507 where they look, and what they typed."""

import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from unittest import mock

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.db.backends.signals import connection_created
from django.test import Client

from annotation_service.db import Trouble, execute, limit_statements, snapshot, trouble, write
from annotation_service.models import Job, User, start_job
from datasets.models import Entity, Upload
from tests import factories, faults

pytestmark = pytest.mark.django_db(transaction=True)

FULL, LOST, SLOW = Trouble.FULL.value, Trouble.LOST.value, Trouble.SLOW.value
FRAGMENT = {"HX-Request": "true"}
JSON = {"Accept": "application/json"}


@pytest.fixture
def people():
    return factories.manager("alice"), factories.user("carol")


@pytest.fixture
def project(people):
    alice, carol = people
    return factories.project(by=alice, annotators=[carol])


def signed_in(user):
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def post_form(client, address, values):
    """Post it as a browser does: the check of its token reads it first."""
    client.handler.enforce_csrf_checks = True
    token = "x" * 32
    client.cookies["csrftoken"] = token
    return client.post(address, {"csrfmiddlewaretoken": token, **values})


def item_address(project):
    return f"/projects/{project.pk}/annotate/{project.dataset.items().first().pk}/"


def marker(client, project):
    """A function that sends a mark with the given uid, and reads nothing from the database itself."""
    address = f"{item_address(project).replace('annotate', 'items')}entities/add/"
    body = {"start": 0, "end": 0, "label": project.entity_ontology.items().first().uid}

    def send(uid):
        return client.post(address, body | {"uid": uid}, content_type="application/json", headers=JSON)

    return send


@contextmanager
def no_database():
    """Nothing answers where it should be."""
    connection.close()
    gone = {"NAME": "/nowhere/at/all"} if connection.vendor == "sqlite" else {"PORT": "1"}
    with mock.patch.dict(connection.settings_dict, gone):
        yield
    connection.close()


@contextmanager
def full_disk():
    disk = faults.FullDisk()
    disk.begin()
    with connection.execute_wrapper(disk):
        yield


# --- A lost connection ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["/", "project", "item"])
def test_whoever_reads_does_not_notice_a_lost_connection(people, project, address):
    address = {"project": f"/projects/{project.pk}/", "item": item_address(project)}.get(address, address)
    client = signed_in(people[1])
    lost = []
    for number in count(1):
        with faults.watching(faults.at(number, lambda: (lost.append(1), faults.lose()))):
            assert client.get(address).status_code == 200
        connection.close()
        if len(lost) < number:
            break
    assert number > 3


def test_a_mark_that_is_sent_again_after_a_lost_connection_is_stored_once(people, project):
    send, lost, statuses = marker(signed_in(people[1]), project), [], []
    for number in count(1):
        with faults.watching(faults.at(number, lambda: (lost.append(1), faults.lose()))):
            response = send(f"m{number}")
        connection.close()  # a lost one is noticed by the next request
        statuses.append(response.status_code)
        if response.status_code == 503:
            assert response.json() == {"error": LOST} and int(response["Retry-After"]) > 0
            assert send(f"m{number}").status_code == 200
        assert Entity.objects.count() == 1
        Entity.objects.all().delete()
        if len(lost) < number:
            break
    assert set(statuses) == {200, 503}


def test_without_a_database_nobody_gets_a_traceback(people, project, caplog):
    client, address = signed_in(people[1]), item_address(project)
    with no_database():
        page = client.get("/")
        fragment = client.get("/", headers=FRAGMENT)
        data = client.get(address, headers=JSON)
    for response in (page, fragment, data):
        assert response.status_code == 503 and int(response["Retry-After"]) > 0
        assert "frame-ancestors" in response["Content-Security-Policy"]
    assert LOST in page.text and 'http-equiv="refresh"' in page.text
    assert fragment.text == LOST and data.json() == {"error": LOST}
    assert fragment["Content-Type"] == "text/plain"  # what the scripts take for a sentence to show
    assert "Traceback" not in caplog.text and "LOST" in caplog.text
    assert client.get("/").status_code == 200


def test_an_address_forges_no_line_of_the_log(people, caplog):
    client = signed_in(people[1])
    with no_database():
        assert client.get("/%0AERROR forged").status_code == 503
    assert "GET /%0AERROR%20forged: LOST" in caplog.text and "\nERROR" not in caplog.text


def test_a_form_that_could_not_be_stored_holds_what_was_typed(people):
    client = signed_in(people[0])
    sent = {"name": "<b>Pumps & “valves”", "description": "Two\nlines", "labels": ["1", "2"]}
    with no_database():
        response = post_form(client, "/projects/new/?from=here", sent)
    page = response.text
    assert response.status_code == 503
    assert 'action="/projects/new/?from=here"' in page and 'http-equiv="refresh"' not in page
    assert 'name="name" value="&lt;b&gt;Pumps &amp; “valves”"' in page
    assert 'name="description" value="Two\nlines"' in page
    assert page.count('name="labels"') == 2


def test_no_page_holds_a_password():
    with no_database():
        client = Client(raise_request_exception=False)
        response = post_form(client, "/accounts/login/", {"login": "a", "password": "secret"})
    assert response.status_code == 503 and "secret" not in response.text


def test_what_a_command_cannot_do_it_says_in_one_line(people, capsys, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a line\n")
    with full_disk(), pytest.raises(SystemExit) as exit:
        call_command("import_dataset", str(path), kind="standard", owner="alice")
    assert exit.value.code == 1 and capsys.readouterr().err.strip() == FULL
    with no_database(), pytest.raises(SystemExit) as exit:
        call_command("import_dataset", str(path), kind="standard", owner="alice")
    assert exit.value.code == 1 and capsys.readouterr().err.strip() == LOST


# --- A full disk ---------------------------------------------------------------------------------------------------------


def everything_on_a_full_disk(people, project):
    """Writing is refused with the reason, and reading works on. The disk is full when it is called."""
    alice, carol = people
    as_carol, as_alice = (clients[user.pk] for user in (carol, alice))
    refused = marker(as_carol, project)("m1")
    assert refused.status_code == 507 and refused.json() == {"error": FULL}
    created = post_form(as_alice, "/ontologies/new/", {"kind": "entity", "name": "Mine", "source": "empty"})
    assert created.status_code == 507 and FULL in created.text
    assert 'name="name" value="Mine"' in created.text
    form = {"login": "carol", "password": "a-long-password"}
    signing_in = Client(raise_request_exception=False).post("/accounts/login/", form)
    assert signing_in.status_code == 507 and FULL in signing_in.text
    ontology = project.entity_ontology.copied_from_id
    label, headers = project.entity_ontology.items().first(), {**FRAGMENT, "X-CSRFToken": "x" * 32}
    form = {"name": "Renamed", "was": label.name}
    renamed = as_alice.post(f"/ontologies/{ontology}/items/{label.uid}/rename/", form, headers=headers)
    assert renamed.status_code == 507 and renamed.text == FULL
    for client, address in (
        (as_carol, "/"),
        (as_carol, item_address(project)),
        (as_alice, f"/ontologies/{ontology}/"),
        (as_alice, f"/datasets/{project.dataset.pk}/"),
        (as_alice, f"/jobs/{Job.objects.get().pk}/"),
        (Client(), "/accounts/login/"),
    ):
        assert client.get(address).status_code == 200, address


clients = {}


def test_on_a_full_disk_reading_works_on(people, project):
    """In a process that can write no byte to any file; on PostgreSQL, whose server writes them, by the server's own error."""
    clients.update((user.pk, signed_in(user)) for user in people)
    start_job("bundle", title="Bundle", by=people[0], target={"project": project.pk})
    before = faults.rows()

    def child():
        User.objects.update(last_name="x")  # the files of the journal are there, as while the service runs
        if connection.vendor == "sqlite":
            faults.leave_room(0)
            everything_on_a_full_disk(people, project)
            faults.give_room()
        else:
            with full_disk():
                everything_on_a_full_disk(people, project)
        assert faults.rows() == before
        assert marker(clients[people[1].pk], project)("m1").status_code == 200

    assert faults.end_of(faults.start_child(child)) == 0
    assert Entity.objects.count() == 1


def test_a_file_for_which_there_is_no_room_is_refused(people, settings):
    """A large file, while it comes in; a small one, when it is kept."""
    alice = people[0]
    client = signed_in(alice)

    def child():
        client.get("/")
        faults.leave_room(100_000)
        for size in (settings.FILE_UPLOAD_MAX_MEMORY_SIZE + 1, 200_000):
            file = ContentFile(b"a line\n" * (size // 7 + 1), "lines.txt")
            form = {"kind": "standard", "format": "text", "tokeniser": "punkt", "name": "Kept name", "file": file}
            response = post_form(client, "/datasets/new/", form)
            assert response.status_code == 507 and FULL in response.text
        assert 'value="Kept name"' in response.text
        assert 'type="file" name="file"' in response.text

    assert faults.end_of(faults.start_child(child)) == 0
    assert not Upload.objects.exists() and not list(settings.UPLOAD_DIR.iterdir())


def test_a_finished_job_is_shown_on_a_full_disk(people):
    """Its message is told, though nobody can note that it was."""
    job = start_job("test", title="Copy", by=people[0], target={})
    Job.objects.update(state="running", heartbeat_at=None)
    job.refresh_from_db()
    job.finish(url="/ontologies/", text="“Pumps” is yours.")
    client = signed_in(people[0])
    with full_disk():
        response = client.get(f"/jobs/{job.pk}/", follow=True)
    assert response.status_code == 200 and "is yours" in response.text
    assert client.get(f"/jobs/{job.pk}/").status_code == 302


def test_reading_the_sign_of_a_worker_that_is_gone_writes_nothing(people):
    from annotation_service import jobs

    job = start_job("test", title="Copy", by=people[0], target={})
    jobs.show_sign()
    assert not job.has_no_worker
    with full_disk(), mock.patch("time.time", return_value=time.time() + 100):
        assert job.has_no_worker


# --- What takes too long -----------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "


def wait_for_ever(*args):
    execute(f"{ENDLESS} SELECT count(*) FROM n")


@pytest.fixture
def limited():
    """As in a web process, but for half a second."""
    limit_statements(0.5)
    connection.close()
    yield
    connection_created.disconnect(dispatch_uid="limit_statements")
    connection.close()
    connection.execute_wrappers.clear()


def test_who_waits_too_long_is_told_what_to_do(people, limited, monkeypatch):
    client = signed_in(people[0])
    monkeypatch.setattr("annotation_service.access.can_create", wait_for_ever)
    page, part, data = (client.get("/help/", headers=headers) for headers in ({}, FRAGMENT, JSON))
    for response in (page, part, data):
        assert response.status_code == 503 and int(response["Retry-After"]) == 60
    assert SLOW in page.text and "<h1>Too much at once</h1>" in page.text and 'http-equiv="refresh"' not in page.text
    assert part.text == SLOW and data.json() == {"error": SLOW}
    monkeypatch.undo()
    assert client.get("/help/").status_code == 200


def test_a_form_that_takes_too_long_holds_what_was_typed(people, limited, monkeypatch):
    client = signed_in(people[0])
    monkeypatch.setattr("annotation_service.access.can_create", wait_for_ever)
    response = post_form(client, "/ontologies/new/", {"kind": "entity", "name": "Mine", "source": "empty"})
    assert response.status_code == 503 and SLOW in response.text
    assert 'name="name" value="Mine"' in response.text and "It is not certain" not in response.text


@pytest.mark.parametrize("nested", [False, True])
def test_a_write_that_takes_too_long_is_taken_back_with_all_before_it(people, limited, nested):
    table = User._meta.db_table
    with pytest.raises(OperationalError) as error, write():
        User.objects.update(last_name="first")
        with transaction.atomic() if nested else write():
            execute(f"{ENDLESS} UPDATE {table} SET last_name = (SELECT max(i) FROM n)")
    assert trouble(error.value) is Trouble.SLOW
    assert not User.objects.exclude(last_name="").exists()
    with write():
        User.objects.update(last_name="after")
    assert {*User.objects.values_list("last_name", flat=True)} == {"after"}


def test_a_snapshot_that_takes_too_long_leaves_the_connection_as_it_was(people, limited):
    with pytest.raises(OperationalError), snapshot():
        wait_for_ever()
    assert not connection.in_atomic_block and not (
        connection.vendor == "sqlite" and connection.connection.in_transaction
    )
    assert User.objects.count() == 2


def test_many_quick_statements_may_take_longer_together(people, limited):
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert User.objects.count() == 2


@pytest.mark.parametrize(
    ("module", "is_limited"), [("annotation_service.wsgi", True), ("annotation_service.settings", False)]
)
def test_processes_that_answer_requests_are_limited(module, is_limited):
    asked = f"import {module}; from django.db.backends.signals import connection_created as c; print(c.has_listeners())"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(is_limited), done.stderr


def test_workers_and_commands_wait_as_long_as_it_takes():
    connection.ensure_connection()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("0",)
    assert not connection.execute_wrappers
