"""Constraints: which entities can stand together, and which of them a relation may connect."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from django.db import models
from django.db.models import UniqueConstraint

from ontologies import usage
from ontologies.models import OntologyItem

from .rows import ListedLabel, Row, Values
from .sets import Resource


class ConstraintSet(Resource):
    row_words = "constraint,constraints"

    @staticmethod
    def row_models() -> dict[str, type[Row]]:
        return {"entity": EntityConstraint, "relation": RelationConstraint}


class EntityConstraint(Row):
    """``excludes``: types that cannot coexist or be nested with the domain. ``can_contain``: types that can be nested within it;
    none at all if the list is empty, and without a limit from this row if there is no list.

    A domain has one constraint: two would have to be read together, and the second is most likely a mistake.
    """

    keys = ("domain", "excludes", "can_contain")
    once = ("domain",)
    once_words = "A constraint for this domain"

    resource = models.ForeignKey(ConstraintSet, on_delete=models.RESTRICT, db_index=False)
    domain = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="entity_constraints")
    excludes = models.ManyToManyField(OntologyItem, through="ExcludedLabel", related_name="excluded_by")
    can_contain = models.ManyToManyField(OntologyItem, through="ContainedLabel", related_name="contained_by")
    limits_contents = models.BooleanField(
        help_text="Whether only the types of can_contain can be nested within the domain."
    )

    class Meta(Row.Meta):
        constraints = [
            *Row.Meta.constraints,
            UniqueConstraint(fields=["resource", "domain"], name="entityconstraint_domain"),
        ]

    @classmethod
    def contradictions(cls, values: Values) -> Iterator[tuple[str, str]]:
        for place, label in enumerate(values["can_contain"] or ()):
            if label in values["excludes"]:
                yield f"can_contain[{place}]", "The same label is excluded, too. It can only be one of both."

    @classmethod
    def of(cls, resource: Resource, position: int, values: Values) -> Self:
        row = super().of(resource, position, values)
        row.limits_contents = values["can_contain"] is not None
        return row

    def document(self, lists: Mapping[str, list[int]], names: Mapping[int, str]) -> dict[str, Any]:
        document = super().document(lists, names)
        if not self.limits_contents:
            del document["can_contain"]
        return document


class ExcludedLabel(ListedLabel):
    row = models.ForeignKey(EntityConstraint, on_delete=models.RESTRICT, db_index=False)


class ContainedLabel(ListedLabel):
    row = models.ForeignKey(EntityConstraint, on_delete=models.RESTRICT, db_index=False)


class RelationConstraint(Row):
    """Which types the target of a relation may have if its source has the type ``domain``.

    A relation has one constraint for each domain, for the same reason as above.
    """

    keys = ("relation", "domain", "range")
    relation_keys = frozenset({"relation"})
    once = ("relation", "domain")
    once_words = "A constraint for this relation and domain"

    resource = models.ForeignKey(ConstraintSet, on_delete=models.RESTRICT, db_index=False)
    relation = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="relation_constraints")
    domain = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="domain_of")
    range = models.ManyToManyField(OntologyItem, through="RangeLabel", related_name="range_of")

    class Meta(Row.Meta):
        constraints = [
            *Row.Meta.constraints,
            UniqueConstraint(fields=["resource", "relation", "domain"], name="relationconstraint_domain"),
        ]


class RangeLabel(ListedLabel):
    row = models.ForeignKey(RelationConstraint, on_delete=models.RESTRICT, db_index=False)


usage.item_uses += [
    usage.ItemUse(EntityConstraint, "constraints", ("domain", "excludes", "can_contain"), "resource__project"),
    usage.ItemUse(RelationConstraint, "constraints", ("relation", "domain", "range"), "resource__project"),
]
usage.ontology_uses += [(ConstraintSet, "entity_ontology"), (ConstraintSet, "relation_ontology")]
