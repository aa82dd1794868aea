"""What the answers of the tree editor are made of.

Every answer tells the version of the ontology that it builds on and the one that it leaves, so that a page notices what
somebody else has changed meanwhile.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.conf import settings
from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service import access
from annotation_service.http import Request

from ..models import Ontology, OntologyItem
from ..models.journal import OntologyChange
from .rows import SENT_WHOLE, Row, rows, uids

Get = Callable[..., Ontology]
View = Callable[..., HttpResponse]
Part = tuple[str, dict[str, Any]]

VERSION = "X-Ontology-Version"


class EditorRequest(Request):
    ontology: Ontology
    version: int
    """Of the ontology when the request came."""


def _with_version(view: View) -> View:
    @wraps(view)
    def answer(request: EditorRequest, *args: Any, **options: Any) -> HttpResponse:
        response = view(request, *args, **options)
        if hasattr(request, "ontology"):
            now = request.ontology.version
            response[VERSION] = f"{now if now == request.version else now - 1} {now}"
        return response

    return answer


def reads(view: View) -> View:
    return _with_version(require_GET(view))


def acts(view: View) -> View:
    return _with_version(require_POST(view))


def edits(view: View) -> View:
    return _with_version(require_http_methods(["GET", "POST"])(view))


# --- Fetching ----------------------------------------------------------------------------------------------------------


def fetch(request: Request, pk: int, get: Get = access.editable) -> Ontology:
    ontology = get(request, Ontology, pk)
    asked = cast(EditorRequest, request)
    asked.ontology, asked.version = ontology, ontology.version
    return ontology


def fetch_item(request: Request, pk: int, uid: str, get: Get = access.editable) -> OntologyItem:
    ontology = fetch(request, pk, get)
    item = named_item(ontology, uid)
    if item is None:
        raise Http404
    return item


def named_item(ontology: Ontology, uid: str | None) -> OntologyItem | None:
    """The item that a page names, if it is there."""
    named = OntologyItem.objects.filter(ontology=ontology, uid=uid, level__gt=0).select_related("parent")
    item = named.first() if uid else None
    if item:
        item.ontology = ontology
    return item


def sent(request: Request, name: str) -> str:
    data = request.POST if request.method == "POST" else request.GET
    return data.get(name, "")


def has_changed(request: Request) -> bool:
    """Whether the ontology is another one than when the request came."""
    asked = cast(EditorRequest, request)
    return asked.ontology.version != asked.version


# --- Parts -------------------------------------------------------------------------------------------------------------


def rendered(request: Request, parts: list[Part]) -> HttpResponse:
    """Several fragments in one answer; those after the first find their places by their ids."""
    return HttpResponse("".join(render_to_string(f"ontologies/{name}.html", data, request) for name, data in parts))


def pane(item: OntologyItem, *, oob: bool = False) -> dict[str, Any]:
    return {
        "item": item,
        "ontology": item.ontology,
        "editable": True,
        "can_move": settings.ONTOLOGY_MOVE_ITEMS,
        "oob": oob,
    }


def is_shown(request: Request, item: OntologyItem) -> bool:
    """Whether its details are on the screen; they are unless the page says that it shows those of another item."""
    return sent(request, "shown") in ("", item.uid)


def pane_if_shown(request: Request, item: OntologyItem) -> list[Part]:
    return [("_details", pane(item, oob=True))] if is_shown(request, item) else []


def row(item: OntologyItem, *, oob: bool = False) -> dict[str, Any]:
    return {"row": Row.of(item), "oob": oob}


def facts(ontology: Ontology) -> Part:
    return "_facts", {"ontology": ontology, "facts": ontology.facts(), "oob": True}


def undo_buttons(request: Request, ontology: Ontology) -> Part:
    """What can be undone and redone next."""
    return "_undo", {"ontology": ontology, **next_steps(request, ontology), "oob": True}


def next_steps(request: Request, ontology: Ontology) -> dict[str, OntologyChange | None]:
    return {"undoable": ontology.undoable(request.user), "redoable": ontology.redoable(request.user)}


def tree_list(
    request: Request,
    ontology: Ontology,
    parent: OntologyItem | None = None,
    *,
    levels: int = 1,
    reveal: OntologyItem | None = None,
    oob: bool = False,
) -> dict[str, Any]:
    """What `_list.html` needs. The page tells with every request which branches are open, which stay so, and on which branch
    it has its focus."""
    root = ontology.root
    branch = None if parent else named_item(ontology, sent(request, "within"))
    opened = set(uids(sent(request, "open")))
    if reveal:
        opened |= set(reveal.get_ancestors().values_list("uid", flat=True))
        if branch and not branch.lft <= reveal.lft < branch.rght:
            branch = None
    whole = root.descendant_count <= SENT_WHOLE
    found = rows(
        ontology, below=parent or branch or root, itself=bool(branch), levels=levels, opened=opened, whole=whole
    )
    return {"ontology": ontology, "parent": parent, "branch": branch, "rows": found, "oob": oob}


# --- Structural and bulk changes: the page asks for its tree again --------------------------------------------------------


def changed(request: Request, ontology: Ontology, text: str, *, uid: str = "", undo: bool = True) -> HttpResponse:
    """An answer without a fragment: the page refreshes its tree, leads to the item if one is named, and offers to undo."""
    answer = trigger_client_event(HttpResponse(), "ontologyChanged", {"uid": uid})
    if undo:
        return offer_undo(answer, ontology, text)
    return trigger_client_event(answer, "toast", {"text": text, "kind": "success"})


def offer_undo(answer: HttpResponse, ontology: Ontology, text: str) -> HttpResponse:
    url = f"{reverse('ontologies:undo', args=[ontology.pk])}?version={ontology.version}"
    toast = {"text": text, "kind": "success", "action": {"label": "Undo", "url": url}}
    return trigger_client_event(answer, "toast", toast)


def refused(reason: Exception) -> HttpResponse:
    """For what has no field at which a reason could stand."""
    return trigger_client_event(HttpResponse(status=422), "toast", {"text": str(reason), "kind": "error"})
