"""Uploads, and what their import depends on: whether that is unchanged when its items are stored."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.db import models, transaction
from django.db.models import Max, QuerySet, UniqueConstraint
from django.urls import reverse
from django.utils import timezone

from annotation_service import limits, words
from annotation_service.db import among, store, write
from annotation_service.inputs import ENCODINGS, Refused, check_size, clean_description, clean_title
from annotation_service.json_input import to_json
from annotation_service.models import Job, User, fold, kept_file, new_file, start_job
from ontologies.models import Ontology
from ontologies.pasted_lists import from_fullnames
from resources.judging import Judge
from resources.models import ConstraintSet, rules_about

from ..extra_fields import alike
from ..formats import elements_of, format_named, labels_of
from ..formats.dataset_format import DatasetSource
from ..formats.own import JSON
from ..importing.document import ImportReport, Progress, Reader, no_progress
from ..importing.items import KnownItem, MarkedItem, NewEntity, NewItem
from ..importing.options import MARK, SKIP, UPDATE, ImportOptions
from ..importing.outcomes import Outcomes
from ..importing.storage import Author, Spool
from ..kinds import DatasetKind
from ..portions import token_lists
from .annotation import Annotation
from .copying import CopyReader
from .correction import MarksLost, Moves, TextCorrection
from .dataset import Dataset, goes_with_datasets
from .item import Item
from .marks import Mark


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
        self.author = self._author()
        self._marked_before: set[int] = set()
        self.sets = self._constraint_sets()
        self.known_ids = _external_ids(self.dataset) if self.dataset else {}

    def reader(self, path: Path, progress: Progress, **told: Any) -> Reader:
        if not path.is_file():
            raise Refused(GONE)
        known_texts: Iterable[str] = ()
        if self.dataset:
            known_texts = self.dataset.items().values_list("original", flat=True).iterator()
        rules = rules_about(self.sets, self.options.ontologies)
        kind_of_reader = partial(CopyReader, source=self.source) if self.source else Reader
        return kind_of_reader(
            path,
            self.options,
            known_ids=self.known_ids,
            find_marked=self._find_marked if self.author else None,
            find_known=self._find_known,
            known_texts=known_texts,
            judge=Judge(rules, self.options.ontologies.values()) if rules else None,
            progress=progress,
            **told,
        )

    def _find_known(self, items: Sequence[NewItem]) -> Iterator[KnownItem]:
        """See `Reader`. By their positions, which have an index and stay."""
        if self.dataset is None:
            return
        numbers = {each.external_id: self.known_ids[each.external_id] for each in items}
        found = self.dataset.items().filter(position__in=among([number - 1 for number in numbers.values()]))
        there = {item.number: item for item in found.defer("search_text", "offsets")}
        for new in items:
            if item := there.get(numbers[new.external_id]):
                has_other_text = (item.original, item.tokens) != (new.original, new.tokens)
                has_other_fields = bool(new.extra_fields) and not alike(item.extra_fields, new.extra_fields)
                yield KnownItem(item.pk, item.number, new, has_other_text, has_other_fields)

    def _author(self) -> User | None:
        """The member whose marks those of the file are; None if they came with the dataset."""
        name = self.options.whose.removeprefix("@")
        if name == self.options.whose:
            if name and name not in (Mark.Status.ACCEPTED, Mark.Status.SUGGESTED):
                raise Refused(f"“{words.cut(name, 40)}” marks are none. Give accepted, suggested, or @USER.")
            if self.options.duplicates == MARK:
                raise Refused("Marks alone are taken as those of a member: choose whose they are.")
            return None
        project = self.dataset.its_project if self.dataset else None
        if project is None:
            raise Refused("Marks become those of a member in the dataset of a project only.")
        if found := project.annotating_members().filter(username_folded=fold(name)).first():
            return found
        raise Refused(f"“{name}” is no member of the project who annotates.")

    def _find_marked(self, items: Sequence[NewItem]) -> list[MarkedItem | str | None]:
        """What the author's marks in a file stand on: see `Reader`."""
        assert self.dataset and self.author
        named = {each.external_id for each in items if each.external_id in self.known_ids}
        by_id = dict(self.dataset.items_with_external_ids(named).values_list("external_id", "pk"))
        keys = [by_id.get(each.external_id) or self._with_text(each) for each in items]
        found = self.dataset.items().in_bulk([key for key in keys if key])
        begun = set(Annotation.objects.filter(annotator=self.author, item__in=found).values_list("item", flat=True))
        return [self._marked(found[key], new, begun) if key else None for key, new in zip(keys, items, strict=True)]

    def _with_text(self, new: NewItem) -> int:
        """The item that has the text of another, whatever the spaces in it; of several the first that was not asked for yet."""
        found = self._by_text.get(_text_key(new.tokens), [0])
        return found.pop(0) if len(found) > 1 else found[0]

    @cached_property
    def _by_text(self) -> dict[bytes, list[int]]:
        assert self.dataset
        keys: dict[bytes, list[int]] = defaultdict(list)
        for pk, tokens in token_lists(self.dataset.items()):
            keys[_text_key(tokens)].append(pk)
        return keys

    def _marked(self, item: Item, new: NewItem, begun: Collection[int]) -> MarkedItem | str:
        if item.pk in begun:
            return f"“{self.author}” has begun item {item.number} of the dataset, or has suggestions there."
        if item.pk in self._marked_before:
            return f"An item before this one is item {item.number} of the dataset, too: its marks came twice."
        self._marked_before.add(item.pk)
        old_tokens, new_tokens = _without_spaces(item.tokens), _without_spaces(new.tokens)
        ends, new_ends = list(accumulate(map(len, old_tokens))), list(accumulate(map(len, new_tokens)))
        if _letters(item.tokens) != _letters(new.tokens) or ends[-1] != new_ends[-1]:  # folded, “ß” has two letters
            return f"Item {item.number} of the dataset has another text."
        firsts = {end - len(token): at for at, (end, token) in enumerate(zip(ends, old_tokens, strict=True))}
        lasts = {end: at for at, end in enumerate(ends)}
        entities: list[NewEntity] = []
        for mark in new.entities:
            start = firsts.get(new_ends[mark.start] - len(new_tokens[mark.start]))
            end = lasts.get(new_ends[mark.end])
            if start is None or end is None:
                return f"A mark begins or ends inside a token of item {item.number} of the dataset."
            entities.append(mark._replace(start=start, end=end))
        return MarkedItem(item.pk, new._replace(tokens=item.tokens, entities=entities))

    def is_still_unbegun(self) -> bool:
        """Whether the author has begun none of the items that get their marks, which are locked from now on."""
        marked = Item.objects.extra(
            where=["datasets_item.id IN (SELECT item_id FROM spool_annotation WHERE is_there = 1)"]
        )
        keys = list(marked.select_for_update().order_by("position").values_list("pk", flat=True))
        return not Annotation.objects.filter(annotator=self.author, item__in=among(keys)).exists()

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
        looks_at_texts = self.options.preprocessing.remove_duplicates or self.options.same_texts == SKIP or self.author
        return not looks_at_texts and _external_ids(dataset) == self.known_ids

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


