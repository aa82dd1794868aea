from .dataset import Dataset
from .item import Item
from .marks import Annotation, Entity, Relation
from .upload import Upload

__all__ = ["Annotation", "Dataset", "Entity", "Item", "Relation", "Upload"]
