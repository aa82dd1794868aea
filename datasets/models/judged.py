"""How often the marks of each annotation break the rules of their project, kept: pages read it, and judge nothing.

Annotations are judged when their items are counted anew, see `work`, and all of a dataset again when a rule or the tree of labels
changes. The database counts the pairs that are alike, by their labels and how they lie; the rules judge each group once.
"""

import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple

from django.db import DatabaseError, connection, models
from django.db.models import QuerySet, UniqueConstraint
from django.utils import timezone

from annotation_service.db import among, keys, snapshot, store, write
from resources.judging import Judge
from resources.rules import RuleName, Violation
from resources.spans import IN_REACH, LIE, Lie, TokenSpan

from ..importing.items import NewEntity
from .annotation import Annotation
from .broken import COUNTS, judge_of
from .item import Item
from .marks import Entity, Layer, Relation

# So many items are judged before others can write, and so many places are kept of each annotation.
ITEMS_AT_ONCE = 500
PLACES = 300

_KIND = {
    "sqlite": "SELECT CAST(key AS integer), value FROM json_each(%(kinds)s)",
    "postgresql": "SELECT CAST(key AS bigint), CAST(value AS integer) FROM json_each_text(CAST(%(kinds)s AS json))",
}
_LIE = LIE.format("e", "o")
# Every two once: the second does not start before the first.
_PAIRS = f"""
  FROM datasets_annotation a
  JOIN datasets_entity e ON e.annotation_id = a.id
  JOIN datasets_entity o ON o.annotation_id = a.id AND {IN_REACH.format("e", "o")}
   AND o.start >= e.start AND (o.start > e.start OR o.id > e.id)
"""
_WHICH = f"WHERE a.{{which}} AND {COUNTS.format('e', 'o')}"
# SQLite sorts all pairs to group them, which takes most of the time: two million by the first of the two, whose key differs most,
# in 1.2 s of the processor, by their labels in 1.7 s.
_PAIR_GROUPS = f"""
WITH kind (label, number) AS ({{kind}}), alike AS (
    SELECT e.label_id AS one, o.label_id AS other, {_LIE} AS lie, e.annotation_id, COUNT(*) AS count {_PAIRS} {_WHICH}
     GROUP BY e.id, 2, 3
)
SELECT annotation_id, COALESCE(k.number, 0), COALESCE(l.number, 0), lie, SUM(count)
  FROM alike LEFT JOIN kind k ON k.label = one LEFT JOIN kind l ON l.label = other
 WHERE k.number IS NOT NULL OR l.number IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
"""
# Entities that are the first of no such pair are passed over before they are paired.
_PAIR_PLACES = f"""
WITH kind (label, number) AS ({{kind}})
SELECT a.id, e.uid, o.uid, COALESCE(k.number, 0), COALESCE(l.number, 0), {_LIE} {_PAIRS}
  LEFT JOIN kind k ON k.label = e.label_id LEFT JOIN kind l ON l.label = o.label_id {_WHICH}
   AND (0 IN ({{ones}}) OR e.label_id IN (SELECT label FROM kind WHERE number IN ({{ones}})))
   AND (COALESCE(k.number, 0), COALESCE(l.number, 0), {_LIE}) IN (VALUES {{groups}}) LIMIT {{most}}
"""
_ENDS = f"""
  FROM datasets_annotation a
  JOIN datasets_relation r ON r.annotation_id = a.id
  JOIN datasets_entity s ON s.id = r.source_id
  JOIN datasets_entity t ON t.id = r.target_id
 WHERE a.{{which}} AND {COUNTS.format("r", "r")}
"""
_RELATION_GROUPS = f"""
SELECT a.id, s.label_id, r.label_id, t.label_id, COUNT(*) {_ENDS} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
"""
_RELATION_PLACES = f"""
SELECT a.id, s.uid, t.uid, r.uid, s.label_id, r.label_id, t.label_id {_ENDS}
   AND (s.label_id, r.label_id, t.label_id) IN (VALUES {{groups}}) LIMIT {{most}}
"""
# Datasets whose rules, labels or items have changed since the worker was there.
_BEHIND = """
SELECT d.id FROM datasets_dataset d LEFT JOIN datasets_judged j ON j.dataset_id = d.id
 WHERE EXISTS (SELECT 1 FROM resources_constraintset c WHERE c.project_id = d.project_id)
   AND (j.judged_at IS NULL OR j.judged_at < d.updated_at
        OR EXISTS (SELECT 1 FROM resources_constraintset c WHERE c.project_id = d.project_id AND c.updated_at > j.judged_at)
        OR EXISTS (SELECT 1 FROM ontologies_ontology o WHERE o.project_id = d.project_id AND o.updated_at > j.judged_at))
 LIMIT 1
"""
Group = tuple[Any, ...]