def _letters(tokens: Iterable[str]) -> str:
    """A text without its spaces, which not every format keeps."""
    return "".join(_without_spaces(tokens)).casefold()


def _without_spaces(tokens: Iterable[str]) -> list[str]:
    return ["".join(token.split()) for token in tokens]


def _text_key(tokens: Iterable[str]) -> bytes:
    """Short: a dataset may have a million texts."""
    return blake2b(_letters(tokens).encode(), digest_size=8).digest()


def _blueprint(pk: int) -> Dataset:
    if found := Dataset.objects.filter(pk=pk, project=None).first():
        return found
    raise Refused("The dataset whose items are to be added was deleted. Discard this.")


def _external_ids(dataset: Dataset) -> dict[str, int]:
    """The external ids of its items, with the numbers of these."""
    ids = dataset.items().exclude(external_id="").values_list("external_id", "position")
    return {external_id: position + 1 for external_id, position in ids.iterator()}


Refusals = dict[int, tuple[Refused, NewItem]]
"""Why items of a dataset, by their keys, do not become what a document has for them."""
_ATTEMPTS = 3
GONE = "The uploaded file is not there any more. Upload it again."


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
    def bad_path(self) -> Path:
        """The items with problems as JSON Lines, to be corrected; absent if there are none. It stays for a day."""
        return kept_file(f"{self.file}.bad")

    @property
    def outcomes_path(self) -> Path:
        """What becomes of each item, if items of the dataset are updated. It stays for a day."""
        return kept_file(f"{self.file}.outcomes")

    @property
    def updates_items(self) -> bool:
        return self.options.get("duplicates") == UPDATE

    @property
    def size(self) -> int:
        """Bytes of the kept file."""
        return self.path.stat().st_size if self.file and self.path.is_file() else 0

    @property
    def read_as(self) -> str:
        """How it was read, in words such as “CoNLL, Windows-1252, 3 labels called otherwise here”."""
        options = self.options
        try:
            parts = [format_named(options["format"]).label]
        except (KeyError, Refused):  # of an old upload
            parts = []
        if encoding := ENCODINGS[options["encoding"]] if options.get("encoding") else "":
            parts.append(encoding.partition(",")[0])
        if whose := options.get("whose", ""):
            parts.append(f"marks of {whose[1:]}" if whose.startswith("@") else f"{whose} marks")
        labels = [ours for each in options.get("labels", {}).values() for ours in each.values()]
        if called := sum(map(bool, labels)):
            parts.append(f"{words.plural(called, 'label,labels')} called otherwise here")
        if left := len(labels) - called:
            parts.append(f"{words.plural(left, 'label,labels')} left out")
        return ", ".join(parts)

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

    @property
    def is_outdated(self) -> bool:
        """Whether the labels have changed since it was checked."""
        versions = self.found.versions if self.state in (self.State.CHECKED, self.State.REFUSED) else {}
        now = Ontology.objects.filter(pk__in=versions).values_list("pk", "version")
        return {str(pk): version for pk, version in now} != versions

    def map_labels(self, kind: str, labels: Mapping[str, str], new: Collection[str], *, by: User) -> None:
        """Say what labels of the file are called in the ontology, where nothing stands for those that are left out; add the new
        ones to it. It has to be checked again."""
        self._refuse_if_over(None, Upload.objects.all())
        if new:
            ontology = Ontology.objects.get(pk=self.options[f"{kind}_ontology"])
            ontology.add_items(from_fullnames(new), by=by)
        known = self.options.get("labels", {})
        self.change({**self.options, "labels": {**known, kind: {**known.get(kind, {}), **labels}}})

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
        options = {"format": JSON.name, "source": source.pk, "source_kind": source.kind, "rows": source.row_count}
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

    def make_ontologies(self, *, instead: str = "") -> list[Ontology]:
        """Make a blueprint of the labels in the file for each kind of its marks that no ontology is chosen for, and for the kind
        that one is made for ``instead`` of the chosen. Raises `Refused`, and makes none, if a label can be none."""
        if instead and (self.dataset or f"{instead}_ontology" not in self.options):
            raise Refused("Only a new dataset gets new ontologies.")
        if not self.size:
            raise Refused(GONE)
        format = format_named(self.options["format"])
        with self.path.open("rb") as file:
            source = DatasetSource(file, self.name, self.options["encoding"], self.options["reading"])
            found = labels_of(elements_of(format, source))
        with write():
            made = [
                Ontology.create(kind=of, name=self.options["name"], owner=self.by, items=from_fullnames(found[of]))
                for of in DatasetKind(self.options["kind"]).label_kinds
                if of == instead or not self.options.get(f"{of}_ontology")
            ]
            labels = {of: names for of, names in self.options["labels"].items() if of != instead}
            self.change({**self.options, **{f"{each.kind}_ontology": each.pk for each in made}, "labels": labels})
        return made

    def examine(self, progress: Progress = no_progress, job: Job | None = None) -> ImportReport:
        """Dry run: read everything and keep the report; store no items."""
        self._refuse_if_over(job, Upload.objects.all())
        with self._lists() as told, Outcomes(wanted=self.updates_items) as outcomes:
            context = ImportContext(self.options, self.dataset, self.by)
            reader = context.reader(self.path, progress, **told, outcomes=outcomes)
            report = reader.check()
            if dataset := context.dataset:
                taken = dataset.items_with_external_ids(reader.taken_ids)
                report.marks_at_stake = dataset.marks_of(taken)._asdict()
                refused: Refusals = {}
                for item, new in _to_correct(dataset, reader.corrected.values()):
                    moves = Moves(item, new)
                    report.marks_changed += sum(len(line.people) for line in moves.lines if line.after)
                    report.marks_lost += moves.lost
                    if moves.lost and self.updates_items:
                        refused[item.pk] = MarksLost(moves.lost), new
                if report.marks_lost == context.options.agreed:
                    refused.clear()
                _take_back(reader, refused)
                outcomes.write(self.outcomes_path, _in_words(refused))
                try:
                    dataset.check_room(report.items - len(reader.replaced_ids))
                except Refused as error:
                    report.is_broken = True
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
        was = self.file
        for _ in range(_ATTEMPTS):
            if dataset := self._try_to_store(progress, job):
                self.refresh_from_db()
                keep = [kept_file(f"{was}.outcomes"), *([self.bad_path] if self.file else [])]
                # Where it is a part of more that may fail, it is there to be stored again.
                transaction.on_commit(partial(delete_files, was, keep=keep))
                return dataset
        raise Refused("The labels or the items of the dataset change at the moment. Try again.")

    def discard(self) -> None:
        with write():
            store(self._locked(), state=self.State.DISCARDED, file="", report={})
        delete_files(self.file)
        self.refresh_from_db()

    def begin_check(self, *, by: User) -> Job | None:
        """Examine it at once or, if it is large, by a job."""
        if self.is_large:
            return self.start_job("check_upload", by=by)
        self.examine()
        return None

    def start_job(self, kind: str, *, by: User) -> Job:
        """Start the job ``check_upload`` or ``store_upload``."""
        verb = "Check" if kind == "check_upload" else "Import"
        target = {"upload": self.pk, "page": self.get_absolute_url()}
        if self.dataset and self.dataset.project_id:
            target["project"] = self.dataset.project_id
        with write():
            upload = self._locked()
            self.job = start_job(kind, title=f"{verb} “{upload.name}”", by=by, target=target)
            store(upload, job=self.job)
        return self.job

    def _try_to_store(self, progress: Progress, job: Job | None) -> Dataset | None:
        """None if what the reading depends on has changed before the dataset was locked."""
        context = ImportContext(self.options, self.dataset, self.by)
        author = Author(context.author.pk, self.by.pk, self.name) if context.author else None
        with Spool(author) as spool, self._lists() as told, Outcomes(wanted=self.updates_items) as outcomes:
            also = {"on_marked": spool.mark, "on_fields": spool.change_fields}
            reader = context.reader(self.path, progress, **told, **also, outcomes=outcomes)
            try:
                spool.add(reader)
            except Refused:
                with write():
                    self._keep(reader.report, job)
                raise
            report = reader.report
            progress(report.items, report.items, "saving")
            with context.locked_dataset() as dataset:
                if dataset is None or (report.marked and not context.is_still_unbegun()):
                    return None
                upload = self._locked(job)
                refused = self._correct_texts(dataset, reader)
                report.new_fields = spool.store_fields(refused)
                report.raise_problems()
                result = {"url": dataset.get_absolute_url(), "text": f"“{dataset}” is as it was."}
                if report.items or report.changes_items:
                    self._put_into(dataset, upload, context, spool, reader)
                    result["text"] = upload.outcome(dataset)
                else:
                    store(upload, state=self.State.DISCARDED, file="", report={})
                if self.updates_items:
                    arrived = Item.objects.none() if dataset.arrived is None else dataset.arrived
                    created = arrived.values_list("pk", "position").iterator()
                    outcomes.write(self.outcomes_path, _in_words(refused), created)
                    result |= {"file": self.outcomes_path.name, "name": f"{self.name} outcomes.jsonl"}
                if job:
                    job.finish(**result)
        return dataset

    def _put_into(self, dataset: Dataset, row: "Upload", context: ImportContext, spool: Spool, reader: Reader) -> None:
        """Add the new items, and the record of what came: in the same transaction."""
        report, options = reader.report, context.options
        status = options.status or dataset.given_status
        first = dataset.append_items(spool, report, replaced=reader.replaced_ids, by=self.by, status=status)
        if context.author:
            dataset.widen(DatasetKind.RICH, {})
        else:
            dataset.widen(options.kind, options.ontologies)
        store(
            row,
            dataset=dataset,
            number=(dataset.uploads.aggregate(n=Max("number"))["n"] or 0) + 1,
            first_position=first,
            item_count=report.items,
            report=report.as_json(),
            state=self.State.STORED,
            stored_at=timezone.now(),
            file=self.file if report.bad_items else "",
        )

    def _correct_texts(self, dataset: Dataset, reader: Reader) -> Refusals:
        """In the transaction that has locked the dataset. Where items are updated, those that would lose marks which nobody has
        agreed to lose, or get a text that cannot be theirs, are refused one by one."""
        corrections = _to_correct(dataset, reader.corrected.values())
        agreed, refused = reader.options.agreed, Refusals()
        lost = sum(Moves(item, new).lost for item, new in corrections) if agreed else 0
        for item, new in corrections:
            at_most = None if not self.updates_items or (agreed and lost == agreed) else 0
            try:
                TextCorrection.put(item.locked_to_change(), new, by=self.by, agreed=at_most)
            except Refused as error:
                if not self.updates_items:
                    raise
                refused[item.pk] = error, new
        if corrections:
            dataset.refresh_from_db(fields=["token_count"])
        _take_back(reader, refused)
        return refused

    @contextmanager
    def _lists(self) -> Iterator[dict[str, Callable[[Any], object]]]:
        """Functions that write problems, and the items that have some, into the lists beside the kept file. Empty ones go."""
        paths = self.problems_path, self.bad_path
        try:
            with paths[0].open("w", encoding="utf-8") as problems, paths[1].open("w", encoding="utf-8") as bad:
                yield {
                    "on_problem": lambda problem: problems.write(f"{problem}\n"),
                    "on_bad": lambda value: bad.write(f"{to_json(value)}\n"),
                }
        finally:
            for path in paths:
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


