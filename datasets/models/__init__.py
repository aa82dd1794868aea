from .annotation import Annotation
from .batch import Batch
from .batch_change import BatchChange
from .dataset import Contents, Dataset
from .item import Item
from .mark import Mark
from .marks import GIVEN, MARKS, Entity, Relation
from .rejection import Rejection
from .talking import Answer, Comment, Flag
from .upload import Upload
from .work import ItemLabel, ItemWork

__all__ = [
    "GIVEN",
    "MARKS",
    "Annotation",
    "Answer",
    "Batch",
    "BatchChange",
    "Comment",
    "Contents",
    "Dataset",
    "Entity",
    "Flag",
    "Item",
    "ItemLabel",
    "ItemWork",
    "Mark",
    "Rejection",
    "Relation",
    "Upload",
]
