from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.db import models
from django.db.models import Max, QuerySet, UniqueConstraint
from django.urls import reverse
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import store, write
from annotation_service.inputs import Problem, Refused, check_size
from annotation_service.models import Job, User, kept_file, new_file, start_job

from ..importing.document import Progress, Report, no_progress
from ..importing.storage import Spool
from .dataset import Dataset
from .deleting import goes_with_datasets
from .import_context import ImportContext

_ATTEMPTS = 3


class Upload(models.Model):
    """A file or a pasted text on its way into a dataset and, once stored, the record of what it brought.

    It is checked first, and stored only on request. ``options`` are those of `ImportContext`: how to read it, and the name of the
    new dataset. ``report`` is what was found (`datasets.importing.document`).
    """

    class State(models.TextChoices):
        NEW = "new", "being checked"
        CHECKED = "checked", "ready to be stored"
        REFUSED = "refused", "has problems"
        STORED = "stored", "stored"
        DISCARDED = "discarded", "discarded"

    UNFINISHED = (State.NEW, State.CHECKED, State.REFUSED)

    dataset = models.ForeignKey(
        "datasets.Dataset", null=True, blank=True, on_delete=models.RESTRICT, related_name="uploads", db_index=False
    )
    # Counted from 1 in each dataset, when it is stored.
    number = models.PositiveIntegerField(null=True, blank=True)
    # Its items have consecutive positions.
    first_position = models.PositiveIntegerField(null=True, blank=True)
    item_count = models.PositiveIntegerField(default=0)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=limits.MAX_FILE_NAME_CHARACTERS)
    file = models.CharField(max_length=limits.MAX_FILE_NAME_CHARACTERS, blank=True)
    options = models.JSONField(default=dict)
    report = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.NEW)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    stored_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [UniqueConstraint(fields=["dataset", "number"], name="upload_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("datasets:upload", args=[self.pk])

    # --- Reading ---

    @classmethod
    def unfinished_of(cls, user: User) -> "QuerySet[Upload]":
        unfinished = cls.objects.filter(by=user, state__in=cls.UNFINISHED, dataset__deleted_at=None)
        return unfinished.exclude(file="")

    @property
    def path(self) -> Path:
        return kept_file(self.file)

    @property
    def problems_path(self) -> Path:
        """A text file with all problems that were found, one a line; absent if there are none."""
        return kept_file(f"{self.file}.problems")

    @property
    def size(self) -> int:
        """Bytes of the kept file."""
        return self.path.stat().st_size if self.file and self.path.is_file() else 0

    @property
    def is_large(self) -> bool:
        """Whether a job does the work."""
        return self.size > settings.JOB_FILE_BYTES or self.report.get("items", 0) > settings.JOB_ROWS

    @property
    def is_worked_on(self) -> bool:
        return bool(self.job and not self.job.is_over)

    @property
    def found(self) -> Report:
        return Report.from_json(self.report)

    def outcome(self, dataset: Dataset) -> str:
        """The message after it has been stored."""
        done = "has more items" if self.first_position else "is ready"
        return f"“{dataset}” {done}: {self.found.in_words()}."

    # --- Checking and storing ---

    @classmethod
    def begin(cls, file: File, *, by: User, options: Mapping[str, Any], dataset: Dataset | None = None) -> "Upload":
        """Keep a file for a new dataset or, if one is given, for an addition to that."""
        with _keeping(file) as kept:
            return cls.objects.create(dataset=dataset, by=by, options=_complete(options, dataset), **kept)

    def change(self, options: Mapping[str, Any], *, file: File | None = None) -> None:
        """Change the options and, if one is given, the file. It has to be checked again."""
        options, old = _complete(options, self.dataset), self.file
        if file is None:
            self._restart(options=options)
            return
        with _keeping(file) as kept:
            self._restart(options=options, **kept)
        delete_files(old)

    def examine(self, progress: Progress = no_progress, job: Job | None = None) -> Report:
        """Dry run: read everything and keep the report; store no items."""
        self._refuse_if_over(job, Upload.objects.all())
        with self._problem_list() as on_problem:
            context = ImportContext(self.options, self.dataset, self.by)
            reader = context.reader(self.path, progress, on_problem)
            report = reader.check()
            if dataset := context.dataset:
                taken = dataset.items_with_external_ids(reader.taken_ids)
                report.marks_at_stake = dataset.marks_of(taken)._asdict()
                try:
                    dataset.check_room(report.items - len(reader.replaced_ids))
                except Refused as error:
                    reader.add_problems(error)
        with write():
            self._keep(report, job)
            if job:
                job.finish(url=self.get_absolute_url(), text=f"“{self}” was read: {report.in_words()}.")
        return report

    def store(self, progress: Progress = no_progress, job: Job | None = None) -> Dataset:
        """Read it again and store everything in one transaction; returns the dataset.

        Raises `Refused`, and stores nothing, if there is a problem now.
        """
        self._refuse_if_over(job, Upload.objects.all())
        for _ in range(_ATTEMPTS):
            if dataset := self._try_to_store(progress, job):
                delete_files(self.file)
                self.refresh_from_db()
                return dataset
        raise Refused("The labels or the items of the dataset change at the moment. Try again.")

    def discard(self) -> None:
        with write():
            store(self._locked(), state=self.State.DISCARDED, file="", report={})
        delete_files(self.file)
        self.refresh_from_db()

    def start_job(self, kind: str, *, by: User) -> Job:
        """Start the job ``check_upload`` or ``store_upload``."""
        verb = "Check" if kind == "check_upload" else "Import"
        target = {"upload": self.pk, "page": self.get_absolute_url()}
        with write():
            upload = self._locked()
            self.job = start_job(kind, title=f"{verb} “{upload.name}”", by=by, target=target)
            store(upload, job=self.job)
        return self.job

    def _try_to_store(self, progress: Progress, job: Job | None) -> Dataset | None:
        """None if what the reading depends on has changed before the dataset was locked."""
        context = ImportContext(self.options, self.dataset, self.by)
        with Spool() as spool, self._problem_list() as on_problem:
            reader = context.reader(self.path, progress, on_problem)
            try:
                spool.add(reader)
            except Refused:
                with write():
                    self._keep(reader.report, job)
                raise
            report = reader.report
            progress(report.items, report.items, "saving")
            with context.locked_dataset() as dataset:
                if dataset is None:
                    return None
                upload = self._locked(job)
                first = dataset.append_items(spool, report, replaced=reader.replaced_ids, by=self.by)
                store(
                    upload,
                    dataset=dataset,
                    number=(dataset.uploads.aggregate(n=Max("number"))["n"] or 0) + 1,
                    first_position=first,
                    item_count=report.items,
                    report=report.as_json(),
                    state=self.State.STORED,
                    stored_at=timezone.now(),
                    file="",
                )
                if job:
                    job.finish(url=dataset.get_absolute_url(), text=upload.outcome(dataset))
        return dataset

    @contextmanager
    def _problem_list(self) -> Iterator[Callable[[Problem], object]]:
        """A function that writes problems into the list beside the kept file. Without problems there is none."""
        path = self.problems_path
        try:
            with path.open("w", encoding="utf-8") as file:
                yield lambda problem: file.write(f"{problem}\n")
        finally:
            if path.is_file() and not path.stat().st_size:
                path.unlink()

    def _keep(self, report: Report, job: Job | None) -> None:
        """Called inside a transaction."""
        state = self.State.CHECKED if report.is_good else self.State.REFUSED
        store(self._locked(job), state=state, report=report.as_json())
        self.refresh_from_db()

    def _restart(self, **values: Any) -> None:
        with write():
            store(self._locked(), state=self.State.NEW, report={}, job=None, **values)
        self.problems_path.unlink(missing_ok=True)
        self.refresh_from_db()

    def _locked(self, job: Job | None = None) -> "Upload":
        """Lock the row. Raises `Refused` if the upload is finished, in the hands of another job, or changed since it was read."""
        row = self._refuse_if_over(job, Upload.objects.select_for_update(no_key=True))
        if (row.file, row.options) != (self.file, self.options):
            raise Refused(f"“{self}” was changed meanwhile. Reload the page.")
        return row

    def _refuse_if_over(self, job: Job | None, rows: "QuerySet[Upload]") -> "Upload":
        # Its job is read afterwards: joined to a row that was waited for, PostgreSQL gives the job of before.
        row = rows.filter(pk=self.pk).first()
        if row is None or row.state == self.State.DISCARDED:
            raise Refused(f"“{self}” was discarded.")
        if row.state == self.State.STORED:
            raise Refused(f"“{self}” was stored already.")
        if row.is_worked_on and row.job != job:
            raise Refused(f"“{self}” is being worked on at the moment. Wait until that is done, or cancel it.")
        return row


def _complete(options: Mapping[str, Any], dataset: Dataset | None) -> dict[str, Any]:
    """The options with all that the dataset decides, if there is one."""
    return {**options, **(dataset.import_options if dataset else {})}


@contextmanager
def _keeping(file: File) -> Iterator[dict[str, str]]:
    """The name of a file, and that of a copy which is kept unless the rest fails."""
    check_size(file.size, settings.MAX_FILE_BYTES)
    with new_file() as (kept, target):
        target.writelines(file.chunks())
        target.flush()
        yield {"name": (Path(file.name or "").name or "text")[: settings.MAX_FILE_NAME_CHARACTERS], "file": kept}


def delete_files(name: str) -> None:
    """Delete a kept file with its list of problems."""
    if name:
        kept_file(name).unlink(missing_ok=True)
        kept_file(f"{name}.problems").unlink(missing_ok=True)


goes_with_datasets.append((Upload, "dataset"))
