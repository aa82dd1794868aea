"""Putting what a source suggests on items: what preannotations find, and what programs bring.

It is gathered outside of any transaction, in temporary tables; then statements for whole tables add and withdraw what differs
from these. Nothing depends on what was suggested before, so it can be done again at any time.

In the SQL, for both databases, ``t`` is an annotation of an item that was looked through: the given one, or somebody's. ``s`` and
``o`` are entities that the source suggests on its item, ``w`` is a relation between two of them.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count, islice
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.db import connection
from django.db.models import F, Max
from django.db.models.expressions import RawSQL
from django.utils import timezone

from annotation_service.db import execute
from annotation_service.words import number, plural
from datasets.cleaned import key_of
from datasets.importing.document import Progress, no_progress
from datasets.importing.items import NewEntity
from datasets.importing.storage import write_rows
from datasets.kinds import DatasetKind
from datasets.models import MARKS, Annotation, Dataset, Entity, Mark, Relation
from datasets.models.item import ItemQuerySet
from datasets.models.marks import ENTITY_KEY, RELATION_KEY
from datasets.portions import token_lists
from datasets.preprocessing import Counts, Preprocessing
from ontologies.models import Ontology
from resources.judging import Judge
from resources.matching import EntityForm, Matcher, RelationForm, Suggestions
from resources.models import PreannotationSet
from resources.rules import Rules
from resources.spans import IN_REACH, Spans, TokenSpan, crowded, has_room

Form = EntityForm | RelationForm


def matcher_of(sets: Iterable[PreannotationSet], dataset: Dataset) -> Matcher:
    """Finds the forms of all rows whose labels can be applied."""
    entities: list[EntityForm] = []
    relations: list[RelationForm] = []
    for each in sets:
        active = {label.pk for labels in each.labels().values() for label in labels if label.active}
        for _, form in forms_of(each, dataset):
            if isinstance(form, EntityForm):
                entities += [form] * (form.label in active)
            else:
                relations += [form] * ({form.source.label, form.target.label, form.label} <= active)
    return Matcher(entities, relations)


def forms_of(preannotations: PreannotationSet, dataset: Dataset) -> Iterator[tuple[int, Form]]:
    """The primary keys of rows, with their forms; without those of which the preprocessing leaves nothing."""
    model, ignores_case = preannotations.row_model, preannotations.ignore_case
    rows = preannotations.rows()
    texts = {text for field in model.form_fields for text in rows.values_list(field, flat=True)}
    tokens = tokens_of(texts, dataset)
    fields = [field.attname for field in model.content_fields()]
    for pk, *values in rows.values_list("pk", *fields).iterator():
        if preannotations.kind == "entity":
            text, label = values
            if text in tokens:
                yield pk, EntityForm(tokens[text], label, ignores_case)
        else:
            source, source_label, target, target_label, offset, label = values
            if source in tokens and target in tokens:
                ends = (
                    EntityForm(tokens[source], source_label, ignores_case),
                    EntityForm(tokens[target], target_label, ignores_case),
                )
                yield pk, RelationForm(*ends, offset, label)


def tokens_of(texts: Collection[str], dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """The tokens of texts, as those of the dataset's lines; at white space where its items came with tokens."""
    if dataset.kind != DatasetKind.STANDARD:
        return {text: tuple(text.split()) for text in texts}
    preprocessing = replace(Preprocessing(**dataset.preprocessing), remove_duplicates="")
    lines = list(texts)
    prepared = preprocessing.prepare(enumerate(lines), Counts())
    return {lines[each.number]: tuple(each.tokens) for each in prepared}


