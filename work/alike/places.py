"""What a person sees in items, the places at which something is alike there, and what the rules say to each."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection

from annotation_service.db import keys, snapshot
from datasets.models.marks import entity_key
from datasets.spans import Spans, crowded, has_room
from resources.judging import Judge
from resources.matching import EntityForm

from ..models import Batch
from .asked import Asked

_ANNOTATIONS = """
SELECT item_id, id, annotator_id IS NULL, done_at IS NOT NULL, revision FROM datasets_annotation
 WHERE item_id IN ({keys}) AND (annotator_id = %(person)s OR annotator_id IS NULL)
 ORDER BY annotator_id IS NULL
"""
_OWN = "SELECT item_id, id FROM datasets_annotation WHERE item_id IN ({keys}) AND annotator_id = %(person)s"
_ENTITIES = (
    'SELECT annotation_id, id, label_id, start, "end", status FROM datasets_entity WHERE annotation_id IN ({keys})'
)
_RELATIONS = (
    "SELECT annotation_id, id, label_id, source_id, target_id, status"
    " FROM datasets_relation WHERE annotation_id IN ({keys})"
)
_REJECTIONS = "SELECT annotation_id, what FROM datasets_rejection WHERE annotation_id IN ({keys})"


@dataclass(slots=True, eq=False)
class SeenEntity:
    """An entity; the key of one that is to be made is 0."""

    pk: int
    label: int
    start: int
    end: int
    status: str

    @property
    def what(self) -> str:
        """As in `Rejection`."""
        return entity_key(self.start, self.end, self.label)


@dataclass(slots=True, eq=False)
class SeenRelation:
    pk: int
    label: int
    source: SeenEntity
    target: SeenEntity
    status: str

    @property
    def what(self) -> str:
        return f"{self.source.what}>{self.target.what}:{self.label}"


@dataclass(slots=True)
class SeenItem:
    """Of an item: ``annotation`` is the person's own; without one, it ``is_copied`` from the given one, if there is that."""

    annotation: int | None = None
    is_copied: bool = False
    is_done: bool = False
    entities: Spans[SeenEntity] = field(default_factory=Spans)
    relations: list[SeenRelation] = field(default_factory=list)
    rejected: set[str] = field(default_factory=set)
    _relations_at: dict[tuple[SeenEntity, ...], list[SeenRelation]] = field(default_factory=lambda: defaultdict(list))

    def entity(self, label: int, start: int, end: int) -> SeenEntity | None:
        return next((each for each in self.entities.at(start, end) if each.label == label), None)

    def relate(self, relation: SeenRelation) -> None:
        self.relations.append(relation)
        for ends in ((relation.source,), (relation.target,), (relation.source, relation.target)):
            self._relations_at[ends].append(relation)

    def relations_at(self, *ends: SeenEntity) -> Sequence[SeenRelation]:
        """Those at an entity, or those that lead from one to another."""
        return self._relations_at.get(ends, ())


def states_of(items: Sequence[int], person: int, *, with_relations: bool) -> dict[int, SeenItem]:
    """The states of items, by their keys."""
    states = {item: SeenItem() for item in items}
    seen: dict[int, SeenItem] = {}
    own: list[int] = []
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_ANNOTATIONS.format(keys=keys(items)), {"person": person})
        for item, annotation, is_given, is_done, _ in cursor.fetchall():
            state = states[item]
            if not is_given:
                state.annotation, state.is_done = annotation, bool(is_done)
                own.append(annotation)
            elif state.annotation is not None:
                continue
            else:
                state.is_copied = True
            seen[annotation] = state
        cursor.execute(_ENTITIES.format(keys=keys(seen)))
        entities: dict[int, SeenEntity] = {}
        for annotation, pk, *values in cursor.fetchall():
            entities[pk] = entity = SeenEntity(pk, *values)
            seen[annotation].entities.add(entity)
        if with_relations:
            cursor.execute(_RELATIONS.format(keys=keys(seen)))
            for annotation, pk, label, source, target, status in cursor.fetchall():
                seen[annotation].relate(SeenRelation(pk, label, entities[source], entities[target], status))
        if own:
            cursor.execute(_REJECTIONS.format(keys=keys(own)))
            for annotation, what in cursor.fetchall():
                seen[annotation].rejected.add(what)
    return states


