from .annotation import Annotation
from .dataset import Dataset
from .item import Item
from .marks import Entity, Mark, Relation
from .upload import Upload

__all__ = ["Annotation", "Dataset", "Entity", "Item", "Mark", "Relation", "Upload"]
