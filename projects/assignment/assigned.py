"""What is given to whom: by the rule of a project, by what was dealt to people, and by what was given or taken away by hand."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UniqueConstraint,
    When,
)

from annotation_service.blueprints import Right
from annotation_service.db import execute, first
from annotation_service.models import User
from datasets.models import Annotation, Dataset, Item
from datasets.models.dataset import goes_with_items

from ..roles import ROLES, getting_items
from .rule import GivesItems, RuleInChange

Pair = tuple[int, int]  # the keys of an annotator and of an item

# In one statement: others wait for their saves meanwhile, and `bulk_create` takes 3.5 s for 200,000 pairs, this 0.5 s.
_PAIRS = {
    "sqlite": "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'){by} FROM json_each(%(pairs)s) WHERE true",
    "postgresql": "SELECT (value->>0)::bigint, (value->>1)::bigint{by} FROM jsonb_array_elements(%(pairs)s::jsonb)",
}
_INSERT = """
INSERT INTO {table} (annotator_id, item_id, by_id) {pairs}
    ON CONFLICT (item_id, annotator_id) DO UPDATE SET by_id = excluded.by_id
"""
_DELETE = "DELETE FROM {table} WHERE (annotator_id, item_id) IN ({pairs})"


class AboutItem(models.Model):
    """That an item is given to one person, or is not."""

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)

    class Meta:
        abstract = True

    @classmethod
    def insert(cls, pairs: Iterable[Pair], by: User | None) -> None:
        """Store pairs of people and items; for those that are there, who did it last."""
        cls._execute(_INSERT, pairs, by=", %(by)s", params={"by": by and by.pk})

    @classmethod
    def delete_pairs(cls, pairs: Iterable[Pair]) -> None:
        cls._execute(_DELETE, pairs)

    @classmethod
    def _execute(cls, sql: str, pairs: Iterable[Pair], by: str = "", params: Mapping[str, Any] | None = None) -> None:
        if rows := sorted(pairs, key=itemgetter(1, 0)):
            sql = sql.format(table=cls._meta.db_table, pairs=_PAIRS[connection.vendor].format(by=by))
            execute(sql, {"pairs": json.dumps(rows), **(params or {})})


class Assignment(AboutItem):
    """An item that is not for everybody, and is given to one person: dealt out or, with ``by``, by somebody's hand."""

    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    class Meta:
        constraints = [UniqueConstraint(fields=["item", "annotator"], name="assignment_once")]

    def __str__(self) -> str:
        return f"item {self.item_id} to {self.annotator}"