def _take_back(reader: Reader, refused: Refusals) -> None:
    """Report corrections that are refused as items with problems."""
    for why, new in refused.values():
        reader.add_problem(new.place, str(why))
        reader.report.corrected -= 1
        reader.report.bad_items += 1
        if reader.on_bad:
            value = {"original": new.original, "tokens": new.tokens, "external_id": new.external_id}
            reader.on_bad(value | ({"extra_fields": new.extra_fields} if new.extra_fields else {}))


def _in_words(refused: Refusals) -> dict[int, tuple[str, int]]:
    return {pk: (str(why), why.count if isinstance(why, MarksLost) else 0) for pk, (why, _) in refused.items()}


def _complete(options: Mapping[str, Any], dataset: Dataset | None) -> dict[str, Any]:
    """The options with all that the dataset decides, if there is one, and how the file before this one was read."""
    decided = dataset.import_options if dataset else {}
    if dataset and "source" in options:
        decided |= dataset.copy_options(DatasetKind(options["source_kind"]))
    elif dataset and dataset.project_id and options.get("file_kind"):
        decided |= dataset.copy_options(DatasetKind(options["file_kind"]))
    last = dataset.additions().first() if dataset else None
    before = {name: last.options.get(name, {}) for name in ("reading", "labels")} if last else {}
    return {"encoding": "", "reading": {}, "labels": {}, **before, **options, **decided}


@contextmanager
def _keeping(file: File) -> Iterator[dict[str, str]]:
    """The name of a file, and that of a copy which is kept unless the rest fails."""
    check_size(file.size, settings.MAX_FILE_BYTES)
    with new_file() as (kept, target):
        target.writelines(file.chunks())
        target.flush()
        yield {"name": (Path(file.name or "").name or "text")[: settings.MAX_FILE_NAME_CHARACTERS], "file": kept}


def delete_files(name: str, keep: Collection[Path] = ()) -> None:
    """Delete a kept file with its lists."""
    for path in (kept_file(f"{name}{suffix}") for suffix in ("", ".problems", ".bad", ".outcomes") if name):
        if path not in keep:
            path.unlink(missing_ok=True)


goes_with_datasets.append((Upload, "dataset"))
