"""What somebody had done on many items at once, and what it did with each mark: the undo reads nothing else."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self, TypeVar

from django.conf import settings
from django.db import connection, models
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, UniqueConstraint
from django.urls import reverse
from django.utils import timezone

from annotation_service import jobs, limits, words
from annotation_service.blueprints import Right
from annotation_service.db import among, store, write
from annotation_service.inputs import Refused
from annotation_service.models import Job, Overtaken, start_job
from datasets.alignment import Alignment
from datasets.importing.document import Progress
from datasets.models.broken import broken_by, judge_of
from datasets.models.correction import SPAN, Follower, Place, moved_what
from datasets.models.item import Item, folded
from datasets.models.marks import MARKS, Entity, Mark, Relation
from ontologies.models import OntologyItem

P = TypeVar("P")

# So many items are locked and changed before others can write.
ITEMS_AT_ONCE = 300
# Above so many items a worker does it, and not the request that asks for it.
JOB_ITEMS = 2000
STORE, UNDO = "store_batch", "undo_batch"


class ToUndo(NamedTuple):
    """Of the places of a batch: those that an undo would take back, those that were changed, removed or related since, and those
    on items that are done."""

    undone: int
    changed: int
    done: int


class Batch(models.Model):
    """One action of a person on all alike: places in the items given to them that were marked, accepted, rejected or
    removed together.

    It puts marks on items that the person has not begun, without beginning them. A mark belongs to the last batch that made it or
    decided about it; `updated_at` of the mark is `created_at` of the batch until a person changes it.
    """

    class Verb(models.TextChoices):
        PROPAGATE = "propagate", "marked"
        ACCEPT = "accept", "accepted"
        REJECT = "reject", "rejected"
        REMOVE = "remove", "removed"

    dataset = models.ForeignKey("datasets.Dataset", on_delete=models.RESTRICT, db_index=False, related_name="batches")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    verb = models.CharField(max_length=9, choices=Verb)
    kind = models.CharField(max_length=8, choices=[("entity", "entities"), ("relation", "relations")])
    # The label's uid. It may be deleted when all marks with it are gone.
    label = models.CharField(max_length=64)
    words = models.CharField(max_length=200)
    search_text = models.TextField(default="", editable=False)
    # What was asked for, as the request had it.
    asked = models.JSONField(default=dict, editable=False)
    # The position after the last item that was looked at.
    reached = models.PositiveIntegerField(default=0, editable=False)
    made = models.PositiveIntegerField(default=0)
    left_out = models.JSONField(default=dict, blank=True)
    kept = models.JSONField(default=dict, blank=True)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # When all was stored.
    stored_at = models.DateTimeField(null=True, blank=True)
    undo_began_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "datasets_batch"
        ordering = ["-pk"]
        verbose_name_plural = "batches"
        indexes = [models.Index(fields=["dataset", "person", "id"], name="batch_of_person")]

    def __str__(self) -> str:
        return f"{self.words}: {self.made} {self.get_verb_display()}"

    def save(self, *args: Any, **options: Any) -> None:
        self.search_text = folded(self.words)
        super().save(*args, **options)

    def get_absolute_url(self) -> str:
        return reverse("annotations:batches", args=[self.dataset.project_id])

    @property
    def hides(self) -> bool:
        """Whether what it is about is not seen any more, and noted as rejected where it was suggested."""
        return self.verb in (self.Verb.REJECT, self.Verb.REMOVE)

    @property
    def is_worked_on(self) -> bool:
        return bool(self.job and not self.job.is_over)

    @property
    def state(self) -> str:
        """It may have stopped half-way, and so may its undo."""
        if self.undone_at:
            return "undone"
        if self.undo_began_at:
            return "undoing" if self.is_worked_on else "undo_stopped"
        if self.stored_at:
            return "stored"
        return "storing" if self.is_worked_on else "stopped"

    @property
    def label_name(self) -> str:
        found = OntologyItem.objects.filter(ontology__project=self.dataset.project_id, uid=self.label).first()
        return found.name if found else "a deleted label"

    def in_words(self) -> str:
        told = f"“{self.words}” as “{self.label_name}”: {words.plural(self.made, 'place,places')} {self.get_verb_display()}"
        return told + "".join(f", {part}" for part in self.left_out_in_words())

    def left_out_in_words(self) -> list[str]:
        rules = sum(each["count"] for each in self.left_out.get("rules", ()))
        counts = {"unticked": self.left_out.get("unticked", 0), "left out by rules": rules}
        return [f"{words.number(count)} {why}" for why, count in counts.items() if count]

    def check_person(self) -> None:
        """Refused if its person may not annotate in the project now. Nobody archives it while the caller has items locked."""
        batch = Batch.objects.select_related("dataset__project").filter(pk=self.pk).first()
        project = batch.dataset.its_project if batch else None
        if project is None:
            raise Refused("The project was deleted.")
        if Right.ANNOTATE not in project.rights_of(self.person):
            raise Refused(project.reason_not_to_change() or f"You do not annotate in “{project}” any more.")

    # --- Working on it ---

    def start_job(self, kind: str, title: str, *, items: int) -> Job | None:
        """Have a worker store or undo it. Few items are for the caller, who gets the job; a worker takes it up if the caller's
        process ends before."""
        target = {"batch": self.pk, "project": self.dataset.project_id, "page": self.get_absolute_url()}
        store(self, job=start_job(kind, title=title, by=self.person, target=target))
        return jobs.claim(pk=self.job_id) if items <= JOB_ITEMS else None

    def hold(self, job: Job) -> None:
        """Let nobody else work on it until the transaction ends. Raises `Overtaken` if another worker has taken up the job."""
        held = Batch.objects.select_for_update(of=("self",), no_key=True).filter(pk=self.pk).first()
        if held is None or held.reached != self.reached or not job.still_claimed().exists():
            raise Overtaken
        self.kept = held.kept

    # --- Taking back ---

    def to_undo(self) -> ToUndo:
        """What an undo would do now, or the rest of one."""
        changes = self.changes.filter(kind=self.kind)
        total, done = changes.aggregate(Count("pk"), Count("annotation__done_at")).values()
        undone = changes.undoable(self, self.kind).count()
        kept = self.kept or {"changed": self.made - total, "done": 0}
        return ToUndo(undone, kept["changed"] + total - done - undone, kept["done"] + done)

    def start_undo(self) -> None:
        """Undo it, or the rest of it, at once or by a worker."""
        with write():
            rows = Batch.objects.select_for_update(of=("self",), no_key=True)
            batch = rows.select_related("job", "dataset", "person").get(pk=self.pk)
            if batch.undone_at:
                raise Refused("This was undone already.")
            if batch.is_worked_on:
                raise Refused("This is being worked on at the moment. Wait until that is done.")
            if not batch.undo_began_at:
                gone = batch.made - batch.changes.filter(kind=batch.kind).count()
                store(batch, undo_began_at=timezone.now(), kept={"changed": gone, "done": 0})
            items = batch.changes.values("annotation").distinct().count()
            job = batch.start_job(UNDO, f"Undo “{batch.words}”", items=items)
        if job:
            jobs.run_here(job)

    def undone_in_words(self) -> str:
        stay = sum(self.kept.values())
        rest = f", {words.plural(stay, 'stays,stay')}" if stay else ""
        return f"{words.plural(self.made - stay, 'place is,places are')} as before{rest}."


def in_steps(places: Sequence[P], progress: Progress, phase: str) -> Iterator[Sequence[P]]:
    """So many places at a time as others can wait for."""
    for done in range(0, len(places), ITEMS_AT_ONCE):
        progress(done, len(places), phase)
        yield places[done : done + ITEMS_AT_ONCE]


class Turns:
    """Transactions with as much time between them as each took: SQLite has no queue for others who wait to write."""

    def __init__(self) -> None:
        self._next = 0.0

    @contextmanager
    def write(self) -> Iterator[None]:
        time.sleep(max(0.0, self._next - time.perf_counter()))
        with write():
            started = time.perf_counter()
            yield
        if connection.vendor == "sqlite":
            ended = time.perf_counter()
            self._next = 2 * ended - started


def lock_items(items: Sequence[int]) -> None:
    """As `Project.lock_items` does: in the order of their positions."""
    if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
        rows = Item.with_removed.filter(pk__in=among(items)).order_by("dataset_id", "position")
        list(rows.select_for_update(no_key=True).values_list("pk"))


STATUS = Mark.Status
ENDS = ("source_id", "target_id")
# The columns of a mark that are kept beside its key, its annotation and its batch.
_COLUMNS = ["label_id", "uid", "status", "origin", "suggested_by_id", "score", "is_changed", "created_at", "updated_at"]
COLUMNS = {"entity": [*_COLUMNS, "start", "end", "words_key"], "relation": [*_COLUMNS, *ENDS]}
PLACES = {"entity": ("label_id", "start", "end"), "relation": ("label_id", *ENDS)}
# What the ends of a relation may be, by what it is.
ENDS_OF: dict[Mark.Status, list[str]] = {
    STATUS.ACCEPTED: [STATUS.ACCEPTED],
    STATUS.SUGGESTED: [STATUS.ACCEPTED, STATUS.SUGGESTED],
    STATUS.REJECTED: [*STATUS.values],
}


class BatchChangeQuerySet(QuerySet["BatchChange"]):
    def undoable(self, batch: Batch, kind: str) -> Self:
        """Those of a batch that an undo would take back now. Everything else stays as it is: what is on items that are done, what
        a person changed, removed or related since, and what was marked again or lacks its label or ends."""
        marks = MARKS[kind]._default_manager
        changes = self.filter(kind=kind, annotation__done_at=None)
        if batch.verb == Batch.Verb.REMOVE:
            others = marks.filter(annotation=OuterRef("annotation"))
            place = {name: OuterRef(name) for name in PLACES[kind]}
            changes = changes.filter(
                Exists(OntologyItem.objects.filter(pk=OuterRef("label_id"))),
                ~Exists(others.filter(uid=OuterRef("uid"))),
                ~Exists(others.filter(**place).exclude(status=STATUS.SUGGESTED)),
            )
        else:
            as_left = {"batch": batch, "updated_at": batch.created_at}
            changes = changes.filter(Exists(marks.filter(pk=OuterRef("mark"), **as_left)))
            if kind == "entity":  # the relations of the batch itself go first
                related = Relation.objects.filter(status=STATUS.ACCEPTED).exclude(**as_left)
                changes = changes.exclude(Exists(related.filter(source=OuterRef("mark"))))
                changes = changes.exclude(Exists(related.filter(target=OuterRef("mark"))))
        return changes.filter(_has_ends()) if kind == "relation" else changes

    def breaking(self, dataset: int) -> set[int]:
        """The keys of those whose marks, as they are stored now, break a rule of the project."""
        rows = list(self.values_list("pk", "mark", "kind", "annotation__item", "uid"))
        judge = judge_of(dataset) if rows else None
        if judge is None:
            return set()
        marks = {kind: [mark for _, mark, its_kind, *_ in rows if its_kind == kind] for kind in MARKS}
        found = broken_by(judge, marks["entity"] or [0], marks["relation"])
        broken = {place for each in found for place in each.places}
        return {pk for pk, _, *place in rows if tuple(place) in broken}


def _has_ends() -> Q:
    fits = Q(status="")
    for status, allowed in ENDS_OF.items():
        source, target = (Exists(Entity.objects.filter(pk=OuterRef(end), status__in=allowed)) for end in ENDS)
        fits |= Q(source, target, status=status)
    return fits


class BatchChange(models.Model):
    """A mark that a batch touched, with its row as it was before: empty, if the batch made it. It goes with the undo."""

    batch = models.ForeignKey(Batch, on_delete=models.RESTRICT, db_index=False, related_name="changes")
    annotation = models.ForeignKey("datasets.Annotation", on_delete=models.RESTRICT, related_name="+")
    kind = models.CharField(max_length=8, choices=[(kind, kind) for kind in MARKS])
    mark = models.BigIntegerField()
    # What has been noted with it, see `Rejection.what`.
    noted = models.CharField(max_length=200, blank=True, db_default="")
    # Whether what was removed broke a rule: it may do so again, as if it had stayed.
    is_broken = models.BooleanField(db_default=False)

    # The row of the mark; what it refers to may be gone by the time it comes back.
    its_batch = models.BigIntegerField(null=True)
    label_id = models.BigIntegerField(null=True)
    uid = models.CharField(max_length=limits.MAX_MARK_ID_CHARACTERS, blank=True, db_default="")
    status = models.CharField(max_length=9, choices=STATUS, blank=True, db_default="")
    origin = models.CharField(max_length=13, choices=Mark.Origin, blank=True, db_default="")
    suggested_by_id = models.BigIntegerField(null=True)
    score = models.FloatField(null=True)
    is_changed = models.BooleanField(null=True)
    created_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    words_key = models.BigIntegerField(null=True)
    source_id = models.BigIntegerField(null=True)
    target_id = models.BigIntegerField(null=True)

    objects = BatchChangeQuerySet.as_manager()

    class Meta:
        constraints = [UniqueConstraint(fields=["batch", "annotation", "kind", "mark"], name="batch_change_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.mark}"


def _moved(place: Place, alignment: Alignment) -> Place | None:
    start, end, noted = place
    span = (None, None) if start is None else alignment.span(start, end)
    return span and (*span, moved_what(noted, alignment))


CHANGES = Follower(BatchChange, (*SPAN, "noted"), (), _moved)
