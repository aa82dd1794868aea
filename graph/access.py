"""Who may see and change the graph of a project: those who read everybody’s marks, and of these those who review or manage."""

from annotation_service.blueprints import Right
from annotation_service.http import Request
from projects import access

from .models import Graph


def graph_of(request: Request, pk: int, right: Right = Right.READ) -> Graph:
    """The graph of a project whose marks the user may read, and in which they have the right."""
    project = access.project(request, pk, Right.READ)
    return Graph.of(project if right == Right.READ else access.project(request, pk, right))
