"""Entities, relations, and what was rejected of the suggestions: it is never suggested again."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from django.core.signing import BadSignature, Signer
from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, QuerySet, UniqueConstraint
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import store
from annotation_service.inputs import Refused
from ontologies import usage
from ontologies.models import OntologyItem
from resources.judging import Judge
from resources.spans import Placed, TokenSpan, crowded, has_room

from ..cleaned import key_of
from .broken import Broken, broken_by

# SQL for `Rejection.what`: of an entity, given the alias of its row; of a relation, given that of its row and those of its ends.
ENTITY_KEY = "({0}.start || '-' || {0}.\"end\" || ':' || {0}.label_id)"
RELATION_KEY = f"({ENTITY_KEY.format('{1}')} || '>' || {ENTITY_KEY.format('{2}')} || ':' || {{0}}.label_id)"


def entity_key(start: int, end: int, label: int) -> str:
    """The same of an entity, in Python."""
    return f"{start}-{end}:{label}"


def relabel(rows: QuerySet[Any], labels: Mapping[int, int]) -> None:
    """Let rows that have a ``what``, as `Rejection` has, name other labels, given by the keys of those that they name now."""
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk").only("what")[:1000]):
        for row in some:
            row.what = re.sub(r"(?<=:)\d+", lambda key: str(labels.get(int(key[0]), key[0])), row.what)
        rows.model._base_manager.bulk_update(some, ["what"])
        last = some[-1].pk


class Layer(models.TextChoices):
    """Whose marks an annotation holds: what somebody thinks of an item, what it came with, and what was decided about it."""

    OWN = "own", "made by annotators"
    GIVEN = "given", "came with the dataset"
    GOLD = "gold", "decided"


class Rejection(models.Model):
    """A suggestion that somebody rejected in their annotation, or gave another label or span.

    It outlives the mark, the preannotation and its set. ``what`` is the span of an entity and the key of its label, such as
    “3-4:17”, or of a relation both ends and its label: “3-4:17>6-6:18:20”.
    """

    annotation = models.ForeignKey("datasets.Annotation", on_delete=models.RESTRICT, db_index=False)
    what = models.CharField(max_length=200)

    class Meta:
        constraints = [UniqueConstraint(fields=["annotation", "what"], name="rejection_once")]

    def __str__(self) -> str:
        return self.what

    @staticmethod
    def note(annotation: int, what: Iterable[str]) -> None:
        rejections = [Rejection(annotation_id=annotation, what=each) for each in what]
        Rejection.objects.bulk_create(rejections, ignore_conflicts=True)


class Mark(models.Model):
    """What entities and relations share: a label, a uid that the client made, a status, and where it comes from: a copy of a mark
    keeps its origin."""

    kind: ClassVar[str]  # of the ontology that the labels are from
    noun: ClassVar[str]
    taken: ClassVar[str]
    place_fields: ClassVar[dict[str, str]]  # what it marks, with the columns that clients know it by

    class Status(models.TextChoices):
        SUGGESTED = "suggested"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    class Origin(models.TextChoices):
        GIVEN = "given", "the dataset"
        PERSON = "person", "a person"
        PREANNOTATION = "preannotation", "a preannotation"
        PROPAGATION = "propagation", "a propagation"
        HISTORY = "history", "what was marked before"
        IMPORT = "import", "an imported file"
        PROGRAM = "program", "a program"

    # Not from a suggestion.
    MADE = (Origin.PERSON, Origin.PROPAGATION)

    annotation = models.ForeignKey("datasets.Annotation", on_delete=models.RESTRICT, db_index=False)
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="%(class)s_marks")
    uid = models.CharField(max_length=limits.MAX_MARK_ID_CHARACTERS)
    status = models.CharField(max_length=9, choices=Status, default=Status.ACCEPTED)
    origin = models.CharField(max_length=13, choices=Origin, default=Origin.PERSON)
    # The last that put it here or decided about it, null where none did. It stays when a person changes or accepts the mark by
    # itself later.
    batch = models.ForeignKey(
        "work.Batch",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.RESTRICT,
        related_name="+",
        db_index=False,
    )
    # Who or what suggested it, how sure that was, and whether a person has given it another label or place since. All of it
    # stays when it is accepted.
    suggested_by = models.ForeignKey(
        "work.Source",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.RESTRICT,
        related_name="%(class)s_marks",
        db_index=False,
    )
    score = models.FloatField(null=True, blank=True, editable=False)
    is_changed = models.BooleanField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def place(self) -> tuple[Any, ...]:
        """What it marks: tokens, or the uids of two entities."""
        raise NotImplementedError

    def moved(self, place: list[Any], text_version: int = 1) -> Sequence[Any]:
        """What it marked in a version of the text, in that of now."""
        return place

    def put(self, **place: Any) -> None:
        """Let it mark this."""
        for name, value in place.items():
            setattr(self, name, value)

    def at_same_place(self) -> QuerySet[Any]:
        """The marks of the annotation that mark the same."""
        place = {name: getattr(self, name) for name in self.place_fields}
        return type(self)._default_manager.filter(annotation=self.annotation_id, **place)

    def with_relations(self) -> "list[Mark]":
        """The mark together with what goes when it is removed."""
        return [self]

    @property
    def what(self) -> str:
        """What it says, whichever mark says it: see `Rejection`."""
        raise NotImplementedError

    def note_rejection(self) -> None:
        """Remember that a suggestion is not wanted as it is: it is about to go, or to say something else. What a batch of the
        person made is theirs, and may be made there again."""
        if self.origin not in self.MADE:
            Rejection.note(self.annotation_id, [self.what])

    def note_change(self) -> None:
        """A suggestion is about to say something else."""
        self.note_rejection()
        self.is_changed = True if self.suggested_by_id else None

    def accept(self, restore_token: str = "") -> None:
        """Make a suggested or rejected mark one's own, as if it were made anew."""
        if self.status != self.Status.ACCEPTED:
            self.make_own(self.label, restore_token)

    def relabel(self, label: OntologyItem, restore_token: str = "") -> None:
        """Give it a label. Whoever does that, with its old label too, accepts what was suggested."""
        self.annotation.check_open()
        if self.label_id == label.pk:
            self.accept(restore_token)
            return
        self.note_change()
        self._take_place(label)
        self.make_own(label, restore_token)

    def remove(self) -> None:
        """Delete it; a suggestion is kept as rejected: hidden, and never suggested again."""
        self.annotation.check_open()
        self.note_rejection()
        if self.status == self.Status.ACCEPTED:
            self.delete()
        elif self.status == self.Status.SUGGESTED:
            store(self, status=self.Status.REJECTED, updated_at=timezone.now())

    def suggest_again(self, label: OntologyItem, **place: Any) -> None:
        """Take back what was decided about a suggestion of this label, at this place if one is given: that it was accepted or
        rejected, or that it was changed."""
        if self.pk and any(relation.status == self.Status.ACCEPTED for relation in self.with_relations()[1:]):
            raise Refused("This mark has a relation that is accepted: it cannot be a suggestion again.")
        label.hold()
        before = {name: getattr(self, name, None) for name in ("label", *place)}
        is_own = self.origin in self.MADE and self.status == self.Status.ACCEPTED
        self.label, after = label, {"label": label, **place}
        if place:
            self.put(**place)
        if any(end.status == self.Status.REJECTED for end in self.ends()):
            raise Refused("A mark of this relation is not there any more.")
        rejections = Rejection.objects.filter(annotation=self.annotation_id, what=self.what)
        if (before != after or is_own) and not rejections:
            raise Refused(f"“{label.name}” was not suggested here.")
        if before != after:
            self._take_place(label)
        rejections.delete()
        if self.origin in self.MADE:
            self.origin, self.suggested_by_id, self.score = self._origin_of_suggestion()
        self.batch = self.is_changed = None
        self.status, self.updated_at = self.Status.SUGGESTED, timezone.now()
        self.save()

    def make_own(self, label: OntologyItem, restore_token: str, there: Iterable["Entity"] | None = None) -> None:
        """Store it and its ends as accepted, with this label. Every mark that is added, accepted, relabelled or resized comes
        here.

        Refused if a label is applied that is switched off, if too many marks would share a token, or if a constraint of the
        project is broken that was not broken before. Undo may bring back a label that is off, one mark too many, and what the
        mark broke with other marks that are as they were. For ``there`` see `check_room`.
        """
        label.hold()
        restored, came_from = self._as_it_was(label, restore_token)
        if not self.pk:
            self.origin, self.suggested_by_id, self.score, self.is_changed = came_from
        judge = self.annotation.judge()
        before = {broken.key for broken in self.broken(judge)} if judge else set()
        has_label = self.pk and self.status == self.Status.ACCEPTED and self.label_id == label.pk
        self.label = label
        suggested = [end for end in self.ends() if end.status != self.Status.ACCEPTED]
        for mark in (*suggested, self):
            if not mark.label.active and restored is None and not (mark is self and has_label):
                raise Refused(f"The label “{mark.label.name}” is switched off and cannot be applied any more.")
            if restored is None:
                mark.check_room(there)
            mark.status, mark.updated_at = self.Status.ACCEPTED, timezone.now()
            mark.save()
        for broken in self.broken(judge) if judge else ():
            if broken.key not in before and broken.fingerprint not in (restored or ()):
                raise Refused(broken.violation.in_words(lambda pk: OntologyItem.objects.get(pk=pk).name))

    def _take_place(self, label: OntologyItem) -> None:
        """Refuse a second mark with this label at this place; one that was rejected gives way."""
        if same := self.at_same_place().filter(label=label).first():
            if same.status != self.Status.REJECTED:
                raise Refused(self.taken.format(label.name))
            same.delete()

    def _origin_of_suggestion(self) -> tuple[str, int | None, float | None]:
        """Of one that was deleted, with its source and score: what came with the dataset is always there, and has the same uid,
        as have most other suggestions."""
        came = type(self)._default_manager.filter(
            annotation__item=self.annotation.item_id, annotation__layer=Layer.GIVEN, uid=self.uid
        )
        return came.values_list("origin", "suggested_by", "score").first() or (self.Origin.PREANNOTATION, None, None)

    def ends(self) -> "tuple[Mark, ...]":
        """The marks that this one connects."""
        return ()

    def check_room(self, there: Iterable["Entity"] | None = None) -> None:
        """Refuse it where too many marks share a token. ``there`` are the stored ones that share one with it, if these are
        known."""

    def broken(self, judge: Judge) -> Iterator[Broken]:
        """What the mark and its ends break, as they are stored."""
        raise NotImplementedError

    def restore_token(self, label: OntologyItem) -> str:
        """Handed out when the label is taken from this mark, with the mark or without it. It tells what the two broke, and where
        the mark came from. Empty for a suggestion: bringing it back would accept it."""
        if self.status != self.Status.ACCEPTED:
            return ""
        judge = self.annotation.judge()
        broken = [each.fingerprint for each in self.broken(judge)] if judge else []
        came_from = self.origin, self.suggested_by_id, self.score, self.is_changed
        signed = [self._fact(label), broken, came_from, self.annotation.item.text_version]
        return Signer(salt="datasets.mark.origin").sign_object(signed)

    def _as_it_was(self, label: OntologyItem, restore_token: str) -> tuple[list[str] | None, Sequence[Any]]:
        """What the mark broke with the label when the token was handed out, None if it is no token for them; and its origin, with
        its source, its score and whether it was changed."""
        with suppress(BadSignature, Refused):
            fact, broken, came_from, *version = Signer(salt="datasets.mark.origin").unsign_object(restore_token)
            if [*fact[:4], *self.moved(fact[4:], *version)] == self._fact(label):
                # A page that is older than sources has a token with the origin alone.
                return list(broken), (came_from, None, None, None) if isinstance(came_from, str) else came_from
        return None, (self.Origin.PERSON, None, None, None)

    def _fact(self, label: OntologyItem) -> list[Any]:
        return [self.kind, self.annotation_id, self.uid, label.uid, *self.place]


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
            # In this order, for the marks that share a token are looked up.
            UniqueConstraint(fields=["annotation", "start", "end", "label"], name="entity_span"),
            CheckConstraint(condition=Q(start__lte=F("end")), name="entity_start_end"),
        ]
        # For `work.suggestions.history`. The condition is that of its SQL, word by word: else the databases do not use it.
        indexes = [
            Index(
                fields=["words_key", "label", "id"],
                condition=Q(status="accepted") | Q(origin="given"),
                name="entity_words",
            ),
            Index(fields=["batch", "annotation"], condition=Q(batch__isnull=False), name="entity_batch"),
            Index(fields=["suggested_by", "annotation"], condition=Q(suggested_by__isnull=False), name="entity_source"),
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

    def moved(self, place: list[Any], text_version: int = 1) -> Sequence[Any]:
        return self.annotation.item.alignment_from(text_version).unchanged(*place) or ()

    def put(self, **place: Any) -> None:
        super().put(**place)
        self.words_key = self._key_of_words()

    def _key_of_words(self) -> int:
        return key_of(self.annotation.item.tokens[self.start : self.end + 1])

    def relations(self) -> QuerySet["Relation"]:
        return Relation.objects.filter(Q(source=self) | Q(target=self))

    def with_relations(self) -> list[Mark]:
        return [self, *self.relations().select_related("label", "source", "target")]

    def broken(self, judge: Judge) -> Iterator[Broken]:
        return broken_by(judge, [self.pk] if self.pk else [], [])

    def check_room(self, there: Iterable["Entity"] | None = None) -> None:
        """On tokens that it has already it stays, however many share them."""
        if there is None:
            there = self.annotation.marks(Entity).filter(start__lte=self.end, end__gte=self.start)
        others = {each.pk: each for each in there if each.status != self.Status.REJECTED}
        new: list[Placed] = [self]
        if was := others.pop(self.pk, None):
            before = TokenSpan(self.start, min(self.end, was.start - 1))
            new = [before, TokenSpan(max(self.start, was.end + 1), self.end)]
        if not all(has_room(part, others.values()) for part in new if part.start <= part.end):
            raise Refused(crowded())

    def resize(self, start: int, end: int, restore_token: str = "") -> None:
        """Let it mark these tokens instead. Whoever does that accepts what was suggested."""
        self.annotation.check_open()
        if (start, end) == self.place:
            self.accept(restore_token)
            return
        span = self.annotation.span(start, end)
        self.note_change()
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
        indexes = [
            Index(fields=["batch", "annotation"], condition=Q(batch__isnull=False), name="relation_batch"),
            Index(
                fields=["suggested_by", "annotation"], condition=Q(suggested_by__isnull=False), name="relation_source"
            ),
        ]

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

    def broken(self, judge: Judge) -> Iterator[Broken]:
        return broken_by(judge, [self.source_id, self.target_id], [self.pk] if self.pk else [])

    def reverse(self, source: str, target: str, restore_token: str = "") -> None:
        """Let it lead from this entity to that one, the ends that it has, given by their uids. Whoever does that accepts what was
        suggested, its ends too."""
        self.annotation.check_open()
        if (source, target) == self.place:
            self.accept(restore_token)
            return
        if (target, source) != self.place:
            raise Refused("This relation connects other marks. Reload the page.")
        self.note_change()
        self.put(source=self.target, target=self.source)
        self._take_place(self.label)
        self.make_own(self.label, restore_token)


MARKS: dict[str, type[Entity] | type[Relation]] = {"entity": Entity, "relation": Relation}

# What came with the dataset: the given annotation also holds what preannotations suggest.
GIVEN = Q(annotation__layer=Layer.GIVEN, origin=Mark.Origin.GIVEN)
DECIDED = Q(annotation__layer=Layer.GOLD, annotation__done_at__isnull=False, status=Mark.Status.ACCEPTED)
# What a dataset can come with: the marks of a layer that is nobody's.
NOBODYS = {Layer.GIVEN: GIVEN, Layer.GOLD: DECIDED}
# A suggestion counts from when it is accepted; those on texts that were removed do not. What was decided about an item uses its
# labels as people do.
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
