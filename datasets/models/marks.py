import json
from typing import Any

from django.conf import settings
from django.core.signing import Signer
from django.db import models
from django.db.models import CheckConstraint, F, Q, UniqueConstraint
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from annotation_service import limits
from annotation_service.db import execute, first
from annotation_service.inputs import Refused
from annotation_service.models import User
from ontologies import usage
from ontologies.models import Ontology, OntologyItem

from .item import Item

_LABEL = """
SELECT l.id, l.uid, l.name, l.active
  FROM ontologies_ontologyitem l
  JOIN ontologies_ontology o ON o.id = l.ontology_id
  JOIN datasets_dataset d ON d.project_id = o.project_id
 WHERE d.id = %(dataset)s AND o.kind = %(kind)s AND l.uid = %(uid)s AND l.level > 0
"""
_OWN = "SELECT * FROM datasets_annotation WHERE item_id = %(item)s AND annotator_id = %(annotator)s"
_ALIKE = """
SELECT * FROM datasets_entity
 WHERE annotation_id = %(annotation)s
   AND (uid = %(uid)s OR (label_id = %(label)s AND start = %(start)s AND "end" = %(end)s))
 ORDER BY uid <> %(uid)s
"""


class Annotation(models.Model):
    """One person's work on one item or, with ``annotator`` null, the marks that came with the dataset.

    The given annotation is never changed by annotators: their first write copies it into their own. The verbs expect that the
    item is locked (`projects.access.annotating`).
    """

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT)
    started_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["item", "annotator"], name="annotation_one_a_person"),
            UniqueConstraint(fields=["item"], condition=Q(annotator=None), name="annotation_one_given"),
        ]

    def __str__(self) -> str:
        return f"item {self.item_id} by {self.annotator or 'the dataset'}"

    @classmethod
    def start(cls, item: Item, annotator: User) -> "Annotation":
        """The annotator's own annotation of an item that the caller has locked. The first write makes it, with a copy of the
        given marks."""
        annotation = first(cls, _OWN, {"item": item.pk, "annotator": annotator.pk})
        if annotation is None:
            annotation = cls.objects.create(item=item, annotator=annotator)
            annotation.take_over_given()
        annotation.item = item  # already read: a save need not read it again
        return annotation

    @classmethod
    def visible_to(cls, annotator: User, item: Item) -> "Annotation | None":
        """The annotator's own annotation or, before their first write, the given one, if any."""
        annotations = item.annotation_set.filter(Q(annotator=annotator) | Q(annotator=None))
        return annotations.order_by(F("annotator").asc(nulls_last=True)).first()

    def label(self, kind: str, uid: str) -> OntologyItem:
        """The item of the project's entity or relation ontology that a client names."""
        params = {"dataset": self.item.dataset_id, "kind": kind, "uid": uid}
        if label := first(OntologyItem, _LABEL, params):
            return label
        raise Refused("The project has no such label. Reload the page.")

    # --- Entities ---

    def add_entity(self, *, uid: str, label: OntologyItem, start: int, end: int, proof: str = "") -> "Entity":
        """Mark the tokens ``start`` to ``end``, inclusive. Sent twice, it is stored once."""
        self._check_open()
        params = {"annotation": self.pk, "uid": _checked(uid), "label": label.pk, "start": start, "end": end}
        if known := first(Entity, _ALIKE, params):
            known.accept(proof)
            return known
        if not 0 <= start <= end < len(self.item.tokens):
            raise Refused(f"The item has {len(self.item.tokens)} tokens; {start} to {end} is not a span of them.")
        entity = Entity(annotation=self, uid=uid, label=label, start=start, end=end)
        entity.check_applicable(label, proof)
        entity.save(force_insert=True)
        return entity

    def relabel_entity(self, uid: str, label: OntologyItem, proof: str = "") -> "Entity":
        """Give a mark a label. Whoever does that, with its old label too, accepts what was suggested."""
        self._check_open()
        entity = self._entity(uid)
        if entity.label_id != label.pk:
            entity.check_applicable(label, proof)
            if twin := self.entity_set.filter(label=label, start=entity.start, end=entity.end).first():
                if twin.status != Mark.Status.REJECTED:
                    raise Refused(f"These tokens are marked as “{label.name}” already.")
                self._delete_entity(twin)
        if entity.label_id != label.pk or entity.status != Mark.Status.ACCEPTED:
            entity.store(label=label, status=Mark.Status.ACCEPTED)
        return entity

    def remove_entity(self, uid: str) -> None:
        """Remove a mark together with the relations that start or end at it. Removed twice, it is gone once.

        A suggestion is kept as rejected, with the suggested relations at it: hidden, and never suggested again.
        """
        self._check_open()
        entity = self.entity_set.filter(uid=uid).first()
        if entity is None or entity.status == Mark.Status.REJECTED:
            return
        if entity.status == Mark.Status.ACCEPTED:
            self._delete_entity(entity)
            return
        relations = self._relations_at(entity)
        relations.filter(status=Mark.Status.ACCEPTED).delete()
        relations.update(status=Mark.Status.REJECTED, updated_at=timezone.now())
        entity.store(status=Mark.Status.REJECTED)

    def _delete_entity(self, entity: "Entity") -> None:
        self._relations_at(entity).delete()
        entity.delete()

    def _relations_at(self, entity: "Entity") -> "models.QuerySet[Relation]":
        return self.relation_set.filter(Q(source=entity) | Q(target=entity))

    # --- Relations ---

    def add_relation(self, *, uid: str, label: OntologyItem, source: str, target: str, proof: str = "") -> "Relation":
        """Relate two entities of this annotation, given by their uids."""
        self._check_open()
        relation = self.relation_set.filter(uid=_checked(uid)).first()
        relation = relation or self._relation(uid, label, source, target, proof)
        relation.accept(proof)
        return relation

    def _relation(self, uid: str, label: OntologyItem, source: str, target: str, proof: str) -> "Relation":
        """The relation that these ends have with this label already, or a new one."""
        ends = self._entity(source), self._entity(target)
        if ends[0] == ends[1]:
            raise Refused("A relation connects two different marks.")
        relation = Relation(annotation=self, uid=uid, label=label, source=ends[0], target=ends[1])
        relation.check_applicable(label, proof)
        if same := self.relation_set.filter(label=label, source=ends[0], target=ends[1]).first():
            return same
        relation.save(force_insert=True)
        return relation

    def relabel_relation(self, uid: str, label: OntologyItem, proof: str = "") -> "Relation":
        self._check_open()
        relation = self.relation_set.filter(uid=uid).first()
        if relation is None:
            raise Refused("This relation is not there any more. Reload the page.")
        if relation.label_id != label.pk:
            relation.check_applicable(label, proof)
            if twin := self.relation_set.filter(
                label=label, source=relation.source_id, target=relation.target_id
            ).first():
                if twin.status != Mark.Status.REJECTED:
                    raise Refused(f"These marks are related as “{label.name}” already.")
                twin.delete()
        if relation.label_id != label.pk or relation.status != Mark.Status.ACCEPTED:
            relation.store(label=label, status=Mark.Status.ACCEPTED)
        relation.accept_ends()
        return relation

    def remove_relation(self, uid: str) -> None:
        """Remove a relation; a suggested one is kept as rejected."""
        self._check_open()
        relations = self.relation_set.filter(uid=uid)
        if not relations.filter(status=Mark.Status.SUGGESTED).update(
            status=Mark.Status.REJECTED, updated_at=timezone.now()
        ):
            relations.filter(status=Mark.Status.ACCEPTED).delete()

    # --- Work ---

    def standing(self, kind: str, uid: str) -> list["Mark"]:
        """A mark as it is now; an entity together with the relations at it."""
        relations = self.relation_set.select_related("label", "source", "target")
        if kind == Ontology.Kind.RELATION:
            return list(relations.filter(uid=uid))
        at_it = Q(source__uid=uid) | Q(target__uid=uid)
        return [*self.entity_set.filter(uid=uid).select_related("label"), *relations.filter(at_it)]

    def finish(self) -> None:
        if self.done_at is None:
            self._store_done(timezone.now())

    def reopen(self) -> None:
        self._store_done(None)

    def take_over_given(self) -> None:
        """Copy the marks that came with the dataset into this annotation, inside the database."""
        given = Annotation.objects.filter(item=self.item_id, annotator=None).first()
        if given is None:
            return
        params = {"new": self.pk, "old": given.pk}
        execute(
            'INSERT INTO datasets_entity (annotation_id, label_id, uid, start, "end", status, created_at, updated_at)'
            ' SELECT %(new)s, label_id, uid, start, "end", status, created_at, updated_at FROM datasets_entity'
            " WHERE annotation_id = %(old)s ORDER BY id",
            params,
        )
        execute(
            "INSERT INTO datasets_relation"
            " (annotation_id, source_id, target_id, label_id, uid, status, created_at, updated_at)"
            " SELECT %(new)s, s.id, t.id, r.label_id, r.uid, r.status, r.created_at, r.updated_at FROM datasets_relation r"
            " JOIN datasets_entity os ON os.id = r.source_id JOIN datasets_entity ot ON ot.id = r.target_id"
            " JOIN datasets_entity s ON s.annotation_id = %(new)s AND s.uid = os.uid"
            " JOIN datasets_entity t ON t.annotation_id = %(new)s AND t.uid = ot.uid"
            " WHERE r.annotation_id = %(old)s ORDER BY r.id",
            params,
        )

    def _store_done(self, at: Any) -> None:
        self.done_at = at
        self.save(update_fields=["done_at"])

    def _check_open(self) -> None:
        if self.done_at is not None:
            raise Refused("This item is done. Reopen it to change its marks.")

    def _entity(self, uid: str) -> "Entity":
        entity = self.entity_set.filter(uid=uid).first()
        if entity is None:
            raise Refused("This mark is not there any more. Reload the page.")
        return entity


