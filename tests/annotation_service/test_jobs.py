import os
import signal
import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.template.loader import render_to_string
from django.utils import timezone

from annotation_service import jobs
from annotation_service.inputs import Refused
from annotation_service.models import Job, JobState, new_file, start_job
from tests import factories, faults
from tests.threads import running


@pytest.fixture
def work(monkeypatch):
    """Registers a function as the work of the kind “test”."""

    def register(run):
        monkeypatch.setitem(jobs.KINDS, "test", jobs.JobKind(run))

    return register


def queued(by, **target):
    return start_job("test", title="A test", by=by, target=target)


def done(job):
    claimed = jobs.claim()
    assert claimed == job
    jobs.run(claimed)
    job.refresh_from_db()
    return job


def failing(error):
    def run(job, progress):
        raise error

    return run


def go_stale():
    Job.objects.filter(state="running").update(heartbeat_at=timezone.now() - Job.STALE - timedelta(seconds=1))


def wait_for(is_over):
    deadline = time.monotonic() + 60
    while not is_over() and time.monotonic() < deadline:
        time.sleep(0.01)


@contextmanager
def workers(count):
    """So many, until the work of the block is over."""
    stop = threading.Event()
    with running(*[lambda: jobs.work(stop.is_set, poll=0.01)] * count):
        try:
            yield
        finally:
            stop.set()


def test_a_job_is_claimed_once_and_in_order(alice):
    first, second = queued(alice), queued(alice)
    assert [jobs.claim(), jobs.claim(), jobs.claim()] == [first, second, None]


def test_the_outcome_is_kept(alice, work):
    work(lambda job, progress: job.finish(url="/somewhere/"))
    job = done(queued(alice))
    assert (job.state, job.result) == ("done", {"url": "/somewhere/"})


def test_a_refusal_is_kept_with_its_places(alice, work):
    work(failing(Refused("Too long.", place="line 7")))
    job = done(queued(alice))
    assert job.state == "failed"
    assert job.errors == {"problems": [["line 7", "Too long."]], "total": 1}


def test_an_unexpected_error_is_logged_and_said(alice, work, caplog):
    work(lambda job, progress: 1 / 0)
    job = done(queued(alice))
    assert job.state == "failed"
    assert "unexpected error" in job.errors["message"]
    assert "ZeroDivisionError" in caplog.text


def test_a_waiting_job_is_cancelled_at_once(alice):
    job = queued(alice)
    job.request_cancel()
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert jobs.claim() is None


def test_a_job_whose_worker_died_is_taken_up_again_but_not_for_ever(alice, work):
    job = queued(alice)
    for attempt in range(1, Job.MAX_ATTEMPTS + 1):
        assert jobs.claim().attempts == attempt
        assert jobs.claim() is None  # its heartbeat is fresh
        go_stale()
    work(lambda job, progress: job.finish())
    job = done(job)
    assert job.state == "failed"
    assert "stopped 3 times" in job.errors["message"]


@pytest.mark.django_db(transaction=True)
def test_work_that_was_taken_up_again_is_stored_once(work):
    alice = factories.manager("alice")

    def run(job, progress):
        with transaction.atomic():
            factories.user(f"outcome-of-attempt-{job.attempts}")
            job.finish(attempt=job.attempts)

    work(run)
    queued(alice)
    slow = jobs.claim()
    go_stale()
    quick = jobs.claim()
    jobs.run(slow)
    assert Job.objects.get().state == "running"
    jobs.run(quick)
    jobs.run(slow)
    assert Job.objects.get().result == {"attempt": 2}
    assert [u.username for u in type(alice).objects.filter(username__startswith="outcome")] == ["outcome-of-attempt-2"]


@pytest.mark.parametrize("error", [Refused("No."), jobs.Cancelled(), ValueError("x")], ids=repr)
def test_a_worker_that_was_overtaken_does_not_end_the_job(alice, work, error):
    work(failing(error))
    queued(alice)
    slow = jobs.claim()
    go_stale()
    quick = jobs.claim()
    jobs.run(slow)
    assert Job.objects.get().state == "running"
    quick.finish()
    assert Job.objects.get().state == "done"


def test_a_job_is_taken_up_again_after_the_database_was_away(alice, work):
    job = queued(alice)

    def run(job, progress):
        if job.attempts == 1:
            raise OperationalError("the server closed the connection")
        job.finish()

    work(run)
    with pytest.raises(OperationalError):
        jobs.run(jobs.claim())
    go_stale()
    assert done(job).state == "done"