class Withheld(AboutItem):
    """An item that was taken away from one person by hand: it is not given to them, whatever the rule says."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["item", "annotator"], name="withheld_once")]
        verbose_name_plural = "withheld items"

    def __str__(self) -> str:
        return f"item {self.item_id} not to {self.annotator}"


def is_given(person: Any, item: str = "") -> Q:
    """The items that are given to a person who annotates in their projects. Also of other rows, with ``item__`` leading to the
    item, and with the person as an ``OuterRef`` to one of their columns."""
    pair = {"item": OuterRef(f"{item}pk"), "annotator": person}
    assigned, withheld = (Q(Exists(model._default_manager.filter(**pair))) for model in (Assignment, Withheld))
    return RuleInChange.of_projects(item).given(assigned, withheld, item)


def given_to(person: User, rule: GivesItems) -> Q:
    """`is_given` for lists of many items of one project, and one person: 30 and not 340 ms for 100,000 items on PostgreSQL."""
    assigned, withheld = (model._default_manager.filter(annotator=person) for model in (Assignment, Withheld))
    return rule.given(Q(pk__in=assigned.values("item")), Q(pk__in=withheld.values("item")))


class CountOf(Subquery):
    """How many rows a query finds for each row of another one."""

    output_field = IntegerField()
    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"


def annotators_of(project: Any) -> QuerySet[User]:
    """Those among whom the items of a project are shared out: not those who cannot sign in."""
    members = {"membership__project": project, "membership__role__in": getting_items()}
    return User.objects.filter(**members, is_active=True).order_by("membership__pk")


def count_holders() -> Case:
    """Of items: to how many of those among whom they are shared out each is given."""
    everybody = CountOf(annotators_of(OuterRef("dataset__project")).order_by().values("pk"))
    assigned, withheld = (of_annotators(model) for model in (Assignment, Withheld))
    return Case(When(RuleInChange.of_projects().for_all(), then=everybody - withheld), default=assigned)


def of_annotators(model: type[models.Model], **which: Any) -> CountOf:
    """Of items: how many rows about each are those of people among whom it is shared out."""
    working = {"annotator__membership__role__in": getting_items(), "annotator__is_active": True}
    here = model._default_manager.filter(
        item=OuterRef("pk"), annotator__membership__project=OuterRef("dataset__project"), **working, **which
    )
    return CountOf(here.values("pk"))


class GivenCounts:
    """How many items are given to people in some projects, to those of them who annotate there."""

    def __init__(self, projects: Collection[Any], person: User | None = None) -> None:
        """With a ``person`` only theirs are counted."""
        for_all, about_all = (RuleInChange.of_projects(item).for_all(item) for item in ("", "item__"))
        project = "dataset__project"
        self.sizes = dict(Dataset.objects.filter(project__in=projects).values_list("project", "item_count"))
        self._for_all = {p.pk: 0 if p.annotators_per_item else self.sizes.get(p.pk, 0) for p in projects}
        if mixed := [
            p.pk for p in projects if p.is_changing or (p.annotators_per_item and (p.overlap or p.calibration))
        ]:
            self._for_all.update(dict.fromkeys(mixed, 0))
            items = Item.objects.filter(for_all, dataset__project__in=mixed).order_by()
            self._for_all.update(items.values_list(project).annotate(Count("pk")))
        self._more = Counter[tuple[int, int]]()
        for model, differs, sign in ((Assignment, ~about_all, 1), (Withheld, about_all, -1)):
            rows = model._default_manager.filter(differs, item__dataset__project__in=projects, item__removed_at=None)
            rows = rows.filter(annotator=person) if person else rows
            for pk, whose, count in rows.values_list(f"item__{project}", "annotator").annotate(Count("pk")):
                self._more[pk, whose] += sign * count

    def of(self, project: int, person: int) -> int:
        return self._for_all[project] + self._more[project, person]


# --- Which items somebody may annotate now -----------------------------------------------------------------------------


def uncalibrated(items: QuerySet[Item], person: Any, calibration: Any) -> QuerySet[Item]:
    """Those among the items that belong to the calibration set, and that the person has not done."""
    done = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, done_at__isnull=False)
    return items.filter(~Exists(done), is_given(person), position__lt=calibration)


def is_open(person: Any, calibration: Any, left: QuerySet[Item]) -> Q:
    """Until somebody has done what is ``left`` of the calibration set, they have that and what they have begun."""
    begun = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, started_at__isnull=False)
    return Q(position__lt=calibration) | Exists(begun) | ~Exists(left)


# These stand for parameters in a statement that is composed once. Each by its name: Django takes 0.03 ms to look for 20 others.
_PERSON, _PROJECT, _ITEM = -1, -2, -3
_NAMES = {_PERSON: "%(person)s", _PROJECT: "%(project)s", _ITEM: "%(item)s"}


@cache
def _given_item() -> str:
    project = "dataset__project__"
    open_projects = {f"{project}pk": _PROJECT, f"{project}archived_at": None, f"{project}deleted_at": None}
    items = Item.objects.filter(is_given(_PERSON), pk=_ITEM, **open_projects, **{f"{project}membership__user": _PERSON})
    left = uncalibrated(Item.objects.filter(dataset=OuterRef("dataset")), _PERSON, OuterRef(f"{project}calibration"))
    found = items.filter(is_open(_PERSON, F(f"{project}calibration"), left)).order_by()
    role = F(f"{project}membership__role")
    sql, params = (
        found.annotate(role=role).values("id", "dataset_id", "tokens", "text_version", "role").query.sql_with_params()
    )
    return sql.replace("%%", "%%%%") % tuple(_NAMES.get(value, value) for value in params)


def given_item(person: User, project_pk: int, item_pk: int) -> Item | None:
    """One of the items that `items_for` finds, if the person annotates in the project. Saving a mark asks this: its statement
    takes 0.1 ms of 3 ms in all; composed anew it would take 3 ms."""
    if max(project_pk, item_pk) >= 2**63:
        return None
    item: Any = first(Item, _given_item(), {"person": person.pk, "project": project_pk, "item": item_pk})
    return item if item and Right.ANNOTATE in ROLES[item.role].rights else None


goes_with_items.extend([(Assignment, "item"), (Withheld, "item")])
