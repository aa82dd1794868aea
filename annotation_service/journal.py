"""Journals of what several people edit: one row for each operation, with what it changed before and after.

Undo takes back the user's own newest operation, redo does again what they undid last, until their next operation; revert takes
back any step of the history. All are refused if something later touched the same fields of the same items, or depends on it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Max, Q, QuerySet

from .db import write
from .inputs import Refused
from .models import User
from .words import Difference, difference, plural

FEW = 20
LONG = 120  # characters of two values that are seen whole in a row of the history
Entries = Mapping[str, Sequence[Any]]
"""What happened to each item, by its key: its state before and after."""


@dataclass(frozen=True)
class Step:
    """What an operation did to one field of one item. The field of a new or removed item is the empty string. ``in_short`` may
    tell the difference, such as “excludes + Location”."""

    name: str
    field: str
    before: Any
    after: Any
    in_short: str = ""

    def changed_text(self) -> Difference:
        return difference(self.before, self.after)

    def is_cut(self) -> bool:
        """Whether a row of the history may not have all of it."""
        return len(str(self.before)) + len(str(self.after)) > LONG


class ChangeKind(models.TextChoices):
    OPERATION = "operation"
    UNDO = "undo"
    REDO = "redo"
    REVERT = "revert"


class JournalRow(models.Model):
    """One operation, or a row that takes one back or does it again: then ``operation`` is the one that it is about.

    ``items`` is ``{key: [before, after]}`` with the changed fields only; ``before`` is null for a new item, ``after`` for one
    that was removed. A creation stores only its ``count``.

    ``stands`` tells whether the effect of a row is in force. The rows about one operation take each other back in turn.

    A model of these rows adds the key of what is edited, with the related name “changes”.
    """

    nouns: ClassVar[str] = "item,items"

    version = models.PositiveIntegerField()
    kind = models.CharField(max_length=9, choices=ChangeKind, default=ChangeKind.OPERATION)
    verb = models.CharField(max_length=30)
    operation = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT, related_name="followed_by")
    stands = models.BooleanField(default=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)
    items = models.JSONField(default=dict)

    if TYPE_CHECKING:
        operation_id: int | None

    class Meta:
        abstract = True
        ordering = ["-version"]

    def __str__(self) -> str:
        return f"{self.title} ({self.count})"

    @property
    def title(self) -> str:
        """Such as “rename”, “undo rename”, “revert rename”, “undo revert rename”."""
        return f"{self.kind} {self.verb}" if self.takes_back else self.verb

    @property
    def count_in_words(self) -> str:
        return plural(self.count, self.nouns)

    def in_words(self) -> str:
        """Such as “rename “Pump” by alice on 3 May 2024, 10:20 UTC”."""
        return f"{self.title} {self.subject()} by {self.user} on {self.at:%-d %B %Y, %H:%M} UTC"

    def subject(self) -> str:
        """The name of its only item, or the number of its items."""
        return f"“{self.steps()[0].name}”" if self.count == 1 and self.items else self.count_in_words

    @property
    def takes_back(self) -> bool:
        """Whether it undid something or did it again. The step that it is about tells whether it is in force."""
        return self.kind in (ChangeKind.UNDO, ChangeKind.REDO)

    @property
    def can_be_reverted(self) -> bool:
        return self.stands and not self.takes_back and self.verb != "create"

    def outcome(self) -> str:
        """What this row did to its operation, such as “Undone: rename, “Pump”.”"""
        assert self.operation
        return f"{'Done again' if self.operation.stands else 'Undone'}: {self.operation.verb}, {self.subject()}."

    def steps(self, limit: int | None = None) -> list[Step]:
        """Before and after, item by item."""
        return type(self).steps_of([self], limit)[0][1]

    @classmethod
    def steps_of(cls, changes: Sequence[Self], limit: int | None = None) -> list[tuple[Self, list[Step]]]:
        """Rows of one journal with the steps of their first items. Few queries, however many they are."""
        shown = [(change, list(change.items.items())[:limit]) for change in changes]
        known = changes[0].known_of([entry for _, items in shown for entry in items]) if changes else None
        return [
            (change, [step for key, entry in items for step in cls.steps_of_item(known, key, *entry)])
            for change, items in shown
        ]

    def known_of(self, items: Sequence[tuple[str, Sequence[Any]]]) -> Any:
        """What `steps_of_item` has to know of items of this journal, each with its states before and after: mostly names."""
        raise NotImplementedError

    @classmethod
    def steps_of_item(cls, known: Any, key: str, before: Any, after: Any) -> Iterable[Step]:
        raise NotImplementedError

    def names(self, keys: Collection[str]) -> dict[str, str]:
        """What items are called, those among them that are gone, too."""
        raise NotImplementedError

    def same_operation(self) -> QuerySet[Self]:
        """The operation and the rows about it, this one among them."""
        operation = self.operation_id or self.pk
        return type(self)._default_manager.filter(Q(pk=operation) | Q(operation=operation))


@dataclass
class Change:
    """One operation on a locked thing: changes its items and keeps what it has changed for the journal."""

    thing: Any
    verb: str
    items: dict[str, list[Any]] = field(default_factory=dict)
    kind: str = ChangeKind.OPERATION
    operation: Any = None
    facts: dict[str, Any] = field(default_factory=dict)  # further fields of the row
    row: Any = None

    def take_back(self, step: Any) -> None:
        """Apply the opposite of a step, which was read after the lock; the kind of this change says why."""
        if step.verb == "create":
            raise Refused(f"The creation of “{self.thing}” cannot be undone.")
        if not step.stands:
            raise Refused("This step has been undone already.")
        # The newest row has the places where things stand now.
        last = step.same_operation().select_related("operation").defer("operation__items").first()
        operation = last.operation or last
        if later := self._later_change(last):
            key = _shared_item(last, later)
            assert key
            raise done_later(f"“{later.names({key})[key]}” was changed", later)
        if self.kind == ChangeKind.REVERT:
            self.verb = f"{'revert' if operation.stands else 'restore'} {operation.verb}"
        else:
            self.verb = step.verb
        self.operation = operation
        self.put_back(last.items)

    def put_back(self, entries: Entries) -> None:
        """Bring items back to their states before. Nobody has changed the same fields since."""
        raise NotImplementedError

    def _later_change(self, step: JournalRow) -> JournalRow | None:
        """A newer row on the same fields of the same items, of an operation that is not as it was then: its rows take each other
        back in turn, so that with an even number of newer ones the oldest of these does not stand."""
        rows = self.thing.changes.filter(version__gt=step.version).select_related("user")
        if len(step.items) <= FEW:
            rows = rows.filter(items__has_any_keys=list(step.items))
        oldest = {row.operation_id or row.pk: row for row in rows if _shared_item(step, row)}  # they come newest first
        return next((row for row in oldest.values() if row.stands), None)

    def store(self, by: User, count: int | None = None) -> None:
        """Write the row of the journal, if something has changed.

        Taking back is always recorded, even if other steps have meanwhile brought about what it would do: otherwise the same step
        would be the next to be undone for ever.
        """
        if not self.operation:
            self.items = {key: entry for key, entry in self.items.items() if entry[0] != entry[1]}
        if not self.items and not count:
            return
        self.thing.touch(version=self.thing.version + 1)
        if self.operation:
            self.operation.same_operation().update(stands=~F("stands"))
            self.operation.stands = not self.operation.stands
        self.row = self.thing.changes.create(
            version=self.thing.version,
            kind=self.kind,
            verb=self.verb,
            operation=self.operation,
            user=by,
            at=self.thing.updated_at,
            count=count or len(self.items),
            items=self.items,
            **self.facts,
        )


def done_later(text: str, later: JournalRow) -> Refused:
    return Refused(f"{text} by a later step: {later.in_words()}. That would have to be undone first.")


def _shared_item(one: JournalRow, other: JournalRow) -> str | None:
    """The key of an item of which both changed the same field; adding or removing an item changes all its fields."""
    few, many = sorted((one.items, other.items), key=len)
    for key in filter(many.__contains__, few):
        if None in few[key] or None in many[key] or few[key][0].keys() & many[key][0].keys():
            return key
    return None


class Journaled(models.Model):
    """What is edited step by step, with a journal in ``changes``. Its class has ``locked_to_change`` and ``touch``, as in
    `Described`."""

    change_class: ClassVar[type[Any]]  # a class of `Change`

    version = models.PositiveIntegerField(default=0, editable=False)

    changes: Any  # the manager of the rows that point to it
    locked_to_change: Callable[[], Any]
    touch: Callable[..., None]
    updated_at: Any
    written: Any = None  # the row of what was done last with this object; None if nothing had to be changed

    class Meta:
        abstract = True

    @contextmanager
    def changing(self, verb: str, *, by: User) -> Iterator[Any]:
        """One operation: locks the thing, then writes what was changed to the journal and counts the version up."""
        with write():
            thing = self.locked_to_change()
            change = self.change_class(thing, verb)
            yield change
            change.store(by)
            self.version, self.updated_at, self.written = thing.version, thing.updated_at, change.row

    def undo(self, *, by: User) -> Any:
        """Take back the user's own newest operation; refused, naming it, if a later one depends on it."""
        return self._take_back(ChangeKind.UNDO, self.undoable, by=by)

    def redo(self, *, by: User) -> Any:
        """Do again what the user has undone last."""
        return self._take_back(ChangeKind.REDO, self.redoable, by=by)

    def revert(self, step: Any, *, by: User) -> Any:
        """Take back a step of the history, whoever made it, if nothing later depends on it. The rest stays."""
        return self._take_back(ChangeKind.REVERT, lambda _: self.changes.get(pk=step.pk), by=by)

    def undo_offered(self, version: int, *, by: User) -> Any:
        """Undo the user's step of this version or, without a version, their newest. A toast names the step that it
        offers to undo; if newer ones followed, that one is reverted."""
        if not version:
            return self.undo(by=by)
        with write():
            self.locked_to_change()
            newest = self.undoable(by)
            if newest and newest.version == version:
                return self.undo(by=by)
            offered = self.changes.filter(version=version, user=by).first()
            if offered is None:
                raise Refused(
                    "This step is not yours to undo. Open the history: “Revert” takes back any step there, whoever made it."
                )
            return self.revert(offered, by=by)

    def undoable(self, by: User) -> Any:
        """What the user would undo next: their newest row that stands and is no undo."""
        return self._standing(by).exclude(kind=ChangeKind.UNDO).exclude(verb="create").first()

    def redoable(self, by: User) -> Any:
        """The undo that the user's redo would take back: their newest that is newer than their last operation or revert."""
        done = self.changes.filter(user=by).exclude(kind__in=[ChangeKind.UNDO, ChangeKind.REDO])
        last = done.aggregate(version=Max("version"))["version"] or 0
        return self._standing(by).filter(kind=ChangeKind.UNDO, version__gt=last).first()

    def _standing(self, by: User) -> QuerySet[Any]:
        """Without what happened to the items, of thousands of which a button names none."""
        return self.changes.filter(user=by, stands=True).select_related("user").defer("items")

    def _take_back(self, kind: str, find: Callable[[User], Any], *, by: User) -> Any:
        with self.changing("", by=by) as change:
            change.kind = kind
            step = find(by)
            if step is None:
                raise Refused(f"There is nothing to {kind}.")
            change.take_back(step)
        return change.row

    def history(self, *, start: int = 0, size: int = 50) -> list[tuple[Any, list[Step]]]:
        """The operations, newest first, each with the first steps of its before and after. Few queries, however many they are."""
        rows = list(self.changes.select_related("user")[start : start + size])
        return self.changes.model.steps_of(rows, limit=20)
