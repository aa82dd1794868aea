"""Where suggestions come from: what was marked before, preannotations, and programs that bring their own."""

from typing import Any, Self

from django.db import models
from django.db.models import OuterRef, Subquery, UniqueConstraint
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import copy_rows
from annotation_service.inputs import Refused, clean_title
from datasets.models import Dataset, Mark


class Source(models.Model):
    """All of a project's suggestions that are not its dataset's come from one; each mark keeps it, with its score, for good.

    Of each kind but programs there is one, made when it is needed first.
    """

    class Kind(models.TextChoices):
        HISTORY = "history", "what was marked before"
        PREANNOTATIONS = "preannotations", "preannotations"
        PROGRAM = "program", "a program"

    # What the sources are called that nobody names.
    NAMES = {Kind.HISTORY: "History", Kind.PREANNOTATIONS: "Preannotations"}
    ORIGINS = {
        Kind.HISTORY: Mark.Origin.HISTORY,
        Kind.PREANNOTATIONS: Mark.Origin.PREANNOTATION,
        Kind.PROGRAM: Mark.Origin.PROGRAM,
    }

    dataset = models.ForeignKey("datasets.Dataset", on_delete=models.RESTRICT, db_index=False, related_name="sources")
    name = models.CharField(max_length=limits.MAX_NAME_CHARACTERS)
    kind = models.CharField(max_length=14, choices=Kind, default=Kind.PROGRAM)
    version = models.CharField(max_length=limits.MAX_NAME_CHARACTERS, blank=True)
    # When the first suggestions of this version came. What was suggested before, and not again since, is of an older one.
    version_at = models.DateTimeField(default=timezone.now)
    is_on = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    # When suggestions came last.
    updated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["kind", "name"]
        constraints = [UniqueConstraint(fields=["dataset", "name"], name="source_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def origin(self) -> str:
        return self.ORIGINS[self.Kind(self.kind)]

    @classmethod
    def of(cls, dataset: Dataset, name: str) -> Self:
        """The program of that name, which is made when it brings something first."""
        name = clean_title(name)
        if name in cls.NAMES.values():
            raise Refused(f"“{name}” is the name of the service’s own suggestions. Choose another one.")
        return cls.objects.get_or_create(dataset=dataset, name=name)[0]

    @classmethod
    def own(cls, dataset: int, kind: Kind) -> Self:
        """The history of a dataset, or its preannotations."""
        return cls.objects.get_or_create(dataset_id=dataset, name=cls.NAMES[kind], defaults={"kind": kind})[0]


def copy_sources(dataset: Dataset, copy: Dataset) -> dict[str, Any]:
    """For the copies of marks, which keep their sources."""
    copy_rows(Source.objects.filter(dataset=dataset), dataset=copy.pk)
    theirs = Source.objects.filter(dataset=copy, name=OuterRef("suggested_by__name"))
    return {"suggested_by": Subquery(theirs.values("pk"))}
