"""What uses ontologies and their items: marks, constraints, preannotations. The apps above register their models here."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Count, Model, Q, QuerySet
from django.db.models.expressions import RawSQL

from annotation_service.db import among
from annotation_service.words import plural

from .labels import Labels

# --- Registries --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemUse:
    """A model whose rows name items.

    ``noun`` is what people call several rows, ``items`` are the fields that name items, ``part_of`` leads to the blueprint or
    copy that a row is part of, ``project`` to the project of a row. Only marks have the others: the ``kind`` of ontology that
    their labels are from, what tells that they are ``counted``, and the field of the ``person`` who
    made them.
    """

    model: type[Model]
    noun: str
    items: tuple[str, ...]
    part_of: str
    project: str
    kind: str = ""
    counted: Q | None = None
    person: str = ""

    def rows(self, keys: Any) -> QuerySet[Any]:
        """The rows that name items with these keys, each once."""
        rows = self.model._base_manager.all()
        named = Q()
        for field in self.items:
            names_one = Q(**{f"{field}__in": keys})
            is_list = self.model._meta.get_field(field).many_to_many
            named |= Q(pk__in=rows.filter(names_one).values("pk")) if is_list else names_one
        return rows.filter(named).order_by()

    @property
    def is_there(self) -> Q:
        """That a row is not part of what is marked as deleted."""
        return Q(**{f"{self.part_of}__deleted_at": None})

    def live(self, rows: QuerySet[Any], made_by: Any = None) -> QuerySet[Any]:
        """Without what is deleted and marks that are not counted, and of marks only those of one person, if there is one."""
        if self.counted is None:
            return rows.filter(self.is_there)
        return rows.filter(self.is_there, self.counted, **({self.person: made_by} if made_by else {}))


item_uses: list[ItemUse] = []
"""What names items: they cannot be removed while such rows do."""

ontology_uses: list[tuple[type[Model], str]] = []
"""Models that use whole ontologies, each with a field that points to them: such ontologies cannot be deleted."""


# --- Counting ----------------------------------------------------------------------------------------------------------


class Counts(dict[str, int]):
    """How many rows there are, by what people call several of them."""

    @property
    def total(self) -> int:
        return sum(self.values())

    def in_words(self) -> str:
        """Such as “3 marks, 1 constraint”."""
        return ", ".join(plural(count, f"{noun.removesuffix('s')},{noun}") for noun, count in self.items())


@dataclass(frozen=True, slots=True)
class ProjectUsage:
    project_pk: int
    project_name: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Usage:
    own: Counts
    """What names the item itself: in its project or, of a blueprint, in blueprints."""
    projects: list[ProjectUsage]
    """What names the item's copies in projects that the viewer may see, the most first."""
    elsewhere: Counts
    """What names its copies in other projects."""


def count(keys: Any, *, marks_of: str) -> int:
    """All marks with the labels of a kind of ontology that have these keys."""
    return sum(use.rows(keys).filter(use.is_there).count() for use in item_uses if use.kind == marks_of)


def all_naming(keys: Collection[int]) -> tuple[Counts, bool]:
    """All rows that name items with these keys, and whether more do that are about to be deleted."""
    counts: Counter[str] = Counter()
    deleted = False
    for noun, deleted_at, number in _in_one_query(_by_deletion, keys):
        deleted |= deleted_at is not None
        counts[noun] += 0 if deleted_at else number
    return Counts(+counts), deleted


def by_project(
    keys: Collection[int], names: Mapping[int, str], own: int | None, visible: Collection[int], made_by: Any = None
) -> Usage:
    """The live rows that name an item of the project ``own`` and its copies in the projects with these names."""
    counts: dict[int | None, Counter[str]] = defaultdict(Counter)
    for noun, project, number in _in_one_query(_live_by_project if made_by is None else _own_by_project, keys, made_by):
        counts[project][noun] += number
    here = Counts(counts.pop(own, {}))
    shown = [ProjectUsage(pk, names[pk], Counts(counts.pop(pk))) for pk in counts.keys() & set(visible) if pk]
    shown.sort(key=lambda each: (-each.counts.total, each.project_name))
    return Usage(here, shown, Counts(sum(counts.values(), Counter())))


_KEYS, _PERSON = object(), object()
"""What stands for the keys of items and the key of a person in the parameters of a written query."""


def _by_deletion(use: ItemUse, keys: Any) -> QuerySet[Any]:
    return use.rows(keys).values_list(f"{use.part_of}__deleted_at")


def _live_by_project(use: ItemUse, keys: Any) -> QuerySet[Any]:
    return use.live(use.rows(keys)).values_list(use.project)


def _own_by_project(use: ItemUse, keys: Any) -> QuerySet[Any]:
    return use.live(use.rows(keys), RawSQL("%s", [_PERSON])).values_list(use.project)


def _in_one_query(
    rows: Callable[[ItemUse, Any], QuerySet[Any]], keys: Collection[int], made_by: Any = None
) -> list[tuple[str, Any, int]]:
    """The nouns of the rows with their groups, counted."""
    sql, params = _written(rows, connection.vendor)
    values = {_KEYS: among(keys).params[0], _PERSON: made_by and made_by.pk}
    with connection.cursor() as cursor:
        cursor.execute(sql, [values.get(each, each) for each in params])
        return [(item_uses[place].noun, group, number) for place, group, number in cursor.fetchall()]


@cache
def _written(rows: Callable[[ItemUse, Any], QuerySet[Any]], vendor: str) -> tuple[str, list[Any]]:
    """One query over all that names items, composed once: counting takes 1.2 ms then, and 4.8 if the ORM composes six anew."""
    keys = RawSQL(among([0]).sql, [_KEYS])
    queries = [rows(use, keys).annotate(Count("pk")).query.sql_with_params() for use in item_uses]
    sql = " UNION ALL ".join(
        f"SELECT {place}, counted.* FROM ({sql}) counted" for place, (sql, _) in enumerate(queries)
    )
    return sql, [each for _, params in queries for each in params]


def marks_by_uid(kind: str, ontologies: QuerySet[Any] | list[int], made_by: Any = None) -> dict[str, int]:
    """Live marks of the items of some ontologies of a kind, by the uids of these. Of all people's marks, or of one person's."""
    counts: Counter[str] = Counter()
    for use in item_uses:
        if use.kind == kind:
            (field,) = use.items
            items = use.model._meta.get_field(field).related_model._base_manager  # type: ignore[union-attr]
            of_these = items.filter(ontology__in=ontologies).values("pk")
            # In the order of the index of labels: 30,000 marks are counted in 24 ms, grouped by uid in 41.
            rows = use.live(use.model._base_manager.filter(**{f"{field}__in": of_these}), made_by).order_by()
            counted = dict(rows.values_list(f"{field}_id").annotate(Count("pk")))
            for key, uid in items.filter(pk__in=among(list(counted))).order_by().values_list("pk", "uid"):
                counts[uid] += counted[key]
    return dict(counts)


def marks_below(labels: Labels, marks: Mapping[str, int]) -> dict[str, int]:
    """How many marks the items below each item have together, only where there are any; ``marks`` are those of each item."""
    sums: Counter[str] = Counter()
    for label in reversed(labels):
        if label.parent_uid and (number := marks.get(label.uid, 0) + sums[label.uid]):
            sums[label.parent_uid] += number
    return sums
