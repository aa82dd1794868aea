from .additions import Added, Plan, PlannedItem
from .numbering import ROOT_UID, NewBranch
from .writes import Tree

__all__ = ["ROOT_UID", "Added", "NewBranch", "Plan", "PlannedItem", "Tree"]
