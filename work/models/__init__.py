from datasets.models.deleting import goes_after_marks, goes_with_annotations, goes_with_items

from .batch import Batch
from .batch_change import BatchChange
from .comments import Answer, Comment, Flag
from .figures import ItemLabel, ItemWork

# In this order: the first point to those that follow.
goes_with_annotations += [BatchChange]
goes_with_items += [
    (ItemWork, "item"),
    (ItemLabel, "item"),
    (Flag, "item"),
    (Answer, "comment__item"),
    (Comment, "item"),
]
goes_after_marks.append((Batch, "dataset"))

__all__ = [
    "Answer",
    "Batch",
    "BatchChange",
    "Comment",
    "Flag",
    "ItemLabel",
    "ItemWork",
]
