from .annotation import Annotation
from .batch import Batch
from .dataset import Contents, Dataset
from .item import Item
from .judged import BrokenRule, Judged
from .mark import Mark
from .marks import GIVEN, MARKS, Entity, Relation
from .rejection import Rejection
from .removed import REMOVED, RemovedEntity, RemovedRelation
from .talking import Answer, Comment, Flag
from .upload import Upload
from .work import ItemLabel, ItemWork

__all__ = [
    "GIVEN",
    "MARKS",
    "REMOVED",
    "Annotation",
    "Answer",
    "Batch",
    "BrokenRule",
    "Comment",
    "Contents",
    "Dataset",
    "Entity",
    "Flag",
    "Item",
    "ItemLabel",
    "ItemWork",
    "Judged",
    "Mark",
    "Rejection",
    "Relation",
    "RemovedEntity",
    "RemovedRelation",
    "Upload",
]
