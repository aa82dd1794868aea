from datasets.models.correction import moves_with_text
from datasets.models.dataset import goes_after_marks, goes_before_marks, goes_with_annotations, goes_with_items

from .batch import CHANGES, Batch, BatchChange
from .item_work import ItemLabel, ItemWork
from .remarks import Answer, Comment, Flag
from .source import Source, copy_sources

# In this order: the first point to those that follow.
goes_with_annotations += [BatchChange]
goes_with_items += [
    (ItemWork, "item"),
    (ItemLabel, "item"),
    (Flag, "item"),
    (Answer, "comment__item"),
    (Comment, "item"),
]
moves_with_text.append(CHANGES)
goes_before_marks.append(copy_sources)
goes_after_marks += [(Batch, "dataset"), (Source, "dataset")]

__all__ = [
    "Answer",
    "Batch",
    "BatchChange",
    "Comment",
    "Flag",
    "ItemLabel",
    "ItemWork",
    "Source",
]
