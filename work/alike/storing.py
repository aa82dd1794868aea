"""Doing a batch: some items at a time, each time in a transaction of its own, so that others can save meanwhile."""

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from annotation_service.db import among, execute, keys, store, write
from annotation_service.inputs import Refused
from annotation_service.models import Job
from datasets.cleaned import key_of
from datasets.importing.document import Progress
from datasets.models import MARKS, Annotation, Entity, Mark, Relation
from datasets.models.annotation import copy_given_marks
from datasets.models.broken import judge_of
from datasets.models.item import ItemQuerySet
from datasets.models.marks import ENTITY_KEY, RELATION_KEY
from ontologies.models import OntologyItem

from ..models import Batch
from ..models.batch import COLUMNS, Turns, in_steps, lock_items
from .asked import GONE, Asked, ReadText, candidates, texts_of
from .places import Finder, Place, SeenEntity, SeenItem, SeenRelation, states_of, versions_of

# A later batch begins with a higher revision than one that was undone: open screens see that something has changed.
NEW_ANNOTATIONS = """
    INSERT INTO datasets_annotation (item_id, annotator_id, revision)
    SELECT i.id, %(person)s, %(batch)s + COALESCE(
               (SELECT g.revision FROM datasets_annotation g WHERE g.item_id = i.id AND g.layer = 'given'), 0)
      FROM datasets_item i WHERE i.id IN ({items}) ORDER BY i.position
"""
_MADE = "status, origin, batch_id, created_at, updated_at"
MAKE_ENTITIES = (
    f'INSERT INTO datasets_entity (annotation_id, label_id, uid, start, "end", words_key, {_MADE})'
    " VALUES (%s, %s, %s, %s, %s, %s, 'accepted', 'propagation', %s, %s, %s)"
)
MAKE_RELATIONS = (
    f"INSERT INTO datasets_relation (annotation_id, label_id, uid, source_id, target_id, {_MADE})"
    " VALUES (%s, %s, %s, %s, %s, 'accepted', 'propagation', %s, %s, %s)"
)

# The marks that the batch has made.
KEEP_MADE = tuple(
    f"""
    INSERT INTO work_batchchange (batch_id, kind, mark, annotation_id)
    SELECT batch_id, '{kind}', id, annotation_id FROM datasets_{kind}
     WHERE batch_id = %(batch)s AND origin = 'propagation' AND annotation_id IN ({{annotations}})
    """
    for kind in COLUMNS
)


def _keep(kind: str, what: str, ends: str = "") -> str:
    """Keeps marks as they are, before they change or go; with what is noted then, unless that was noted before."""
    columns = [f'"{column}"' for column in COLUMNS[kind]]
    return f"""
        INSERT INTO work_batchchange (batch_id, kind, mark, annotation_id, its_batch, noted, {", ".join(columns)})
        SELECT %(batch)s, '{kind}', m.id, m.annotation_id, m.batch_id, CASE WHEN %(hides)s
               AND m.origin NOT IN ('person', 'propagation') AND NOT EXISTS (
                   SELECT 1 FROM datasets_rejection j WHERE j.annotation_id = m.annotation_id AND j.what = {what})
               THEN {what} ELSE '' END, {", ".join(f"m.{column}" for column in columns)}
          FROM datasets_{kind} m {ends} WHERE m.id IN ({{marks}})
    """


_ENDS = "JOIN datasets_entity s ON s.id = m.source_id JOIN datasets_entity t ON t.id = m.target_id"
KEEP = {
    "entity": _keep("entity", ENTITY_KEY.format("m")),
    "relation": _keep("relation", RELATION_KEY.format("m", "s", "t"), _ENDS),
}
NOTE = """
    INSERT INTO datasets_rejection (annotation_id, what)
    SELECT annotation_id, noted FROM work_batchchange
     WHERE batch_id = %(batch)s AND annotation_id IN ({annotations}) AND noted <> ''
        ON CONFLICT DO NOTHING
"""


Texts = Mapping[int, ReadText]


class FoundPlaces(NamedTuple):
    """What the person sees in items, the places that are stored, and the reasons why others are not; an empty one, if they were
    unticked. It is so while the ``basis`` is the same."""

    states: dict[int, SeenItem]
    places: list[Place]
    left_out: Counter[str]
    basis: tuple[Any, ...]


