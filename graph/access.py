"""Who may see and change the graph of a project: those who read everybody’s marks, and of these those who review or manage."""

from django.http import Http404

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused
from projects import access

from .models import Graph, SurfaceForm


def graph_of(request: Request, pk: int, right: Right = Right.READ) -> Graph:
    """The graph of a project whose marks the user may read, and in which they have the right."""
    project = access.project(request, pk, Right.READ)
    return Graph.of(project if right == Right.READ else access.project(request, pk, right))


def nodes_of(graph: Graph, *forms: str) -> list[SurfaceForm]:
    """The forms that stand for nodes of a graph that the caller has got through this module; each node is named by the id of any
    of its forms."""
    try:
        return list(graph.standing(forms).values())
    except Refused as error:
        raise Http404(str(error)) from None