def versions_of(items: Sequence[int], person: int) -> list[tuple[int, ...]]:
    """While these are the same, so are the states."""
    with connection.cursor() as cursor:
        cursor.execute(_ANNOTATIONS.format(keys=keys(items)), {"person": person})
        return sorted(cursor.fetchall())


def annotations_of(items: Sequence[int], person: int) -> list[tuple[int, int]]:
    """The items with the person's own annotations."""
    with connection.cursor() as cursor:
        cursor.execute(_OWN.format(keys=keys(items)), {"person": person})
        return cursor.fetchall()


@dataclass(slots=True)
class Place:
    """``mark`` is to be made, accepted, rejected or removed, ``ends`` are the ends of a relation; ``changed`` are those of them
    that are not yet as they shall be. ``against`` is a sentence about what forbids it, if anything; ``relations`` are the keys of
    the accepted ones that go with an entity."""

    item: int
    spans: tuple[tuple[int, int], ...]
    mark: SeenEntity | SeenRelation
    ends: tuple[SeenEntity, ...] = ()
    against: str = ""
    changed: tuple[SeenEntity | SeenRelation, ...] = ()
    relations: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.item}:{'>'.join(f'{start}-{end}' for start, end in self.spans)}"

    @property
    def is_suggested(self) -> bool:
        return self.mark.pk > 0


