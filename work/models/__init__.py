from datasets.models.deleting import goes_after_marks, goes_with_annotations, goes_with_items

from .batch import Batch
from .comments import Answer, Comment, Flag
from .figures import ItemLabel, ItemWork
from .removed import REMOVED, RemovedEntity, RemovedRelation

# In this order: the first point to those that follow.
goes_with_annotations += [RemovedRelation, RemovedEntity]
goes_with_items += [
    (ItemWork, "item"),
    (ItemLabel, "item"),
    (Flag, "item"),
    (Answer, "comment__item"),
    (Comment, "item"),
]
goes_after_marks.append((Batch, "dataset"))

__all__ = [
    "REMOVED",
    "Answer",
    "Batch",
    "Comment",
    "Flag",
    "ItemLabel",
    "ItemWork",
    "RemovedEntity",
    "RemovedRelation",
]
