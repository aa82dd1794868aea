from . import marks, pages

__all__ = ["marks", "pages"]
