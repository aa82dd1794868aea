"""Storing and copying many items at once, the fastest way that each database offers."""

from .copying import copy_given_marks, copy_items
from .spool import Spool, spool

__all__ = ["Spool", "copy_given_marks", "copy_items", "spool"]
