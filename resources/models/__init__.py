from .constraints import ConstraintSet, rules_about, rules_at, rules_of
from .journal import ConstraintChange
from .kinds import FORMATS, RESOURCE_SETS
from .preannotation_journal import PreannotationChange
from .preannotations import PreannotationSet
from .rows import Rule, State
from .sets import ResourceSet

__all__ = [
    "FORMATS",
    "RESOURCE_SETS",
    "ConstraintChange",
    "ConstraintSet",
    "PreannotationChange",
    "PreannotationSet",
    "ResourceSet",
    "Rule",
    "State",
    "rules_about",
    "rules_at",
    "rules_of",
]