COLUMNS = {
    "suggested_item": "item_id bigint PRIMARY KEY, text_version integer",
    "suggested_entity": 'id bigint PRIMARY KEY, item_id bigint, start integer, "end" integer, label_id bigint, uid text,'
    " own integer, words_key bigint, score double precision",
    "suggested_relation": "id bigint PRIMARY KEY, item_id bigint, source_id bigint, target_id bigint, label_id bigint, uid text,"
    " score double precision",
    "suggested_refused": "annotation_id bigint, entity_id bigint, PRIMARY KEY (annotation_id, entity_id)",
}
TABLES = (*COLUMNS, "suggested_to", "suggested_pair", "withdrawn_relation", "withdrawn_entity")
# Nothing but the last ones tells the databases what is in these tables.
INDEXES = (
    "CREATE INDEX suggested_entity_item ON suggested_entity (item_id)",
    "CREATE INDEX suggested_relation_item ON suggested_relation (item_id)",
    *(f"ANALYZE {table}" for table in list(COLUMNS)[:3]),
)


def _is_same(one: str, other: str) -> str:
    return f'{one}.label_id = {other}.label_id AND {one}.start = {other}.start AND {one}."end" = {other}."end"'


def _is_there(entity: str, more: str = "TRUE") -> str:
    return (
        f"EXISTS (SELECT 1 FROM datasets_entity e WHERE e.annotation_id = t.id AND {_is_same('e', entity)} AND {more})"
    )


def _is_rejected(what: str) -> str:
    return f"EXISTS (SELECT 1 FROM datasets_rejection j WHERE j.annotation_id = t.id AND j.what = {what})"


def _is_refused(entity: str) -> str:
    return f"EXISTS (SELECT 1 FROM suggested_refused f WHERE f.annotation_id = t.id AND f.entity_id = {entity}.id)"


def _can_be_an_end(entity: str) -> str:
    hidden = _is_there(entity, "e.status = 'rejected'")
    return f"NOT {hidden} AND NOT {_is_rejected(ENTITY_KEY.format(entity))} AND NOT {_is_refused(entity)}"


# What nobody has touched of all that the source has suggested, given the alias of the mark's row.
_UNTOUCHED = "{0}.status = 'suggested' AND {0}.suggested_by_id = %(source)s"
_MADE = "status, origin, suggested_by_id, created_at, updated_at"
_MADE_SO = "'suggested', %(origin)s, %(source)s, %(now)s, %(now)s"
_INSERT_ENTITIES = (
    f'INSERT INTO datasets_entity (annotation_id, label_id, uid, start, "end", words_key, score, {_MADE})'
)
_NEW_ENTITY = f't.id, s.label_id, s.uid, s.start, s."end", s.words_key, s.score, {_MADE_SO}'

PREPARE = (
    # Every item with suggestions gets a given annotation.
    """
    INSERT INTO datasets_annotation (item_id, layer, started_at)
    SELECT i.id, 'given', %(now)s FROM datasets_item i
    WHERE i.removed_at IS NULL AND i.id IN (SELECT item_id FROM suggested_entity)
      AND NOT EXISTS (SELECT 1 FROM datasets_annotation a WHERE a.item_id = i.id AND a.layer = 'given')
    ORDER BY i.position
    """,
    """
    CREATE TEMPORARY TABLE suggested_to AS
    SELECT a.id, a.item_id, a.layer = 'given' AS is_given, (a.layer = 'given' OR a.done_at IS NULL) AS is_open
    FROM suggested_item m
    JOIN datasets_item i ON i.id = m.item_id AND i.removed_at IS NULL AND i.text_version = m.text_version
    JOIN datasets_annotation a ON a.item_id = i.id AND a.layer <> 'gold'
    ORDER BY a.id
    """,
    "CREATE INDEX suggested_to_id ON suggested_to (id)",
    "ANALYZE suggested_to",
)

MEETING_ACCEPTED = f"""
    SELECT t.id, t.is_given, s.id, s.label_id, s.start, s."end", a.label_id, a.start, a."end"
    FROM suggested_to t
    JOIN datasets_entity a ON a.annotation_id = t.id AND a.status = 'accepted'
    JOIN suggested_entity s ON s.item_id = t.item_id AND {IN_REACH.format("a", "s")}
    WHERE t.is_open AND NOT {_is_there("s")}
"""

