"""The wire format of the editor, spoken by its views and `static/js/ontology/morph.js`.

An answer is a fragment for the element that asked and updates of others, which the page finds by their ids; it ignores those that
are not on the screen. A header names the version of the ontology before and after the request, so that a page notices what others
have changed.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import trigger_client_event

from annotation_service import access
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused

from ..models import Ontology, OntologyItem
from .tree_rows import TreeRow

View = Callable[..., HttpResponse]
Fragment = tuple[str, dict[str, Any]]
"""A template and its context."""
UNCHANGED = "Nothing had to be changed."


# --- Views ---------------------------------------------------------------------------------------------------------------


def ontology_view(get: Callable[[Request, type[Ontology], int], Ontology], *methods: str) -> Callable[[View], View]:
    """Fetch the ontology through an access function; name both versions in the answer. What is refused is shown as a toast."""

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        def answer(request: Request, pk: int, **options: Any) -> HttpResponse:
            ontology = get(request, Ontology, pk)
            try:
                response = view(request, ontology, **options)
            except Refused as error:
                response = refused(error)
            now = ontology.version
            response["X-Ontology-Version"] = f"{now - 1 if ontology.written else now} {now}"
            return response

        return answer

    return decorate


reads = ontology_view(access.readable, "GET")
acts = ontology_view(access.editable, "POST")
edits = ontology_view(access.editable, "GET", "POST")


def get_item(ontology: Ontology, uid: str) -> OntologyItem:
    item = find_item(ontology, uid)
    if item is None:
        raise Http404
    return item


def find_item(ontology: Ontology, uid: str | None) -> OntologyItem | None:
    if not uid or not uid.isalnum():
        return None
    items = OntologyItem.objects.filter(ontology=ontology, uid=uid, level__gt=0)
    item = items.select_related("parent").first()
    if item:
        item.ontology = ontology
    return item


def uids_in(text: str) -> list[str]:
    """The uids in a list with commas, but for what can be none: PostgreSQL refuses to look for NUL."""
    return [uid for uid in text.split(",") if uid.isalnum()]


def chosen_uids(request: Request) -> list[str]:
    """Of the items that are selected."""
    return uids_in(request.POST.get("uids", ""))


# --- Fragments -----------------------------------------------------------------------------------------------------------


def respond(request: Request, main: Fragment | None, *updates: Fragment, status: int = 200) -> HttpResponse:
    def render(fragment: Fragment) -> str:
        name, context = fragment
        return render_to_string(f"ontologies/{name}.html", context, request)

    html = render(main) if main else ""
    if updates:
        html += f"<div data-updates>{''.join(map(render, updates))}</div>"
    return HttpResponse(html, status=status)


def details(item: OntologyItem, *, editable: bool = True) -> Fragment:
    context = {"item": item, "ontology": item.ontology, "editable": editable}
    return "_details", context | {"can_move": settings.ONTOLOGY_MOVE_ITEMS}


def row(item: OntologyItem) -> Fragment:
    return "_row", {"row": TreeRow.of(item)}


def facts(ontology: Ontology) -> Fragment:
    return "_facts", {"ontology": ontology, "facts": ontology.facts()}


def undo_buttons(request: Request, ontology: Ontology) -> Fragment:
    """What can be undone and redone next."""
    by = request.user
    return "_undo", {"ontology": ontology, "undoable": ontology.undoable(by), "redoable": ontology.redoable(by)}


# --- Events --------------------------------------------------------------------------------------------------------------


def changed(answer: HttpResponse, ontology: Ontology, **details: str) -> HttpResponse:
    """The page fetches its tree again."""
    return trigger_client_event(answer, "ontologyChanged", details)


def tree_changed(
    answer: HttpResponse, ontology: Ontology, text: str, *, uid: str = "", unless: str = UNCHANGED
) -> HttpResponse:
    """The page fetches its tree again, leads to the item if one is named, and offers to undo."""
    return toast(changed(answer, ontology, uid=uid), ontology, text, unless=unless)


def toast(answer: HttpResponse, ontology: Ontology, text: str, *, unless: str = UNCHANGED) -> HttpResponse:
    """Say what was done and offer to undo it, ``unless`` all was like that already."""
    shown: dict[str, Any] = {"text": unless, "kind": "success"}
    if ontology.written:
        shown["text"] = f"{text} {ontology.written.remark}".strip()
        url = f"{reverse('ontologies:undo', args=[ontology.pk])}?version={ontology.written.version}"
        shown["action"] = {"label": "Undo", "url": url}
    return trigger_client_event(answer, "toast", shown)
