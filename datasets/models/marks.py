from collections.abc import Iterator
from typing import Any

from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, QuerySet, UniqueConstraint
from django.utils import timezone

from annotation_service.inputs import Refused
from ontologies import usage
from resources.rules import Rules

from ..cleaned import key_of
from .mark import Mark
from .rejection import Rejection, entity_key
from .violations import Broken, broken_by


class Entity(Mark):
    """A span of tokens, ``start`` to ``end`` inclusive, counted from 0."""

    kind, noun, taken = "entity", "mark", "These tokens are marked as “{}” already."
    place_fields = {"start": "start", "end": "end"}

    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    words_key = models.BigIntegerField(editable=False)  # see `key_of`

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            UniqueConstraint(fields=["annotation", "uid"], name="entity_uid"),
            UniqueConstraint(fields=["annotation", "label", "start", "end"], name="entity_span"),
            CheckConstraint(condition=Q(start__lte=F("end")), name="entity_start_end"),
        ]
        # For `work.suggesting.labelled`. The condition is that of its SQL, word by word: else the databases do not use it.
        indexes = [
            Index(
                fields=["words_key", "label", "id"],
                condition=Q(status="accepted") | Q(origin="given"),
                name="entity_words",
            ),
            Index(fields=["batch", "annotation"], condition=Q(batch__isnull=False), name="entity_batch"),
            Index(fields=["annotation", "status"], name="entity_status"),
            Index(fields=["words_key"], condition=Q(status="rejected"), name="entity_rejected_words"),  # see `history`
        ]

    def __str__(self) -> str:
        return f"{self.label} {self.start} to {self.end}"

    def save(self, *args: Any, **options: Any) -> None:
        if self.words_key is None:
            self.words_key = self._key_of_words()
        super().save(*args, **options)

    @property
    def place(self) -> tuple[int, int]:
        return self.start, self.end

    @property
    def what(self) -> str:
        return entity_key(self.start, self.end, self.label_id)

    def put(self, **place: Any) -> None:
        super().put(**place)
        self.words_key = self._key_of_words()

    def _key_of_words(self) -> int:
        return key_of(self.annotation.item.tokens[self.start : self.end + 1])

    def relations(self) -> QuerySet["Relation"]:
        return Relation.objects.filter(Q(source=self) | Q(target=self))

    def with_relations(self) -> list[Mark]:
        return [self, *self.relations().select_related("label", "source", "target")]

    def broken(self, rules: Rules) -> Iterator[Broken]:
        return broken_by(rules, [self.pk] if self.pk else [], [])

    def resize(self, start: int, end: int, restore_token: str = "") -> None:
        """Let it mark these tokens instead. Whoever does that accepts what was suggested."""
        self.annotation.check_open()
        if (start, end) == self.place:
            self.accept(restore_token)
            return
        span = self.annotation.span(start, end)
        self.note_rejection()
        self.put(**span)
        self._take_place(self.label)
        self.make_own(self.label, restore_token)

    def remove(self) -> None:
        """A suggestion is kept together with the suggested relations at it."""
        self.annotation.check_open()
        suggested = self.relations().exclude(origin__in=self.MADE).select_related("source", "target")
        Rejection.note(self.annotation_id, [relation.what for relation in suggested])
        if self.status == self.Status.SUGGESTED:
            self.relations().filter(status=self.Status.ACCEPTED).delete()
            self.relations().update(status=self.Status.REJECTED, updated_at=timezone.now())
        super().remove()

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        self.relations().delete()
        return super().delete(*args, **options)


class Relation(Mark):
    """A directed relation between two entities of the same annotation. Whoever accepts it accepts these, too."""

    kind, noun, taken = "relation", "relation", "These marks are related as “{}” already."
    place_fields = {"source": "source__uid", "target": "target__uid"}

    source = models.ForeignKey(Entity, on_delete=models.RESTRICT, related_name="outgoing", db_index=False)
    target = models.ForeignKey(Entity, on_delete=models.RESTRICT, related_name="incoming")

    class Meta:
        constraints = [
            UniqueConstraint(fields=["annotation", "uid"], name="relation_uid"),
            UniqueConstraint(fields=["source", "target", "label"], name="relation_ends"),
            CheckConstraint(condition=~Q(source=F("target")), name="relation_two_ends"),
        ]
        indexes = [Index(fields=["batch", "annotation"], condition=Q(batch__isnull=False), name="relation_batch")]

    def __str__(self) -> str:
        return f"{self.label} from {self.source_id} to {self.target_id}"

    @property
    def place(self) -> tuple[str, str]:
        return self.source.uid, self.target.uid

    @property
    def what(self) -> str:
        return f"{self.source.what}>{self.target.what}:{self.label_id}"

    def ends(self) -> tuple[Entity, ...]:
        return self.source, self.target

    def broken(self, rules: Rules) -> Iterator[Broken]:
        return broken_by(rules, [self.source_id, self.target_id], [self.pk] if self.pk else [])

    def reverse(self, source: str, target: str, restore_token: str = "") -> None:
        """Let it lead from this entity to that one, the ends that it has, given by their uids. Whoever does that accepts what was
        suggested, its ends too."""
        self.annotation.check_open()
        if (source, target) == self.place:
            self.accept(restore_token)
            return
        if (target, source) != self.place:
            raise Refused("This relation connects other marks. Reload the page.")
        self.note_rejection()
        self.put(source=self.target, target=self.source)
        self._take_place(self.label)
        self.make_own(self.label, restore_token)


MARKS: dict[str, type[Entity] | type[Relation]] = {"entity": Entity, "relation": Relation}

# What came with the dataset: the given annotation also holds what preannotations suggest.
GIVEN = Q(annotation__annotator=None, origin=Mark.Origin.GIVEN)
# A suggestion counts from when it is accepted; those on texts that were removed do not.
COUNTED = (Q(status=Mark.Status.ACCEPTED) | GIVEN) & Q(annotation__item__removed_at=None)

for model in (Entity, Relation):
    usage.item_uses.append(
        usage.ItemUse(
            model,
            "marks",
            ("label",),
            "annotation__item__dataset",
            "label__ontology__project",
            kind=model.kind,
            counted=COUNTED,
            person="annotation__annotator",
        )
    )
