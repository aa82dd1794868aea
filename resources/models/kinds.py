"""Preannotations (texts of entities, and pairs of them, with the labels that they usually get), and the kinds of sets."""

from django.conf import settings

from annotation_service.inputs import Refused
from ontologies import usage

from .constraints import ConstraintSet
from .rows import EntityPreannotation, RelationPreannotation
from .sets import ResourceSet


class PreannotationSet(ResourceSet):
    """Made, copied and put into projects only with the setting ``PREANNOTATION_RESOURCES``. What is there already is kept, shown
    in Django admin and exported with its project all the same."""

    noun = "preannotation"
    row_models = {"entity": EntityPreannotation, "relation": RelationPreannotation}

    @classmethod
    def check_enabled(cls) -> None:
        if not settings.PREANNOTATION_RESOURCES:
            raise Refused("Preannotation resources are switched off in this installation.")


RESOURCE_SETS: tuple[type[ResourceSet], ...] = (ConstraintSet, PreannotationSet)
FORMATS = {model.format_of(kind): (model, kind) for model in RESOURCE_SETS for kind in model.row_models}
"""The model and the kind for the documents of each format."""

for model in RESOURCE_SETS:
    usage.ontology_uses += [(model, "entity_ontology"), (model, "relation_ontology")]
    for rows in model.row_models.values():
        usage.item_uses.append(
            usage.ItemUse(rows, f"{model.noun}s", rows.label_fields, "resource_set", "resource_set__project")
        )
