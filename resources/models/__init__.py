from ontologies import usage

from .constraints import ConstraintSet, Version, rules_about, rules_at, rules_of, versions_in
from .journal import ConstraintChange, PreannotationChange
from .preannotations import PreannotationSet
from .rows import ConstraintRow, Lists
from .sets import ResourceSet

RESOURCE_SETS: tuple[type[ResourceSet], ...] = (ConstraintSet, PreannotationSet)
FORMATS = {model.format_of(kind): (model, kind) for model in RESOURCE_SETS for kind in model.row_models}
"""The model and the kind for the documents of each format."""

for model in RESOURCE_SETS:
    usage.ontology_uses += [(model, "entity_ontology"), (model, "relation_ontology")]
    for rows in model.row_models.values():
        usage.item_uses.append(
            usage.ItemUse(rows, f"{model.noun}s", rows.label_fields, "resource_set", "resource_set__project")
        )

__all__ = [
    "FORMATS",
    "RESOURCE_SETS",
    "ConstraintChange",
    "ConstraintRow",
    "ConstraintSet",
    "Lists",
    "PreannotationChange",
    "PreannotationSet",
    "ResourceSet",
    "Version",
    "rules_about",
    "rules_at",
    "rules_of",
    "versions_in",
]
