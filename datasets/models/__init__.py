from .annotation import Annotation
from .dataset import Dataset
from .item import Item
from .marks import GIVEN, Entity, Mark, Relation
from .rejection import Rejection
from .upload import Upload

__all__ = ["GIVEN", "Annotation", "Dataset", "Entity", "Item", "Mark", "Rejection", "Relation", "Upload"]
