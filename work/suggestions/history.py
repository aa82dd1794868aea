"""How words were labelled before, and suggestions from that: words that people mark are suggested where they stand again.

They are looked up when somebody opens an item, and stored as suggestions in their annotation of it, which that does not begin.
Words are suggested with a label that they have in at least half of the places where they stand: that share is the score. It is
taken from the texts around the item that those whose marks count have begun (see `_sample`), for people go through items in
order, and from all marks where the words do not stand there.
"""

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from annotation_service.db import among
from annotation_service.models import User
from datasets.cleaned import key_of
from datasets.models import Annotation, Entity, Item, Layer, Mark, Rejection
from datasets.models.broken import judge_of
from datasets.models.marks import COUNTED, entity_key
from ontologies.models import Ontology
from resources.matching import SuggestedEntity
from resources.spans import Lie, Spans

from ..models import Source
from ..placing import for_calibration

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
FEW_MARKS = 20  # with each label, by which words are judged that do not stand near
# Items on either side of an item, whose texts are looked at: those nearest first, and so many tokens of them.
NEAR = 500
NEAR_TOKENS = 20_000
LEAST = 0.5  # of the places of words

HISTORY = Q(origin=Mark.Origin.HISTORY)
_UNTOUCHED = HISTORY & Q(status=Mark.Status.SUGGESTED)


class FoundWords(NamedTuple):
    """What the words of an item, of this version of its text, suggest to a person, with scores; whose annotation had a revision
    then, 0 if there was none."""

    spans: dict[SuggestedEntity, float]
    revision: int
    text_version: int


def find(item: Item, person: User, ontology: Ontology, *, everybody: bool) -> FoundWords | None:
    """What is to be suggested in an item, by what the person marked or everybody did; None if that is what is there already."""
    annotation = Annotation.visible_to(person, item)
    if annotation and annotation.done_at:
        return None
    is_off = Source.objects.filter(dataset=item.dataset_id, kind=Source.Kind.HISTORY, is_on=False).exists()
    spans: dict[SuggestedEntity, float] = {}
    if not is_off and not for_calibration(Item.objects.filter(pk=item.pk)).exists():
        spans = _find(item, annotation, person, ontology, everybody=everybody)
    if spans.keys() == _untouched(annotation).keys():
        return None
    return FoundWords(spans, annotation.revision if annotation else 0, item.text_version)


def suggest(item: Item, person: User, found: FoundWords) -> None:
    """Store what was found for an item, which the caller has locked, and take away what nobody has touched and is not suggested
    any more; unless something has changed meanwhile: the next time it is looked for anew."""
    annotation = Annotation.visible_to(person, item)
    if (annotation.revision if annotation else 0, item.text_version) != found[1:]:
        return
    source = Source.own(item.dataset_id, Source.Kind.HISTORY)
    own = annotation if annotation and annotation.annotator_id else Annotation.prepare(item, person)
    there = _untouched(own)
    gone = Entity.objects.filter(pk__in=among([pk for span, pk in there.items() if span not in found.spans]))
    gone._raw_delete(gone.db)
    new = [(span, score) for span, score in sorted(found.spans.items()) if span not in there]
    Entity.objects.bulk_create(_suggestion(own, source, span, score) for span, score in new)
    Annotation.count_up(Annotation.objects.filter(pk=own.pk))
    if new:
        source.note_suggestions()


def _untouched(annotation: Annotation | None) -> dict[SuggestedEntity, int]:
    """The keys of the suggestions about which nobody has done anything."""
    marks = Entity.objects.filter(_UNTOUCHED, annotation=annotation, outgoing=None, incoming=None)
    return {SuggestedEntity(*place): pk for pk, *place in marks.values_list("pk", "start", "end", "label")}


def _find(
    item: Item, annotation: Annotation | None, person: User, ontology: Ontology, *, everybody: bool
) -> dict[SuggestedEntity, float]:
    """The longest first, then from the left, and others inside of them; none that crosses a mark or another or breaks a rule
    together with it, and nothing that was rejected here."""
    marks = Entity.objects.filter(annotation=annotation).exclude(_UNTOUCHED).exclude(status=Mark.Status.REJECTED)
    there = [SuggestedEntity(*place) for place in marks.values_list("start", "end", "label")]
    places = _places(item.tokens)
    labels = _labels(item, places, person, ontology, everybody=everybody)
    rejected = set(Rejection.objects.filter(annotation=annotation).values_list("what", flat=True))
    spans = {SuggestedEntity(*place, labels[key][0]): labels[key][1] for key in labels for place in places[key]}
    judge, taken, chosen = judge_of(item.dataset_id), Spans(there), dict[SuggestedEntity, float]()
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
        meeting = list(taken.meeting(span))
        crosses = any(Lie.of(span, other) in (Lie.EQUAL, Lie.CROSSING) for other in meeting)
        breaks = judge and any(any(judge.between(span, other)) for other in meeting)
        if crosses or breaks or entity_key(*span) in rejected:
            continue
        taken.add(span)
        chosen[span] = spans[span]
    return chosen


