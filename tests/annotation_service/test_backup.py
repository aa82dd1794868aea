"""Backups of the database, the kept files and the key: made while people work, restored whole or not at all."""

import json
import os
import resource
import signal
import threading
import time
import uuid
import zipfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from annotation_service import backup
from annotation_service.inputs import Refused
from annotation_service.models import Job, User, start_job
from datasets.models import Annotation, Entity, Upload
from projects.models import Project
from tests import factories, faults
from tests.soak import amount
from tests.test_access import READ_AS
from tests.threads import at_once, running

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "k" * 60
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def path(settings, tmp_path):
    """Where the backups of a test go: alone in a folder. The service has a key of its own in a folder of the test."""
    settings.VAR_DIR, settings.SECRET_KEY, settings.LOCAL = tmp_path / "var", KEY, True
    settings.VAR_DIR.mkdir()
    (settings.VAR_DIR / "secret_key").write_text(KEY)
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "backup.zip"


@pytest.fixture
def project(path):
    """People who work: marks, an upload on its way, a finished job with its file."""
    alice, carol = factories.manager("alice"), factories.user("carol")
    project = factories.project(by=alice, annotators=[carol], text="".join(f"item {n}\n" for n in range(300)))
    annotation = Annotation.start(project.dataset.items()[0], carol)
    annotation.add_entity(uid="mark", label=project.entity_ontology.items()[0], start=0, end=1)
    upload = factories.upload("“one”\n", by=alice, options=READ_AS)
    upload.path.with_name("done").write_bytes(b"done")
    job = start_job("bundle", title="b\t\\\n", by=alice, target={"project": project.pk})
    Job.objects.filter(pk=job.pk).update(state="done", result={"file": "done", "name": "done.zip"})
    return project


def everything(settings):
    """The rows of all tables that are ours, and the kept files."""
    own = faults.rows() | {
        model._meta.label: sorted(map(str, model.objects.values_list())) for model in (User, Job, User.groups.through)
    }
    return own, {file.name: file.read_bytes() for file in settings.UPLOAD_DIR.glob("*")}


def make(path):
    return backup.create(path, print)


def restore(path, replace=True):
    return backup.restore(path, print, replace=replace)


def refusal(work, *args, **options):
    with pytest.raises(Refused) as refused:
        work(*args, **options)
    return str(refused.value)


def changed(path, name, change):
    """The archive with another content of one of its files."""
    new = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w") as archive:
        for info in old.infolist():
            content = old.read(info)
            archive.writestr(info.filename, change(content) if info.filename == name else content)
    return new


def with_manifest(path, **values):
    return changed(path, "manifest.json", lambda content: json.dumps(json.loads(content) | values))


def empty():
    call_command("flush", interactive=False, verbosity=0)


def pad():
    """Ten megabytes that are not compressed to nothing."""
    rows = [
        Session(session_key=str(n), session_data=os.urandom(10_000).hex(), expire_date=timezone.now())
        for n in range(500)
    ]
    Session.objects.bulk_create(rows)


def test_what_is_in_the_bin_is_counted(project, path):
    before = make(path).partition(";")[0]
    Project.objects.get().put_into_bin()
    assert make(path).partition(";")[0] == before and "1 entity" in before
    assert f"you lose what it has now: {before}." in refusal(restore, path, replace=False)


def test_everything_comes_back(project, path, settings):
    before, key = everything(settings), settings.VAR_DIR / "secret_key"
    done = make(path)
    assert path.stat().st_mode & 0o777 == 0o600 and os.listdir(path.parent) == ["backup.zip"]
    assert "2 users" in done and "1 entity" in done and "1 project" in done and done.endswith("kB")
    project.erase()
    factories.ontology(owner=factories.manager("zoe"))
    Upload.objects.get(report={}).discard()
    settings.UPLOAD_DIR.joinpath("done").write_bytes(b"something else")
    key.write_text("another")
    assert restore(path) == done.rpartition(";")[0]
    assert everything(settings) == before
    assert key.read_text() == KEY and key.stat().st_mode & 0o777 == 0o600
    assert not [name for name in os.listdir(settings.VAR_DIR) if "restore" in name]


