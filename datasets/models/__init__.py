from .annotation import Annotation
from .correction import TextCorrection
from .dataset import Contents, Dataset
from .item import Item
from .judged import BrokenRule, Judged
from .marks import GIVEN, MARKS, Entity, Mark, Rejection, Relation
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
    "Mark",
    "Rejection",
    "Relation",
    "TextCorrection",
    "Upload",
]