def _places(tokens: list[str]) -> dict[int, list[tuple[int, int]]]:
    """Where words stand, by their keys: all spans that are not too long."""
    places = defaultdict(list)
    longest = min(LONGEST, max(1, SPANS // max(1, len(tokens))))
    for start in range(len(tokens)):
        for end in range(start, min(start + longest, len(tokens))):
            places[key_of(tokens[start : end + 1])].append((start, end))
    return places


def _labels(
    item: Item, places: Mapping[int, list[tuple[int, int]]], person: User, ontology: Ontology, *, everybody: bool
) -> dict[int, tuple[int, float]]:
    """The label that words have most often, with the share of their places that has it: unless that is too small, the label is
    switched off, or it was rejected as often as it was given."""
    by_uid = ontology.labels().by_uid
    marks = Entity.objects.filter(HISTORY, status=Mark.Status.REJECTED, words_key__in=among(places))
    rejections = marks.filter(annotation__annotator=person).values_list("words_key", "label").annotate(Count("pk"))
    refused = Counter({(key, label): count for key, label, count in rejections})
    before = labels_of_words(places, ontology, person, marks=FEW_MARKS)
    counts = {key: each.project + each.given if everybody else each.own for key, each in before.items()}
    words = {key: tuple(item.tokens[places[key][0][0] : places[key][0][1] + 1]) for key in counts if counts[key]}
    near = _near(item, words, person, everybody=everybody)
    chosen = {}
    for key in words:
        (uid, count), total = counts[key].most_common(1)[0], counts[key].total()
        marked, occurrences = near[key]
        if occurrences:
            (pk, in_places), total = marked.most_common(1)[0] if marked else (0, 0), occurrences
            label = next((label for label in by_uid.values() if label.pk == pk), None)
        else:
            label, in_places = by_uid[uid], count
        if label and label.active and in_places >= LEAST * total and refused[key, label.pk] < max(count, in_places):
            chosen[key] = label.pk, in_places / total
    return chosen


def _near(
    item: Item, words: Mapping[int, Sequence[str]], person: User, *, everybody: bool
) -> dict[int, tuple[Counter[int], int]]:
    """How often words have each label in the texts around an item, and how often they stand there."""
    texts = _sample(item, person, everybody=everybody) if words else {}
    beginning: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
    for key, tokens in words.items():
        folded = [token.casefold() for token in tokens]
        beginning[folded[0]].append((key, folded))
    stand = Counter[int]()
    tokens_of = dict(Item.objects.filter(pk__in=among(set(texts.values()))).values_list("pk", "tokens"))
    for pk, times in Counter(texts.values()).items():
        tokens = [token.casefold() for token in tokens_of[pk]]
        for start, token in enumerate(tokens):
            for key, folded in beginning.get(token, ()):
                stand[key] += times * (tokens[start : start + len(folded)] == folded)
    marks = Entity.objects.filter(COUNTED, annotation__in=among(texts), words_key__in=among(words))
    marked: dict[int, Counter[int]] = defaultdict(Counter)
    for key, label, count in marks.order_by().values_list("words_key", "label").annotate(Count("pk")):
        marked[key][label] = count
    return {key: (marked[key], stand[key]) for key in words}


def _sample(item: Item, person: User, *, everybody: bool) -> dict[int, int]:
    """The annotations near an item whose marks count, with their items: those that people have begun and, for everybody, what
    items came with."""
    whose = Q(started_at__isnull=False, layer=Layer.OWN)
    if not everybody:
        whose &= Q(annotator=person)
    elif item.dataset.entity_ontology_id:
        whose |= Q(layer=Layer.GIVEN)
    between = (item.position - NEAR, item.position + NEAR)
    near = Annotation.objects.filter(
        whose, item__dataset=item.dataset_id, item__removed_at=None, item__position__range=between
    ).exclude(item=item)
    found, tokens = {}, 0
    rows = near.values_list("pk", "item", "item__token_count", "item__position")
    for pk, its_item, count, _ in sorted(rows, key=lambda row: abs(row[3] - item.position)):
        tokens += count
        if tokens > NEAR_TOKENS:
            break
        found[pk] = its_item
    return found


def _suggestion(annotation: Annotation, source: Source, span: SuggestedEntity, score: float) -> Entity:
    return Entity(
        annotation=annotation,
        uid=secrets.token_hex(16),
        start=span.start,
        end=span.end,
        label_id=span.label,
        words_key=key_of(annotation.item.tokens[span.start : span.end + 1]),
        status=Mark.Status.SUGGESTED,
        origin=Mark.Origin.HISTORY,
        suggested_by=source,
        score=score,
        created_at=timezone.now(),
    )
