from .constraints import ConstraintSet, EntityConstraint, RelationConstraint
from .item import Conflict, OntologyItem
from .journal import OntologyChange
from .ontology import Ontology
from .preannotations import EntityPreannotation, PreannotationSet, RelationPreannotation
from .resources import Resource

RESOURCES: tuple[type[Resource], ...] = (ConstraintSet, PreannotationSet)

__all__ = [
    "RESOURCES",
    "Conflict",
    "ConstraintSet",
    "EntityConstraint",
    "EntityPreannotation",
    "Ontology",
    "OntologyChange",
    "OntologyItem",
    "PreannotationSet",
    "RelationConstraint",
    "RelationPreannotation",
    "Resource",
]
