"""Whatever happens in the middle of a write: everything is stored or nothing, no row is left over, and a repeat does it once."""

import math
import os
import signal
import time
import zipfile
from contextlib import contextmanager
from datetime import timedelta
from itertools import count, product
from unittest import mock

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections
from django.utils import timezone

from annotation_service import jobs
from annotation_service.db import Trouble, trouble
from annotation_service.models import Job, JobState, start_job
from datasets.importing import storage
from datasets.models import Annotation, Dataset, Entity, Item, TextCorrection, Upload
from projects.models import Project
from tests import factories, faults
from tests.soak import SOAK, amount

pytestmark = pytest.mark.django_db(transaction=True)
PASSED = 5

MARKED = [
    {
        "original": f"replace engine oil {n}",
        "tokens": ["replace", "engine", "oil", str(n)],
        "external_id": f"WO-{n}",
        "entities": [
            {"id": "r1", "start": 0, "end": 0, "label": "Activity/Replace"},
            {"id": "x", "start": 1, "end": 2, "label": "PhysicalObject"},
        ],
        "relations": [{"source_id": "r1", "target_id": "x", "label": "hasParticipant/hasPatient"}],
    }
    for n in range(3)
]


def due(job):
    """Its worker is dead, and nobody has heard of it for long."""
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - Job.STALE - timedelta(seconds=1), attempts=1)


class Work:
    """Something that is to be stored whole or not at all. ``prepare`` makes what it needs, ``do`` does it."""

    def prepare(self):
        raise NotImplementedError

    def do(self):
        raise NotImplementedError

    def repeat(self):
        """What people or the worker do when it is not known whether it was done; done twice, it has its effect once."""
        self.do()


class ByJob(Work):
    """Work that a worker does; when it is killed, another takes it up."""

    job: Job

    def do(self):
        self.job.refresh_from_db()  # it keeps nothing of an attempt before this one
        jobs.run(self.job)

    def claim(self):
        self.job = jobs.claim()

    def repeat(self):
        due(self.job)
        if job := jobs.claim():
            jobs.run(job)


class Import(ByJob):
    def upload(self, alice, document, **options):
        entities, relations = factories.ontology(owner=alice), factories.ontology(owner=alice, kind="relation")
        keys = {"entity_ontology": entities.pk, "relation_ontology": relations.pk}
        options = {"kind": "preannotated_relation", "format": "json", "name": "Orders", **keys, **options}
        return factories.upload(document, by=alice, options=options)

    def prepare(self, alice):
        self.start(self.upload(alice, MARKED), alice)

    def start(self, upload, alice):
        upload.examine()
        upload.start_job("store_upload", by=alice)
        self.claim()


class Addition(Import):
    """New items of a project's dataset, which replace others and are dealt out."""

    def prepare(self, alice):
        dataset = self.upload(alice, MARKED).store()
        project = factories.project(
            by=alice, of=dataset, annotators=[factories.user("erin"), factories.user("fred")], annotators_per_item=1
        )
        document = [{**MARKED[n % 3], "external_id": external_id} for n, external_id in enumerate(("WO-1", "", "new"))]
        for item in document:
            if not item["external_id"]:
                del item["external_id"]
        options = {"format": "json", "duplicates": "replace"}
        self.start(factories.upload(document, by=alice, options=options, dataset=project.dataset), alice)


class Update(Import):
    """Of a project's dataset, by external ids: one item is new, of two text or fields change, one would lose marks."""

    def prepare(self, alice):
        dataset = self.upload(alice, MARKED).store()
        self.project = factories.project(by=alice, of=dataset, annotators=[factories.user("erin")])
        self.by = alice
        self.start(self.sent(), alice)

    def sent(self):
        texts = ["replaced engine oil 0", "replace engine oil 1", "nothing", "new"]
        document = [{"original": t, "tokens": t.split(), "external_id": f"WO-{n}"} for n, t in enumerate(texts)]
        document[1]["extra_fields"] = {"site": "north"}
        options = {"format": "json", "duplicates": "update", "bad": "drop", "unmarked": "keep"}
        return factories.upload(document, by=self.by, options=options, dataset=self.project.dataset)


class Removal(Work):
    def prepare(self, alice):
        Addition().prepare(alice)
        self.dataset = Dataset.objects.get(project__isnull=False)
        self.by = alice

    def do(self):
        self.dataset.remove(self.dataset.items().filter(external_id="WO-2"), by=self.by)


class Restoring(Removal):
    def prepare(self, alice):
        super().prepare(alice)
        super().do()

    def do(self):
        self.dataset.restore(self.dataset.bin())


