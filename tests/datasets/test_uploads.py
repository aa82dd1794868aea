"""An upload on its way: by the worker or in a request, cancelled, changed, discarded, taken up again; and what is put away."""

import math
import os
import threading
import time
from datetime import timedelta
from importlib import import_module
from unittest.mock import Mock

import pytest
from django.apps import apps
from django.core.files.base import ContentFile
from django.test import TestCase
from django.utils import timezone

from annotation_service import jobs
from annotation_service.db import write
from annotation_service.inputs import Refused
from annotation_service.models import Job
from datasets.jobs import empty_bins
from datasets.models import Dataset, Item, Upload
from datasets.models.upload import ImportContext
from tests import factories
from tests.threads import running

OPTIONS = {"kind": "standard", "format": "text", "name": "Orders", "description": "From a file"}
TEXT = "Replace the PUMP.\nCheck the oil.\n"


def begin(alice, document=TEXT, **options):
    return factories.upload(document, by=alice, options={**OPTIONS, **options})


def files(settings):
    return sorted(path.name for path in settings.UPLOAD_DIR.iterdir()) if settings.UPLOAD_DIR.is_dir() else []


def work(job):
    claimed = jobs.claim()
    assert claimed == job
    with TestCase.captureOnCommitCallbacks(execute=True):
        jobs.run(claimed)
    job.refresh_from_db()
    return job


def nothing_is_stored():
    return not Dataset.objects.exists() and not Item.with_removed.exists()


def grow_old(*names, settings):
    for name in names:
        os.utime(settings.UPLOAD_DIR / name, (time.time() - 25 * 3600,) * 2)


@pytest.fixture
def upload(alice):
    return begin(alice)


# --- By the worker -------------------------------------------------------------------------------------------------------


def test_the_worker_checks_and_stores(alice, upload, settings):
    check = upload.start_job("check_upload", by=alice)
    assert (check.title, check.target["page"]) == ("Check “orders.txt”", f"/datasets/uploads/{upload.pk}/")
    assert work(check).result["url"] == f"/datasets/uploads/{upload.pk}/"
    upload.refresh_from_db()
    assert (upload.state, upload.found.items, upload.job) == ("checked", 2, check)
    assert nothing_is_stored() and files(settings) == [upload.file]
    store = work(upload.start_job("store_upload", by=alice))
    dataset = Dataset.objects.get()
    assert store.state == "done" and store.result["url"] == f"/datasets/{dataset.pk}/"
    assert store.result["text"].startswith("“Orders” is ready: 2 items, 6 tokens")
    assert (dataset.owner, dataset.name, dataset.description) == (alice, "Orders", "From a file")
    upload.refresh_from_db()
    assert (upload.state, upload.dataset, upload.job) == ("stored", dataset, store)
    assert files(settings) == []


def test_an_addition_by_the_worker_says_what_was_added(alice, upload):
    dataset = upload.store()
    more = factories.upload("one more\n", by=alice, options={"format": "text"}, dataset=dataset)
    job = work(more.start_job("store_upload", by=alice))
    assert job.result["text"] == "“Orders” has more items: 1 item, 2 tokens."


def test_what_is_wrong_is_the_outcome_of_a_check_and_the_failure_of_a_store(alice, settings):
    settings.MAX_ITEM_CHARACTERS = 10
    upload = begin(alice)
    assert work(upload.start_job("check_upload", by=alice)).state == "done"
    upload.refresh_from_db()
    assert (upload.state, upload.found.problems.total) == ("refused", 2)
    job = work(upload.start_job("store_upload", by=alice))
    assert job.state == "failed" and [place for place, _ in job.errors["problems"]] == ["line 1", "line 2"]
    assert nothing_is_stored() and files(settings) == [upload.file, f"{upload.file}.problems"]


def test_a_file_that_is_gone_is_told(alice, upload):
    upload.path.unlink()
    for kind in ("check_upload", "store_upload"):
        assert "Upload it again" in work(upload.start_job(kind, by=alice)).errors["problems"][0][1]


def test_a_dataset_that_is_gone_is_told(alice, upload):
    dataset = upload.store()
    more = factories.upload("one more\n", by=alice, options={"format": "text"}, dataset=dataset)
    job = more.start_job("store_upload", by=alice)
    dataset.erase()
    assert "was deleted" in work(job).errors["problems"][0][1]
    assert nothing_is_stored()


