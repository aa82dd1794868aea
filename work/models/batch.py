"""What somebody had done on many items at once, and taking it back."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, models
from django.urls import reverse
from django.utils import timezone

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.db import execute, keys, store, write
from annotation_service.inputs import Refused
from annotation_service.models import Job, start_job
from datasets.models.item import folded
from ontologies.models import OntologyItem

from . import bringing_back, undoing

# So many items are locked and changed before others can write.
ITEMS_AT_ONCE = 300
# Above so many items a job does it.
JOB_ITEMS = 2000
# A request that stores one is over by then.
IN_REQUEST = timedelta(minutes=1)
STORE, UNDO = "store_batch", "undo_batch"
Progress = Callable[[int, int, str], object]


def no_progress(done: int, total: int, phase: str) -> None:
    """Nobody watches."""


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
    # Since when nothing more is stored: all was, or an undo has begun.
    stored_at = models.DateTimeField(null=True, blank=True)
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
    def is_worked_on(self) -> bool:
        return bool(self.job and not self.job.is_over)

    @property
    def state(self) -> str:
        if self.undone_at:
            return "undone"
        if self.job and not self.job.is_over and self.job.kind == UNDO:
            return "undoing"
        if self.stored_at:
            return "stored"
        is_in_request = not self.job and timezone.now() - self.created_at < IN_REQUEST
        return "storing" if self.is_worked_on or is_in_request else "stopped"

    @property
    def label_name(self) -> str:
        found = OntologyItem.objects.filter(ontology__project=self.dataset.project_id, uid=self.label).first()
        return found.name if found else "a deleted label"

    def in_words(self) -> str:
        told = f"“{self.words}” as “{self.label_name}”: {words.plural(self.made, 'place,places')} {self.get_verb_display()}"
        return told + "".join(f", {part}" for part in self.left_out_in_words())

    def left_out_in_words(self) -> list[str]:
        unticked = self.left_out.get("unticked", 0)
        rules = sum(each["count"] for each in self.left_out.get("rules", ()))
        return [f"{words.number(unticked)} unticked"] * bool(unticked) + [
            f"{words.number(rules)} left out by rules"
        ] * bool(rules)

    def check_person(self) -> None:
        """Refused if its person may not annotate in the project now. Nobody archives it while the caller has items locked."""
        batch = Batch.objects.select_related("dataset__project").filter(pk=self.pk).first()
        project = batch.dataset.its_project if batch else None
        if project is None:
            raise Refused("The project was deleted.")
        if Right.ANNOTATE not in project.rights_of(self.person):
            raise Refused(project.reason_not_to_change() or f"You do not annotate in “{project}” any more.")

    # --- Taking back ---

    def to_undo(self) -> ToUndo:
        """What an undo would do now."""
        total, done, changed = self._count()
        # Once an undo has begun, what it has taken back is gone, too.
        gone = self.kept["changed"] if self.kept else self.made - total
        return ToUndo(total - done - changed, changed + gone, done)

    def _count(self) -> tuple[int, int, int]:
        """Its marks that are still there or, if it has removed them, can still be brought back; of them those on items that are
        done, and of the others those that were changed."""
        with connection.cursor() as cursor:
            counted = bringing_back if self.verb == self.Verb.REMOVE else undoing
            cursor.execute(counted.COUNT[self.kind], self._params)
            total, done, changed = cursor.fetchone()
        return total, done, changed

    def check_undo(self) -> None:
        if self.undone_at:
            raise Refused("This was undone already.")
        if self.is_worked_on:
            raise Refused("This is being worked on at the moment. Wait until that is done.")

    def undo(self, progress: Progress = no_progress, job: Job | None = None) -> None:
        """Leave everything as it was before: what a person changed or related since stays, and so do items that are done.

        In transactions of some items each; one that breaks off is taken up by doing it again.
        """
        places, turns = self._places(), Turns()
        for done in range(0, len(places), ITEMS_AT_ONCE):
            progress(done, len(places), "undoing")
            some = places[done : done + ITEMS_AT_ONCE]
            with turns.write():
                lock_items([item for _, item in some])
                self.check_person()
                self._undo_on([annotation for annotation, _ in some])
        with write():
            left = self.to_undo()
            for statement in bringing_back.FORGET:
                execute(statement, self._params)
            store(self, undone_at=timezone.now(), kept={"changed": left.changed + left.undone, "done": left.done})
            if job:
                job.finish(text="It is as it was before.")

    def start_undo(self) -> None:
        """Undo it, at once or by a job."""
        with write():
            rows = Batch.objects.select_for_update(of=("self",), no_key=True)
            batch = rows.select_related("job", "dataset", "person").get(pk=self.pk)
            batch.check_undo()
            batch._begin_undo()
            if is_large := len(batch._places()) > JOB_ITEMS:
                target = {"batch": batch.pk, "project": batch.dataset.project_id, "page": batch.get_absolute_url()}
                store(batch, job=start_job(UNDO, title=f"Undo “{batch.words}”", by=batch.person, target=target))
        if not is_large:
            batch.undo()

    def _begin_undo(self) -> None:
        """Let a request that is still storing it stop, and note what is gone before the undo takes anything back."""
        kept = self.kept or {"changed": self.made - self._count()[0], "done": 0}
        store(self, stored_at=self.stored_at or timezone.now(), kept=kept)

    def _places(self) -> list[tuple[int, int]]:
        """The annotations with its marks, and their items, in the order in which everybody locks."""
        with connection.cursor() as cursor:
            cursor.execute(undoing.PLACES, self._params)
            return cursor.fetchall()

    def _undo_on(self, annotations: Sequence[int]) -> None:
        if self.verb == self.Verb.REMOVE:
            bringing_back.bring_back(annotations, self.dataset_id, self._params)
        else:
            self._take_back(keys(annotations))
        with connection.cursor() as cursor:
            cursor.execute(undoing.EMPTY.format(annotations=keys(annotations)))
            empty = [row[0] for row in cursor.fetchall()]
        delete_annotations(empty)

    def _take_back(self, annotations: str) -> None:
        steps = undoing.UNDO_REJECTING if self.verb == self.Verb.REJECT else undoing.UNDO_MAKING
        with connection.cursor() as cursor:
            for find, changes in steps:
                cursor.execute(find.format(annotations=annotations), self._params)
                if found := [row[0] for row in cursor.fetchall()]:
                    for statement in changes:
                        cursor.execute(statement.format(found=keys(found)), self._params)

    @property
    def _params(self) -> dict[str, Any]:
        adapt = connection.ops.adapt_datetimefield_value
        return {"batch": self.pk, "at": adapt(self.created_at), "now": adapt(timezone.now())}


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
        execute(
            f"SELECT 1 FROM datasets_item WHERE id IN ({keys(items)}) ORDER BY dataset_id, position FOR NO KEY UPDATE"
        )


def delete_annotations(annotations: Sequence[int]) -> None:
    """With all that is in them. The caller has locked their items."""
    if annotations:
        for statement in undoing.FORGET_WORK:
            execute(statement.format(annotations=keys(annotations)))
        for table, field in undoing.CONTENT:
            execute(f"DELETE FROM datasets_{table} WHERE {field} IN ({keys(annotations)})")
