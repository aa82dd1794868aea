"""Which labels of an ontology stand for those of another, so that what names labels can go along with either."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from django.db import connection
from django.db.models import BigIntegerField, Func, OuterRef, QuerySet

from annotation_service import words
from annotation_service.db import among, execute
from annotation_service.inputs import Refused

from .models import Ontology

SHOWN = 10


class Uncovered(Refused):
    """An ontology lacks labels that something names; ``missing`` are their full names."""

    def __init__(self, ontology: Ontology, named_by: str, missing: list[str]) -> None:
        self.missing = missing
        some = words.listed((f"“{name}”" for name in missing), SHOWN)
        labels, them = ("label", "it") if len(missing) == 1 else ("labels", "them")
        super().__init__(
            f"{named_by} the {labels} {some}, which “{ontology}” does not have. Choose another ontology, or add {them} first."
        )


def counterparts(used: QuerySet[Any], own: Ontology, other: Ontology, named_by: str) -> dict[int, int]:
    """For the keys of some labels of ``own``, those that stand for them in ``other``: the ones with the same uids if that has all
    of these, as a copy has, and otherwise those with the same full names.

    Raises `Uncovered`, where ``named_by`` says who needs them, such as “The marks of “Pumps” have”.
    """
    uids: dict[str, int] = {}
    # A copy has them all as a rule: then nobody need look which ones thousands of marks have.
    for some in [own.items(), used] if other.copied_from_id == own.pk else [used]:
        uids = dict(some.order_by().values_list("uid", "pk"))
        there = dict(other.items().order_by().filter(uid__in=among(uids)).values_list("uid", "pk"))
        if uids.keys() == there.keys():
            return {pk: there[uid] for uid, pk in uids.items()}
    names, by_name = own.labels().by_pk, other.labels().by_fullname
    wanted = {pk: names[pk].fullname for pk in uids.values()}
    if missing := sorted(name for name in wanted.values() if name not in by_name):
        raise Uncovered(other, named_by, missing)
    return {pk: by_name[name].pk for pk, name in wanted.items()}


@contextmanager
def key_map(table: str, keys: Mapping[int, int] | QuerySet[Any, Any]) -> Iterator[None]:
    """A temporary table for statements that copy inside the database: keys of rows, ``old`` and ``new``, as they are in pairs in
    a mapping or in rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE {table} (old bigint PRIMARY KEY, new bigint NOT NULL)")
        if isinstance(keys, QuerySet):
            sql, params = keys.query.sql_with_params()
            cursor.execute(f"INSERT INTO {table} {sql}", params)
        else:
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", list(keys.items()))
    yield  # if what follows fails, its transaction takes the table along
    execute(f"DROP TABLE {table}")


def label_map(labels: Mapping[int, int]) -> AbstractContextManager[None]:
    return key_map("label_map", labels)


def counterpart(field: str | OuterRef, table: str = "label_map") -> Func:
    """For such a statement: the key that stands for that in a field."""
    found = f"(SELECT new FROM {table} WHERE old = %(expressions)s)"
    return Func(field, template=found, output_field=BigIntegerField())