@pytest.mark.django_db(transaction=True)
def test_the_beat_goes_on_with_a_new_connection(work, monkeypatch):
    monkeypatch.setattr(jobs.Progress, "INTERVAL", 0.02)
    alice = factories.manager("alice")
    broken = []
    claimed = Job.still_claimed

    def beat(**values):
        # The beat's first connection is lost, as after a restart of the database.
        connection.ensure_connection()
        if not broken:
            broken.append(connection.connection)
            raise OperationalError("the server closed the connection")
        assert connection.connection is not broken[0]
        broken.append(connection.connection)

    def still_claimed(job):
        rows = claimed(job)
        if threading.current_thread() is not threading.main_thread():
            rows.update = beat
        return rows

    monkeypatch.setattr(Job, "still_claimed", still_claimed)

    def run(job, progress):
        wait_for(lambda: len(broken) >= 2)
        job.finish()

    work(run)
    done(queued(alice))
    assert len(broken) >= 2


@pytest.mark.django_db(transaction=True)
def test_a_worker_survives_whatever_happens(work, monkeypatch, caplog):
    alice = factories.manager("alice")

    def cleanup():
        raise PermissionError("not yours")

    monkeypatch.setattr(jobs, "delete_old_files", cleanup)
    work(lambda job, progress: job.finish())
    queued(alice)
    with workers(1):
        wait_for(Job.objects.filter(state="done").exists)
    assert Job.objects.get().state == "done"
    assert "not yours" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_", range(3))
def test_signals_at_any_moment_end_a_worker(_, tmp_path, monkeypatch):
    """Ctrl-C comes from the terminal and from bin/run: one signal may come while the other is taken."""
    sign = tmp_path / "sign"
    monkeypatch.setattr(jobs, "show_sign", sign.touch)
    pid = faults.start_child(lambda: call_command("worker"))
    wait_for(sign.exists)
    deadline, status = time.monotonic() + 20, None
    while status is None and time.monotonic() < deadline:
        os.kill(pid, signal.SIGTERM)
        ended, status = os.waitpid(pid, os.WNOHANG)
        status = status if ended else None
    if status is None:
        os.kill(pid, signal.SIGKILL)
    assert status == 0


def test_an_upload_that_breaks_off_leaves_no_file(settings):
    def chunks():
        yield b"some"
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"), new_file() as (_name, target):
        target.writelines(chunks())
    assert not list(settings.UPLOAD_DIR.iterdir())


def test_a_page_says_when_nobody_does_the_work(alice):
    job = queued(alice)
    assert job.has_no_worker
    jobs.show_sign()
    assert not job.has_no_worker


def test_a_worker_that_is_busy_with_another_job_is_there(alice):
    job, other = queued(alice), queued(alice)
    for seconds, is_gone in ((0, False), (14, False), (16, True)):
        heard = timezone.now() - timedelta(seconds=seconds)
        Job.objects.filter(pk=other.pk).update(state=JobState.RUNNING, heartbeat_at=heard)
        assert job.has_no_worker is is_gone


def test_signs_of_workers_that_lie_in_the_future_are_old_ones(alice, monkeypatch):
    job, other = queued(alice), queued(alice)
    ahead = time.time() + 3600
    with monkeypatch.context() as clock:
        clock.setattr("time.time", lambda: ahead)
        jobs.show_sign()
    Job.objects.filter(pk=other.pk).update(state=JobState.RUNNING, heartbeat_at=timezone.now() + timedelta(hours=1))
    other.refresh_from_db()
    assert job.has_no_worker and other.has_no_worker
    jobs.show_sign()
    assert not job.has_no_worker


def test_a_job_whose_worker_died_before_a_clock_was_set_back_is_taken_up_again(alice, monkeypatch):
    """Its heartbeat lies in the future and counts as one of now: that of a worker which is there comes anew."""
    job = queued(alice)
    assert jobs.claim() == job
    Job.objects.update(heartbeat_at=timezone.now() + timedelta(hours=1))
    assert jobs.claim() is None
    now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: now() + Job.STALE + timedelta(seconds=1))
    assert jobs.claim() == job


def test_a_page_says_when_a_worker_is_not_heard_of(as_alice):
    job = queued(as_alice.user)
    Job.objects.update(state=JobState.RUNNING, heartbeat_at=timezone.now())
    address = f"/jobs/{job.pk}/progress/"
    assert "No news" not in as_alice.get(address).text
    Job.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=20))
    assert "No news from the worker for 2" in as_alice.get(address).text


@pytest.mark.django_db(transaction=True)
def test_progress_and_cancelling_reach_a_job_inside_its_transaction(work, monkeypatch):
    monkeypatch.setattr(jobs.Progress, "INTERVAL", 0.02)
    alice = factories.manager("alice")
    seen = []

    def run(job, progress):
        for step in range(1000):
            progress(step, 1000, "reading")
            time.sleep(0.01)
            if step == 20:
                seen.append(Job.objects.get().done)
                job.request_cancel()

    work(run)
    job = done(queued(alice))
    assert job.state == "cancelled"
    assert seen[0] > 0


@pytest.mark.django_db(transaction=True)
def test_workers_share_the_work(work):
    alice = factories.manager("alice")
    taken = []

    def run(job, progress):
        with transaction.atomic():
            taken.append(job.pk)
            job.finish()

    work(run)
    expected = {queued(alice).pk for _ in range(20)}
    with workers(3):
        wait_for(lambda: not Job.objects.exclude(state="done").exists())
    assert set(taken) == expected
    assert len(taken) == 20