class Judged(models.Model):
    """How far a dataset is judged by the rules with this key: up to a position."""

    dataset = models.OneToOneField("datasets.Dataset", primary_key=True, on_delete=models.RESTRICT)
    key = models.CharField(max_length=24)
    reached = models.PositiveIntegerField(default=0)
    # Of which moment the worker judged it all last.
    judged_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"dataset {self.dataset_id} up to {self.reached}"

    @classmethod
    def hold(cls, dataset: int, key: str) -> "Judged":
        """Locked. By other rules than before it begins anew."""
        judged, _ = cls.objects.select_for_update(no_key=True).get_or_create(dataset_id=dataset, defaults={"key": key})
        if judged.key != key:
            store(judged, key=key, reached=0)
        return judged


class BrokenRule(models.Model):
    """How often an annotation breaks a rule, a `RuleName`. Of some ``places`` it has the uids: of two entities, and of a relation
    between them."""

    annotation = models.ForeignKey(Annotation, on_delete=models.RESTRICT, db_index=False)
    # Its key, to find what is broken in a dataset.
    dataset = models.BigIntegerField(db_index=True)
    rule = models.CharField(max_length=100)
    count = models.PositiveIntegerField()
    places = models.JSONField(default=list)

    class Meta:
        constraints = [UniqueConstraint(fields=["annotation", "rule"], name="broken_rule_once")]

    def __str__(self) -> str:
        return f"{self.rule} broken {self.count} times"

    @property
    def name(self) -> RuleName:
        return RuleName.of(self.rule)


# --- Finding -----------------------------------------------------------------------------------------------------------


def broken_in(judge: Judge, items: Sequence[int]) -> Iterator[BrokenRule]:
    """What the marks of items break, judged now: of some items at a time, what came with the dataset first."""
    for first in range(0, len(items), ITEMS_AT_ONCE):
        yield from _find(judge, items[first : first + ITEMS_AT_ONCE])


def _find(judge: Judge, items: Collection[int]) -> list[BrokenRule]:
    annotations = Annotation.objects.filter(item__in=among(items)).select_related("item").order_by("pk")
    by_pk = annotations.only("annotator_id", "layer", "item__dataset_id", "item__position").in_bulk()
    found: dict[int, dict[RuleName, int]] = defaultdict(lambda: defaultdict(int))
    groups: dict[RuleName, set[Group]] = defaultdict(set)
    for annotation, *group, count in _rows(judge, f"item_id IN ({keys(items)})", _PAIR_GROUPS, _RELATION_GROUPS):
        for rule in _broken_by(judge, *group):
            found[annotation][rule] += int(count)
            groups[rule].add(tuple(group))
    places = _places(judge, found, groups)
    rows = [
        BrokenRule(
            annotation=by_pk[pk],
            dataset=by_pk[pk].item.dataset_id,
            rule=str(rule),
            count=count,
            places=places[pk, rule],
        )
        for pk, counts in found.items()
        for rule, count in counts.items()
    ]
    return sorted(rows, key=in_order)


def in_order(row: BrokenRule) -> tuple[Any, ...]:
    """What came with the dataset first, then item by item."""
    annotation = row.annotation
    return annotation.layer != Layer.GIVEN, annotation.item.position, annotation.annotator_id or 0


def _broken_by(judge: Judge, one: int, other: int, last: int | str) -> list[RuleName]:
    """The rules that a group breaks: two kinds and how they lie, or the labels of source, relation and target."""
    if isinstance(last, str):
        return [each.rule for each in judge.judge(judge.kinds[one], judge.kinds[other], Lie(last))]
    found = judge.against(one, other, last)
    return [found.rule] if found else []


