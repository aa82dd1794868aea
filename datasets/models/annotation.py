from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Self, TypeVar

from django.conf import settings
from django.db import connection, models
from django.db.models import CheckConstraint, F, Q, QuerySet, UniqueConstraint
from django.db.models.functions import Now
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import execute, first, keys, rows, store
from annotation_service.inputs import Refused
from annotation_service.models import User
from annotation_service.words import plural
from ontologies.models import OntologyItem
from resources.judging import Judge

from .broken import judge_of
from .item import Item
from .marks import Entity, Layer, Mark, Relation

# Saving a mark runs these, and takes 2 ms in all. Written out they take 0.06 ms each; composed by the ORM 0.3 to 0.5 ms.
_VISIBLE = """
SELECT * FROM datasets_annotation
 WHERE item_id = %(item)s AND (annotator_id = %(annotator)s OR layer = 'given')
 ORDER BY layer = 'given'
"""
_NEXT_REVISION = """
UPDATE datasets_annotation SET revision = revision + 1, changed_at = %(now)s, touched_at = %(now)s
 WHERE item_id = %(item)s AND annotator_id = %(annotator)s
RETURNING *
"""
_LABEL = """
SELECT l.id, l.uid, l.name, l.active
  FROM ontologies_ontologyitem l
  JOIN ontologies_ontology o ON o.id = l.ontology_id
  JOIN datasets_dataset d ON d.project_id = o.project_id
 WHERE d.id = %(dataset)s AND o.kind = %(kind)s AND l.uid = %(uid)s AND l.level > 0
"""
_SAME_OR_MEETING = """
SELECT id, uid, label_id, start, "end", status FROM datasets_entity
 WHERE annotation_id = %(annotation)s AND (uid = %(uid)s OR (start <= %(end)s AND "end" >= %(start)s))
"""
M = TypeVar("M", bound=Mark)


def _copy(model: type[Mark], ends: str = "", joins: str = "") -> str:
    """``ends`` are those of relations."""
    table, own = model._meta.db_table, {"id", "annotation_id", "source_id", "target_id"}
    columns = [f'"{field.column}"' for field in model._meta.concrete_fields if field.column not in own]
    return f"""
        INSERT INTO {table} (annotation_id, {ends and "source_id, target_id, "}{", ".join(columns)})
        SELECT o.id, {ends}{", ".join(f"m.{column}" for column in columns)}
          FROM datasets_annotation o
          JOIN datasets_annotation g ON g.item_id = o.item_id AND g.layer = 'given'
          JOIN {table} m ON m.annotation_id = g.id {joins}
         WHERE o.item_id IN ({{items}}) AND o.annotator_id = %(annotator)s ORDER BY o.id, m.id
    """


_COPIED_ENDS = """
    JOIN datasets_entity gs ON gs.id = m.source_id
    JOIN datasets_entity gt ON gt.id = m.target_id
    JOIN datasets_entity s ON s.annotation_id = o.id AND s.uid = gs.uid
    JOIN datasets_entity t ON t.annotation_id = o.id AND t.uid = gt.uid
"""
_COPY_GIVEN = (_copy(Entity), _copy(Relation, "s.id, t.id, ", _COPIED_ENDS))


class WorkStep(Enum):
    """What somebody does with an item; the value is what it adds to those who have finished it."""

    BEGIN = 0
    FINISH = 1
    REOPEN = -1


# What `ItemWork` does not know yet.
UNCOUNTED = Q(annotator__isnull=False, counted__lt=F("revision"))

# Called after a step, with the annotation: the apps above add theirs.
followers: list[Callable[["Annotation", WorkStep], None]] = []


