from datasets.models.dataset import goes_after_marks
from projects.models import goes_with_duplicates

from .copied import copy_nodes
from .counts import CountedItem, EdgeTotal, ItemEdge, ItemNode, NodeTotal
from .graph import Graph, GraphChange, NotSame, SurfaceForm

goes_with_duplicates.append(copy_nodes)
# In this order: the first point to those that follow.
goes_after_marks += [
    (ItemNode, "item__graph__dataset"),
    (ItemEdge, "item__graph__dataset"),
    (CountedItem, "graph__dataset"),
    (NodeTotal, "graph__dataset"),
    (EdgeTotal, "graph__dataset"),
    (NotSame, "graph__dataset"),
    (SurfaceForm, "graph__dataset"),
    (GraphChange, "graph__dataset"),
    (Graph, "dataset"),
]

__all__ = [
    "CountedItem",
    "EdgeTotal",
    "Graph",
    "GraphChange",
    "ItemEdge",
    "ItemNode",
    "NodeTotal",
    "NotSame",
    "SurfaceForm",
]
