"""What the apps above add to the details of a label."""

from collections.abc import Callable
from typing import Any

from annotation_service.http import Request

from .models import OntologyItem

Panel = Callable[[Request, OntologyItem], tuple[str, dict[str, Any]] | None]
"""Returns a template with its context, or None where there is nothing to show. Asked after the details are on the screen."""

item_panels: list[Panel] = []