class Finder:
    """Finds the places of what is asked for, item by item. Each place is judged by the accepted marks of its annotation, among
    them those of the places before it that are ticked."""

    def __init__(self, asked: Asked, judge: Judge | None) -> None:
        self.asked, self.judge = asked, judge
        self._wanted = "accepted" if asked.verb == Batch.Verb.REMOVE else "suggested"

    def places(
        self, item: int, tokens: Sequence[str], state: SeenItem, is_ticked: Callable[[Place], bool] = lambda place: True
    ) -> Iterator[Place]:
        if state.is_done:
            return
        asked = self.asked
        if asked.verb != Batch.Verb.PROPAGATE:
            found = self._marked if asked.is_entity else self._related
        else:
            found = self._unmarked if asked.is_entity else self._unrelated
        for place in found(item, tokens, state):
            if asked.verb in (Batch.Verb.REJECT, Batch.Verb.REMOVE):
                place.changed = (place.mark,)
                place.relations = _accepted_at(place.mark, state)
            elif is_ticked(place):
                self._take(place, state)
            yield place

    # --- What is there ---

    def _marked(self, item: int, tokens: Sequence[str], state: SeenItem) -> Iterator[Place]:
        form = self.asked.forms[0]
        for mark in sorted(state.entities, key=lambda each: (each.start, each.end)):
            if mark.status == self._wanted and self._is_of(form, mark, tokens):
                yield Place(item, ((mark.start, mark.end),), mark)

    def _related(self, item: int, tokens: Sequence[str], state: SeenItem) -> Iterator[Place]:
        for mark in sorted(state.relations, key=lambda each: (each.source.start, each.target.start)):
            ends = mark.source, mark.target
            if (
                mark.status == self._wanted
                and mark.label == self.asked.label.pk
                and all(self._is_of(form, end, tokens) for form, end in zip(self.asked.forms, ends, strict=True))
            ):
                yield Place(item, _spans(ends), mark, ends)

    def _is_of(self, form: EntityForm, mark: SeenEntity, tokens: Sequence[str]) -> bool:
        return mark.label == form.label and self.asked.is_of(form, tokens[mark.start : mark.end + 1])

    # --- Words that are not marked ---

    def _unmarked(self, item: int, tokens: Sequence[str], state: SeenItem) -> Iterator[Place]:
        for (span,) in self.asked.occurrences(tokens):
            mark = self._end(self.asked.forms[0], span, state)
            if mark and mark.status != "accepted":
                yield Place(item, (span,), mark)

    def _unrelated(self, item: int, tokens: Sequence[str], state: SeenItem) -> Iterator[Place]:
        label = self.asked.label.pk
        for spans in self.asked.occurrences(tokens):
            source, target = (self._end(form, span, state) for form, span in zip(self.asked.forms, spans, strict=True))
            if source is None or target is None or (not self.asked.new_ends and 0 in (source.pk, target.pk)):
                continue
            mark = SeenRelation(0, label, source, target, "")
            there = [*state.relations_at(source, target), *state.relations_at(target, source)]
            is_free = self.asked.where != "any" or all(known.status == "rejected" for known in there)
            for known in there:
                if known.source is source and known.label == label:
                    is_free, mark = known.status == "suggested", known
            if is_free and mark.what not in state.rejected:
                yield Place(item, spans, mark, (source, target))

    def _end(self, form: EntityForm, span: tuple[int, int], state: SeenItem) -> SeenEntity | None:
        """The mark of a form at its place, be it one that is to be made; None if it cannot stand there."""
        known = state.entity(form.label, *span)
        if known and known.status == "accepted":
            return known
        mark = known or SeenEntity(0, form.label, *span, "")
        if mark.status == "rejected" or mark.what in state.rejected:
            return None
        for other in state.entities.meeting(mark):
            if (
                other is not mark
                and other.status != "rejected"
                and (self.asked.where == "any" or other.label == form.label)
            ):
                return None
        return mark

    # --- Rules ---

    def _take(self, place: Place, state: SeenItem) -> None:
        """Let a place be accepted in the state, or find out why it cannot."""
        marks = [place.mark] if isinstance(place.mark, SeenEntity) else [*place.ends]
        before = [mark.status for mark in marks]
        place.changed = tuple(mark for mark in marks if mark.status != "accepted")
        place.against = self._accept(marks, state) or self._against_relation(place)
        if place.against:
            for mark, status in zip(marks, before, strict=True):
                mark.status = status
                if not status:
                    state.entities.discard(mark)
        elif isinstance(place.mark, SeenRelation):
            place.mark.status = "accepted"
            place.changed += (place.mark,)
            if not place.mark.pk:
                state.relate(place.mark)

    def _accept(self, marks: Sequence[SeenEntity], state: SeenItem) -> str:
        for mark in marks:
            if mark.status == "accepted":
                continue
            label = self.asked.labels[mark.label]
            if not label.active:
                return f"The label “{label.name}” is switched off."
            others = [each for each in state.entities.meeting(mark) if each is not mark and each.status != "rejected"]
            if not mark.status:
                if not has_room(mark, others):
                    return crowded()
                state.entities.add(mark)
            mark.status = "accepted"
            if reason := self._against_standing(mark, others):
                return reason
        return ""

    def _against_standing(self, mark: SeenEntity, others: Sequence[SeenEntity]) -> str:
        if self.judge:
            for other in others:
                if other.status == "accepted" and (broken := next(iter(self.judge.between(mark, other)), None)):
                    return broken.rule_in_words(self.judge.name_of)
        return ""

    def _against_relation(self, place: Place) -> str:
        if not isinstance(place.mark, SeenRelation) or not self.judge:
            return ""
        source, target = place.ends
        broken = self.judge.against(source.label, place.mark.label, target.label)
        return broken.rule_in_words(self.judge.name_of) if broken else ""


def _accepted_at(mark: SeenEntity | SeenRelation, state: SeenItem) -> tuple[int, ...]:
    at = state.relations_at(mark) if isinstance(mark, SeenEntity) else ()
    return tuple(each.pk for each in at if each.status == "accepted")


def _spans(ends: Sequence[SeenEntity]) -> tuple[tuple[int, int], ...]:
    return tuple((end.start, end.end) for end in ends)
