"""Putting what preannotations suggest on the items of a project's dataset.

The texts are matched outside of any transaction, into temporary tables; then statements for whole tables add and withdraw what
differs from these. Nothing depends on what was matched before, so it can be done again at any time.
"""

import secrets
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from annotation_service.db import execute
from annotation_service.words import number, plural
from datasets.cleaned import key_of
from datasets.importing.constraints import ConstraintCheck
from datasets.importing.document import Progress, no_progress
from datasets.importing.items import NewEntity
from datasets.importing.storage import write_rows
from datasets.models import Dataset
from datasets.models.item import ItemQuerySet
from ontologies.models import Ontology
from resources.matching import Matcher, Suggestions
from resources.rules import Rules

from . import statements as sql
from .texts import token_lists

ITEMS_AT_ONCE = 1000
# The kind of the jobs that match a project: `projects.jobs` has the work.
JOB = "match_preannotations"


class Outcome(NamedTuple):
    """How many entities and relations are suggested on the items that were looked through, and how many suggestions the rules of
    the project forbid."""

    entities: int
    relations: int
    against_rules: int

    def in_words(self) -> str:
        told = f"{plural(self.entities, 'entity,entities')} and {plural(self.relations, 'relation,relations')}"
        left_out = f"; {number(self.against_rules)} more would break the constraints" if self.against_rules else ""
        return f"The preannotations suggest {told}{left_out}."


class Matching:
    """First `read`, then `store`, which is called inside a transaction that has locked the items."""

    def __init__(self, dataset: Dataset, matcher: Matcher, rules: Rules | None, ontologies: Sequence[Ontology]) -> None:
        self.dataset, self.matcher = dataset, matcher
        self.check = ConstraintCheck(rules, {each.kind: each for each in ontologies}) if rules else None
        self.against_rules = 0
        self._prefix = secrets.token_hex(6)  # of the uids: no other matching has the same
        self._count = 0

    def __enter__(self) -> "Matching":
        for table in sql.TABLES:
            execute(f"DROP TABLE IF EXISTS {table}")
        for table, columns in sql.COLUMNS.items():
            execute(f"CREATE TEMPORARY TABLE {table} ({columns})")
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] and connection.in_atomic_block:
            return  # the tables go with the transaction
        for table in sql.TABLES:
            execute(f"DROP TABLE IF EXISTS {table}")

    def read(self, items: ItemQuerySet, progress: Progress = no_progress) -> None:
        """Match the texts of items."""
        total, done = items.count(), 0
        texts = token_lists(items)
        while batch := list(islice(texts, ITEMS_AT_ONCE)):
            entities: list[Any] = []
            relations: list[Any] = []
            for item, tokens in batch:
                found = self.matcher.suggestions(tokens)
                if found.entities or found.relations:
                    self._add(item, tokens, found, entities, relations)
            for table, rows in (
                ("suggested_item", [(item,) for item, _ in batch]),
                ("suggested_entity", entities),
                ("suggested_relation", relations),
            ):
                if rows:
                    write_rows(table, rows)
            done += len(batch)
            progress(done, max(done, total), "matching")
        for statement in sql.INDEXES:
            execute(statement)

    def _add(self, item: int, tokens: list[str], found: Suggestions, entities: list[Any], relations: list[Any]) -> None:
        """Rows for what is suggested on an item. An end that is suggested only with its relation is not its ``own``."""
        keys = {}
        for own, suggested in ((1, found.entities), (0, [end for each in found.relations for end in each[:2]])):
            for entity in suggested:
                if entity not in keys:
                    keys[entity] = key = self._next()
                    words_key = key_of(tokens[entity.start : entity.end + 1])
                    entities.append((key, item, *entity, f"{self._prefix}-{key}", own, words_key))
        for source, target, label in found.relations:
            if self.check and self.check.against(source.label, label, target.label):
                self.against_rules += 1
                continue
            key = self._next()
            relations.append((key, item, keys[source], keys[target], label, f"{self._prefix}-{key}"))

    def _next(self) -> int:
        self._count += 1
        return self._count

    def store(self) -> Outcome:
        """Add what is new, and withdraw what nobody touched and no preannotation finds any more."""
        params = {name: next(_rows(sql.LAST_KEY.format(name)))[0] for name in ("annotation", "entity", "relation")}
        params["now"] = connection.ops.adapt_datetimefield_value(timezone.now())
        for statement in sql.PREPARE:
            execute(statement, params)
        if self.check:
            self._refuse_against(self.check)
        for statement in sql.STORE:
            execute(statement, params)
        entities, relations = (next(_rows(statement))[0] for statement in sql.COUNT)
        return Outcome(entities, relations, self.against_rules)

    def _refuse_against(self, check: ConstraintCheck) -> None:
        """Leave out the entities that break a rule together with accepted marks."""
        refused: dict[tuple[int, int], None] = {}
        for annotation, entity, *places in _rows(sql.MEETING_ACCEPTED):
            pair = NewEntity("", *places[:3]), NewEntity("", *places[3:])
            if (annotation, entity) not in refused and check.between(*pair):
                refused[annotation, entity] = None
        if refused:
            write_rows("suggested_refused", list(refused))
        self.against_rules += len(refused)


def _rows(statement: str) -> Iterator[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        yield from cursor.fetchall()
