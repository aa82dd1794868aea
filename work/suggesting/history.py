"""Suggestions from what was marked before: words that people have marked are suggested where they stand again.

They are looked up when somebody opens an item, and stored as suggestions in their annotation of it, which that does not begin.
"""

import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Set
from typing import NamedTuple

from django.db.models import Count, F, Q
from django.utils import timezone

from annotation_service.db import among, store
from annotation_service.models import User
from datasets.cleaned import key_of
from datasets.models import Annotation, Dataset, Entity, Item, Mark, Rejection
from datasets.models.rejection import entity_key
from ontologies.models import Ontology

from .labelled import labels_of_words

LONGEST = 10  # tokens: longer marks seldom stand anywhere else
SPANS = 20_000  # looked up at most, of the shortest: 0.2 s
MARKS = 20  # with each label, by which words are judged

HISTORY = Q(origin=Mark.Origin.HISTORY)
_UNTOUCHED = HISTORY & Q(status=Mark.Status.SUGGESTED)


class Span(NamedTuple):
    start: int
    end: int
    label: int


class Found(NamedTuple):
    """What the words of an item suggest to a person, whose annotation had a revision then; 0 if there was none."""

    spans: frozenset[Span]
    revision: int


class Figures(NamedTuple):
    """How many suggestions from the history were made, accepted and rejected."""

    made: int
    accepted: int
    rejected: int

    @property
    def decided(self) -> int:
        return self.accepted + self.rejected


def find(item: Item, person: User, ontology: Ontology, *, everybody: bool) -> Found | None:
    """What is to be suggested in an item, by what the person marked or everybody did; None if that is what is there already."""
    annotation = Annotation.visible_to(person, item)
    if annotation and annotation.done_at:
        return None
    spans = frozenset(_find(item, annotation, person, ontology, everybody=everybody))
    if spans == _untouched(annotation).keys():
        return None
    return Found(spans, annotation.revision if annotation else 0)


def suggest(item: Item, person: User, found: Found) -> None:
    """Store what was found for an item, which the caller has locked, and take away what nobody has touched and is not suggested
    any more; unless something has changed meanwhile: the next time it is looked for anew."""
    annotation = Annotation.visible_to(person, item)
    if (annotation.revision if annotation else 0) != found.revision:
        return
    own = annotation if annotation and annotation.annotator_id else Annotation.prepare(item, person)
    there = _untouched(own)
    gone = Entity.objects.filter(pk__in=among([pk for span, pk in there.items() if span not in found.spans]))
    gone._raw_delete(gone.db)
    Entity.objects.bulk_create(_suggestion(own, span) for span in sorted(found.spans - there.keys()))
    store(own, revision=F("revision") + 1)


def _untouched(annotation: Annotation | None) -> dict[Span, int]:
    """The keys of the suggestions about which nobody has done anything."""
    marks = Entity.objects.filter(_UNTOUCHED, annotation=annotation, outgoing=None, incoming=None)
    return {Span(*place): pk for pk, *place in marks.values_list("pk", "start", "end", "label")}


def figures_of(dataset: Dataset) -> Figures:
    """Of all annotators. One that was given another label or span was accepted as far as it helped, and counts so."""
    marks = Entity.objects.filter(HISTORY, annotation__item__dataset=dataset, annotation__item__removed_at=None)
    counts = Counter(dict(marks.values_list("status").annotate(Count("pk"))))
    return Figures(counts.total(), counts[Mark.Status.ACCEPTED], counts[Mark.Status.REJECTED])


def _find(
    item: Item, annotation: Annotation | None, person: User, ontology: Ontology, *, everybody: bool
) -> list[Span]:
    """The longest first, then from the left; none over a mark or over another, and nothing that was rejected here."""
    marks = Entity.objects.filter(annotation=annotation).exclude(_UNTOUCHED).exclude(status=Mark.Status.REJECTED)
    taken = {token for start, end in marks.values_list("start", "end") for token in range(start, end + 1)}
    places = _places(item.tokens, taken)
    labels = _labels(places, ontology, person, everybody=everybody)
    rejected = set(Rejection.objects.filter(annotation=annotation).values_list("what", flat=True))
    spans = [Span(*place, labels[key]) for key, found in places.items() if key in labels for place in found]
    chosen = []
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        if entity_key(*span) in rejected or not taken.isdisjoint(range(span.start, span.end + 1)):
            continue
        taken.update(range(span.start, span.end + 1))
        chosen.append(span)
    return chosen


def _places(tokens: list[str], taken: Set[int]) -> dict[int, list[tuple[int, int]]]:
    """Where words stand, by their keys: all spans that are not too long and have no mark on them."""
    places = defaultdict(list)
    longest = min(LONGEST, max(1, SPANS // max(1, len(tokens))))
    for start in range(len(tokens)):
        for end in range(start, min(start + longest, len(tokens))):
            if end in taken:
                break
            places[key_of(tokens[start : end + 1])].append((start, end))
    return places


def _labels(keys: Collection[int], ontology: Ontology, person: User, *, everybody: bool) -> dict[int, int]:
    """The label that words had most often, unless it is switched off, or was rejected as often as it was given."""
    by_uid = ontology.labels().by_uid
    marks = Entity.objects.filter(HISTORY, status=Mark.Status.REJECTED, words_key__in=among(keys))
    rejections = marks.filter(annotation__annotator=person).values_list("words_key", "label").annotate(Count("pk"))
    refused = Counter({(key, label): count for key, label, count in rejections})
    chosen = {}
    for key, before in labels_of_words(keys, ontology, person, marks=MARKS).items():
        counts = before.project + before.given if everybody else before.own
        for uid, count in counts.most_common(1):
            label = by_uid[uid]
            if label.active and refused[key, label.pk] < count:
                chosen[key] = label.pk
    return chosen


def _suggestion(annotation: Annotation, span: Span) -> Entity:
    return Entity(
        annotation=annotation,
        uid=secrets.token_hex(16),
        start=span.start,
        end=span.end,
        label_id=span.label,
        words_key=key_of(annotation.item.tokens[span.start : span.end + 1]),
        status=Mark.Status.SUGGESTED,
        origin=Mark.Origin.HISTORY,
        created_at=timezone.now(),
    )
