from .constraints import ConstraintSet, EntityConstraint, RelationConstraint
from .preannotations import EntityPreannotation, PreannotationSet, RelationPreannotation
from .sets import ResourceSet

RESOURCE_SETS: tuple[type[ResourceSet], ...] = (ConstraintSet, PreannotationSet)
FORMATS = {model.format_of(kind): (model, kind) for model in RESOURCE_SETS for kind in model.row_models}
"""The model and the kind for the documents of each format."""

__all__ = [
    "FORMATS",
    "RESOURCE_SETS",
    "ConstraintSet",
    "EntityConstraint",
    "EntityPreannotation",
    "PreannotationSet",
    "RelationConstraint",
    "RelationPreannotation",
    "ResourceSet",
]