class Storing:
    """Does what was asked for with a batch. What broke off is taken up behind the last item that was stored."""

    def __init__(self, batch: Batch, items: ItemQuerySet, given: Callable[[], ItemQuerySet]) -> None:
        """``items`` are those that are meant, ``given`` those that it may change, asked for in each transaction. It raises
        `Refused` if the person may not go on."""
        self.batch, self.items, self.given = batch, items, given
        self.asked = Asked.of(batch.dataset, batch.asked)
        ticked = batch.asked.get("ticked")
        self.ticked = None if ticked is None else frozenset(ticked)
        self.unticked = defaultdict[str, set[str]](set)  # by item
        for key in batch.asked.get("unticked", ()):
            self.unticked[key.partition(":")[0]].add(key)
        adapt = connection.ops.adapt_datetimefield_value
        self.params: dict[str, Any] = {"batch": batch.pk, "person": batch.person_id, "at": adapt(batch.created_at)}
        self.params["hides"] = batch.hides
        self._prefix = secrets.token_hex(6)  # of the uids: nothing else has the same
        self._count = 0

    def run(self, progress: Progress, job: Job) -> None:
        behind = self.items.filter(position__gte=self.batch.reached)
        items, turns = candidates(self.asked, behind, self.batch.person), Turns()
        for some in in_steps(items, progress, "marking"):
            texts = texts_of(self.asked, [pk for pk, _ in some])
            found = self._find(texts)  # before others have to wait
            with turns.write():
                self.batch.hold(job)
                self._store_on(texts, found, (some[0][1], some[-1][1]))
                self.batch.reached = some[-1][1] + 1
                self.batch.save(update_fields=["reached", "made", "left_out"])
        with write():
            self.batch.hold(job)
            store(self.batch, stored_at=timezone.now())
            job.finish(text=f"{self.batch.in_words()}.")

    def _hold_labels(self) -> None:
        active = {label.pk: label.active for label in self.asked.used_labels()}
        if len(held := OntologyItem.objects.filter(pk__in=active)) < len(active):
            raise Refused(GONE)
        OntologyItem.hold_all(held)
        if any(each.active != active[each.pk] for each in held):
            self.asked = Asked.of(self.batch.dataset, self.batch.asked)

    def _store_on(self, texts: Texts, found: FoundPlaces, between: tuple[int, int]) -> None:
        self._hold_labels()
        lock_items(list(texts))
        # By their positions, too: by the keys alone, SQLite would look through the whole dataset each time.
        near = self.given().filter(position__range=between, pk__in=list(texts))
        allowed = dict(near.order_by().values_list("pk", "text_version"))
        if allowed != {item: text.version for item, text in texts.items()} or found.basis != self._basis(texts):
            texts = texts_of(self.asked, list(allowed))
            found = self._find(texts)
        states, places, left_out, _ = found
        items = {place.item for place in places}
        begun = [state.annotation for item, state in states.items() if item in items and state.annotation]
        if new := [item for item in items if states[item].annotation is None]:
            execute(NEW_ANNOTATIONS.format(items=keys(new)), self.params)
            made = Annotation.objects.filter(item__in=among(new), annotator=self.batch.person_id)
            for item, annotation in made.values_list("item", "pk"):
                states[item].annotation = annotation
            if copied := {item: texts[item] for item in new if states[item].is_copied}:
                copy_given_marks(copied, self.batch.person_id)
                again = self._find(copied)
                states |= again.states
                places = [place for place in places if place.item not in copied] + again.places
        Annotation.count_up(Annotation.objects.filter(pk__in=among(begun)))
        annotations = [own for item in items if (own := states[item].annotation)]
        self._change(places, annotations)
        if self.batch.verb == Batch.Verb.PROPAGATE:
            self._make(places, states, texts)
            for statement in KEEP_MADE:
                execute(statement.format(annotations=keys(annotations)), self.params)
        self._count_in(len(places), left_out)

    def _basis(self, texts: Texts) -> tuple[Any, ...]:
        versions = versions_of(list(texts), self.batch.person_id)
        return self.asked, judge_of(self.batch.dataset_id), versions

    def _find(self, texts: Texts) -> FoundPlaces:
        basis = self._basis(texts)
        finder = Finder(self.asked, basis[1])
        states = states_of(list(texts), self.batch.person_id, with_relations=not self.asked.is_entity)
        places, left_out = [], Counter[str]()
        for item, text in texts.items():
            for place in finder.places(item, text, states[item], self._is_ticked):
                if place.against or not self._is_ticked(place):
                    left_out[place.against] += 1
                else:
                    places.append(place)
        return FoundPlaces(states, places, left_out, basis)

    def _is_ticked(self, place: Place) -> bool:
        """Nothing is, in a text that was corrected after some places of it were ticked or unticked."""
        if self.ticked is not None:
            return place.key in self.ticked
        unticked = self.unticked.get(str(place.item), ())
        return place.key not in unticked and all(_version(key) == _version(place.key) for key in unticked)

    def _change(self, places: Sequence[Place], annotations: Sequence[int]) -> None:
        """Accept, reject or remove the marks among them that are there; each is kept as it was, for an undo."""
        known = [mark for place in places for mark in place.changed if mark.pk]
        if not known:
            return
        marks = {"entity": [mark.pk for mark in known if isinstance(mark, SeenEntity)]}
        marks["relation"] = [mark.pk for mark in known if isinstance(mark, SeenRelation)]
        if self.batch.hides:
            marks["relation"] += self._relations_at(marks["entity"])
        for kind in marks:
            execute(KEEP[kind].format(marks=keys(marks[kind])), self.params)
        if self.batch.hides:
            execute(NOTE.format(annotations=keys(annotations)), self.params)
        if self.batch.verb == Batch.Verb.REMOVE:
            changes = self.batch.changes.filter(annotation__in=among(annotations))
            broken = changes.breaking(self.batch.dataset_id)
            changes.filter(pk__in=among(broken)).update(is_broken=True)
        for kind in ("relation", "entity"):
            rows = MARKS[kind]._default_manager.filter(pk__in=among(marks[kind]))
            if self.batch.verb == Batch.Verb.REMOVE:
                rows._raw_delete(rows.db)
            else:
                status = Mark.Status.REJECTED if self.batch.hides else Mark.Status.ACCEPTED
                rows.update(status=status, batch=self.batch, updated_at=self.batch.created_at)

    def _relations_at(self, entities: Sequence[int]) -> Iterable[int]:
        """What goes with entities: what is suggested at them or, if they are removed, all."""
        relations = Relation.objects.filter(Q(source__in=among(entities)) | Q(target__in=among(entities)))
        if self.batch.verb == Batch.Verb.REJECT:
            relations = relations.filter(status=Mark.Status.SUGGESTED)
        return relations.values_list("pk", flat=True)

    def _make(self, places: Sequence[Place], states: Mapping[int, SeenItem], texts: Texts) -> None:
        """The marks among them that are not there yet."""
        new = [(place.item, each) for place in places for each in place.changed if not each.pk]
        entities = [(item, each) for item, each in new if isinstance(each, SeenEntity)]
        relations = [(item, each) for item, each in new if isinstance(each, SeenRelation)]
        uids = [self._new_uid() for _ in entities]
        self._insert(
            MAKE_ENTITIES,
            (
                (states[item].annotation, each.label, uid, each.start, each.end, _key(texts[item], each))
                for uid, (item, each) in zip(uids, entities, strict=True)
            ),
        )
        if relations:
            made = dict(Entity.objects.filter(batch=self.batch, uid__in=among(uids)).values_list("uid", "pk"))
            for uid, (_, each) in zip(uids, entities, strict=True):
                each.pk = made[uid]
        self._insert(
            MAKE_RELATIONS,
            (
                (states[item].annotation, each.label, self._new_uid(), each.source.pk, each.target.pk)
                for item, each in relations
            ),
        )

    def _insert(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """The rows, with what all of them have. The ORM would take five times as long, and others would wait for it: with its
        `bulk_create` of annotations, marks and changes, a portion of 300 marks takes 60 instead of 12 ms of the processor."""
        at = self.params["at"]
        with connection.cursor() as cursor:
            cursor.executemany(statement, [(*row, self.batch.pk, at, at) for row in rows])

    def _new_uid(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def _count_in(self, made: int, left_out: Counter[str]) -> None:
        self.batch.made += made
        told = self.batch.left_out
        rules = Counter({each["rule"]: each["count"] for each in told.get("rules", ())})
        unticked = told.get("unticked", 0) + left_out.pop("", 0)
        rules.update(left_out)
        self.batch.left_out = {
            "unticked": unticked,
            "rules": [{"rule": rule, "count": count} for rule, count in rules.items()],
        }


def _version(key: str) -> str:
    return key.partition("@")[2]


def _key(text: ReadText, mark: SeenEntity) -> int:
    return key_of(text.tokens[mark.start : mark.end + 1])