class Mark(models.Model):
    """What entities and relations share: a label, a uid that the client made, a status."""

    class Status(models.TextChoices):
        SUGGESTED = "suggested"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    annotation = models.ForeignKey(Annotation, on_delete=models.RESTRICT, db_index=False)
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="%(class)s_marks")
    uid = models.CharField(max_length=limits.MAX_MARK_ID_CHARACTERS)
    status = models.CharField(max_length=9, choices=Status, default=Status.ACCEPTED)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def place(self) -> tuple[Any, ...]:
        """What it marks."""
        raise NotImplementedError

    def accept(self, proof: str = "") -> None:
        """Make a suggested or rejected mark one's own, as if it were made anew."""
        if self.status != self.Status.ACCEPTED:
            self.check_applicable(self.label, proof)
            self.store(status=self.Status.ACCEPTED)

    def check_applicable(self, label: OntologyItem, proof: str) -> None:
        """A label that is off is not applied, but given back to a mark that had it: undo is nothing new."""
        label.hold()
        if not label.active and not constant_time_compare(proof, self.proof(label)):
            raise Refused(f"The label “{label.name}” is switched off and cannot be applied any more.")

    def proof(self, label: OntologyItem) -> str:
        """Handed out when the label is taken from this mark, with the mark or without it."""
        fact = [self._meta.model_name, self.annotation_id, self.uid, label.uid, *self.place]
        return Signer(salt="datasets.mark").signature(json.dumps(fact))

    def store(self, **values: Any) -> None:
        values["updated_at"] = timezone.now()
        for field, value in values.items():
            setattr(self, field, value)
        self.save(update_fields=values)


