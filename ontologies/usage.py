"""What uses ontologies and their items: marks, constraints, preannotations. The apps above register their models here."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Model, Q, QuerySet

from annotation_service.db import among
from annotation_service.http import Request
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


Panel = Callable[[Request, Any], tuple[str, dict[str, Any]] | None]
"""What an app above adds to the details of an item: returns a template with its context, or None where there is nothing to show.
Asked after the details are on the screen."""

item_panels: list[Panel] = []


# --- Counting ----------------------------------------------------------------------------------------------------------


class UseCounts(dict[str, int]):
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
    counts: UseCounts


@dataclass(frozen=True, slots=True)
class Usage:
    own: UseCounts
    """What names the item itself: in its project or, of a blueprint, in blueprints."""
    projects: list[ProjectUsage]
    """What names the item's copies in projects that the viewer may see, the most first."""
    elsewhere: UseCounts
    """What names its copies in other projects."""


def count(keys: Any, *, marks_of: str) -> int:
    """All marks with the labels of a kind of ontology that have these keys."""
    return sum(use.rows(keys).filter(use.is_there).count() for use in item_uses if use.kind == marks_of)


def all_naming(keys: Collection[int]) -> tuple[UseCounts, bool]:
    """All rows that name items with these keys, and whether more do that are about to be deleted."""
    counts: Counter[str] = Counter()
    deleted = False
    for use in item_uses:
        for deleted_at, number in _counted(use.rows(among(keys)), f"{use.part_of}__deleted_at"):
            deleted |= deleted_at is not None
            counts[use.noun] += 0 if deleted_at else number
    return UseCounts(+counts), deleted


def by_project(
    keys: Collection[int], names: Mapping[int, str], own: int | None, visible: Collection[int], made_by: Any = None
) -> Usage:
    """The live rows that name an item of the project ``own`` and its copies in the projects with these names."""
    counts: dict[int | None, Counter[str]] = defaultdict(Counter)
    for use in item_uses:
        for project, number in _counted(use.live(use.rows(among(keys)), made_by), use.project):
            counts[project][use.noun] += number
    here = UseCounts(counts.pop(own, {}))
    shown = [ProjectUsage(pk, names[pk], UseCounts(counts.pop(pk))) for pk in counts.keys() & set(visible) if pk]
    shown.sort(key=lambda each: (-each.counts.total, each.project_name))
    return Usage(here, shown, UseCounts(sum(counts.values(), Counter())))


def _counted(rows: QuerySet[Any], field: str) -> QuerySet[Any]:
    """The values of a field, each with the number of rows that have it."""
    return rows.order_by().values_list(field).annotate(Count("pk"))


def marks_by_uid(kind: str, ontologies: Collection[int], made_by: Any = None) -> dict[str, int]:
    """Live marks of the items of some ontologies of a kind, by the uids of these. Of all people's marks, or of one person's."""
    counts: Counter[str] = Counter()
    for use in item_uses:
        if use.kind == kind:
            (field,) = use.items
            rows = use.model._base_manager.filter(**{f"{field}__ontology__in": ontologies})
            counts.update(dict(_counted(use.live(rows, made_by), f"{field}__uid")))
    return dict(counts)


def marks_below(labels: Labels, marks: Mapping[str, int]) -> dict[str, int]:
    """How many marks the items below each item have together, only where there are any; ``marks`` are those of each item."""
    sums: Counter[str] = Counter()
    for label in reversed(labels):
        if label.parent_uid and (number := marks.get(label.uid, 0) + sums[label.uid]):
            sums[label.parent_uid] += number
    return sums
