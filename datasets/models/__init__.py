from .annotation import Annotation
from .correction import TextCorrection
from .dataset import Contents, Dataset
from .item import Item
from .judged import BrokenRule, Judged
from .marks import GIVEN, MARKS, Entity, Layer, Mark, Rejection, Relation
from .upload import Upload

__all__ = [
    "GIVEN",
    "MARKS",
    "Annotation",
    "BrokenRule",
    "Contents",
    "Dataset",
    "Entity",
    "Item",
    "Judged",
    "Layer",
    "Mark",
    "Rejection",
    "Relation",
    "TextCorrection",
    "Upload",
]
