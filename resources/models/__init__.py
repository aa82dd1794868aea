from .constraints import ConstraintSet, EntityConstraint, RelationConstraint
from .preannotations import EntityPreannotation, PreannotationSet, RelationPreannotation
from .sets import Resource

RESOURCES: tuple[type[Resource], ...] = (ConstraintSet, PreannotationSet)

__all__ = [
    "RESOURCES",
    "ConstraintSet",
    "EntityConstraint",
    "EntityPreannotation",
    "PreannotationSet",
    "RelationConstraint",
    "RelationPreannotation",
    "Resource",
]