class Emptying(Restoring):
    """Of the bin, when what is in it is too old to be restored."""

    def prepare(self, alice):
        super().prepare(alice)
        Item.with_removed.exclude(removed_at=None).update(removed_at=timezone.now() - timedelta(days=31))

    def do(self):
        self.dataset.empty_bin(math.inf)


class Copy(ByJob):
    """A new project: copies of a preannotated dataset and its ontologies."""

    def prepare(self, alice):
        dataset = Import().upload(alice, MARKED).store()
        target = {
            "name": "Pumps",
            "description": "",
            "guidelines": "",
            "dataset": dataset.pk,
            "entity_ontology": dataset.entity_ontology_id,
            "relation_ontology": dataset.relation_ontology_id,
            "annotators": [factories.user("erin").pk],
            "annotators_per_item": 1,
        }
        start_job("create_project", title="Create", by=alice, target=target)
        self.claim()


class Duplicate(ByJob):
    """A blueprint of a project's dataset, of which labels are in no blueprint."""

    def prepare(self, alice):
        copy = Copy()
        copy.prepare(alice)
        copy.do()
        dataset = Dataset.objects.get(project__isnull=False)
        label = dataset.entity_ontology.add_item("Own", by=alice)
        Entity.objects.filter(annotation__item__dataset=dataset, start=1).update(label=label)
        target = {"model": "datasets.Dataset", "pk": dataset.pk, "name": "Mine"}
        start_job("duplicate", title="Duplicate", by=alice, target=target)
        self.claim()


SOME = 24 if connection.vendor == "sqlite" else 96
WORKS = [Import, Addition, Update, Removal, Restoring, Emptying, Copy, Duplicate]


def anew():
    """An empty database, and somebody to work in it."""
    call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=True, reset_sequences=False)
    return factories.manager("alice")


def prepared(kind):
    work = kind()
    work.prepare(anew())
    return work, faults.rows()


def size_afterwards(kind):
    """How many rows there are when all went well, and the numbers of the points to try: all of them or, in the short form, some
    and those around the last commits, where most can go wrong. On PostgreSQL fewer do: Python says what is written together."""
    work, before = prepared(kind)
    passed = []
    with faults.watching(lambda: passed.append(1)):
        work.do()
    after = faults.rows()
    assert after != before
    last = len(passed)
    return faults.counts(after), sorted({*range(1, last, amount(SOME, 1)), *range(last - amount(7, 0), last + 1)})


def check_all_or_nothing(before, size):
    """Whether everything was stored."""
    now = faults.rows()
    if now == before:
        return False
    assert not faults.orphans()
    for dataset in Dataset.objects.all():
        tokens = [len(tokens) for (tokens,) in dataset.items().values_list("tokens")]
        assert (dataset.item_count, dataset.token_count) == (len(tokens), sum(tokens))
    assert faults.counts(now) == size
    return True


def check_repeat(work, size):
    """Whatever had happened, and however often it is done again, it has its effect once."""
    for _ in range(2):
        work.repeat()
        assert check_all_or_nothing({}, size)


@pytest.mark.soak
@pytest.mark.parametrize("kind", WORKS)
def test_killed_at_every_statement(kind):
    size, points = size_afterwards(kind)
    outcomes = []
    work, before = prepared(kind)
    for number in points:
        assert faults.killed_at(number, work.do)
        outcomes.append(check_all_or_nothing(before, size))
        if outcomes[-1] or SOAK:
            check_repeat(work, size)
            work, before = prepared(kind)
    # Up to the commit nothing, after it everything.
    assert outcomes == sorted(outcomes) and len(set(outcomes)) == 2
    work, before = prepared(kind)
    assert faults.killed_at(points[outcomes.count(False) - 1], work.do)
    check_repeat(work, size)


@pytest.mark.soak
@pytest.mark.parametrize("kind", WORKS)
@pytest.mark.parametrize("fault", amount([faults.lose], [faults.lose, faults.fill]))
def test_a_fault_at_every_statement(kind, fault):
    size, points = size_afterwards(kind)
    outcomes = []
    work, before = prepared(kind)
    for number in points:
        assert fails_at(number, fault, work)
        outcomes.append(check_all_or_nothing(before, size))
        # What failed has said why, and is started again.
        Job.objects.filter(state=JobState.FAILED).update(state=JobState.RUNNING)
        if outcomes[-1] or SOAK:
            check_repeat(work, size)
            work, before = prepared(kind)
    assert outcomes == sorted(outcomes) and len(set(outcomes)) == 2