# Annotations in which some token may get more entities than the limit: what is there, without what may be withdrawn, and what
# is suggested and not there.
CROWDED = """
    SELECT t.id, t.is_given FROM suggested_to t
    JOIN (SELECT item_id, COUNT(*) AS count FROM suggested_entity GROUP BY item_id) s ON s.item_id = t.item_id
    WHERE t.is_open AND s.count + (
        SELECT COUNT(*) FROM datasets_entity e WHERE e.annotation_id = t.id AND e.status <> 'rejected') > %(most)s
"""
COMING = f"""
    SELECT s.id, s.start, s."end" FROM suggested_to t JOIN suggested_entity s ON s.item_id = t.item_id
    WHERE t.id = %(annotation)s AND NOT {_is_refused("s")}
      AND NOT {_is_there("s", f"NOT ({_UNTOUCHED.format('e')})")}
    ORDER BY s.id
"""

_WITHDRAWN_RELATIONS = f"""
    CREATE TEMPORARY TABLE withdrawn_relation AS
    SELECT r.id, t.id AS annotation_id FROM suggested_to t
    JOIN datasets_relation r ON r.annotation_id = t.id AND {_UNTOUCHED.format("r")}
    JOIN datasets_entity a ON a.id = r.source_id
    JOIN datasets_entity b ON b.id = r.target_id
    WHERE t.is_open AND NOT EXISTS (
        SELECT 1 FROM suggested_relation w
        JOIN suggested_entity s ON s.id = w.source_id
        JOIN suggested_entity o ON o.id = w.target_id
        WHERE w.item_id = t.item_id AND w.label_id = r.label_id AND {_is_same("s", "a")} AND {_is_same("o", "b")})
"""
_WITHDRAW_RELATIONS = "DELETE FROM datasets_relation WHERE id IN (SELECT id FROM withdrawn_relation)"
_ADD_ENTITIES = f"""
    {_INSERT_ENTITIES}
    SELECT {_NEW_ENTITY} FROM suggested_to t JOIN suggested_entity s ON s.item_id = t.item_id
    WHERE t.is_open AND s.own = 1
      AND NOT {_is_there("s")} AND NOT {_is_rejected(ENTITY_KEY.format("s"))} AND NOT {_is_refused("s")}
    ORDER BY t.id, s.id
"""
_PAIRS = f"""
    CREATE TEMPORARY TABLE suggested_pair AS
    SELECT t.id AS annotation_id, w.source_id, w.target_id, w.label_id, w.uid, w.score
    FROM suggested_to t
    JOIN suggested_relation w ON w.item_id = t.item_id
    JOIN suggested_entity s ON s.id = w.source_id
    JOIN suggested_entity o ON o.id = w.target_id
    WHERE t.is_open AND {_can_be_an_end("s")} AND {_can_be_an_end("o")}
      AND NOT {_is_rejected(RELATION_KEY.format("w", "s", "o"))}
    ORDER BY t.id, w.id
"""
_ADD_ENDS = f"""
    {_INSERT_ENTITIES}
    SELECT {_NEW_ENTITY} FROM suggested_to t
    JOIN (SELECT annotation_id, source_id AS id FROM suggested_pair
          UNION SELECT annotation_id, target_id FROM suggested_pair) p ON p.annotation_id = t.id
    JOIN suggested_entity s ON s.id = p.id
    WHERE NOT {_is_there("s")}
    ORDER BY t.id, s.id
"""
_ADD_RELATIONS = f"""
    INSERT INTO datasets_relation (annotation_id, source_id, target_id, label_id, uid, score, {_MADE})
    SELECT p.annotation_id, a.id, b.id, p.label_id, p.uid, p.score, {_MADE_SO}
    FROM suggested_pair p
    JOIN suggested_entity s ON s.id = p.source_id
    JOIN suggested_entity o ON o.id = p.target_id
    JOIN datasets_entity a ON a.annotation_id = p.annotation_id AND {_is_same("a", "s")}
    JOIN datasets_entity b ON b.annotation_id = p.annotation_id AND {_is_same("b", "o")}
    WHERE NOT EXISTS (
        SELECT 1 FROM datasets_relation r WHERE r.source_id = a.id AND r.target_id = b.id AND r.label_id = p.label_id)
"""
# What is suggested again has the score of now, and is of this version.
_RENEWED = """
    UPDATE datasets_{kind} SET score = n.score, updated_at = %(now)s FROM (
        SELECT e.id, s.score FROM suggested_to t
        JOIN {suggested}
        WHERE t.is_open) n
    WHERE datasets_{kind}.id = n.id
      AND (COALESCE(datasets_{kind}.score, -1) <> COALESCE(n.score, -1) OR updated_at < %(version_at)s)
"""
_RENEWED_ENTITIES = _RENEWED.format(
    kind="entity",
    suggested=f"""suggested_entity s ON s.item_id = t.item_id AND s.own = 1
        JOIN datasets_entity e ON e.annotation_id = t.id AND {_is_same("e", "s")} AND {_UNTOUCHED.format("e")}""",
)
_RENEWED_RELATIONS = _RENEWED.format(
    kind="relation",
    suggested=f"""datasets_relation e ON e.annotation_id = t.id AND {_UNTOUCHED.format("e")}
        JOIN datasets_entity a ON a.id = e.source_id
        JOIN datasets_entity b ON b.id = e.target_id
        JOIN suggested_relation s ON s.item_id = t.item_id AND s.label_id = e.label_id
        JOIN suggested_entity x ON x.id = s.source_id AND {_is_same("x", "a")}
        JOIN suggested_entity y ON y.id = s.target_id AND {_is_same("y", "b")}""",
)
# Last: an entity at which something stands is kept, be it a relation that somebody rejected.
_WITHDRAWN_ENTITIES = f"""
    CREATE TEMPORARY TABLE withdrawn_entity AS
    SELECT e.id, t.id AS annotation_id FROM suggested_to t
    JOIN datasets_entity e ON e.annotation_id = t.id AND {_UNTOUCHED.format("e")}
    WHERE t.is_open AND NOT EXISTS (
        SELECT 1 FROM suggested_entity s WHERE s.item_id = t.item_id AND s.own = 1 AND {_is_same("s", "e")})
      AND NOT EXISTS (SELECT 1 FROM datasets_relation r WHERE r.source_id = e.id)
      AND NOT EXISTS (SELECT 1 FROM datasets_relation r WHERE r.target_id = e.id)
"""
_WITHDRAW_ENTITIES = "DELETE FROM datasets_entity WHERE id IN (SELECT id FROM withdrawn_entity)"
# New rows have higher keys than there were before.
_NEXT_REVISIONS = """
    UPDATE datasets_annotation SET revision = revision + 1, touched_at = %(now)s
    WHERE id <= %(annotation)s AND id IN (SELECT id FROM suggested_to) AND id IN (
        SELECT annotation_id FROM withdrawn_relation
        UNION SELECT annotation_id FROM withdrawn_entity
        UNION SELECT annotation_id FROM datasets_entity WHERE id > %(entity)s
        UNION SELECT annotation_id FROM datasets_relation WHERE id > %(relation)s)
"""