class Entity(Mark):
    """A span of tokens, ``start`` to ``end`` inclusive, counted from 0."""

    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            UniqueConstraint(fields=["annotation", "uid"], name="entity_uid"),
            UniqueConstraint(fields=["annotation", "label", "start", "end"], name="entity_span"),
            CheckConstraint(condition=Q(start__lte=F("end")), name="entity_start_end"),
        ]

    def __str__(self) -> str:
        return f"{self.label} {self.start} to {self.end}"

    @property
    def place(self) -> tuple[int, int]:
        return self.start, self.end


class Relation(Mark):
    """A directed relation between two entities of the same annotation. Whoever accepts it accepts these, too."""

    source = models.ForeignKey(Entity, on_delete=models.RESTRICT, related_name="outgoing", db_index=False)
    target = models.ForeignKey(Entity, on_delete=models.RESTRICT, related_name="incoming")

    class Meta:
        constraints = [
            UniqueConstraint(fields=["annotation", "uid"], name="relation_uid"),
            UniqueConstraint(fields=["source", "target", "label"], name="relation_ends"),
            CheckConstraint(condition=~Q(source=F("target")), name="relation_two_ends"),
        ]

    def __str__(self) -> str:
        return f"{self.label} from {self.source_id} to {self.target_id}"

    @property
    def place(self) -> tuple[str, str]:
        return self.source.uid, self.target.uid

    def accept(self, proof: str = "") -> None:
        super().accept(proof)
        self.accept_ends()

    def accept_ends(self) -> None:
        ends = Entity.objects.filter(pk__in=[self.source_id, self.target_id], status=self.Status.SUGGESTED)
        ends.update(status=self.Status.ACCEPTED, updated_at=timezone.now())


def _checked(uid: str) -> str:
    if not 0 < len(uid) <= 100:
        raise Refused("A mark's uid has 1 to 100 characters.")
    return uid


for model, kind in ((Entity, "entity"), (Relation, "relation")):
    usage.item_uses.append(
        usage.ItemUse(
            model,
            "marks",
            ("label",),
            "label__ontology__project",
            kind=kind,
            live=Q(annotation__item__removed_at=None),
            person="annotation__annotator",
        )
    )
