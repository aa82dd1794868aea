from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar

from django.core.signing import BadSignature, Signer
from django.db import models
from django.db.models import QuerySet
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import store
from annotation_service.inputs import Refused
from ontologies.models import OntologyItem
from resources.rules import Rules

from .rejection import Rejection
from .violations import Broken


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
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def place(self) -> tuple[Any, ...]:
        """What it marks: tokens, or the uids of two entities."""
        raise NotImplementedError

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
        self.note_rejection()
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
            self.origin = self._origin_of_suggestion()
        self.batch = None
        self.status, self.updated_at = self.Status.SUGGESTED, timezone.now()
        self.save()

    def make_own(self, label: OntologyItem, restore_token: str) -> None:
        """Store it and its ends as accepted, with this label. Every mark that is added, accepted, relabelled or resized comes
        here.

        Refused if a label is applied that is switched off, or if a constraint of the project is broken that was not broken
        before. Undo may bring back a label that is off, and what the mark broke with other marks that are as they were.
        """
        label.hold()
        restored, origin = self._as_it_was(label, restore_token)
        if not self.pk:
            self.origin = origin
        rules = self.annotation.rules()
        before = {broken.key for broken in self.broken(rules)} if rules else set()
        has_label = self.pk and self.status == self.Status.ACCEPTED and self.label_id == label.pk
        self.label = label
        suggested = [end for end in self.ends() if end.status != self.Status.ACCEPTED]
        for mark in (*suggested, self):
            if not mark.label.active and restored is None and not (mark is self and has_label):
                raise Refused(f"The label “{mark.label.name}” is switched off and cannot be applied any more.")
            mark.status, mark.updated_at = self.Status.ACCEPTED, timezone.now()
            mark.save()
        for broken in self.broken(rules) if rules else ():
            if broken.key not in before and broken.fingerprint not in (restored or ()):
                raise Refused(broken.violation.in_words(lambda pk: OntologyItem.objects.get(pk=pk).name))

    def _take_place(self, label: OntologyItem) -> None:
        """Refuse a second mark with this label at this place; one that was rejected gives way."""
        if same := self.at_same_place().filter(label=label).first():
            if same.status != self.Status.REJECTED:
                raise Refused(self.taken.format(label.name))
            same.delete()

    def _origin_of_suggestion(self) -> str:
        """Of one that was deleted: what came with the dataset is always there, and has the same uid."""
        came = type(self)._default_manager.filter(
            annotation__item=self.annotation.item_id, annotation__annotator=None, origin=self.Origin.GIVEN, uid=self.uid
        )
        return self.Origin.GIVEN if came else self.Origin.PREANNOTATION

    def ends(self) -> "tuple[Mark, ...]":
        """The marks that this one connects."""
        return ()

    def broken(self, rules: Rules) -> Iterator[Broken]:
        """What the mark and its ends break, as they are stored."""
        raise NotImplementedError

    def restore_token(self, label: OntologyItem) -> str:
        """Handed out when the label is taken from this mark, with the mark or without it. It tells what the two broke, and where
        the mark came from. Empty for a suggestion: bringing it back would accept it."""
        if self.status != self.Status.ACCEPTED:
            return ""
        rules = self.annotation.rules()
        broken = [each.fingerprint for each in self.broken(rules)] if rules else []
        return Signer(salt="datasets.mark.origin").sign_object([self._fact(label), broken, self.origin])

    def _as_it_was(self, label: OntologyItem, restore_token: str) -> tuple[list[str] | None, str]:
        """What the mark broke with the label when the token was handed out, None if it is no token for them; and its origin."""
        with suppress(BadSignature):
            fact, broken, origin = Signer(salt="datasets.mark.origin").unsign_object(restore_token)
            if fact == self._fact(label):
                return list(broken), origin
        return None, self.Origin.PERSON

    def _fact(self, label: OntologyItem) -> list[Any]:
        return [self.kind, self.annotation_id, self.uid, label.uid, *self.place]
