"""Whatever happens in the middle of a write: everything is stored or nothing, no row is left over, and a repeat does it once."""

import os
import resource
import signal
import threading
import time
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from annotation_service import jobs
from annotation_service.inputs import Refused
from annotation_service.models import Job, start_job
from datasets.models import Dataset, Entity, Item, Upload
from projects.models import Project
from tests import factories, faults
from tests.soak import SOAK, amount

pytestmark = pytest.mark.django_db(transaction=True)

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
        project = Project.create(
            name="Pumps",
            by=alice,
            dataset=dataset,
            entity_ontology=dataset.entity_ontology,
            relation_ontology=dataset.relation_ontology,
            annotators=[factories.user("erin"), factories.user("fred")],
            annotators_per_item=1,
        )
        document = [{**MARKED[n % 3], "external_id": external_id} for n, external_id in enumerate(("WO-1", "", "new"))]
        for item in document:
            if not item["external_id"]:
                del item["external_id"]
        options = {"format": "json", "duplicates": "replace"}
        self.start(factories.upload(document, by=alice, options=options, dataset=project.dataset), alice)


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
        self.dataset.empty_bin()


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


WORKS = [Import, Addition, Removal, Restoring, Emptying, Copy, Duplicate]


def anew():
    """An empty database, and somebody to work in it."""
    call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=True, reset_sequences=False)
    return factories.manager("alice")


def prepared(kind):
    work = kind()
    work.prepare(anew())
    return work, faults.rows()


def size_afterwards(kind):
    """How many rows there are when all went well."""
    work, before = prepared(kind)
    work.do()
    after = faults.rows()
    assert after != before
    return faults.counts(after)


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
    size = size_afterwards(kind)
    outcomes = []
    work, before = prepared(kind)
    while faults.killed_at(len(outcomes) + 1, work.do):
        outcomes.append(check_all_or_nothing(before, size))
        if outcomes[-1] or SOAK:
            check_repeat(work, size)
            work, before = prepared(kind)
    assert check_all_or_nothing(before, size)
    # Up to the commit nothing, after it everything.
    assert outcomes == sorted(outcomes) and outcomes.count(False) > 6 and outcomes[-1]
    work, before = prepared(kind)
    assert faults.killed_at(outcomes.count(False), work.do)
    check_repeat(work, size)


@pytest.mark.soak
@pytest.mark.parametrize("kind", WORKS)
def test_an_exception_at_every_statement(kind):
    size = size_afterwards(kind)
    outcomes = []
    work, before = prepared(kind)
    while fails_at(len(outcomes) + 1, work):
        outcomes.append(check_all_or_nothing(before, size))
        if outcomes[-1] or SOAK:
            check_repeat(work, size)
            work, before = prepared(kind)
    assert check_all_or_nothing(before, size)
    assert outcomes == sorted(outcomes) and outcomes.count(False) > 6 and outcomes[-1]


def fails_at(number, work):
    """Whether the database went away at the n-th point; it is there again afterwards."""
    try:
        with faults.watching(faults.at(number, faults.fail)):
            work.do()
    except faults.Broken:
        return True
    finally:
        connections.close_all()
    return False


# --- A large import ------------------------------------------------------------------------------------------------------

LINES = amount(5_000, 100_000)


class LargeImport(ByJob):
    def prepare(self, alice):
        text = "".join(f"replace the engine oil of truck {n} before the next shift\n" for n in range(LINES))
        options = {"kind": "standard", "format": "text", "name": "Large", "preprocessing": {"tokeniser": "punkt"}}
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
    Job.objects.update(state=Job.State.QUEUED, attempts=0)

    def worker():
        jobs.work(threading.Event())

    def wait_until(**fields):
        deadline = time.monotonic() + 120
        while not Job.objects.filter(pk=job.pk, **fields).exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    for attempt in (1, 2):
        pid = faults.start_child(worker)
        wait_until(state=Job.State.RUNNING, attempts=attempt)
        os.kill(pid, signal.SIGKILL)
        assert faults.end_of(pid) == -signal.SIGKILL
        assert stored_items() == 0
        Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - Job.STALE - timedelta(seconds=1))
    pid = faults.start_child(worker)
    try:
        wait_until(state=Job.State.DONE, attempts=3)
    finally:
        os.kill(pid, signal.SIGKILL)
        faults.end_of(pid)
    assert stored_items() == LINES


# --- A full disk ---------------------------------------------------------------------------------------------------------

FULL = "There is no room left on the server’s disk"
REFUSED, STORED = 3, 4


def with_room_for(size, work):
    """What a child says that can make no file larger than so many bytes."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
        except Refused as error:
            return REFUSED if FULL in str(error) else 99
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