@pytest.mark.soak
def test_an_update_that_is_killed_and_sent_again_is_there_once():
    def there():
        return sorted(Item.objects.filter(dataset__project__isnull=False).values_list(*names))

    names = ("external_id", "original", "text_version", "extra_fields__site")
    expected = [
        ("WO-0", "replaced engine oil 0", 2, None),
        ("WO-1", "replace engine oil 1", 1, "north"),
        ("WO-2", "replace engine oil 2", 1, None),
        ("WO-3", "new", 1, None),
    ]
    for number in size_afterwards(Update)[1]:
        work = prepared(Update)[0]
        Job.objects.all().delete()
        upload = work.sent()
        faults.killed_at(number, upload.store)
        work.sent().store()
        assert there() == expected
        assert Annotation.objects.filter(item__dataset__project__isnull=False, layer="given").count() == 3
        work.sent().store()
        assert there() == expected and TextCorrection.objects.count() == 1


def fails_at(number, fault, work):
    """Whether the n-th point was passed, where the database failed; it works again afterwards."""
    passed = []

    def point():
        passed.append(number)
        fault()

    try:
        with faults.watching(faults.at(number, point)):
            work.do()
    except DatabaseError as error:
        assert trouble(error) in (Trouble.LOST, Trouble.FULL)
    finally:
        connections.close_all()
    if fault is faults.lose:
        assert not Job.objects.filter(state=JobState.FAILED).exists()  # a worker takes it up again
    return bool(passed)


# --- Workers -------------------------------------------------------------------------------------------------------------


class Check(Import):
    """The dry run."""

    def prepare(self, alice):
        self.upload(alice, MARKED).start_job("check_upload", by=alice)


class Bundle(Copy):
    def prepare(self, alice):
        super().prepare(alice)
        self.do()
        project = Project.objects.get()
        start_job("bundle", title="Bundle", by=alice, target={"project": project.pk})


def killed(watching_at):
    with watching_at(faults.die):
        do_all_jobs()


def lost(watching_at):
    with watching_at(faults.lose):
        do_all_jobs()


def full(watching_at):
    """It is full from that moment on, until the worker has noticed and waits."""
    disk = faults.FullDisk()
    with connection.execute_wrapper(disk), watching_at(disk.begin):
        do_all_jobs(disk.end)


def full_for_a_moment(watching_at):
    """For one statement: the worker can still say why it has failed."""
    with watching_at(faults.fill):
        do_all_jobs()


def do_all_jobs(wait=lambda seconds: None):
    """What a worker does until there is nothing to do; ``wait`` is called when it waits."""
    is_over = []

    def claim():
        job = claim_one()
        if job is None and not Job.objects.filter(state__in=("queued", "running")).exists():
            is_over.append(True)
        elif job is None:  # lost between claiming and knowing it
            go_stale()
        return job

    claim_one = jobs.claim
    with mock.patch.object(jobs, "claim", claim), mock.patch.object(jobs.time, "sleep", wait):
        jobs.work(lambda: bool(is_over))


def go_stale():
    Job.objects.filter(state="running").update(heartbeat_at=timezone.now() - Job.STALE - timedelta(seconds=1))


STEP = 23  # so many statements further it fails next, in the short form
JOBS = [Check, Import, Addition, Copy, Duplicate, Bundle]
FAULTS = [killed, lost, full, full_for_a_moment]
FEW = [*((Import, fault) for fault in FAULTS), *((kind, killed) for kind in JOBS if kind is not Import)]


@pytest.mark.soak
@pytest.mark.parametrize("kind, fault", amount(FEW, list(product(JOBS, FAULTS))))
def test_a_worker_meets_a_fault_at_every_statement(kind, fault, settings):
    """Claiming, reading, storing, committing, finishing: in the end the job is done, once, or has failed and says why."""

    def queue():
        before = prepared(kind)[1]
        Job.objects.exclude(state=JobState.DONE).update(state=JobState.QUEUED, attempts=0)
        return Job.objects.latest("pk"), before

    def child(number):
        passed = []

        @contextmanager
        def watching_at(action):
            def point():
                passed.append(number)
                action()

            # A disk that is full says so before the commit, not after it.
            with faults.watching(faults.at(number, point), after_commits=fault is not full_for_a_moment):
                yield

        fault(watching_at)
        return PASSED if passed else 0

    queue()
    do_all_jobs()
    size = faults.counts(faults.rows())
    attempts = set()
    for number in count(1, amount(STEP, 1)):
        job, before = queue()
        code = faults.end_of(faults.start_child(lambda number=number: child(number)))
        assert code in (0, PASSED, -signal.SIGKILL), code
        if code == -signal.SIGKILL:
            go_stale()
            do_all_jobs()
        job.refresh_from_db()
        attempts.add(job.attempts)
        if fault is full_for_a_moment and job.state == "failed":
            assert job.errors == {"message": Trouble.FULL.value}
            assert faults.rows() == before
        else:
            assert job.state == "done" and job.attempts <= 2
            assert faults.counts(faults.rows()) == size and not faults.orphans()
            if kind is Bundle:
                assert zipfile.ZipFile(settings.UPLOAD_DIR / job.result["file"]).testzip() is None
        if code == 0:
            break
    assert number > STEP and (attempts == {1, 2} or fault is full_for_a_moment)