STORE = (
    _WITHDRAWN_RELATIONS,
    _WITHDRAW_RELATIONS,
    _ADD_ENTITIES,
    _PAIRS,
    _ADD_ENDS,
    _ADD_RELATIONS,
    _RENEWED_ENTITIES,
    _RENEWED_RELATIONS,
    _WITHDRAWN_ENTITIES,
    _WITHDRAW_ENTITIES,
    _NEXT_REVISIONS,
)
_COUNTS = (
    """
    SELECT (SELECT COUNT(*) FROM suggested_to t JOIN datasets_entity e ON e.annotation_id = t.id AND e.id > %(entity)s
             WHERE t.is_given)
         + (SELECT COUNT(*) FROM suggested_to t JOIN datasets_relation r ON r.annotation_id = t.id AND r.id > %(relation)s
             WHERE t.is_given)
    """,
    """
    SELECT COUNT(*) FROM (SELECT annotation_id FROM withdrawn_relation UNION ALL SELECT annotation_id FROM withdrawn_entity) w
      JOIN suggested_to t ON t.id = w.annotation_id WHERE t.is_given
    """,
)
_GIVEN = RawSQL("SELECT id FROM suggested_to WHERE is_given", ())


ITEMS_AT_ONCE = 1000
# The kind of the jobs that match a project: `projects.jobs` has the work.
JOB = "match_preannotations"


