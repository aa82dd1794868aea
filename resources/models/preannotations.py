"""Preannotations: texts of entities, and pairs of them, with the labels that they usually get."""

from django.conf import settings
from django.db import models
from django.db.models import UniqueConstraint

from annotation_service.inputs import Refused
from ontologies import usage
from ontologies.models import OntologyItem

from .rows import Row
from .sets import Resource

LONGEST = 200


class PreannotationSet(Resource):
    """Made, copied and put into projects only with the setting ``PREANNOTATION_RESOURCES``. What is there already is kept, shown
    in Django admin and exported with its project all the same."""

    row_words = "preannotation,preannotations"

    @staticmethod
    def row_models() -> dict[str, type[Row]]:
        return {"entity": EntityPreannotation, "relation": RelationPreannotation}

    @classmethod
    def check_enabled(cls) -> None:
        if not settings.PREANNOTATION_RESOURCES:
            raise Refused("Preannotation resources are switched off in this installation.")


class EntityPreannotation(Row):
    """A text may have several labels, but not the same one twice. It is kept as it is written, for texts of datasets are, too:
    “Pump” and “pump” are two."""

    keys = ("surface_form", "label")
    once = keys
    once_words = "This text with this label"

    resource = models.ForeignKey(PreannotationSet, on_delete=models.RESTRICT, db_index=False)
    surface_form = models.CharField(max_length=LONGEST)
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="entity_preannotations")

    class Meta(Row.Meta):
        constraints = [
            *Row.Meta.constraints,
            UniqueConstraint(fields=["resource", "surface_form", "label"], name="entitypreannotation_once"),
        ]


class RelationPreannotation(Row):
    """``offset``: the grammatical offset between source and target, 0 if they are contiguous. Two rows differ in at least one
    field."""

    keys = ("source_surface_form", "source_label", "target_surface_form", "target_label", "offset", "label")
    relation_keys = frozenset({"label"})
    once = keys
    once_words = "The same preannotation"

    resource = models.ForeignKey(PreannotationSet, on_delete=models.RESTRICT, db_index=False)
    source_surface_form = models.CharField(max_length=LONGEST)
    source_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="source_preannotations")
    target_surface_form = models.CharField(max_length=LONGEST)
    target_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="target_preannotations")
    offset = models.PositiveIntegerField()
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="relation_preannotations")

    class Meta(Row.Meta):
        constraints = [
            *Row.Meta.constraints,
            UniqueConstraint(
                fields=[
                    "resource",
                    "source_surface_form",
                    "source_label",
                    "target_surface_form",
                    "target_label",
                    "offset",
                    "label",
                ],
                name="relationpreannotation_once",
            ),
        ]


usage.item_uses += [
    usage.ItemUse(EntityPreannotation, "preannotations", ("label",), "resource__project"),
    usage.ItemUse(
        RelationPreannotation, "preannotations", ("source_label", "target_label", "label"), "resource__project"
    ),
]
usage.ontology_uses += [(PreannotationSet, "entity_ontology"), (PreannotationSet, "relation_ontology")]
