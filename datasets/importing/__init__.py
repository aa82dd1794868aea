"""Reading documents: what they bring, what is wrong with them, and where."""

from .detecting import Detected, detect
from .items import NewEntity, NewItem, NewRelation
from .options import Duplicates, Format, ReadingOptions
from .reader import Progress, Reading, no_progress
from .report import Report, SameId

__all__ = [
    "Detected",
    "Duplicates",
    "Format",
    "NewEntity",
    "NewItem",
    "NewRelation",
    "Progress",
    "Reading",
    "ReadingOptions",
    "Report",
    "SameId",
    "detect",
    "no_progress",
]
