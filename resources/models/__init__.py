from .constraints import ConstraintSet, rules_about, rules_of
from .journal import ConstraintChange
from .kinds import FORMATS, RESOURCE_SETS, PreannotationSet
from .rows import Rule, State
from .sets import ResourceSet

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