@pytest.mark.parametrize("kind", ["check_upload", "store_upload"])
@pytest.mark.parametrize("when", ["before", "reading", "saving"])
def test_cancelled_it_can_be_done_again(alice, monkeypatch, settings, kind, when):
    upload = begin(alice, TEXT * 2000)
    job = upload.start_job(kind, by=alice)
    if when == "before":
        job.request_cancel()
        assert jobs.claim() is None
    elif (kind, when) != ("check_upload", "saving"):
        progress = jobs.Progress.__call__

        def asked_to_stop(self, done, total, phase):
            self.cancelled = phase == when  # what its thread finds in the job's row
            progress(self, done, total, phase)

        with monkeypatch.context() as patch:
            patch.setattr(jobs.Progress, "__call__", asked_to_stop)
            assert work(job).state == "cancelled"
    else:
        work(job)
    assert nothing_is_stored() and files(settings) == [upload.file]
    upload.refresh_from_db()
    assert work(upload.start_job("store_upload", by=alice)).state == "done"
    assert Dataset.objects.get().item_count == 4000


def test_saving_cannot_be_cancelled(alice, upload, monkeypatch):
    """Whoever asks while the rows are written is too late."""
    job = upload.start_job("store_upload", by=alice)
    append_items = Dataset.append_items

    def asked(self, *args, **kwargs):
        Job.objects.get(pk=job.pk).request_cancel()
        return append_items(self, *args, **kwargs)

    monkeypatch.setattr(Dataset, "append_items", asked)
    assert work(job).state == "done"
    assert Dataset.objects.exists()


def test_a_worker_killed_after_the_transaction_has_done_its_work(alice, upload, settings, monkeypatch):
    job = upload.start_job("store_upload", by=alice)
    name = upload.file
    with monkeypatch.context() as patch:
        # Nothing catches it, as nothing catches SIGKILL.
        patch.setattr("datasets.models.upload.delete_files", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt), TestCase.captureOnCommitCallbacks(execute=True):
            jobs.run(jobs.claim())
    Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - Job.STALE - timedelta(seconds=1))
    assert jobs.claim() is None
    job.refresh_from_db()
    assert job.state == "done" and Dataset.objects.count() == 1
    # Nobody needs the file any more.
    assert files(settings) == [name]
    grow_old(name, settings=settings)
    jobs.clean_up()
    assert files(settings) == []


def test_a_worker_that_was_overtaken_stores_nothing(alice, upload, monkeypatch):
    job = upload.start_job("store_upload", by=alice)
    claimed = jobs.claim()
    Job.objects.filter(pk=job.pk).update(attempts=2)
    jobs.run(claimed)
    assert nothing_is_stored()
    upload.refresh_from_db()
    assert upload.state == "new"


def test_progress_tells_how_far_it_is(alice):
    told = []
    begin(alice, TEXT * 5000).store(lambda done, total, phase: told.append((done, total, phase)))
    reading = [done for done, _, phase in told if phase == "reading"]
    assert reading == sorted(reading) and len(reading) == 5
    assert all(done <= total for done, total, _ in told)
    assert told[-1] == (10_000, 10_000, "saving")


# --- What may be done when -----------------------------------------------------------------------------------------------


VERBS = {
    "examine": lambda upload: upload.examine(),
    "store": lambda upload: upload.store(),
    "change": lambda upload: upload.change(OPTIONS),
    "change file": lambda upload: upload.change(OPTIONS, file=ContentFile(b"x", "x.txt")),
    "discard": lambda upload: upload.discard(),
    "start": lambda upload: upload.start_job("check_upload", by=upload.by),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("over", "said"),
    [
        (lambda upload: upload.store(), "was stored already"),
        (lambda upload: upload.discard(), "was discarded"),
        (lambda upload: upload.start_job("check_upload", by=upload.by), "is being worked on"),
    ],
)
def test_what_is_over_or_being_worked_on_is_not_touched(upload, settings, verb, over, said):
    over(Upload.objects.get())
    before, kept = Upload.objects.values().get(), files(settings)
    with pytest.raises(Refused, match=said):
        VERBS[verb](Upload.objects.get())
    with pytest.raises(Refused):
        VERBS[verb](upload)  # as it was read before
    assert Upload.objects.values().get() == before and files(settings) == kept
    assert Dataset.objects.count() == (said == "was stored already")


@pytest.mark.django_db(transaction=True)
def test_of_two_who_start_a_job_at_the_same_time_one_is_refused():
    alice = factories.manager("alice")
    upload, begun, refused = begin(alice), threading.Event(), []

    def start():
        begun.wait()
        try:
            Upload.objects.get(pk=upload.pk).start_job("store_upload", by=alice)
        except Refused as error:
            refused.append(str(error))

    with running(start), write():
        upload.start_job("store_upload", by=alice)
        begun.set()
        time.sleep(0.5)  # by then the other one waits for the row
    assert refused == ["“orders.txt” is being worked on at the moment. Wait until that is done, or cancel it."]
    assert Job.objects.count() == 1