def test_in_an_empty_database_the_restored_service_works(project, path, settings, capsys):
    last = factories.user("last")
    last_pk = last.pk
    last.delete()
    make(path)
    empty()
    settings.LOCAL, settings.SECRET_KEY = False, "l" * 60  # the key of the environment is left to whoever set it
    (settings.VAR_DIR / "secret_key").write_text("of old")
    restore(path, replace=False)
    assert "People have to sign in again" in capsys.readouterr().out
    assert (settings.VAR_DIR / "secret_key").read_text() == "of old"
    assert factories.user("next").pk > last_pk  # numbers go on where they were
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    assert client.get(f"/projects/{project.pk}/").status_code == 200
    assert client.get(f"/jobs/{Job.objects.get().pk}/file/").getvalue() == b"done"
    assert Upload.objects.get(state="new").examine().items == 1


def test_a_filled_database_is_not_replaced_unasked(project, path, settings):
    make(path)
    factories.user("late")
    before = everything(settings)
    said = refusal(restore, path, replace=False)
    assert (
        "you lose what it has now: 3 users, 1 job," in said and "there was on 20" in said and ": 2 users, 1 job" in said
    )
    assert everything(settings) == before


def test_the_service_must_not_run_meanwhile(project, path, settings):
    make(path)
    before = everything(settings)
    is_connected, is_over = threading.Event(), threading.Event()

    def serve():
        User.objects.count()
        is_connected.set()
        is_over.wait()

    with running(serve):
        is_connected.wait()
        try:
            assert "The service is running. Stop it" in refusal(restore, path)
        finally:
            is_over.set()
    assert everything(settings) == before


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"database": "Oracle"}, "a backup of Oracle, and the service uses"),
        (
            {"migrations": [["datasets", "0001_initial"], ["datasets", "9999_later"]]},
            "one that has datasets.9999_later",
        ),
        ({"rows": {"datasets_item": 7}}, "or rows are missing"),
        ({"rows": {"../../secret_key": 1}}, "has an odd name"),
        ({"columns": {"datasets_item": ['id") FROM STDIN; DROP TABLE datasets_item; --']}}, "has an odd name"),
        ({"names": ["secret_key", "another"]}, "or rows are missing"),
    ],
)
def test_what_does_not_fit_is_refused(project, path, settings, values, said):
    make(path)
    before = everything(settings)
    assert said in refusal(restore, with_manifest(path, **values))
    assert everything(settings) == before


def test_what_is_damaged_is_refused(project, path, settings):
    make(path)
    before, good = everything(settings), path.read_bytes()
    half = len(good) // 2
    with zipfile.ZipFile(path.with_name("other.zip"), "w") as other:
        other.writestr("some", "thing")
    worse = [
        b"",
        b"nonsense",
        good[:half],
        good[:half] + bytes(255 - byte for byte in good[half : half + 9]) + good[half + 9 :],
        path.with_name("other.zip").read_bytes(),
    ]
    for content in worse:
        path.write_bytes(content)
        assert "This is not a backup, or it is damaged" in refusal(restore, path)
    assert "Nothing was restored: [Errno 2]" in refusal(restore, path.with_name("nowhere"))
    assert everything(settings) == before


def test_a_database_that_is_broken_in_the_archive_is_refused(project, path, settings):
    make(path)
    before = everything(settings)
    if connection.vendor == "sqlite":
        bad = changed(
            path, "database/database.sqlite3", lambda content: content[:40960] + b"\xff" * 20000 + content[60960:]
        )
    else:
        bad = changed(path, "database/datasets_item", lambda content: content[: content.rindex(b"\n", 0, -1) + 1])
    assert refusal(restore, bad)
    assert everything(settings) == before


def test_an_error_of_the_service_is_not_taken_for_a_damaged_backup(project, path, monkeypatch):
    def fail(dump, manifest):
        raise ValueError("a mistake in the code")

    make(path)
    monkeypatch.setattr(backup.DUMPS[connection.display_name], "load", fail)
    with pytest.raises(ValueError, match="a mistake in the code"):
        restore(path)


def test_a_manifest_that_lacks_something_is_refused(project, path):
    make(path)
    for name in ("made_at", "rows", "migrations"):
        lacking = changed(
            path, "manifest.json", lambda content, name=name: content.replace(f'"{name}"'.encode(), b'"other"')
        )
        assert "it is damaged" in refusal(restore, lacking)


def test_a_backup_that_cannot_be_read_again_takes_nobodys_place(project, path, monkeypatch):
    path.write_text("the one of yesterday")
    monkeypatch.setattr(backup.DUMPS[connection.display_name], "count", lambda dump, manifest: {})
    assert "or rows are missing" in refusal(make, path)
    assert path.read_text() == "the one of yesterday" and os.listdir(path.parent) == ["backup.zip"]


