"""Constraints: which entities can stand together, and which of them a relation may connect."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Self

from django.db import models
from django.db.models import QuerySet

from ontologies.models import OntologyItem

from ..documents import Entry
from .sets import ResourceSet, Row, copied_label, unique_rows


def _copy_list(table: str, row: str) -> str:
    return f"""
        INSERT INTO {table} ({row}_id, ontologyitem_id) SELECT (
            SELECT copy.id FROM resources_{row} copy
            WHERE copy.resource_set_id = %(copy)s AND copy.position = source.position
        ), {copied_label("ontologyitem_id")} FROM {table} listed JOIN resources_{row} source ON source.id = listed.{row}_id
        WHERE source.resource_set_id = %(source)s ORDER BY listed.id
    """


def _lists(rows: QuerySet[Any], field: str, names: Mapping[int, str]) -> defaultdict[int, list[str]]:
    """The names of the labels in a list, by the primary key of their row."""
    listed = getattr(rows.model, field).through.objects
    row = rows.model._meta.model_name
    lists = defaultdict(list)
    pairs = listed.filter(**{f"{row}__in": rows.order_by()}).order_by("pk").values_list(f"{row}_id", "ontologyitem_id")
    for pk, label in pairs.iterator():
        lists[pk].append(names[label])
    return lists


class EntityConstraint(Row):
    """``excludes``: types that cannot coexist or be nested with the domain. ``can_contain``: types that can be nested within it;
    none at all if the list is empty, and without a limit from this row if there is no list.

    A domain has one constraint: two would have to be read together, and the second is most likely a mistake.
    """

    resource_set = models.ForeignKey("ConstraintSet", on_delete=models.CASCADE, db_index=False)
    domain = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    excludes = models.ManyToManyField(OntologyItem, related_name="+")
    can_contain = models.ManyToManyField(OntologyItem, related_name="+")
    limits_contents = models.BooleanField(
        help_text="Whether only the types of can_contain can be nested within the domain."
    )

    label_fields = ("domain", "excludes", "can_contain")
    copy_statements = (
        f"""
        INSERT INTO resources_entityconstraint (resource_set_id, position, domain_id, limits_contents)
        SELECT %(copy)s, position, {copied_label("domain_id")}, limits_contents
        FROM resources_entityconstraint WHERE resource_set_id = %(source)s ORDER BY position
        """,
        _copy_list("resources_entityconstraint_excludes", "entityconstraint"),
        _copy_list("resources_entityconstraint_can_contain", "entityconstraint"),
    )

    class Meta(Row.Meta):
        constraints = unique_rows("domain")

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        domain = entry.label("domain")
        excludes, can_contain = entry.labels("excludes"), entry.labels("can_contain")
        if entry.is_valid:
            for place, label in enumerate(can_contain or ()):
                if label in excludes:
                    text = "The same label is excluded, too. It can only be one of both."
                    entry.add_problem(f".can_contain[{place}]", text)
            entry.check_once("A constraint for this domain", domain)
        row = cls(domain_id=domain, limits_contents=can_contain is not None)
        row.lists = {"excludes": excludes, "can_contain": can_contain or []}
        return row

    @staticmethod
    def entries(rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        excludes, can_contain = _lists(rows, "excludes", names), _lists(rows, "can_contain", names)
        for pk, domain, limits_contents in rows.values_list("pk", "domain_id", "limits_contents").iterator():
            entry = {"domain": names[domain], "excludes": excludes[pk]}
            yield entry | {"can_contain": can_contain[pk]} if limits_contents else entry


class RelationConstraint(Row):
    """Which types the target of a relation may have if its source has the type ``domain``.

    A relation has one constraint for each domain, for the same reason as above.
    """

    resource_set = models.ForeignKey("ConstraintSet", on_delete=models.CASCADE, db_index=False)
    relation = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    domain = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    range = models.ManyToManyField(OntologyItem, related_name="+")

    label_fields = ("relation", "domain", "range")
    names_relations = True
    copy_statements = (
        f"""
        INSERT INTO resources_relationconstraint (resource_set_id, position, relation_id, domain_id)
        SELECT %(copy)s, position, {copied_label("relation_id", "relation")}, {copied_label("domain_id")}
        FROM resources_relationconstraint WHERE resource_set_id = %(source)s ORDER BY position
        """,
        _copy_list("resources_relationconstraint_range", "relationconstraint"),
    )

    class Meta(Row.Meta):
        constraints = unique_rows("relation", "domain")

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        relation, domain, range_ = entry.label("relation", "relation"), entry.label("domain"), entry.labels("range")
        if entry.is_valid:
            entry.check_once("A constraint for this relation and domain", relation, domain)
        row = cls(relation_id=relation, domain_id=domain)
        row.lists = {"range": range_}
        return row

    @staticmethod
    def entries(rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        ranges = _lists(rows, "range", names)
        for pk, relation, domain in rows.values_list("pk", "relation_id", "domain_id").iterator():
            yield {"relation": names[relation], "domain": names[domain], "range": ranges[pk]}


class ConstraintSet(ResourceSet):
    noun = "constraint"
    row_models = {"entity": EntityConstraint, "relation": RelationConstraint}