class Matched(NamedTuple):
    """How many entities and relations are suggested on the items that were looked through, how many suggestions the rules of
    the project forbid, and how many stand where as many marks share a word as can."""

    entities: int
    relations: int
    against_rules: int
    crowded: int

    def in_words(self) -> str:
        told = f"{plural(self.entities, 'entity,entities')} and {plural(self.relations, 'relation,relations')}"
        left_out = f"; {number(self.against_rules)} more would break the constraints" if self.against_rules else ""
        crowded = f"; {number(self.crowded)} more would share a word with too many others" if self.crowded else ""
        return f"The preannotations suggest {told}{left_out}{crowded}."


class Stored(NamedTuple):
    """How many suggestions came and went on what items came with, which everybody gets who has not begun them."""

    made: int
    withdrawn: int


class Suggester(NamedTuple):
    """What of a source its marks keep. What was suggested before ``version_at``, if that is given, is renewed."""

    source: int
    origin: str
    version_at: datetime | None = None


class Placing:
    """What a source suggests on some items: all of it is added, then stored inside a transaction that has locked the items."""

    def __init__(self, suggester: Suggester, judge: Judge | None) -> None:
        self.suggester, self.judge = suggester, judge
        # Why those that the items came with, or nobody else, have no room for a suggestion, by its key.
        self.refused: dict[int, str] = {}
        self.against_rules = self.crowded = 0
        self._prefix = secrets.token_hex(6)  # of the uids: nothing else has the same
        self._keys = count(1)
        self._items: list[Any] = []
        self._entities: list[Any] = []
        self._relations: list[Any] = []

    def __enter__(self) -> Self:
        for table in TABLES:
            execute(f"DROP TABLE IF EXISTS {table}")
        for table, columns in COLUMNS.items():
            execute(f"CREATE TEMPORARY TABLE {table} ({columns})")
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] and connection.in_atomic_block:
            return  # the tables go with the transaction
        for table in TABLES:
            execute(f"DROP TABLE IF EXISTS {table}")

    def add(
        self,
        item: int,
        version: int,
        tokens: Sequence[str],
        found: Suggestions,
        scores: Mapping[Any, float | None] = {},
    ) -> dict[Any, int]:
        """What is suggested on an item, with its scores, if it has some; returns the keys of all of it. An end that is suggested
        only with its relation is not its ``own``."""
        self._items.append((item, version))
        keys: dict[Any, int] = {}
        for own, suggested in ((1, found.entities), (0, [end for each in found.relations for end in each[:2]])):
            for entity in suggested:
                if entity not in keys:
                    keys[entity] = key = next(self._keys)
                    words_key, uid = key_of(tokens[entity.start : entity.end + 1]), f"{self._prefix}-{key}"
                    self._entities.append((key, item, *entity, uid, own, words_key, scores.get(entity)))
        for relation in found.relations:
            source, target, label = relation
            keys[relation] = key = next(self._keys)
            if self.judge and (broken := self.judge.against(source.label, label, target.label)):
                self.against_rules += 1
                self.refused[key] = broken.in_words(self.judge.name_of)
                continue
            ends = keys[source], keys[target]
            self._relations.append((key, item, *ends, label, f"{self._prefix}-{key}", scores.get(relation)))
        return keys

    def write_rows(self) -> None:
        """What was added comes into the tables."""
        for table, rows in zip(COLUMNS, (self._items, self._entities, self._relations), strict=False):
            if rows:
                write_rows(table, rows)
                rows.clear()

    def write_all(self) -> None:
        self.write_rows()
        for statement in INDEXES:
            execute(statement)

    def store(self) -> Stored:
        """Add what is new, and withdraw what nobody touched and is not suggested any more."""
        params: dict[str, Any] = {"now": _written(timezone.now()), **self.suggester._asdict()}
        params["version_at"] = self.suggester.version_at and _written(self.suggester.version_at)
        for model in (Annotation, Entity, Relation):
            last = model._default_manager.aggregate(last=Max("pk", default=0))
            params[model._meta.model_name or ""] = last["last"]
        for statement in PREPARE:
            execute(statement, params)
        if self.judge:
            self._refuse_against(self.judge, params)
        for annotation, is_given in list(_rows(CROWDED, {"most": settings.MAX_TOKEN_MARKS})):
            self._refuse_crowded(annotation, is_given, params)
        for statement in STORE:
            execute(statement, params)
        return Stored(*(count for statement in _COUNTS for (count,) in _rows(statement, params)))

    def _refuse_against(self, judge: Judge, params: Mapping[str, Any]) -> None:
        """Leave out the entities that break a rule together with accepted marks."""
        refused: dict[tuple[int, int], None] = {}
        for annotation, is_given, entity, *places in _rows(MEETING_ACCEPTED, params):
            if (annotation, entity) in refused:
                continue
            pair = NewEntity("", *places[:3]), NewEntity("", *places[3:])
            for broken in judge.between(*pair):
                refused[annotation, entity] = None
                if is_given:
                    self.refused[entity] = broken.in_words(judge.name_of)
                break
        if refused:
            write_rows("suggested_refused", list(refused))
        self.against_rules += len(refused)

    def _refuse_crowded(self, annotation: int, is_given: bool, params: Mapping[str, Any]) -> None:
        """Leave out the entities for which there is no room beside what is there, and those before them."""
        standing = Entity.objects.filter(annotation=annotation).exclude(status=Mark.Status.REJECTED)
        standing = standing.exclude(status=Mark.Status.SUGGESTED, suggested_by=self.suggester.source)
        there = Spans(TokenSpan(*place) for place in standing.values_list("start", "end"))
        refused = []
        for entity, *place in _rows(COMING, {**params, "annotation": annotation}):
            coming = TokenSpan(*place)
            if has_room(coming, [*there.meeting(coming)]):
                there.add(coming)
            else:
                refused.append((annotation, entity))
                if is_given:
                    self.refused[entity] = crowded()
        if refused:
            write_rows("suggested_refused", refused)
        self.crowded += len(refused)


