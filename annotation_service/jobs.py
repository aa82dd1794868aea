"""Running jobs: the kinds there are, and what a worker does with one.

A kind is a function ``run(job, progress)`` registered in the ``jobs`` module of an app. It calls ``job.finish(…)`` inside the
transaction that writes its outcome; a worker that is killed or loses its database leaves either both or nothing, and the job is
taken up again.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import close_old_connections, connection
from django.db.models import F, Q
from django.utils import timezone

from .blueprints import PagedBlueprint, purge_deleted
from .db import Trouble, data_version, refresh_statistics, trouble, write
from .http import Request
from .inputs import Refused
from .models import WORKER_SIGN, Job, JobState, Overtaken

log = logging.getLogger(__name__)
KEEP_FILES = timedelta(hours=24)


class Cancelled(Exception):
    """The person who started the job asked to stop it."""


class Progress:
    """The work calls it with what is done so far; it raises `Cancelled` when somebody has asked to stop the job.

    A thread with its own connection stores the progress and the worker's heartbeat: the work may be inside a transaction that
    must not write, or whose writes nobody sees yet.
    """

    INTERVAL = 0.5

    def __init__(self, job: Job) -> None:
        self.job = job
        self.cancelled = job.cancel_requested
        self.state: dict[str, Any] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def __call__(self, done: int, total: int, phase: str) -> None:
        self.state = {"done": done, "total": total, "phase": phase}
        if self.cancelled:
            raise Cancelled

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _report(self) -> None:
        running = self.job.still_claimed()
        try:
            while not self._over.wait(self.INTERVAL):
                try:
                    running.update(heartbeat_at=timezone.now(), **self.state)
                    self.cancelled = running.filter(cancel_requested=True).exists()
                except Exception as error:
                    # Somebody writes for long, or the database restarts: the next report will do, on a new connection.
                    log.log(logging.INFO if trouble(error) else logging.ERROR, "job %s: %s", self.job.pk, error)
                    connection.close()
        finally:
            connection.close()


def show_sign() -> None:
    """Tell the web processes that there is a worker; while it is busy, the heartbeat of its job tells them."""
    cache.set(WORKER_SIGN, time.time(), timeout=None)


Run = Callable[[Job, Progress], None]
Check = Callable[[Request, Job], object]


class JobKind(NamedTuple):
    """``check`` raises `Http404` or `PermissionDenied` for people who may not watch a job or fetch its file.

    Without one, jobs are for those who started them, while they make blueprints: see `access.job`.
    """

    run: Run
    check: Check | None = None


KINDS: dict[str, JobKind] = {}


def kind(name: str, check: Check | None = None) -> Callable[[Run], Run]:
    """Register a function as the work of a kind of job. The check is made at every use, for rights may end. Staff see all."""

    def register(run: Run) -> Run:
        KINDS[name] = JobKind(run, check)
        return run

    return register


CLEANUPS: list[Callable[[], None]] = []
PURGES: list[Callable[[float], int]] = [purge_deleted]
# So many seconds others wait for a step, at most, before they can write: while some do, and when nobody has for so long.
STEP, LONG_STEP, QUIET = 0.03, 0.25, 5
FILES_IN_USE: list[Callable[[], Iterable[str]]] = []
BESIDE: list[Callable[[], bool]] = []


def cleanup(work: Callable[[], None]) -> Callable[[], None]:
    """Register a function that removes what is old: a worker calls it every hour."""
    CLEANUPS.append(work)
    return work


def purge(work: Callable[[float], int]) -> Callable[[float], int]:
    """Register a function that deletes what is to go, or counts what has changed, for so many seconds; returns how many rows it
    was about. A worker without a job calls it in steps, between which others can write. What a killed worker leaves, the next one
    finds."""
    PURGES.append(work)
    return work


def beside(work: Callable[[], bool]) -> Callable[[], bool]:
    """Register what a worker does beside its jobs, because it waits for others: over and over, in a thread of its own. It returns
    whether there was something to do, and bears being killed at any point."""
    BESIDE.append(work)
    return work


def in_use(names: Callable[[], Iterable[str]]) -> Callable[[], Iterable[str]]:
    """Register a function that returns the names of files in ``UPLOAD_DIR`` to be kept, whatever their age."""
    FILES_IN_USE.append(names)
    return names


def claim(**which: Any) -> Job | None:
    """The oldest waiting job of these, now this worker's, or None. Reads first: an idle worker takes no lock.

    A heartbeat after a clock was set back lies in the future: it becomes one of now, and grows old from here on.
    """
    now = timezone.now()
    ahead = Job.objects.filter(state=JobState.RUNNING, heartbeat_at__gt=now)
    if ahead.exists():
        ahead.update(heartbeat_at=now)
    fresh = now - Job.STALE
    waiting = Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING, heartbeat_at__lt=fresh)
    job = Job.objects.filter(waiting, **which).order_by("id").first()
    claim = {"state": JobState.RUNNING, "heartbeat_at": timezone.now(), "attempts": F("attempts") + 1}
    if job is None or not Job.objects.filter(waiting, pk=job.pk).update(**claim):
        return None
    job.refresh_from_db()
    return job


def run(job: Job) -> None:
    """Do one claimed job and record how it ended. If the database is lost or too busy, that is raised."""
    if job.attempts > Job.MAX_ATTEMPTS:
        message = (
            f"The worker or the database stopped {Job.MAX_ATTEMPTS} times while doing this. Ask your administrator."
        )
        job.end(JobState.FAILED, errors={"message": message})
        return
    with Progress(job) as progress:
        try:
            KINDS[job.kind].run(job, progress)
        except Overtaken:
            log.warning("another worker took up job %s (%s); this one's work is not stored", job.pk, job.kind)
        except Refused as error:
            problems = [[p.place, p.text] for p in error.problems]
            job.end(JobState.FAILED, errors={"problems": problems, "total": error.total})
        except Cancelled:
            job.end(JobState.CANCELLED)
        except Exception as error:
            reason = trouble(error)
            if reason in {Trouble.LOST, Trouble.BUSY}:
                raise
            log.exception("job %s (%s) failed", job.pk, job.kind)
            message = "An unexpected error stopped this. The details are in the log."
            job.end(JobState.FAILED, errors={"message": reason.value if reason else message})


def finish(**which: Any) -> None:
    """Do these jobs here, for a command that ends when all is done; one that a worker has is waited for. Raises `Refused` if one
    fails here."""
    while Job.objects.filter(state__in=[JobState.QUEUED, JobState.RUNNING], **which).exists():
        job = claim(**which)
        if job is None:
            time.sleep(Progress.INTERVAL)
            continue
        run_here(job)


def run_here(job: Job) -> None:
    """Do a claimed job for somebody who waits for it; a worker takes it up if this process ends before. Raises `Refused` if it
    fails."""
    run(job)
    job.refresh_from_db()
    if job.state == JobState.FAILED:
        raise Refused(job.errors.get("message") or job.errors["problems"][0][1])


def work(is_over: Callable[[], bool], poll: float = 0.1) -> None:
    """Do jobs until it is over, whatever happens."""
    next_sign = next_cleanup = next_purge = last_write = 0.0
    known_version = None
    job = None
    while not is_over():
        try:
            if job:  # its run was broken off
                job.put_back()
            if time.monotonic() >= next_cleanup:
                next_cleanup = time.monotonic() + 3600
                clean_up()  # may make room
            if time.monotonic() >= next_sign:
                show_sign()
                next_sign = time.monotonic() + 5
            if job := claim():
                run(job)
                job = None
                continue
            if time.monotonic() >= next_purge:
                version = data_version()
                if version != known_version:
                    known_version, last_write = version, time.monotonic()
                step = STEP if time.monotonic() < last_write + QUIET else LONG_STEP
                if not any(work(step) for work in PURGES):
                    next_purge = time.monotonic() + 10
                    refresh_statistics()
        except Exception as error:
            if reason := trouble(error):
                log.warning("the worker waits: %s: %s", reason.name, error)
            else:
                log.exception("the worker goes on after an unexpected error")
            close_old_connections()
            time.sleep(1)
        time.sleep(poll)


def start_beside(is_over: Callable[[], bool], poll: float = 1) -> None:
    """Do what goes on beside jobs until it is over, each in a thread, whatever happens. Nobody waits for the end of these."""

    def go_on(work: Callable[[], bool]) -> None:
        while not is_over():
            try:
                if work():
                    continue
            except Exception as error:
                log.log(logging.WARNING if trouble(error) else logging.ERROR, "%s: %s", work, error, exc_info=True)
                connection.close()
            time.sleep(poll)

    for work in BESIDE:
        threading.Thread(target=go_on, args=[work], daemon=True).start()


def clean_up() -> None:
    """Call all cleanups; one that fails stops no other."""
    for work in (*CLEANUPS, delete_old_files):
        try:
            work()
        except Exception as error:
            if trouble(error) is Trouble.LOST:
                raise
            log.exception("%s failed", work.__name__)


def delete_old_files() -> None:
    """Delete downloads that nobody fetched within a day, and what is left of work that was killed."""
    oldest = time.time() - KEEP_FILES.total_seconds()
    needed = {name for names in FILES_IN_USE for name in names()}
    folder = Path(settings.UPLOAD_DIR)
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            if path.name not in needed and path.is_file() and path.stat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            pass  # another worker was quicker
        except OSError as error:
            log.warning("the old file %s stays: %s", path, error)


@kind("duplicate")
def run_duplicate(job: Job, progress: Progress) -> None:
    """The person's right to read the source was checked when the job was started."""
    models = {model._meta.label: model for model in apps.get_models() if issubclass(model, PagedBlueprint)}
    thing = models[job.target["model"]]._default_manager.filter(pk=job.target["pk"]).first()
    if thing is None:
        raise Refused("It was deleted before it could be duplicated.")
    progress(0, 0, "copying")
    with write():
        copy = thing.copy_to(by=job.by, name=job.target["name"])
        job.finish(url=copy.get_absolute_url(), text=f"“{copy}” is yours.")