# --- A large import ------------------------------------------------------------------------------------------------------

LINES = amount(5_000, 100_000)


class LargeImport(ByJob):
    def prepare(self, alice):
        text = "".join(f"replace the engine oil of truck {n} before the next shift\n" for n in range(LINES))
        options = {"kind": "standard", "format": "text", "name": "Large", "tokeniser": "punkt"}
        upload = factories.upload(text, by=alice, options=options)
        upload.start_job("store_upload", by=alice)
        self.claim()


def stored_items():
    """How many there are: none or all, in one dataset; nothing else is left over."""
    assert not faults.orphans()
    items = Item.with_removed.count()
    assert (Dataset.objects.count(), items) in ((0, 0), (1, LINES))
    assert Upload.objects.get().state == ("stored" if items else "new")
    return items


@pytest.mark.soak
def test_killed_at_random_moments_of_a_large_import():
    work, _ = prepared(LargeImport)
    started = time.monotonic()
    assert faults.end_of(faults.start_child(work.do)) == 0
    took = time.monotonic() - started
    work, _ = prepared(LargeImport)
    for moment in faults.moments(amount(5, 50), took):
        faults.killed_after(moment, work.do)
        if stored_items():
            work, _ = prepared(LargeImport)
    work.repeat()
    assert stored_items() == LINES
    work.repeat()
    assert stored_items() == LINES


@pytest.mark.soak
def test_a_worker_that_is_killed_is_replaced():
    work, _ = prepared(LargeImport)
    job = work.job
    Job.objects.update(state=JobState.QUEUED, attempts=0)

    def worker():
        jobs.work(lambda: False)

    def is_at(state, attempts):
        return Job.objects.filter(pk=job.pk, state=state, attempts=attempts).exists()

    for attempt in (1, 2):
        # A worker tidies up before it takes the job.
        assert any(faults.killed_at(n, worker) and is_at(JobState.RUNNING, attempt) for n in range(20, 100, 10))
        assert stored_items() == 0
        go_stale()
    pid = faults.start_child(worker)
    try:
        deadline = time.monotonic() + 120
        while not is_at(JobState.DONE, 3):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.kill(pid, signal.SIGKILL)
        faults.end_of(pid)
    assert stored_items() == LINES


# --- A full disk ---------------------------------------------------------------------------------------------------------

REFUSED, STORED = 3, 4


def with_room_for(size, work):
    """What a child says that can make no file larger than so many bytes."""

    def limited():
        faults.leave_room(size)
        try:
            work()
        except Exception as error:
            return REFUSED if trouble(error) is Trouble.FULL else 99
        return STORED

    return faults.end_of(faults.start_child(limited))


@pytest.mark.soak
@pytest.mark.parametrize("room", amount([100_000, 1_000_000], [50_000, 100_000, 300_000, 1_000_000, 5_000_000]))
def test_a_full_disk_is_told_and_leaves_nothing(room):
    """The spool, or the journal of the database, meets the limit."""
    if connections["default"].vendor == "postgresql":
        pytest.skip("the server writes the files, and tells by a code of its own that its disk is full: see test_db.py")
    prepared(LargeImport)
    Job.objects.all().delete()
    upload, before = Upload.objects.get(), faults.rows()
    assert with_room_for(room, upload.store) == REFUSED
    assert not check_all_or_nothing(before, {})
    upload.store()
    assert stored_items() == LINES


def test_a_full_disk_is_told_when_a_file_is_kept(alice, settings):
    def begin():
        factories.upload("a line\n" * 100_000, by=alice, options={"kind": "standard", "format": "text", "name": "x"})

    assert with_room_for(300_000, begin) == REFUSED
    assert not Upload.objects.exists()
    assert not list(settings.UPLOAD_DIR.iterdir())


def test_a_connection_that_is_lost_between_two_rows_raises_an_error_of_django():
    with storage.Spool():
        row = (1, 0, "a", "[]", None, "a", "", "{}")
        with pytest.raises(DatabaseError) as caught, faults.watching(faults.at(3, faults.lose)):
            for _ in range(3):
                storage.write_rows("spool_item", [row] * 3)  # on SQLite one statement
        assert trouble(caught.value) is Trouble.LOST
        connections.close_all()
