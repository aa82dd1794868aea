"""How the marks of any two voices compare in each item, counted, kept, and counted again where something has changed.

The counts of an item are a document that adds up: ``tokens``, how many it has; ``alpha``, the `SetCounts` of its people; and
``pairs``, a list for any two voices (see `PairCounts`). Gold is compared with people alone, and is the first of its pairs. Labels
are given by their keys, so that names and places in the tree may change.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import CharField, Count, Exists, F, Max, OuterRef, Q, Sum, Value
from django.db.models.functions import Cast, Coalesce, Concat
from django.utils import timezone

from annotation_service.db import among, snapshot, write
from datasets.importing.document import Progress, no_progress
from datasets.models import Annotation, Item, Layer
from datasets.portions import by_keys, portions
from projects.models import Project

from .comparison import GIVEN_VOICE, EntityMark, Likeness, Marked, Paired, Voice, compare
from .measures import LabelSet, SetCounts
from .models import KeptAgreement, MarkDifference
from .voices import GOLD_VOICE, Trees, voices_in

RELATION = "relation"
LONELY = "lonely"
"""Of a relation: only one has it, and the other has not marked its ends."""
# So many items are counted and written at once, or fewer that many people are done with: any two of them are compared.
ITEMS_AT_ONCE, PAIRS_AT_ONCE = 200, 1000
NOTHING: LabelSet = frozenset()
# A million times in a large project: the ORM takes four times as long.
_INSERT_DIFFERENCE = """
INSERT INTO quality_markdifference (item_id, one, other, kind, label, other_label, count) VALUES (%s, %s, %s, %s, %s, %s, %s)
"""

Rows = dict[str, list[list[int]]]
"""By likeness: the label of one, that of the other, 0 without a mark, and how many."""


class PairCounts(NamedTuple):
    one: int
    other: int
    week: str
    """In which the later of both was done, such as “2026-W07”."""
    entities: Rows
    relations: Rows
    spans: list[int]
    """How many both have marked, one, and the other, with whatever labels."""
    words: list[list[Any]]
    """The labels that one has put on a token, those of the other, and on how many tokens, of which one has labels."""


def count(
    voices: Sequence[Voice], tokens: int, done: Mapping[int, datetime | None], apart: Callable[[int, int], int]
) -> dict[str, Any]:
    """The document of an item. ``done`` tells since when the voices are."""
    labels = {who: _labels_at(marked.entities) for who, marked in voices}
    people = [who for who, _ in voices if who != GOLD_VOICE]
    covered = set().union(*(labels[who] for who in people))
    sets = ([labels[who].get(token, NOTHING) for who in people] for token in covered)
    alpha = SetCounts.of(sets, bare=max(0, tokens - len(covered)), people=len(people))
    pairs = [
        PairCounts(
            one, other, _week(done.get(one), done.get(other)), *_compared(a, b, apart), _words(labels, one, other)
        )
        for (one, a), (other, b) in combinations(voices, 2)
        if {one, other} != {GOLD_VOICE, GIVEN_VOICE}
    ]
    return {"tokens": tokens, "alpha": alpha.as_json(), "pairs": pairs}


def _labels_at(entities: Iterable[EntityMark]) -> dict[int, LabelSet]:
    found: dict[int, set[int]] = defaultdict(set)
    for start, end, label in entities:
        for token in range(start, end + 1):
            found[token].add(label)
    return {token: frozenset(labels) for token, labels in found.items()}


def _week(*done: datetime | None) -> str:
    year, week, _ = max(filter(None, done), default=timezone.now()).isocalendar()
    return f"{year}-W{week:02}"


def _compared(one: Marked, other: Marked, apart: Callable[[int, int], int]) -> tuple[Rows, Rows, list[int]]:
    compared = compare(one, other, apart)
    spans, others = ({mark[:2] for mark in marked.entities} for marked in (one, other))
    return _rows(compared.entities), _rows(compared.relations), [len(spans & others), len(spans), len(others)]


def _rows(pairs: Iterable[Paired]) -> Rows:
    counts = Counter(
        (
            likeness if has_ends else LONELY,
            one.label if one else 0,
            other.label if other else 0,
        )
        for likeness, one, other, _, has_ends in pairs
    )
    found: Rows = {}
    for (kind, label, other_label), number in counts.items():
        found.setdefault(kind, []).append([label, other_label, number])
    return found


def _words(labels: Mapping[int, Mapping[int, LabelSet]], one: int, other: int) -> list[list[Any]]:
    own, theirs = labels[one], labels[other]
    counts = Counter([(own.get(token, NOTHING), theirs.get(token, NOTHING)) for token in own.keys() | theirs.keys()])
    return [[_listed(a), _listed(b), number] for (a, b), number in counts.items()]


_listed = lru_cache(2**16)(sorted)  # the same few sets come again and again


# --- What is kept --------------------------------------------------------------------------------------------------------


def kept_of(project: Project) -> Any:
    return KeptAgreement.objects.filter(item__in=project.all_items().order_by().values("pk"))


KEPT = "item__agreement__signature"


def counted_now(project: Project) -> Any:
    """The items of a project that more than one voice is done with, as rows of the ``item``, its ``signature``, that under which
    counts are `KEPT`, and how many ``voices`` these are.

    Each change of marks makes a revision greater, a correction the version of the text. Whoever finishes an item does so later
    than all before, and whoever reopens it makes them fewer.
    """
    parts: list[Any] = [Count("pk"), Sum("revision"), Sum(F("pk") * F("revision")), Max("item__text_version")]
    parts.append(Coalesce(_text(Max("done_at")), Value("")))
    signature: list[Any] = [Value("given " if project.given_voice else "")]
    for part in parts:
        signature += [_text(part), Value(" ")]
    found = _voices(project).filter(item__in=project.all_items().order_by().values("pk"))
    found = found.order_by().values("item", KEPT)
    found = found.annotate(signature=Concat(*signature, output_field=CharField()), voices=Count("pk"))
    return found.filter(voices__gt=1).values_list("item", "signature", KEPT, "voices", named=True)


_STALE = Q((KEPT, None)) | ~Q((KEPT, F("signature")))


def stale(project: Project) -> Any:
    """Those of `counted_now` whose counts are not those of now."""
    return counted_now(project).filter(_STALE)


def outlived(project: Project) -> Any:
    """What is kept of items with nothing to count now."""
    voices = _voices(project).filter(item=OuterRef("pk")).order_by().values("item").annotate(count=Count("pk"))
    return kept_of(project).filter(~Exists(voices.filter(count__gt=1)))


def changed_items(project: Project) -> int:
    """How many `stale` and `outlived` ones there are."""
    found = counted_now(project).aggregate(stale=Count("item", filter=_STALE), kept=Count(KEPT))
    return int(found["stale"] + kept_of(project).count() - found["kept"])


def _voices(project: Project) -> Any:
    voices = Q(layer__in=(Layer.OWN, Layer.GOLD), done_at__isnull=False)
    return Annotation.objects.filter(voices | Q(layer=Layer.GIVEN) if project.given_voice else voices)


def is_quick(project: Project) -> bool:
    """Whether what has changed is counted at once, while somebody waits."""
    return project.dataset.item_count <= ITEMS_AT_ONCE and sum(map(_pairs, stale(project))) <= PAIRS_AT_ONCE


def _pairs(row: Any) -> int:
    """How many pairs of voices are to be compared in an item."""
    return int(row.voices * (row.voices - 1) // 2)


def _portions(rows: Iterable[Any]) -> Iterator[dict[int, str]]:
    """The signatures of items, some at a time."""
    for some in portions(rows, _pairs, most=ITEMS_AT_ONCE, heaviest=PAIRS_AT_ONCE):
        yield {row.item: row.signature for row in some}


def _text(value: Any) -> Cast:
    return Cast(value, CharField())


def refresh_counts(project: Project, progress: Progress = no_progress) -> None:
    """Count what has changed, in short transactions. What changes meanwhile is stale again."""
    if (gone := outlived(project)).exists():
        forget(gone)
    count, done = stale(project).count(), 0
    for keys in by_keys(project.all_items(), ITEMS_AT_ONCE) if count else ():
        for signatures in _portions(stale(project).filter(item__in=among(keys))):
            progress(done, count, "comparing")
            with snapshot():
                found = documents_of(project, signatures)
            _store({pk: (signatures[pk], document) for pk, document in found.items()})
            done += len(signatures)


def documents_of(project: Project, keys: Collection[int]) -> dict[int, dict[str, Any]]:
    """As they are now, by the keys of the items that are there. To be read in a `snapshot`."""
    trees, some = Trees(project.ontology_set.all()), among(list(keys))
    voices = voices_in(keys, given=project.given_voice, gold=True)
    tokens = dict(Item.objects.filter(pk__in=some).order_by().values_list("pk", "token_count"))
    done: dict[int, dict[int, datetime | None]] = defaultdict(dict)
    finished = Annotation.objects.filter(item__in=some, done_at__isnull=False).order_by()
    for item, person, at in finished.values_list("item", "annotator", "done_at"):
        done[item][person or GOLD_VOICE] = at
    return {pk: count(voices.get(pk, []), tokens[pk], done[pk], trees.apart) for pk in keys if pk in tokens}


def _store(found: Mapping[int, tuple[str, dict[str, Any]]]) -> None:
    differences = {pk: list(_differences(pk, document["pairs"])) for pk, (_, document) in found.items()}
    texts = {pk: (signature, written(document)) for pk, (signature, document) in found.items()}
    with write():
        # Whoever is about to delete one waits, and so does another who counts.
        items = Item.objects.select_for_update(no_key=True).filter(pk__in=among(list(found))).order_by("pk")
        there = list(items.values_list("pk", flat=True))
        forget(KeptAgreement.objects.filter(item__in=among(there)))
        KeptAgreement.objects.bulk_create(
            KeptAgreement(item_id=pk, signature=texts[pk][0], counts=texts[pk][1]) for pk in there
        )
        with connection.cursor() as cursor:
            cursor.executemany(_INSERT_DIFFERENCE, [row for pk in there for row in differences[pk]])


def forget(kept: Any) -> None:
    """Some of what is kept."""
    with write():
        for model in (MarkDifference, KeptAgreement):
            rows = model._default_manager.filter(item__in=kept.order_by().values("pk"))
            rows._raw_delete(rows.db)


def written(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"))


def _differences(item: int, pairs: Iterable[PairCounts]) -> Iterator[tuple[Any, ...]]:
    """The values of `_INSERT_DIFFERENCE`."""
    for pair in pairs:
        relations = Counter[tuple[int, int]]()
        for kind, rows in pair.relations.items():
            if kind != Likeness.SAME:
                for label, other_label, number in rows:
                    relations[label, other_label] += number
        for kind, rows in pair.entities.items():
            if kind != Likeness.SAME:
                yield from ((item, pair.one, pair.other, kind, *row) for row in rows)
        yield from ((item, pair.one, pair.other, RELATION, *key, n) for key, n in relations.items())


def kept_documents(project: Project) -> Iterator[tuple[int, dict[str, Any]]]:
    """The keys of items, in their order, with what is kept of them."""
    for keys in by_keys(project.all_items(), ITEMS_AT_ONCE):
        yield from _kept(keys)


def _kept(keys: Collection[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = KeptAgreement.objects.filter(item__in=among(list(keys))).order_by("item").values_list("item", "counts")
    yield from ((pk, json.loads(text)) for pk, text in rows)


def documents_now(project: Project) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same of now, where nothing may be written: what is stale is compared. To be read in a `snapshot`."""
    for keys in by_keys(project.all_items(), ITEMS_AT_ONCE):
        now = counted_now(project).filter(item__in=among(keys))
        yield from _kept([row.item for row in now.exclude(_STALE)])
        for signatures in _portions(now.filter(_STALE)):
            yield from documents_of(project, signatures).items()


