from .sets import FORMATS, RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet

__all__ = ["FORMATS", "RESOURCE_SETS", "ConstraintSet", "PreannotationSet", "ResourceSet"]