@pytest.mark.parametrize("room", [0, 3000, 15_000])
def test_without_room_nothing_is_left_and_it_is_said(project, path, room):
    path.write_text("the one of yesterday")

    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        said = refusal(backup.create, path, lambda line: None)
        return 0 if "No backup was made: " in said else 1

    assert faults.end_of(faults.start_child(child)) == 0
    assert path.read_text() == "the one of yesterday" and os.listdir(path.parent) == ["backup.zip"]


def test_a_file_that_is_deleted_meanwhile_is_left_out(project, path, settings, monkeypatch):
    upload = Upload.objects.get(state="new")
    add = zipfile.ZipFile.write

    def late(archive, file, name):
        if Path(file) == upload.path:
            upload.path.unlink()
        add(archive, file, name)

    monkeypatch.setattr(zipfile.ZipFile, "write", late)
    make(path)
    with zipfile.ZipFile(path) as archive:
        assert [name for name in archive.namelist() if name.startswith("files/")] == ["files/done"]
    with pytest.raises(Refused, match="Upload it again"):
        upload.examine()


def test_an_older_one_is_brought_up_to_date(project, path, settings):
    Annotation.objects.update(touched_at=LONG_AGO)
    before = everything(settings)
    call_command("migrate", "work", "zero", verbosity=0)
    try:
        make(path)
    finally:
        call_command("migrate", verbosity=0)
    with zipfile.ZipFile(path) as archive:
        assert ["work", "0001_initial"] not in json.loads(archive.read("manifest.json"))["migrations"]
    restore(path)
    assert ("work", "0001_initial") in MigrationRecorder(connection).applied_migrations()
    Annotation.objects.update(touched_at=LONG_AGO)  # all counts as changed since
    assert everything(settings) == before


def test_people_save_while_a_backup_is_made(project, path):
    """In the middle of it, too: it does not wait until nobody writes. It has all that was saved before it began."""
    carol = User.objects.get(username="carol")
    labels, items = project.entity_ontology.items(), project.dataset.items()[1:]
    places = [(item, label, end) for label in labels for item in items for end in (0, 1)]
    pad()
    saved, failed, is_over = [], [], threading.Event()

    def save(places):
        client = Client()
        client.force_login(carol)
        for item, label, end in places:
            if is_over.is_set():
                return
            body = {"uid": uuid.uuid4().hex, "label": label.uid, "start": 0, "end": end}
            url = f"/projects/{project.pk}/items/{item.pk}/entities/add/"
            answer = client.post(url, body, content_type="application/json")
            (saved if answer.status_code == 200 else failed).append(body["uid"])

    def save_in_the_middle():
        at_once(partial(save, places[:1]))
        return tables()

    tables = backup._tables
    with running(*(partial(save, places[first::2]) for first in (1, 2))) as savers:
        while len(saved) < 10 and not all(saver.done() for saver in savers):
            time.sleep(0.01)
        before = list(saved)
        with mock.patch.object(backup, "_tables", save_in_the_middle):
            make(path)
        is_over.set()
    assert not failed and len(saved) > len(before)
    restore(path)
    there = set(Entity.objects.exclude(uid="mark").values_list("uid", flat=True))
    assert set(before) <= there <= set(saved)


def test_a_kill_in_the_middle_leaves_what_there_was(project, path, settings):
    pad()
    make(path)
    restored, _files = everything(settings)
    passed = []
    with faults.watching(lambda: passed.append(1)):
        restore(path)
    factories.ontology(owner=factories.manager("zoe"))
    before, files = everything(settings)

    def load_and_die():
        """SQLite writes all pages in one call, first into the file beside its own: the kernel ends the process there."""
        load = backup.SQLiteDump.load

        def load_a_part(dump, manifest):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            faults.leave_room(2_000_000)
            load(dump, manifest)

        with mock.patch.object(backup.SQLiteDump, "load", load_a_part):
            restore(path)

    seen = []
    if connection.vendor == "sqlite":
        assert faults.end_of(faults.start_child(load_and_die)) == -signal.SIGXFSZ
        assert everything(settings)[0] == before
    for part in range(1, amount(3, 60)):
        assert faults.killed_at(round(len(passed) * part / amount(3, 60)), lambda: restore(path))
        rows, left = everything(settings)
        assert rows in (before, restored) and left.items() >= files.items()
        seen.append(rows == before)
    assert seen[0] and seen == sorted(seen, reverse=True)
    restore(path)
    assert everything(settings)[0] == restored
