from .journal import ConstraintChange
from .rows import Rule, State
from .sets import FORMATS, RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet, rules_about, rules_of

__all__ = [
    "FORMATS",
    "RESOURCE_SETS",
    "ConstraintChange",
    "ConstraintSet",
    "PreannotationSet",
    "ResourceSet",
    "Rule",
    "State",
    "rules_about",
    "rules_of",
]
