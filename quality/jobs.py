"""What the worker does for reviews."""

from . import review  # noqa: F401  registers which items are disputed