# --- Where marks differ --------------------------------------------------------------------------------------------------


def differing(
    *,
    kind: str = "",
    labels: Collection[int] | None = None,
    person: int | None = None,
    other_labels: Collection[int] | None = None,
    other: int | None = None,
) -> Any:
    """The differences of a kind, a `Likeness` or `RELATION`, between ``person`` with one of the ``labels`` and ``other`` with one
    of the ``other_labels``, whoever of both stands first. The label 0 stands for no mark at all. Gold is only asked by name."""
    rows = MarkDifference.objects.filter(**{"kind": kind} if kind else {})
    if GOLD_VOICE not in (person, other):
        rows = rows.filter(one__gt=GOLD_VOICE)
    ways = []
    for own, theirs in (("", "other_"), ("other_", "")):
        way = Q()
        for voice, prefix, its_labels in ((person, own, labels), (other, theirs, other_labels)):
            if voice is not None:
                way &= Q(**{"other" if prefix else "one": voice})
            if its_labels is not None:
                way &= Q(**{f"{prefix}label__in": among(list(its_labels))})
        ways.append(way)
    return rows.filter(ways[0] | ways[1])


def items_with(
    *, kind: str = "", label: int | Collection[int] | None = None, person: int | None = None, **more: Any
) -> Q:
    """The items in which marks differ in a way: see `differing`. They are those of the last time that they were counted."""
    labels = [label] if isinstance(label, int) else label
    rows = differing(kind=kind, labels=labels, person=person, **more)
    # Few items have a label, and are found by it; without one each item is asked for its own differences.
    return Q(pk__in=rows.values("item")) if labels is not None else Q(Exists(rows.filter(item=OuterRef("pk"))))
