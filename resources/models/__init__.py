from .sets import FORMATS, RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet, rules_of

__all__ = ["FORMATS", "RESOURCE_SETS", "ConstraintSet", "PreannotationSet", "ResourceSet", "rules_of"]