class Matching(Placing):
    """What preannotations find: first `read`, then `match`, which is called inside a transaction that has locked the items."""

    def __init__(
        self,
        suggester: Suggester,
        dataset: Dataset,
        matcher: Matcher,
        rules: Rules | None,
        ontologies: Sequence[Ontology],
    ) -> None:
        super().__init__(suggester, Judge(rules, ontologies) if rules else None)
        self.dataset, self.matcher = dataset, matcher

    def read(self, items: ItemQuerySet, progress: Progress = no_progress) -> None:
        """Match the texts of items; nothing is found in those for calibration."""
        total, done = items.count(), 0
        # Before the texts: of one that is corrected meanwhile nothing is stored.
        versions = dict(items.exclude(text_version=1).values_list("pk", "text_version"))
        bare = set(for_calibration(items).values_list("pk", flat=True))
        texts = token_lists(items)
        while batch := list(islice(texts, ITEMS_AT_ONCE)):
            for item, tokens in batch:
                found = Suggestions([], []) if item in bare else self.matcher.suggestions(tokens)
                self.add(item, versions.get(item, 1), tokens, found)
            self.write_rows()
            done += len(batch)
            progress(done, max(done, total), "matching")
        self.write_all()

    def match(self) -> Matched:
        self.store()
        suggested = {"annotation__in": _GIVEN, "suggested_by": self.suggester.source}
        entities, relations = (model._default_manager.filter(**suggested).count() for model in MARKS.values())
        return Matched(entities, relations, self.against_rules, self.crowded)


def for_calibration(items: ItemQuerySet, first: int | None = None) -> ItemQuerySet:
    """Those of a project that show whether people agree, so many of the first: nothing is suggested there, or they would agree
    on that."""
    return items.filter(position__lt=F("dataset__project__calibration") if first is None else first)


def _written(time: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(time)


def _rows(statement: str, params: Mapping[str, Any] | None = None) -> Iterator[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        yield from cursor.fetchall()
