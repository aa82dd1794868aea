"""The places in an item at which something is alike, and what the rules say to each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from datasets.importing.constraints import ConstraintCheck
from datasets.importing.items import NewEntity

from ..models import Batch
from .asked import Asked, Form
from .states import Marked, Related, State

Span = tuple[int, int]


@dataclass(slots=True)
class Place:
    """``mark`` is to be made, accepted, rejected or removed, ``ends`` are the ends of a relation; ``changed`` are those of them
    that are not yet as they shall be. ``against`` is a sentence about what forbids it, if anything; ``relations`` are the keys of
    the accepted ones that go with an entity."""

    item: int
    spans: tuple[Span, ...]
    mark: Marked | Related
    ends: tuple[Marked, ...] = ()
    against: str = ""
    changed: tuple[Marked | Related, ...] = ()
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

    def __init__(self, asked: Asked, check: ConstraintCheck | None) -> None:
        self.asked, self.check = asked, check
        self._wanted = "accepted" if asked.verb == Batch.Verb.REMOVE else "suggested"

    def places(
        self, item: int, tokens: Sequence[str], state: State, is_ticked: Callable[[Place], bool] = lambda place: True
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

    def _marked(self, item: int, tokens: Sequence[str], state: State) -> Iterator[Place]:
        form = self.asked.forms[0]
        for mark in sorted(state.entities, key=lambda each: (each.start, each.end)):
            if mark.status == self._wanted and self._is_of(form, mark, tokens):
                yield Place(item, ((mark.start, mark.end),), mark)

    def _related(self, item: int, tokens: Sequence[str], state: State) -> Iterator[Place]:
        for mark in sorted(state.relations, key=lambda each: (each.source.start, each.target.start)):
            ends = mark.source, mark.target
            if (
                mark.status == self._wanted
                and mark.label == self.asked.label.pk
                and all(self._is_of(form, end, tokens) for form, end in zip(self.asked.forms, ends, strict=True))
            ):
                yield Place(item, _spans(ends), mark, ends)

    def _is_of(self, form: Form, mark: Marked, tokens: Sequence[str]) -> bool:
        return mark.label == form.label and self.asked.is_of(form, tokens[mark.start : mark.end + 1])

    # --- Words that are not marked ---

    def _unmarked(self, item: int, tokens: Sequence[str], state: State) -> Iterator[Place]:
        for (span,) in self.asked.occurrences(tokens):
            mark = self._end(self.asked.forms[0], span, state)
            if mark and mark.status != "accepted":
                yield Place(item, (span,), mark)

    def _unrelated(self, item: int, tokens: Sequence[str], state: State) -> Iterator[Place]:
        label = self.asked.label.pk
        for spans in self.asked.occurrences(tokens):
            source, target = (self._end(form, span, state) for form, span in zip(self.asked.forms, spans, strict=True))
            if source is None or target is None or (not self.asked.new_ends and 0 in (source.pk, target.pk)):
                continue
            mark = Related(0, label, source, target, "")
            is_free = True
            for known in state.relations:
                if known.source is source and known.target is target and known.label == label:
                    is_free, mark = known.status == "suggested", known
                    break
                if (
                    self.asked.where == "any"
                    and known.status != "rejected"
                    and {known.source, known.target} == {source, target}
                ):
                    is_free = False
            if is_free and mark.what not in state.rejected:
                yield Place(item, spans, mark, (source, target))

    def _end(self, form: Form, span: Span, state: State) -> Marked | None:
        """The mark of a form at its place, be it one that is to be made; None if it cannot stand there."""
        known = state.entity(form.label, *span)
        if known and known.status == "accepted":
            return known
        mark = known or Marked(0, form.label, *span, "")
        if mark.status == "rejected" or mark.what in state.rejected:
            return None
        for other in _meeting(mark, state.entities):
            if other.status != "rejected" and (self.asked.where == "any" or other.label == form.label):
                return None
        return mark

    # --- Rules ---

    def _take(self, place: Place, state: State) -> None:
        """Let a place be accepted in the state, or find out why it cannot."""
        marks = [place.mark] if isinstance(place.mark, Marked) else [*place.ends]
        before = [mark.status for mark in marks]
        place.changed = tuple(mark for mark in marks if mark.status != "accepted")
        place.against = self._accept(marks, state) or self._against_relation(place)
        if place.against:
            for mark, status in zip(marks, before, strict=True):
                mark.status = status
                if not status and mark in state.entities:
                    state.entities.remove(mark)
        elif isinstance(place.mark, Related):
            place.mark.status = "accepted"
            place.changed += (place.mark,)
            if place.mark not in state.relations:
                state.relations.append(place.mark)

    def _accept(self, marks: Sequence[Marked], state: State) -> str:
        for mark in marks:
            if mark.status == "accepted":
                continue
            label = self.asked.labels[mark.label]
            if not label.active:
                return f"The label “{label.name}” is switched off."
            if not mark.pk and mark not in state.entities:
                state.entities.append(mark)
            mark.status = "accepted"
            if reason := self._against_standing(mark, state):
                return reason
        return ""

    def _against_standing(self, mark: Marked, state: State) -> str:
        if not self.check:
            return ""
        for other in _meeting(mark, state.entities):
            if other.status == "accepted" and (broken := self.check.between(_entity(mark), _entity(other))):
                return broken[0].rule_in_words(self.check.name_of)
        return ""

    def _against_relation(self, place: Place) -> str:
        if not isinstance(place.mark, Related) or not self.check:
            return ""
        source, target = place.ends
        broken = self.check.against(source.label, place.mark.label, target.label)
        return broken.rule_in_words(self.check.name_of) if broken else ""


def _meeting(mark: Marked, entities: Sequence[Marked]) -> Iterator[Marked]:
    """The others that share a token with it."""
    return (each for each in entities if each is not mark and each.start <= mark.end and each.end >= mark.start)


def _accepted_at(mark: Marked | Related, state: State) -> tuple[int, ...]:
    return tuple(
        each.pk for each in state.relations if each.status == "accepted" and mark in (each.source, each.target)
    )


def _entity(mark: Marked) -> NewEntity:
    return NewEntity("", mark.label, mark.start, mark.end)


def _spans(ends: Sequence[Marked]) -> tuple[Span, ...]:
    return tuple((end.start, end.end) for end in ends)
