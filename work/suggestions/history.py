"""How words were labelled before, and suggestions from that: words that people have marked are suggested where they stand again.

They are looked up when somebody opens an item, and stored as suggestions in their annotation of it, which that does not begin.
"""

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Set
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from annotation_service.db import among
from annotation_service.models import User
from datasets.cleaned import key_of
from datasets.models import Annotation, Dataset, Entity, Item, Layer, Mark, Rejection
from datasets.models.marks import entity_key
from ontologies.models import Ontology
from resources.matching import SuggestedEntity

from .decisions import Figures

# Of words that were marked often only so many marks with each label are counted, of so many labels: the newest of people and,
# because documents come before people, the oldest of those that came with the dataset.
MARKS, LABELS = 100, 10
_AT_ONCE = 200  # SQLite takes 500 SELECTs in one

# The second part is word by word the condition of the index, or SQLite does not use it.
_OF_WORDS = "words_key = {key} AND (status = 'accepted' OR origin = 'given')"
# From one label to the next in the index, however many marks they have: 400 labels of words that were marked 336,000 times are
# found in 4 ms, by DISTINCT in 150 (two cores, PostgreSQL 15).
_NEXT = f"(SELECT MIN(label_id) FROM datasets_entity WHERE {_OF_WORDS} AND label_id > {{after}})"
_KEYS = {
    "sqlite": "SELECT value FROM json_each(%(keys)s)",
    "postgresql": "SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(%(keys)s AS jsonb))",
}
_USED = f"""
WITH RECURSIVE words (key) AS ({{keys}}),
used (key, label) AS (
    SELECT words.key, {_NEXT.format(key="words.key", after="%(first)s - 1")} FROM words
     UNION ALL
    SELECT used.key, {_NEXT.format(key="used.key", after="used.label")} FROM used WHERE used.label < %(last)s
)
SELECT key, label FROM used WHERE label IS NOT NULL
"""
# A subquery for each label: by a join, both databases would look at all marks. So they would to leave out gold, which is newer
# than what people marked and would hide it: 10,000 marks of a label are passed over one by one in 15 ms.
_SOME = f"""
SELECT * FROM (
    SELECT words_key, label_id, annotation_id, batch_id, status, {{given}} AS given FROM datasets_entity
     WHERE {_OF_WORDS} AND label_id = {{label}}
       AND (SELECT a.layer FROM datasets_annotation a WHERE a.id = annotation_id) <> 'gold'
     ORDER BY id {{order}} LIMIT %(marks)s
) newest
"""
# Whether they are the person's own. In an annotation that nobody has begun, only what a batch put there was meant by a person.
_COUNTS = """
SELECT m.words_key, m.label_id, m.given, COUNT(*), COALESCE(a.annotator_id = %(person)s, FALSE)
  FROM ({some}) m
  JOIN datasets_annotation a ON a.id = m.annotation_id AND (a.layer = 'given') = m.given
  JOIN datasets_item i ON i.id = a.item_id AND i.removed_at IS NULL
 WHERE m.given OR m.status = 'accepted' AND (a.started_at IS NOT NULL OR m.batch_id IS NOT NULL)
 GROUP BY 1, 2, 3, 5
"""


class Labelled(NamedTuple):
    """How often each label, by its uid, was given to words: by a person, with the dataset, and by everybody in the project."""

    own: Counter[str]
    given: Counter[str]
    project: Counter[str]


def labels_before(words: str, ontology: Ontology, person: User) -> Labelled:
    """How words, the tokens with a space between them, were labelled in the project of the ontology. Case does not matter."""
    key = key_of([words])
    return labels_of_words([key], ontology, person)[key]


def labels_of_words(
    keys: Collection[int], ontology: Ontology, person: User, *, marks: int | None = None
) -> dict[int, Labelled]:
    """The same of many words, by their keys; counting fewer marks of each label is quicker."""
    found = defaultdict[int, Labelled](lambda: Labelled(Counter(), Counter(), Counter()))
    uids = {label.pk: label.uid for label in ontology.labels()}
    with connection.cursor() as cursor:
        span = {"first": min(uids, default=0), "last": max(uids, default=0)}
        cursor.execute(_USED.format(keys=_KEYS[connection.vendor]), {"keys": json.dumps(list(keys)), **span})
        used: dict[int, list[int]] = defaultdict(list)
        for key, label in cursor.fetchall():
            if label in uids:
                used[key].append(label)
        for part in _parts(used):
            cursor.execute(_COUNTS.format(some=part), {"person": person.pk, "marks": marks or MARKS})
            for key, label, is_given, count, is_own in cursor.fetchall():
                for counts, is_counted in zip(found[key], (is_own, is_given, not is_given), strict=True):
                    if is_counted:
                        counts[uids[label]] += count
    return found