def _places(
    judge: Judge, found: Mapping[int, Mapping[RuleName, int]], groups: Mapping[RuleName, Collection[Group]]
) -> Mapping[tuple[int, RuleName], list[list[str]]]:
    """Of the annotations that break little all places, together; of each of the others some for every rule."""
    many = {pk for pk, counts in found.items() if sum(counts.values()) > PLACES}
    few = [pk for pk in found if pk not in many]
    asked = [([pk], [rule], max(1, PLACES // len(found[pk]))) for pk in many for rule in found[pk]]
    if few:
        asked.append((few, list({rule for pk in few for rule in found[pk]}), PLACES * len(few)))
    places: dict[tuple[int, RuleName], list[list[str]]] = defaultdict(list)
    for annotations, rules, most in asked:
        wanted = {group for rule in rules for group in groups[rule]}
        pairs, relations = (
            ", ".join(f"({', '.join(map(repr, group))})" for group in wanted if isinstance(group[2], str) is is_pair)
            for is_pair in (True, False)
        )
        ones = ", ".join({str(group[0]) for group in wanted if isinstance(group[2], str)})
        statements = [_PAIR_PLACES.replace("{ones}", ones).replace("{groups}", pairs)] if pairs else []
        statements += [_RELATION_PLACES.replace("{groups}", relations)] if relations else []
        for pk, *uids, one, other, last in _rows(judge, f"id IN ({keys(annotations)})", *statements, most=most):
            for rule in _broken_by(judge, one, other, last):
                if rule in rules:
                    places[pk, rule].append(uids)
    return places


def _rows(judge: Judge, which: str, *statements: str, **parts: int) -> Iterator[Any]:
    for statement in statements:
        sql = statement.format(kind=_KIND[connection.vendor], which=which, **parts)
        with connection.cursor() as cursor:
            cursor.execute(sql, {"kinds": json.dumps(judge.numbers)} if "%(kinds)s" in sql else None)
            yield from cursor.fetchall()


# --- Keeping -----------------------------------------------------------------------------------------------------------


class Judging:
    """What the marks of items break, found before others have to wait for it to be stored. Each item is judged once: those that
    are not judged by the rules of now are left to `judge_again`, which asks for ``all_of_them``."""

    def __init__(self, items: Collection[int], *, all_of_them: bool = False) -> None:
        self._keys: dict[int, str] = {}
        self._left: dict[int, dict[int, int]] = defaultdict(dict)  # their positions, by datasets
        self._rows: list[BrokenRule] = []
        with snapshot():
            self._revisions = _revisions(items)
            of_dataset: dict[int, dict[int, int]] = defaultdict(dict)
            rows = Item.with_removed.filter(pk__in=among(items)).order_by("dataset", "position")
            for dataset, item, position in rows.values_list("dataset", "pk", "position"):
                of_dataset[dataset][item] = position
            for dataset, positions in of_dataset.items():
                if judge := judge_of(dataset):
                    self._keys[dataset] = judge.key
                    if not all_of_them:
                        reached = _reached(judge, dataset)
                        self._left[dataset] = {item: at for item, at in positions.items() if at >= reached}
                    self._rows += broken_in(judge, [item for item in positions if item not in self._left[dataset]])

    def store(self, items: Collection[int]) -> set[int]:
        """In a transaction. Returns those of the items in which nothing has changed since. What was kept by other rules of a
        dataset counts no more."""
        now = _revisions(items)
        unchanged = {item for item in items if now[item] == self._revisions[item]}
        for dataset, key in self._keys.items():
            reached = Judged.hold(dataset, key).reached
            unchanged -= {item for item, position in self._left[dataset].items() if position < reached}
        annotations = [pk for item in unchanged for pk, _ in self._revisions[item]]
        BrokenRule.objects.filter(annotation__in=among(annotations))._raw_delete(connection.alias)
        BrokenRule.objects.bulk_create(row for row in self._rows if row.annotation.item_id in unchanged)
        return unchanged


def _revisions(items: Collection[int]) -> Mapping[int, set[tuple[int, int]]]:
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    rows = Annotation.objects.filter(item__in=among(items)).order_by()
    for item, annotation, revision in rows.values_list("item", "pk", "revision"):
        found[item].add((annotation, revision))
    return found


def judge_again(dataset: int, until: float) -> bool:
    """Judge the items of a dataset that are not judged by the rules of now, until that moment of ``time.monotonic()``; returns
    whether all are."""
    while judge := judge_of(dataset):
        reached = _reached(judge, dataset)
        rows = Item.with_removed.filter(dataset=dataset, position__gte=reached).order_by("position")
        positions = dict(rows.values_list("pk", "position")[:ITEMS_AT_ONCE])
        if not positions:
            break
        if time.monotonic() > until:
            return False
        judging = Judging(positions, all_of_them=True)
        with write():
            stored, judged = judging.store(positions), Judged.hold(dataset, judge.key)
            if judged.reached == reached and (some := list(takewhile(stored.__contains__, positions))):
                store(judged, reached=positions[some[-1]] + 1)
    return True


def judge_some(seconds: float) -> int:
    """Judge again what is left in any dataset, for so many seconds; returns how many datasets that were."""
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        now = timezone.now()
        with connection.cursor() as cursor:
            cursor.execute(_BEHIND)
            behind = cursor.fetchall()
        for (dataset,) in behind:
            count += 1
            if judge_again(dataset, until):
                Judged.objects.update_or_create(dataset_id=dataset, defaults={"judged_at": now})
        if not behind:
            break
    return count


def _reached(judge: Judge, dataset: int) -> int:
    judged = Judged.objects.filter(dataset=dataset, key=judge.key)
    return judged.values_list("reached", flat=True).first() or 0


# --- Reading -----------------------------------------------------------------------------------------------------------


class BrokenPlace(NamedTuple):
    """Two entities, or a relation with its ends, that break a rule: ``text`` says how. ``spans`` are those of the two."""

    annotation: Annotation
    marks: tuple[str, str]
    relation: str
    spans: tuple[TokenSpan, TokenSpan]
    violation: Violation
    text: str

    @property
    def uids(self) -> tuple[str, ...]:
        """The uids of all marks involved."""
        return (*self.marks, self.relation) if self.relation else self.marks

    @property
    def mark(self) -> str:
        """The uid of the one that leads there."""
        return self.relation or self.marks[0]

    @property
    def words(self) -> list[str]:
        """Of the two."""
        return [self.annotation.item.cleaned.between(each.start, each.end) for each in self.spans]


def broken_rules(dataset: int) -> QuerySet[BrokenRule]:
    """What is kept of a dataset by the rules of now."""
    judge = judge_of(dataset)
    if judge is None:
        return BrokenRule.objects.none()
    here = {"item__removed_at": None, "item__position__lt": _reached(judge, dataset)}
    return BrokenRule.objects.filter(dataset=dataset, **{f"annotation__{name}": value for name, value in here.items()})


def broken_here(annotation: Annotation) -> tuple[int, list[BrokenPlace]]:
    """How often the marks of an annotation break rules, and some of the places."""
    item = annotation.item
    judge = judge_of(item.dataset_id)
    if judge is None:
        return 0, []
    if item.position >= _reached(judge, item.dataset_id):
        judging = Judging([item.pk], all_of_them=True)
        with suppress(DatabaseError), write():
            judging.store([item.pk])
    rows = list(BrokenRule.objects.filter(annotation=annotation).order_by("pk"))
    for row in rows:
        row.annotation = annotation
    return sum(row.count for row in rows), [place for _, places in places_of(judge, rows) for place in places]


def places_of(
    judge: Judge, rows: Iterable[BrokenRule], most: int = PLACES
) -> Iterator[tuple[BrokenRule, list[BrokenPlace]]]:
    """Each row with some of its places, as the marks are now: not those that have changed since."""
    kept = [(row, row.places[:most]) for row in rows]
    marks = {
        "annotation__in": among(list({row.annotation_id for row, _ in kept})),
        "uid__in": among(list({uid for _, places in kept for uids in places for uid in uids})),
    }
    entities = {
        (annotation, uid): NewEntity(uid, *values)
        for annotation, uid, *values in Entity.objects.filter(**marks).values_list(
            "annotation", "uid", "label", "start", "end"
        )
    }
    relations = {
        (annotation, uid): label
        for annotation, uid, label in Relation.objects.filter(**marks).values_list("annotation", "uid", "label")
    }
    for row, places in kept:
        found = []
        for one, other, *of in places:
            first, last = (entities.get((row.annotation_id, uid)) for uid in (one, other))
            label = relations.get((row.annotation_id, of[0])) if of else 0
            if first and last and label is not None:
                broken = [judge.against(first.label, label, last.label)] if of else judge.between(first, last)
                spans = TokenSpan(first.start, first.end), TokenSpan(last.start, last.end)
                found += [
                    BrokenPlace(
                        row.annotation, (one, other), "".join(of), spans, violation, violation.in_words(judge.name_of)
                    )
                    for violation in broken
                    if violation and str(violation.rule) == row.rule
                ]
        yield row, found