def test_old_files_are_deleted_but_not_those_that_are_needed(db, folder, monkeypatch):
    old_files(folder, "old", "waiting")
    (folder / "new").write_text("x")
    monkeypatch.setattr(jobs, "FILES_IN_USE", [lambda: ["waiting"]])
    jobs.delete_old_files()
    assert names_in(folder) == ["new", "waiting"]


def test_a_cleanup_that_fails_keeps_no_other_from_its_work(db, folder, monkeypatch, caplog):
    old_files(folder, "old", "needed")
    swept = []
    monkeypatch.setattr(jobs, "CLEANUPS", [lambda: 1 / 0, lambda: swept.append("second")])
    monkeypatch.setattr(jobs, "FILES_IN_USE", [lambda: ["needed"]])
    jobs.clean_up()
    assert swept == ["second"] and "ZeroDivisionError" in caplog.text
    assert names_in(folder) == ["needed"]


@pytest.fixture
def folder(settings):
    settings.UPLOAD_DIR.mkdir()
    return settings.UPLOAD_DIR


def old_files(folder, *names):
    for name in names:
        (folder / name).write_text("x")
        os.utime(folder / name, (0, 0))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_cannot_be_deleted_does_not_keep_the_other_old_files(db, folder, monkeypatch, caplog):
    (folder / "lost+found").mkdir()
    os.utime(folder / "lost+found", (0, 0))
    old_files(folder, "a", "denied", "z")
    unlink = type(folder).unlink

    def deny(path, missing_ok=False):
        if path.name == "denied":
            raise PermissionError("not yours")
        unlink(path, missing_ok)

    monkeypatch.setattr(type(folder), "unlink", deny)
    jobs.delete_old_files()
    assert names_in(folder) == ["denied", "lost+found"]
    assert "not yours" in caplog.text and "lost+found" not in caplog.text


def test_two_workers_delete_the_same_old_files(db, folder, monkeypatch, caplog):
    old_files(folder, "gone before it is looked at", "gone before it is deleted", "z")
    path_type = type(folder)
    iterdir, unlink = path_type.iterdir, path_type.unlink

    def early(listed):
        for path in list(iterdir(listed)):
            if path.name == "gone before it is looked at":
                unlink(path)
            yield path

    def late(path, missing_ok=False):
        if path.name == "gone before it is deleted":
            unlink(path)
        unlink(path, missing_ok)

    monkeypatch.setattr(path_type, "iterdir", early)
    monkeypatch.setattr(path_type, "unlink", late)
    jobs.delete_old_files()
    assert not list(iterdir(folder)) and not caplog.text


def test_a_job_is_seen_by_who_started_it_and_by_staff(as_alice, as_bob, as_sam):
    job = queued(as_alice.user)
    for client, status in ((as_alice, 200), (as_sam, 200), (as_bob, 404)):
        assert client.get(f"/jobs/{job.pk}/").status_code == status
    assert as_bob.post(f"/jobs/{job.pk}/cancel/").status_code == 404
    assert "No worker is running" in as_alice.get(f"/jobs/{job.pk}/").text


def test_a_finished_job_leads_to_its_outcome(as_alice, work, settings):
    job = queued(as_alice.user)
    work(lambda job, progress: job.finish(url="/ontologies/"))
    done(job)
    assert as_alice.get(f"/jobs/{job.pk}/")["Location"] == "/ontologies/"
    progress = as_alice.get(f"/jobs/{job.pk}/progress/")
    assert "reload" in progress["HX-Trigger-After-Swap"]
    assert "hx-trigger" not in progress.text  # nothing is asked any more while the page is loaded again
    settings.UPLOAD_DIR.mkdir(exist_ok=True)
    (settings.UPLOAD_DIR / "abc").write_bytes(b"zip")
    Job.objects.update(result={"file": "abc", "name": "pumps.zip"})
    response = as_alice.get(f"/jobs/{job.pk}/file/")
    assert response.getvalue() == b"zip"
    assert response["Content-Disposition"] == 'attachment; filename="pumps.zip"'


def test_the_outcome_is_told_once(as_alice, work):
    work(lambda job, progress: job.finish(url="/ontologies/", text="“Pumps” is yours."))
    job = done(queued(as_alice.user))
    told = ["is yours" in as_alice.get(f"/jobs/{job.pk}/", follow=True).text for _ in range(2)]
    assert told == [True, False]


def test_the_page_says_what_part_is_done_and_never_more_than_all(db):
    for done, said in ((300, "300 of about 400 · 75 %"), (500, "500 of about 400")):
        page = render_to_string(
            "jobs/_progress.html", {"job": Job(pk=1, state="running", phase="reading", done=done, total=400)}
        )
        assert f"Reading: {said} <" in " ".join(page.split())
