"""Uploads, and what their import depends on: whether that is unchanged when its items are stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.db import models
from django.db.models import Max, QuerySet, UniqueConstraint
from django.urls import reverse
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import store, write
from annotation_service.inputs import Problem, Refused, check_size, clean_description, clean_title
from annotation_service.models import Job, User, kept_file, new_file, start_job
from ontologies.models import Ontology
from resources.judging import Judge
from resources.models import ConstraintSet, rules_about

from ..importing.document import ImportReport, Progress, Reader, no_progress
from ..importing.formats import Format
from ..importing.items import NewItem
from ..importing.options import SKIP, ImportOptions
from ..importing.storage import Spool
from ..kinds import DatasetKind
from .copying import CopyReader
from .correction import Moves, TextCorrection
from .dataset import Dataset, goes_with_datasets
from .item import Item


class ImportContext:
    """The options of an upload, the ontologies that they name and, for an addition, what its dataset has already.

    Raises `Refused` if one of them is missing or unsuitable.
    """

    def __init__(self, options: Mapping[str, Any], dataset: Dataset | None, by: User) -> None:
        self.wanted, self.by = options, by
        self.dataset = dataset and Dataset.objects.select_related("project").filter(pk=dataset.pk).first()
        if dataset and not self.dataset:
            raise Refused("The dataset was deleted meanwhile.")
        self.options = ImportOptions.from_json(options)
        if not dataset:  # before everything is read
            clean_title(options.get("name", ""))
            for kind, ontology in self.options.ontologies.items():
                if not ontology.is_blueprint:
                    raise Refused(f"“{ontology}” belongs to a project: choose the blueprint of the {kind} ontology.")
        self.source = _blueprint(options["source"]) if "source" in options else None
        self.sets = self._constraint_sets()
        self.known_ids = _external_ids(self.dataset) if self.dataset else {}

    def reader(self, path: Path, progress: Progress, on_problem: Callable[[Problem], object]) -> Reader:
        if not path.is_file():
            raise Refused("The uploaded file is not there any more. Upload it again.")
        known_texts: Iterable[str] = ()
        if self.dataset:
            known_texts = self.dataset.items().values_list("original", flat=True).iterator()
        rules = rules_about(self.sets, self.options.ontologies)
        kind_of_reader = partial(CopyReader, source=self.source) if self.source else Reader
        return kind_of_reader(
            path,
            self.options,
            known_ids=self.known_ids,
            with_other_texts=lambda items: [new for _, new in _to_correct(self.dataset, items)],
            known_texts=known_texts,
            judge=Judge(rules, self.options.ontologies.values()) if rules else None,
            progress=progress,
            on_problem=on_problem,
        )

    @contextmanager
    def locked_dataset(self) -> Iterator[Dataset | None]:
        """The dataset that the items go to, in a transaction: the locked one, or a new one.

        None if what the reading depended on has changed: the labels, the external ids or, where duplicates are dropped, the items
        that are there.
        """
        ontologies = self.options.ontologies.values()
        if self.dataset:
            with self.dataset.changing(*ontologies) as dataset:
                yield dataset if self._is_unchanged(dataset) and self._labels_are_unchanged() else None
        else:
            with write():
                for ontology in ontologies:
                    ontology.locked()
                yield self._new_dataset() if self._labels_are_unchanged() else None

    def _is_unchanged(self, dataset: Dataset) -> bool:
        """Whether the dataset, now locked, has what was read of it, and so has the one whose items are copied."""
        assert self.dataset
        if self.source and _blueprint(self.source.pk).updated_at != self.source.updated_at:
            return False
        if dataset.updated_at == self.dataset.updated_at:
            return True
        leaves_out = self.options.preprocessing.remove_duplicates or self.options.same_texts == SKIP
        return not leaves_out and _external_ids(dataset) == self.known_ids

    def _labels_are_unchanged(self) -> bool:
        """Whether the ontologies and the constraints are as they were read: every change sets their time."""
        ontologies = self.options.ontologies.values()
        if not all(Ontology.objects.filter(pk=o.pk, updated_at=o.updated_at).exists() for o in ontologies):
            return False
        return [(each.pk, each.updated_at) for each in self._constraint_sets()] == [
            (each.pk, each.updated_at) for each in self.sets
        ]

    def _constraint_sets(self) -> list[ConstraintSet]:
        """The constraints that bind the marks: those of the project or, for a blueprint, those that are named."""
        about = self.options.kind.label_kinds
        kinds = [kind for kind, rows in ConstraintSet.row_models.items() if rows.marks in about]
        if self.dataset and self.dataset.project_id:
            return list(ConstraintSet.objects.filter(project=self.dataset.project_id, kind__in=kinds).order_by("kind"))
        named = {kind: pk for kind in kinds if (pk := self.wanted.get(ConstraintSet.format_of(kind)))}
        sets = [ConstraintSet.objects.filter(pk=pk, kind=kind, project=None).first() for kind, pk in named.items()]
        if None in sets:
            raise Refused("The chosen constraints were deleted. Choose others, or none.")
        return [each for each in sets if each]

    def _new_dataset(self) -> Dataset:
        options = self.options
        return Dataset.objects.create(
            kind=options.kind,
            name=clean_title(self.wanted["name"]),
            description=clean_description(self.wanted.get("description", "")),
            owner=self.by,
            preprocessing=asdict(options.preprocessing) if options.kind == DatasetKind.STANDARD else {},
            **{f"{kind}_ontology": ontology for kind, ontology in options.ontologies.items()},
        )


def _blueprint(pk: int) -> Dataset:
    if found := Dataset.objects.filter(pk=pk, project=None).first():
        return found
    raise Refused("The dataset whose items are to be added was deleted. Discard this.")


def _external_ids(dataset: Dataset) -> dict[str, int]:
    """The external ids of its items, with the numbers of these."""
    ids = dataset.items().exclude(external_id="").values_list("external_id", "position")
    return {external_id: position + 1 for external_id, position in ids.iterator()}


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
    def is_copy(self) -> bool:
        """Whether it is no file, but the items of a blueprint."""
        return "source" in self.options

    @property
    def is_large(self) -> bool:
        """Whether a job does the work, which reads the texts that the dataset has already, too."""
        known = self.dataset.item_count if self.dataset else 0
        rows = self.options.get("rows") or self.report.get("items", 0) + self.report.get("corrected", 0)
        return self.size > settings.JOB_FILE_BYTES or known + rows > settings.JOB_ROWS

    @property
    def is_worked_on(self) -> bool:
        return bool(self.job and not self.job.is_over)

    @property
    def found(self) -> ImportReport:
        return ImportReport.from_json(self.report)

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

    @classmethod
    def begin_copy(cls, source: Dataset, *, by: User, dataset: Dataset) -> "Upload":
        """The items of a blueprint for the dataset of a project. Nothing is kept of them before they are stored."""
        if dataset.is_blueprint or not source.is_blueprint:
            raise Refused("The items of a blueprint are added to the dataset of a project.")
        options = {"format": Format.JSON, "source": source.pk, "source_kind": source.kind, "rows": source.row_count}
        options["same_texts"] = SKIP
        with _keeping(ContentFile(b"", source.name)) as kept:
            kept["name"] = source.name[: settings.MAX_FILE_NAME_CHARACTERS]
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

    def examine(self, progress: Progress = no_progress, job: Job | None = None) -> ImportReport:
        """Dry run: read everything and keep the report; store no items."""
        self._refuse_if_over(job, Upload.objects.all())
        with self._problem_list() as on_problem:
            context = ImportContext(self.options, self.dataset, self.by)
            reader = context.reader(self.path, progress, on_problem)
            report = reader.check()
            if dataset := context.dataset:
                taken = dataset.items_with_external_ids(reader.taken_ids)
                report.marks_at_stake = dataset.marks_of(taken)._asdict()
                for item, new in _to_correct(dataset, reader.corrected.values()):
                    for line in Moves(item, new).lines:
                        report.marks_changed += len(line.people) if line.after else 0
                        report.marks_lost += 0 if line.after else len(line.people)
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
                for item, new in _to_correct(dataset, reader.corrected.values()):
                    TextCorrection.put(item.locked_to_change(), new, by=self.by)
                dataset.widen(context.options.kind, context.options.ontologies)
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

    def _keep(self, report: ImportReport, job: Job | None) -> None:
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


def _to_correct(dataset: Dataset | None, texts: Iterable[NewItem]) -> list[tuple[Item, NewItem]]:
    """The items of a dataset that have other texts than these, which have their external ids."""
    new = {text.external_id: text for text in texts}
    found = dataset.items_with_external_ids(list(new)).select_related("dataset") if dataset else ()
    both = [(item, new[item.external_id]) for item in found]
    return [(item, text) for item, text in both if (item.original, item.tokens) != (text.original, text.tokens)]


def _complete(options: Mapping[str, Any], dataset: Dataset | None) -> dict[str, Any]:
    """The options with all that the dataset decides, if there is one."""
    decided = dataset.import_options if dataset else {}
    if dataset and "source" in options:
        decided |= dataset.copy_options(DatasetKind(options["source_kind"]))
    return {**options, **decided}


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
