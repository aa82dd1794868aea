"""What was decided about marks, in the order in which it was: the gold of an item follows from that alone. And who decides."""

import uuid
from collections.abc import Collection, Iterable
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import Index, QuerySet
from django.utils import timezone

from annotation_service.db import among, store
from annotation_service.inputs import Refused, clean_prose
from annotation_service.models import User
from datasets.cleaned import key_of
from datasets.models import Annotation, Entity, Item, Layer, Relation
from ontologies.models import OntologyItem

from ..comparison import AnyMark, EntityMark, Marked, MarkGroup, Option, RelationMark, read_mark
from ..deciding import Ruling

MAX_REASON_CHARACTERS = 500


class GoldDecision(models.Model):
    """Somebody's decision about some marks of an item; ``annotation`` is the item's gold. The verbs expect that the item is
    locked."""

    class Kind(models.TextChoices):
        RULE = "rule", "taken over by the rule"
        GIVEN = "given", "taken over from the dataset"
        CHOICE = "choice", "chosen"
        EDIT = "edit", "edited"

    annotation = models.ForeignKey(Annotation, on_delete=models.RESTRICT, db_index=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=6, choices=Kind)
    reason = models.CharField(max_length=MAX_REASON_CHARACTERS, blank=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [Index(fields=["annotation", "id"], name="decision_in_order")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} by {self.by}"

    @classmethod
    def make(
        cls,
        gold: Annotation,
        kind: str,
        groups: Iterable[tuple[MarkGroup, Collection[Option]]],
        *,
        by: User,
        voices: Collection[int] = (),
        reason: str = "",
    ) -> "GoldDecision":
        """Record what is taken of groups of marks; those of the ``voices`` who said otherwise are told."""
        decision = cls.objects.create(
            annotation=gold, kind=kind, by=by, reason=clean_prose(reason, MAX_REASON_CHARACTERS)
        )
        verdicts, overruled = list[Verdict](), set[int]()
        for place, (group, taken) in enumerate(groups):
            for option in group.options:
                for mark in option.marks:
                    verdicts.append(decision.verdict(place, mark, is_taken=option in taken, people=option.who))
            overruled |= {who for who in voices if who and any((who in o.who) != (o in taken) for o in group.options)}
        Verdict.objects.bulk_create(verdicts, batch_size=1000)
        Overruled.objects.bulk_create(
            Overruled(annotation=gold, decision=decision, person_id=who) for who in sorted(overruled)
        )
        return decision

    def verdict(self, place: int, mark: AnyMark, *, is_taken: bool, people: Iterable[int] = ()) -> "Verdict":
        return Verdict(
            annotation_id=self.annotation_id,
            decision=self,
            place=place,
            what=str(mark),
            is_taken=is_taken,
            people=list(people),
        )


class Verdict(models.Model):
    """That a mark belongs into the gold, or not; ``what`` says it as in `Rejection.what`. Those of a decision with one ``place``
    were decided together. ``people`` are the keys of those who had made the mark, 0 for the dataset."""

    annotation = models.ForeignKey(Annotation, on_delete=models.RESTRICT)
    decision = models.ForeignKey(GoldDecision, on_delete=models.RESTRICT)
    place = models.PositiveIntegerField()
    what = models.CharField(max_length=200)
    is_taken = models.BooleanField()
    people = models.JSONField(default=list)

    class Meta:
        ordering = ["decision", "pk"]

    def __str__(self) -> str:
        return f"{self.what} {'taken' if self.is_taken else 'left'}"

    @property
    def mark(self) -> AnyMark:
        return read_mark(self.what)

    @property
    def ruling(self) -> Ruling:
        return Ruling((self.decision_id, self.place), self.mark, self.is_taken)


class Overruled(models.Model):
    """Somebody who had marked it otherwise than it was decided."""

    annotation = models.ForeignKey(Annotation, on_delete=models.RESTRICT, db_index=False)
    decision = models.ForeignKey(GoldDecision, on_delete=models.RESTRICT, related_name="overruled")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        indexes = [Index(fields=["person", "decision"], name="overruled_person")]

    def __str__(self) -> str:
        return f"{self.person} by {self.decision_id}"


class ReviewAssignment(models.Model):
    """An item is for one of those who review; one without a row is for all of them."""

    item = models.OneToOneField(Item, primary_key=True, on_delete=models.RESTRICT, related_name="review")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"item {self.item_id} for {self.person}"

    @classmethod
    def put(cls, person_of: dict[int, int | None]) -> None:
        """Let items, given by their keys, be for these people, or for all."""
        cls.objects.filter(item__in=list(person_of)).delete()
        rows: list[Any] = [cls(item_id=item, person_id=who) for item, who in person_of.items() if who]
        cls.objects.bulk_create(rows, batch_size=1000)


def in_force(golds: Iterable[Annotation]) -> QuerySet[Verdict]:
    """The verdicts about items that nobody has taken back, in their order."""
    keys = [gold.pk for gold in golds]
    return Verdict.objects.filter(annotation__in=among(keys), decision__undone_at=None).order_by("decision", "pk")


# --- The marks ---------------------------------------------------------------------------------------------------------


def begin(item: Item) -> Annotation:
    """The gold of an item that the caller has locked, for a write: with the next revision. The first write makes it."""
    now = timezone.now()
    gold, is_new = Annotation.objects.get_or_create(item=item, layer=Layer.GOLD, defaults={"changed_at": now})
    if not is_new:
        store(gold, revision=gold.revision + 1, changed_at=now, touched_at=now)
    gold.item = item
    return gold


def apply(gold: Annotation, wanted: Marked, checking: Collection[AnyMark] = ()) -> None:
    """Let the gold have these marks and no others. Raises `Refused` where one of those that are to be checked cannot be made, and
    where a label was deleted, which verdicts that were taken back do not hold."""
    there: dict[Any, Entity] = {EntityMark(each.start, each.end, each.label_id): each for each in gold.entity_set.all()}
    said = {each.pk: mark for mark, each in there.items()}
    relations: dict[Any, Relation] = {
        RelationMark(said[each.source_id], said[each.target_id], each.label_id): each
        for each in gold.relation_set.all()
    }
    new: list[Any] = sorted(wanted.entities - there.keys())
    related: list[Any] = sorted(wanted.relations - relations.keys())
    labels = OntologyItem.objects.in_bulk({mark.label for mark in (*related, *new)})
    if any(mark.label not in labels for mark in (*related, *new)):
        raise Refused("A label of these marks was deleted since: decide anew instead.")
    gone = [each.pk for mark, each in relations.items() if mark not in wanted.relations]
    Relation.objects.filter(pk__in=among(gone))._raw_delete(connection.alias)
    gone = [each.pk for mark, each in there.items() if mark not in wanted.entities]
    Entity.objects.filter(pk__in=among(gone))._raw_delete(connection.alias)
    at_once = [mark for mark in new if mark not in checking]
    rows = [
        _new(Entity, gold, each, start=each.start, end=each.end, words_key=_words_key(gold, each)) for each in at_once
    ]
    there |= dict(zip(at_once, Entity.objects.bulk_create(rows), strict=True))
    for mark in new:
        if mark in checking:
            uid, label = uuid.uuid4().hex, labels[mark.label]
            there[mark] = gold.add_entity(uid=uid, label=label, start=mark.start, end=mark.end)
    for relation in related:
        if relation in checking:
            ends = {"source": there[relation.source].uid, "target": there[relation.target].uid}
            gold.add_relation(uid=uuid.uuid4().hex, label=labels[relation.label], **ends)
    Relation.objects.bulk_create(
        _new(Relation, gold, each, source=there[each.source], target=there[each.target])
        for each in related
        if each not in checking
    )


def _new(model: type[Any], gold: Annotation, mark: AnyMark, **place: Any) -> Any:
    return model(annotation=gold, uid=uuid.uuid4().hex, label_id=mark.label, **place)


def _words_key(gold: Annotation, mark: EntityMark) -> int:
    return key_of(gold.item.tokens[mark.start : mark.end + 1])
