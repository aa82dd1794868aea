from .annotation import Annotation
from .dataset import Contents, Dataset
from .item import Item
from .mark import Mark
from .marks import GIVEN, MARKS, Entity, Relation
from .rejection import Rejection
from .upload import Upload

__all__ = [
    "GIVEN",
    "MARKS",
    "Annotation",
    "Contents",
    "Dataset",
    "Entity",
    "Item",
    "Mark",
    "Rejection",
    "Relation",
    "Upload",
]