def _parts(used: dict[int, list[int]]) -> Iterator[str]:
    """The subqueries for labels of words, not too many in one."""
    some = [
        _SOME.format(key=key, label=label, given=given, order=order)
        for key, labels in used.items()
        for label in sorted(labels)[:LABELS]
        for given, order in (("TRUE", "ASC"), ("FALSE", "DESC"))
    ]
    for start in range(0, len(some), _AT_ONCE):
        yield " UNION ALL ".join(some[start : start + _AT_ONCE])


LONGEST = 10  # tokens: longer marks seldom stand anywhere else
SPANS = 20_000  # looked up at most, of the shortest: 0.2 s
FEW_MARKS = 20  # with each label, by which words are judged

HISTORY = Q(origin=Mark.Origin.HISTORY)
_UNTOUCHED = HISTORY & Q(status=Mark.Status.SUGGESTED)


class FoundWords(NamedTuple):
    """What the words of an item, of this version of its text, suggest to a person, whose annotation had a revision then; 0 if
    there was none."""

    spans: frozenset[SuggestedEntity]
    revision: int
    text_version: int


def find(item: Item, person: User, ontology: Ontology, *, everybody: bool) -> FoundWords | None:
    """What is to be suggested in an item, by what the person marked or everybody did; None if that is what is there already."""
    annotation = Annotation.visible_to(person, item)
    if annotation and annotation.done_at:
        return None
    spans = frozenset(_find(item, annotation, person, ontology, everybody=everybody))
    if spans == _untouched(annotation).keys():
        return None
    return FoundWords(spans, annotation.revision if annotation else 0, item.text_version)


def suggest(item: Item, person: User, found: FoundWords) -> None:
    """Store what was found for an item, which the caller has locked, and take away what nobody has touched and is not suggested
    any more; unless something has changed meanwhile: the next time it is looked for anew."""
    annotation = Annotation.visible_to(person, item)
    if (annotation.revision if annotation else 0, item.text_version) != found[1:]:
        return
    own = annotation if annotation and annotation.annotator_id else Annotation.prepare(item, person)
    there = _untouched(own)
    gone = Entity.objects.filter(pk__in=among([pk for span, pk in there.items() if span not in found.spans]))
    gone._raw_delete(gone.db)
    Entity.objects.bulk_create(_suggestion(own, span) for span in sorted(found.spans - there.keys()))
    Annotation.count_up(Annotation.objects.filter(pk=own.pk))


def _untouched(annotation: Annotation | None) -> dict[SuggestedEntity, int]:
    """The keys of the suggestions about which nobody has done anything."""
    marks = Entity.objects.filter(_UNTOUCHED, annotation=annotation, outgoing=None, incoming=None)
    return {SuggestedEntity(*place): pk for pk, *place in marks.values_list("pk", "start", "end", "label")}


def figures_of(dataset: Dataset) -> Figures:
    """Of all annotators. One that was given another label or span was accepted as far as it helped, and counts so."""
    here = {"annotation__item__dataset": dataset, "annotation__item__removed_at": None, "annotation__layer": Layer.OWN}
    marks = Entity.objects.filter(HISTORY, **here)
    counts = Counter(dict(marks.values_list("status").annotate(Count("pk"))))
    return Figures(counts.total(), *(counts[status] for status in ("accepted", "rejected", "suggested")))


def _find(
    item: Item, annotation: Annotation | None, person: User, ontology: Ontology, *, everybody: bool
) -> list[SuggestedEntity]:
    """The longest first, then from the left; none over a mark or over another, and nothing that was rejected here."""
    marks = Entity.objects.filter(annotation=annotation).exclude(_UNTOUCHED).exclude(status=Mark.Status.REJECTED)
    taken = {token for start, end in marks.values_list("start", "end") for token in range(start, end + 1)}
    places = _places(item.tokens, taken)
    labels = _labels(places, ontology, person, everybody=everybody)
    rejected = set(Rejection.objects.filter(annotation=annotation).values_list("what", flat=True))
    spans = [SuggestedEntity(*place, labels[key]) for key, found in places.items() if key in labels for place in found]
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
    for key, before in labels_of_words(keys, ontology, person, marks=FEW_MARKS).items():
        counts = before.project + before.given if everybody else before.own
        for uid, count in counts.most_common(1):
            label = by_uid[uid]
            if label.active and refused[key, label.pk] < count:
                chosen[key] = label.pk
    return chosen


def _suggestion(annotation: Annotation, span: SuggestedEntity) -> Entity:
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
