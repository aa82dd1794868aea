"""What the command palette finds on the server: each app adds what can be found of its own to `finders`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from django.http import JsonResponse
from django.views.decorators.http import require_GET

from . import access
from .blueprints import PagedBlueprint
from .http import Request
from .paging import named, search_text

MOST = 6
"""Hits of each kind."""


class Hit(NamedTuple):
    kind: str  # the heading that it stands below
    title: str
    note: str  # tells it from others of the same title
    url: str
    color: str = ""


Finder = Callable[[Request, str], Iterable[Hit]]
finders: list[Finder] = []


def blueprints_and_copies(kind: str, model: type[PagedBlueprint]) -> Finder:
    """Finds, by their names, the blueprints and projects' copies of a model that the user may look at, the last changed first."""

    def find(request: Request, text: str) -> Iterable[Hit]:
        found = named(access.all_readable(request, model), text).select_related("project", "owner")
        for thing in found.order_by("-updated_at", "-pk")[:MOST]:
            note = f"in the project “{thing.project}”" if thing.project else f"blueprint of {thing.owner}"
            yield Hit(kind, thing.name, note, thing.get_absolute_url())

    return find


@require_GET
def find(request: Request) -> JsonResponse:
    text = search_text(request)
    hits = [hit._asdict() for finder in finders for hit in finder(request, text)] if text else []
    return JsonResponse({"hits": hits})