def test_when_its_job_is_over_it_can_be_touched_again(alice, upload):
    work(upload.start_job("check_upload", by=alice))
    upload.refresh_from_db()
    upload.change({**OPTIONS, "name": "Other"})
    assert (upload.state, upload.report) == ("new", {})
    assert upload.store().name == "Other"


def test_another_file_replaces_the_kept_one(alice, upload, settings):
    old = upload.file
    upload.change(OPTIONS, file=ContentFile(b"another\n", "folder/another.txt"))
    assert upload.file != old and files(settings) == [upload.file] and upload.name == "another.txt"
    assert upload.store().items().get().original == "another"


def test_what_was_changed_while_it_was_read_is_not_stored(alice, upload, monkeypatch):
    target = ImportContext.locked_dataset

    def changed(self):
        Upload.objects.get().change({**OPTIONS, "name": "Other"})
        return target(self)

    monkeypatch.setattr(ImportContext, "locked_dataset", changed)
    with pytest.raises(Refused, match="changed meanwhile"):
        upload.store()
    assert nothing_is_stored()


def test_large_is_what_is_work_for_a_job_and_too_large_is_not_kept(alice, upload, settings):
    assert not upload.is_large
    settings.JOB_FILE_BYTES = 20
    assert upload.is_large and upload.size == len(TEXT)
    settings.JOB_FILE_BYTES, settings.JOB_ROWS = 10**6, 1
    assert not upload.is_large
    upload.examine()
    assert upload.is_large
    settings.MAX_FILE_BYTES = 10
    with pytest.raises(Refused, match="the limit is 10 bytes"):
        begin(alice)
    assert files(settings) == [upload.file]


def test_unfinished_are_those_that_can_still_be_stored(alice, bob):
    new, checked, stored, discarded = (begin(alice) for _ in range(4))
    begin(bob)
    checked.examine()
    stored.store()
    discarded.examine()
    discarded.discard()
    assert discarded.report == {}
    assert list(Upload.unfinished_of(alice)) == [checked, new]


# --- Putting away --------------------------------------------------------------------------------------------------------


def test_what_nobody_stores_within_a_day_is_discarded(alice, settings):
    young, old, waiting = (begin(alice) for _ in range(3))
    for upload in (old, waiting):
        upload.start_job("check_upload", by=alice)
    work(old.job)
    waiting.refresh_from_db()
    for upload in (old, waiting):
        Upload.objects.filter(pk=upload.pk).update(created_at=timezone.now() - timedelta(hours=25))
        grow_old(upload.file, settings=settings)
    jobs.clean_up()
    states = dict(Upload.objects.values_list("pk", "state"))
    assert states == {young.pk: "new", old.pk: "discarded", waiting.pk: "new"}
    assert files(settings) == sorted([young.file, waiting.file])
    assert work(waiting.job).state == "done"


def test_the_files_of_an_upload_that_can_still_be_stored_are_kept(alice, settings):
    settings.MAX_ITEM_CHARACTERS = 1
    upload = begin(alice)
    upload.examine()
    (settings.UPLOAD_DIR / "left over").write_text("x")
    grow_old("left over", *files(settings), settings=settings)
    jobs.clean_up()
    assert files(settings) == [upload.file, f"{upload.file}.problems"]


def test_bins_are_emptied(alice, upload):
    dataset = upload.store()
    dataset.remove(dataset.items(), by=alice)
    assert not empty_bins(math.inf)
    assert Item.with_removed.count() == 2
    Item.with_removed.update(removed_at=timezone.now() - timedelta(days=31))
    assert empty_bins(math.inf) == 2
    assert not Item.with_removed.exists()


def test_options_of_the_old_layout_are_flattened(alice):
    """Unfinished uploads had the operations on lines of text in an object of their own."""
    options = {"kind": "standard", "format": "text", "name": "x", "tokeniser": "punkt"}
    upload = factories.upload("ONE", by=alice, options={**options, "preprocessing": {"lowercase": True}})
    import_module("datasets.migrations.0003_flat_upload_options").flatten(apps, None)
    upload.refresh_from_db()
    assert upload.options == {**options, "lowercase": True, "encoding": "", "reading": {}, "labels": {}}
    assert upload.store().items()[0].tokens == ["one"]
