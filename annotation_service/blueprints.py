"""What ontologies, datasets and every other reusable resource have in common."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from . import limits
from .db import delete_rows, store, write
from .edits import changes
from .http import Feature
from .inputs import Refused, clean_description, clean_title
from .models import User

# So many seconds somebody who deletes something waits for its rows to go, some thousands; what is left is for the worker.
AT_ONCE = 0.05


class Right(StrEnum):
    """What somebody may do in a project."""

    SEE = "see"  # its page, its guidelines and its labels
    ANNOTATE = "annotate"  # the items that are given to them
    LOOK = "look"  # at the items that are given to them, and at their own marks
    READ = "read"  # its dataset and its other resources, and everybody's marks, flags and comments
    REVIEW = "review"  # say something about everybody's work
    MANAGE = "manage"  # change it and everything in it
    KEEP = "keep"  # download and duplicate it, archive, restore and delete it


class ProjectOfCopies(Protocol):
    """All that may be asked of a project by what is copied into it: its model is in an app above."""

    def rights_of(self, user: Any) -> Collection[Right]:
        """What somebody may do in it, signed in or not."""

    def reason_not_to_change(self) -> str:
        """Why nobody may change anything in it, or the empty string."""

    def locked(self) -> Self:
        """The project, read again and locked until the transaction ends."""

    def assign_changes(self) -> None:
        """Assign the items that have come, and withdraw those that are gone."""

    def annotating_members(self) -> Any:
        """Those who may have marks in it."""

    def suggest_on(self, items: Any) -> None:
        """Match its preannotations with items that have come."""

    def match_preannotations(self, *, by: Any) -> Any:
        """Match them with all items: at once, or by the job that is returned."""


class Described(models.Model):
    """What has a name and a description that people edit."""

    # What `edit` stores, each with the function that cleans it.
    WORDS: ClassVar[dict[str, Callable[[Any], Any]]] = {"name": clean_title, "description": clean_description}

    name = models.CharField(max_length=limits.MAX_NAME_CHARACTERS)
    description = models.TextField(blank=True, validators=[clean_description])  # type: ignore[list-item]
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def locked(self) -> Self:
        """This row, read again and locked until the transaction ends: the first step of every write."""
        row = type(self)._default_manager.select_for_update(no_key=True).filter(pk=self.pk).first()
        if row is None:
            raise Refused(f"“{self}” was deleted meanwhile.")
        return row

    def locked_to_change(self) -> Self:
        """The same for what somebody changes by hand: refused where nobody may change anything."""
        return self.locked()

    def touch(self, **values: Any) -> None:
        """Store the values together with the time of the change."""
        store(self, updated_at=timezone.now(), **values)

    def edit(self, *, was: Mapping[str, str] | None = None, **words: Any) -> None:
        """Store the fields that were changed; ``was`` are fingerprints of what their author saw (see `edits`)."""
        cleaned = {name: self.WORDS[name](text) for name, text in words.items()}
        with write():
            if changed := changes(self.locked_to_change(), cleaned, was or {}):
                self.touch(**changed)


class Existing(models.Manager[Any]):
    """Leaves out what is deleted. The base manager does not: rows that wait to be deleted still point to it."""

    def get_queryset(self) -> QuerySet[Any]:
        return super().get_queryset().filter(deleted_at=None)


class Blueprint(Described):
    """A resource that is created as a blueprint (``project`` is null) and copied into projects.

    A copy belongs to its project and evolves on its own; ``copied_from`` only remembers where it came from. What is deleted gets
    a ``deleted_at``, so that nobody finds it, and leaves its project; `purge_deleted` deletes its rows. A copy with a
    ``deleted_at`` that is still its project's waits with it in the bin.
    """

    # Whether annotators of a project may read the project's copy.
    open_to_annotators = False
    # What right in its project changes the project's copy.
    changed_with: ClassVar[Right] = Right.MANAGE
    # What this installation must have switched on for more than reading them.
    feature: ClassVar[Feature] = Feature()

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    project = models.ForeignKey("projects.Project", null=True, blank=True, on_delete=models.RESTRICT)
    copied_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="copies")
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = Existing()

    class Meta:
        abstract = True

    @classmethod
    def kinds(cls) -> dict[str, str]:
        """The kinds of such blueprints, and what they are called."""
        choices: Any = cls._meta.get_field("kind")
        return dict(choices.flatchoices)

    @property
    def its_project(self) -> ProjectOfCopies | None:
        return self.project

    @property
    def is_blueprint(self) -> bool:
        return self.project_id is None

    if TYPE_CHECKING:  # what each kind of blueprint adds

        @property
        def row_count(self) -> int:
            """How many rows a copy writes, roughly."""

        def content_in_words(self) -> str:
            """Such as “86 items”."""

        def copy_to(self, project: Any = None, *, by: User, name: str = "") -> Self: ...

        def content(self) -> Iterator[QuerySet[Any]]:
            """All rows that belong to it, in an order in which they can be deleted. Each set is read when those before it are
            gone."""

    def locked_to_change(self) -> Self:
        if project := self.its_project:
            project.locked()  # before the copy, as everybody does; refused if it is archived
        return self.locked()

    def reason_not_to_delete(self) -> str:
        """Why it cannot be deleted on its own, or the empty string."""
        if self.project is not None:
            return f"It belongs to the project “{self.project}” and goes when the project is deleted."
        return ""

    def note_on_duplicate(self) -> str:
        """What else a duplicate brings or takes, in words for the dialog; or the empty string."""
        return ""

    def erase(self) -> None:
        """Delete it with its content. Raises `Refused` with `reason_not_to_delete`."""
        with write():
            self.locked()
            if reason := self.reason_not_to_delete():
                raise Refused(reason)
            self.mark_deleted(type(self)._default_manager.filter(pk=self.pk))
            purge_at_once()

    @classmethod
    def mark_deleted(cls, things: QuerySet[Any]) -> None:
        """Take things away from everybody, at once, when nothing else uses them."""
        things.model._base_manager.filter(copied_from__in=things).update(copied_from=None)
        things.update(deleted_at=timezone.now(), project=None, copied_from=None)

    def copy_row(self, *, by: User, project: Any = None, name: str = "") -> Self:
        """A stored copy of this row alone, without its content."""
        skipped = {"id", "name", "owner", "project", "copied_from", "created_at", "updated_at"}
        values = {f.attname: getattr(self, f.attname) for f in self._meta.concrete_fields if f.name not in skipped}
        return type(self)._base_manager.create(
            **values, name=name or self.name, owner=by, project=project, copied_from=self
        )


class PagedBlueprint(Blueprint):
    """A blueprint with a page and a list of its own: the others are only in Django admin and in downloads."""

    class Meta:
        abstract = True

    namespace: ClassVar[str] = ""  # of its addresses, if that is not the name of its app

    def get_absolute_url(self) -> str:
        return self.address("page", self.pk)

    @classmethod
    def address(cls, name: str, *args: Any) -> str:
        return reverse(f"{cls.namespace or cls._meta.app_label}:{name}", args=args)


def purge_at_once() -> None:
    """Delete so much of what is marked as deleted as somebody waits for."""
    purge_deleted(AT_ONCE)


def purge_deleted(seconds: float) -> int:
    """Delete rows of what is marked as deleted, what uses others before these, for so long; returns how many went.

    The time counts from the lock: those who do it at once take turns.
    """
    count, until = 0, 0.0
    # What is used is looked for first: whatever used it was deleted before it.
    models = [model for model in apps.get_models() if issubclass(model, Blueprint)]
    left = {"project": None, "deleted_at__isnull": False}
    deleted = [thing for model in models for thing in model._base_manager.filter(**left).order_by("-pk")]
    for thing in reversed(deleted):
        with write():
            itself = type(thing)._base_manager.filter(pk=thing.pk)
            itself.select_for_update().first()
            until = until or time.monotonic() + seconds
            count += delete_rows(chain(thing.content(), [itself]), until)
        if time.monotonic() >= until:
            break
    return count
