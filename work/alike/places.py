"""What a person sees in items, the places at which something is alike there, and what the rules say to each."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q, QuerySet

from annotation_service.db import among, snapshot
from datasets.models import Annotation, Entity, Layer, Rejection, Relation
from datasets.models.marks import entity_key
from resources.judging import Judge
from resources.matching import EntityForm
from resources.spans import Spans, crowded, has_room

from ..models import Batch
from .asked import Asked, ReadText


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
    with snapshot():
        for pk, item, annotator, done, _ in _annotations(items, person):
            state = states[item]
            if annotator:
                state.annotation, state.is_done = pk, done is not None
            elif state.annotation is None:
                state.is_copied = True
            else:
                continue
            seen[pk] = state
        of_these = {"annotation__in": among(list(seen))}
        entities: dict[int, SeenEntity] = {}
        fields = ("pk", "label", "start", "end", "status")
        for annotation, *values in Entity.objects.filter(**of_these).values_list("annotation", *fields):
            entity = SeenEntity(*values)
            entities[entity.pk] = entity
            seen[annotation].entities.add(entity)
        if with_relations:
            ends = Relation.objects.filter(**of_these).values_list(
                "annotation", "pk", "label", "source", "target", "status"
            )
            for annotation, pk, label, source, target, status in ends:
                seen[annotation].relate(SeenRelation(pk, label, entities[source], entities[target], status))
        for annotation, what in Rejection.objects.filter(**of_these).values_list("annotation", "what"):
            seen[annotation].rejected.add(what)
    return states


def versions_of(items: Sequence[int], person: int) -> list[tuple[Any, ...]]:
    """While these are the same, so are the states."""
    return list(_annotations(items, person))


def _annotations(items: Sequence[int], person: int) -> QuerySet[Annotation, tuple[Any, ...]]:
    """The person's own, and then the given ones."""
    found = Annotation.objects.filter(Q(annotator=person) | Q(layer=Layer.GIVEN), item__in=among(items))
    return found.order_by(F("annotator").asc(nulls_last=True), "pk").values_list(
        "pk", "item", "annotator", "done_at", "revision"
    )


@dataclass(slots=True)
class Place:
    """``mark`` is to be made, accepted, rejected or removed, ``ends`` are the ends of a relation; ``changed`` are those of them
    that are not yet as they shall be. ``against`` is a sentence about what forbids it, if anything; ``relations`` are the keys of
    the accepted ones that go with an entity. It is in that version of the text of its item."""

    item: int
    spans: tuple[tuple[int, int], ...]
    mark: SeenEntity | SeenRelation
    ends: tuple[SeenEntity, ...] = ()
    against: str = ""
    changed: tuple[SeenEntity | SeenRelation, ...] = ()
    relations: tuple[int, ...] = ()
    version: int = 1

    @property
    def key(self) -> str:
        of_text = f"@{self.version}" if self.version > 1 else ""
        return f"{self.item}:{'>'.join(f'{start}-{end}' for start, end in self.spans)}{of_text}"

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
        self, item: int, text: ReadText, state: SeenItem, is_ticked: Callable[[Place], bool] = lambda place: True
    ) -> Iterator[Place]:
        if state.is_done:
            return
        asked = self.asked
        if asked.verb != Batch.Verb.PROPAGATE:
            found = self._marked if asked.is_entity else self._related
        else:
            found = self._unmarked if asked.is_entity else self._unrelated
        for place in found(item, text.tokens, state):
            place.version = text.version
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
            others = [each for each in state.entities.in_reach(mark) if each is not mark and each.status != "rejected"]
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
