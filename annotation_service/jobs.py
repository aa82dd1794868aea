"""Running jobs: the kinds there are, and what a worker does with one.

A kind is a function ``run(job, progress)`` registered in the ``jobs`` module of an app. It calls ``job.finish(…)`` inside the
transaction that writes its outcome; a worker that is killed leaves either both or nothing, and the job is taken up again.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, close_old_connections, connection
from django.db.models import F, Q
from django.http import Http404
from django.utils import timezone

from .blueprints import PagedBlueprint
from .db import write
from .http import Request
from .inputs import Refused
from .models import WORKER_SIGN, Job, Overtaken

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
        running = Job.objects.filter(pk=self.job.pk, state=Job.State.RUNNING, attempts=self.job.attempts)
        next_sign = 0.0
        try:
            while not self._over.wait(self.INTERVAL):
                try:
                    running.update(heartbeat_at=timezone.now(), **self.state)
                    self.cancelled = running.filter(cancel_requested=True).exists()
                    if time.monotonic() >= next_sign:
                        show_sign()
                        next_sign = time.monotonic() + 5
                except (OperationalError, InterfaceError):
                    # Somebody writes for long, or the database restarts: the next report will do, on a new connection.
                    log.info("the report of job %s has to wait", self.job.pk)
                    connection.close()
        finally:
            connection.close()


def show_sign() -> None:
    """Tell the web processes for 15 seconds that there is a worker."""
    cache.set(WORKER_SIGN, True, timeout=15)


Run = Callable[[Job, Progress], None]
Check = Callable[[Request, Job], object]


class Kind(NamedTuple):
    """``check`` raises `Http404` or `PermissionDenied` for people who may not watch a job or fetch its file."""

    run: Run
    check: Check


KINDS: dict[str, Kind] = {}


def only_the_starter(request: Request, job: Job) -> None:
    if job.by_id != request.user.pk:
        raise Http404


def kind(name: str, check: Check = only_the_starter) -> Callable[[Run], Run]:
    """Register a function as the work of a kind of job. The check is made at every use, for rights may end. Staff see all."""

    def register(run: Run) -> Run:
        KINDS[name] = Kind(run, check)
        return run

    return register


CLEANUPS: list[Callable[[], None]] = []
FILES_IN_USE: list[Callable[[], Iterable[str]]] = []


def cleanup(work: Callable[[], None]) -> Callable[[], None]:
    """Register a function that removes what is old: a worker calls it every hour."""
    CLEANUPS.append(work)
    return work


def in_use(names: Callable[[], Iterable[str]]) -> Callable[[], Iterable[str]]:
    """Register a function that returns the names of files in ``UPLOAD_DIR`` to be kept, whatever their age."""
    FILES_IN_USE.append(names)
    return names


def claim() -> Job | None:
    """The oldest waiting job, now this worker's, or None. Reads first: an idle worker takes no lock."""
    fresh = timezone.now() - Job.STALE
    waiting = Q(state=Job.State.QUEUED) | Q(state=Job.State.RUNNING, heartbeat_at__lt=fresh)
    job = Job.objects.filter(waiting).order_by("id").first()
    claim = {"state": Job.State.RUNNING, "heartbeat_at": timezone.now(), "attempts": F("attempts") + 1}
    if job is None or not Job.objects.filter(waiting, pk=job.pk).update(**claim):
        return None
    job.refresh_from_db()
    return job


def run(job: Job) -> None:
    """Do one claimed job and record how it ended."""
    if job.attempts > Job.MAX_ATTEMPTS:
        message = f"The worker stopped {Job.MAX_ATTEMPTS} times while doing this. Ask your administrator."
        job.end(Job.State.FAILED, errors={"message": message})
        return
    with Progress(job) as progress:
        try:
            KINDS[job.kind].run(job, progress)
        except Overtaken:
            log.warning("another worker took up job %s (%s); this one's work is not stored", job.pk, job.kind)
        except Refused as error:
            problems = [[p.place, p.text] for p in error.problems]
            job.end(Job.State.FAILED, errors={"problems": problems, "total": error.total})
        except Cancelled:
            job.end(Job.State.CANCELLED)
        except (OperationalError, InterfaceError):  # the database restarts: the job goes stale and is taken up again
            raise
        except Exception:
            log.exception("job %s (%s) failed", job.pk, job.kind)
            message = "An unexpected error stopped this; nothing was stored. The details are in the log."
            job.end(Job.State.FAILED, errors={"message": message})


def work(stop: threading.Event, poll: float = 0.1) -> None:
    """Do jobs until told to stop, whatever happens."""
    next_sign = next_cleanup = 0.0
    while not stop.is_set():
        try:
            if time.monotonic() >= next_sign:
                show_sign()
                next_sign = time.monotonic() + 5
            if time.monotonic() >= next_cleanup:
                next_cleanup = time.monotonic() + 3600
                clean_up()
            if job := claim():
                run(job)
                continue
        except (OperationalError, InterfaceError) as error:  # the database restarts or is locked for long: try again
            log.warning("the worker waits for the database: %s", error)
            close_old_connections()
            stop.wait(1)
        except Exception:
            log.exception("the worker goes on after an unexpected error")
            stop.wait(1)
        stop.wait(poll)


def clean_up() -> None:
    """Call all cleanups; one that fails stops no other."""
    for work in (*CLEANUPS, delete_old_files):
        try:
            work()
        except (OperationalError, InterfaceError):
            raise
        except Exception:
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
    models = {model._meta.label: model for model in PagedBlueprint.__subclasses__()}
    thing = models[job.target["model"]]._default_manager.filter(pk=job.target["pk"]).first()
    if thing is None:
        raise Refused("It was deleted before it could be duplicated.")
    progress(0, 0, "copying")
    with write():
        copy = thing.copy_to(by=job.by, name=job.target["name"])
        job.finish(url=copy.get_absolute_url(), text=f"“{copy}” is yours.")
