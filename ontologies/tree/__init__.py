from .additions import Plan, PlannedItem
from .numbering import ROOT_UID, NewBranch
from .writes import Tree

__all__ = ["ROOT_UID", "NewBranch", "Plan", "PlannedItem", "Tree"]