class Annotation(models.Model):
    """One person's own work on one item, the marks that it was given with the dataset or, as gold, those that were decided.

    The given annotation is never changed by annotators: their first write copies it into their own. One that nobody has begun
    holds, beside that copy, only what a batch or the history put there. Gold is nobody's work, and no figure of people or of
    progress counts it. The verbs expect that the item is locked; whoever changes gold has the item judged, see `Judging`, which
    else waits until somebody changes their own.
    """

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    annotator = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, db_index=False
    )
    layer = models.CharField(max_length=5, choices=Layer, default=Layer.OWN, db_default=Layer.OWN)
    # When its person began the item; null, if it only holds what a batch or the history put there.
    started_at = models.DateTimeField(default=timezone.now, null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    # Who had its marks imported from which file, where they are not made here. As long as its person has changed nothing,
    # agreement counts it apart.
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    imported_from = models.CharField(
        max_length=limits.MAX_FILE_NAME_CHARACTERS, blank=True, default="", db_default="", editable=False
    )
    # When its annotator last did something in the item.
    changed_at = models.DateTimeField(null=True, blank=True)
    # Goes up with every change of its marks, whoever makes it. Begins above that of the given annotation, and that at 1: 0 is
    # none at all.
    revision = models.PositiveIntegerField(default=1, db_default=1)
    # When its marks or its state last changed, whoever changed them: by this programs ask for what is new.
    touched_at = models.DateTimeField(default=timezone.now, db_default=Now(), editable=False)
    # The revision that `ItemWork` knows; 0 if it was finished or reopened since.
    counted = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Its accepted marks and undecided suggestions at that revision; `marks_in` tells how many there are now.
    accepted = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    suggested = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["item", "annotator"], name="annotation_one_a_person"),
            UniqueConstraint(fields=["item"], condition=Q(layer=Layer.GIVEN), name="annotation_one_given"),
            UniqueConstraint(fields=["item"], condition=Q(layer=Layer.GOLD), name="annotation_one_gold"),
            CheckConstraint(
                condition=Q(layer=Layer.OWN, annotator__isnull=False) | Q(~Q(layer=Layer.OWN), annotator=None),
                name="annotation_whose",
            ),
        ]
        # Those of work in each state have all that a list of somebody's items asks for: 15 ms for 30,000, and 45 without them.
        indexes = [
            models.Index(fields=["annotator", "changed_at", "item"], name="annotation_changed"),
            models.Index(fields=["touched_at"], name="annotation_touched"),
            models.Index(
                fields=["annotator", "done_at", "item"], condition=Q(done_at__isnull=False), name="annotation_done"
            ),
            models.Index(
                fields=["annotator", "item"],
                condition=Q(started_at__isnull=False, done_at=None),
                name="annotation_begun",
            ),
            models.Index(fields=["item"], condition=UNCOUNTED, name="annotation_uncounted"),
            models.Index(fields=["annotator"], condition=Q(imported_by__isnull=False), name="annotation_imported"),
            # Few, and looked for whenever items change hands: 0.4 s among 200,000 annotations.
            models.Index(
                fields=["item", "annotator"],
                condition=Q(started_at=None, annotator__isnull=False),
                name="annotation_unbegun",
            ),
        ]

    def __str__(self) -> str:
        whose = {Layer.GIVEN: "by the dataset", Layer.GOLD: "as decided"}
        return f"item {self.item_id} {whose.get(Layer(self.layer)) or f'by {self.annotator}'}"

    @classmethod
    def gold(cls, item: Item) -> "Annotation | None":
        """What was decided about an item, if anything was."""
        if annotation := cls.objects.filter(item=item, layer=Layer.GOLD).first():
            annotation.item = item  # need not be read again
        return annotation

    @classmethod
    def check_unbegun(cls, items: QuerySet[Item]) -> None:
        """Refuse to go on if somebody has begun one of the items."""
        begun = cls.objects.filter(item__in=items.order_by().values("pk"), annotator__isnull=False)
        if count := begun.filter(started_at__isnull=False).values("item").distinct().count():
            raise Refused(f"Somebody has begun {plural(count, 'item,items')} of these. Remove the others by hand.")

    @classmethod
    def start(cls, item: Item, annotator: User) -> "Annotation":
        """The annotator's own annotation of an item that the caller has locked, for a write: with the next revision. The first
        write makes it, with a copy of the given marks."""
        now = timezone.now()
        params = {"item": item.pk, "annotator": annotator.pk, "now": connection.ops.adapt_datetimefield_value(now)}
        if annotation := first(cls, _NEXT_REVISION, params):
            annotation.item = item
        else:
            annotation = cls.prepare(item, annotator)
        if annotation.started_at is None:
            store(annotation, started_at=now, changed_at=now)
            annotation._tell(WorkStep.BEGIN)
        return annotation

    @classmethod
    def prepare(cls, item: Item, annotator: User) -> "Annotation":
        """The annotator's own annotation, with a copy of the given marks, of an item that they have not begun."""
        given = cls.visible_to(annotator, item)
        revision = given.revision + 1 if given else 1
        annotation = cls.objects.create(item=item, annotator=annotator, started_at=None, revision=revision)
        if given:
            copy_given_marks([item.pk], annotator.pk)
        return annotation

    @classmethod
    def visible_to(cls, annotator: User, item: Item) -> "Annotation | None":
        """The annotator's own annotation or, before their first write, the given one, if any."""
        if annotation := first(cls, _VISIBLE, {"item": item.pk, "annotator": annotator.pk}):
            annotation.item = item  # need not be read again
        return annotation

    @classmethod
    def all_visible_to(cls, annotator: User, items: Sequence[Item]) -> dict[int, Self]:
        """The same of several items, by their keys."""
        found = cls.objects.filter(Q(annotator=annotator) | Q(layer=Layer.GIVEN), item__in=items)
        annotations = {each.item_id: each for each in sorted(found, key=lambda each: each.layer == Layer.OWN)}
        for item in items:
            if item.pk in annotations:
                annotations[item.pk].item = item
        return annotations

    @staticmethod
    def count_up(annotations: "QuerySet[Annotation]") -> None:
        """Others than their people have changed their marks."""
        annotations.update(revision=F("revision") + 1, touched_at=Now())

    def label(self, kind: str, uid: str) -> OntologyItem:
        """The item of the project's entity or relation ontology that a client names."""
        if label := first(OntologyItem, _LABEL, {"dataset": self.item.dataset_id, "kind": kind, "uid": uid}):
            return label
        raise Refused("The project has no such label. Reload the page.")

    def judge(self) -> Judge | None:
        """Of the project's constraints; None if it has none."""
        return judge_of(self.item.dataset_id)

    def sources(self) -> list[str]:
        """What put its entities here, in words."""
        entities = self.entity_set.exclude(status=Mark.Status.REJECTED).order_by()
        by_hand = entities.filter(batch=None)
        origins = by_hand.values_list("origin", flat=True).distinct()
        batch = ["a batch of theirs"] if entities.exclude(batch=None).exists() else []
        return [*batch, *(Mark.Origin(origin).label for origin in sorted(origins))]

    # --- Marks ---

    def add_entity(self, *, uid: str, label: OntologyItem, start: int, end: int, restore_token: str = "") -> "Entity":
        """Mark the tokens ``start`` to ``end``, inclusive. Sent twice, it is stored once."""
        self._check_addition(uid)
        entity = Entity(annotation=self, uid=uid, label=label, **self.span(start, end))
        params = {"annotation": self.pk, "uid": uid, "start": start, "end": end}
        there = rows(Entity, _SAME_OR_MEETING, params)
        same = [each for each in there if each.uid == uid] or [each for each in there if each.what == entity.what]
        if same:
            known = self.mark(Entity, same[0].uid)
            known.accept(restore_token)
            return known
        entity.make_own(label, restore_token, there)
        return entity

    def add_relation(
        self, *, uid: str, label: OntologyItem, source: str, target: str, restore_token: str = ""
    ) -> "Relation":
        """Relate two entities of this annotation, given by their uids. Sent twice, it is stored once."""
        self._check_addition(uid)
        relation = self.relation_set.filter(uid=uid).first()
        if relation is None:
            new = Relation(annotation=self, uid=uid, label=label, **self.ends(source, target))
            relation = new.at_same_place().filter(label=label).first()
            if relation is None:
                new.make_own(label, restore_token)
                return new
        relation.accept(restore_token)
        return relation

    def suggest_again(self, kind: type[M], *, uid: str, label: OntologyItem, **place: Any) -> M:
        """Make a mark the suggestion that it was. One that is gone comes back, if the place is given."""
        self._check_addition(uid)
        mark = self.marks(kind).filter(uid=uid).first() if place else self.mark(kind, uid)
        mark = mark or kind(annotation=self, uid=uid)
        mark.suggest_again(label, **place)
        return mark

    def marks(self, kind: type[M]) -> QuerySet[M]:
        return getattr(self, f"{kind.kind}_set").all()  # knows its annotation, unlike the manager of the model

    def mark(self, kind: type[M], uid: str) -> M:
        if mark := self.marks(kind).filter(uid=uid).first():
            return mark
        raise Refused(f"This {kind.noun} is not there any more. Reload the page.")

    def check_open(self) -> None:
        if self.done_at is not None:
            raise Refused("This item is done. Reopen it to change its marks.")

    def span(self, start: int, end: int) -> dict[str, int]:
        """Of an entity."""
        if not 0 <= start <= end < len(self.item.tokens):
            raise Refused(f"The item has {len(self.item.tokens)} tokens; {start} to {end} is not a span of them.")
        return {"start": start, "end": end}

    def ends(self, source: str, target: str) -> dict[str, Entity]:
        """Of a relation, given by their uids."""
        if source == target:
            raise Refused("A relation connects two different marks.")
        return {"source": self.mark(Entity, source), "target": self.mark(Entity, target)}

    # --- Work ---

    def finish(self) -> None:
        if self.done_at is None:
            now = timezone.now()
            store(self, done_at=now, changed_at=now, touched_at=now, counted=0)
            self._tell(WorkStep.FINISH)

    def reopen(self) -> None:
        if self.done_at is not None:
            now = timezone.now()
            store(self, done_at=None, changed_at=now, touched_at=now, counted=0)
            self._tell(WorkStep.REOPEN)

    def _tell(self, step: WorkStep) -> None:
        """Progress is that of people."""
        if self.layer != Layer.OWN:
            return
        for follow in followers:
            follow(self, step)

    def _check_addition(self, uid: str) -> None:
        self.check_open()
        if not 0 < len(uid) <= limits.MAX_MARK_ID_CHARACTERS:
            raise Refused(f"A mark's uid has 1 to {limits.MAX_MARK_ID_CHARACTERS} characters.")


def copy_given_marks(items: Iterable[int], annotator: int) -> None:
    """Copy the marks that came with items into somebody's annotations of them."""
    for statement in _COPY_GIVEN:
        execute(statement.format(items=keys(items)), {"annotator": annotator})
