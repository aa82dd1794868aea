"""Changes of many items in one step: pasted lists, recolouring and switching what is selected."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse

from annotation_service import words
from annotation_service.http import Request
from annotation_service.inputs import Refused

from ..models import Ontology, OntologyItem
from .answers import acts, edits, get_item, refused, respond, tree_changed
from .forms import PasteForm, SelectionForm

SHOWN = 300


@edits
def paste(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Add a list below an item or at the top level, in one step."""
    parent = get_item(ontology, uid) if uid else None
    form = PasteForm(request.POST or None, kind=ontology.kind)
    context: dict[str, Any] = {"ontology": ontology, "parent": parent, "form": form}
    if request.method == "GET":
        return respond(request, ("_paste", context))
    context |= _plan(ontology, parent, form)
    if context["fits"] and context["new"]:
        try:
            added = ontology.add_items(form.items(), parent=parent, by=request.user)
        except Refused as error:
            context |= {"problems": error.problems, "total": error.total}
        else:
            return tree_changed(HttpResponse(), ontology, f"{_items(len(added))} added.", uid=added[0])
    return respond(request, ("_paste", context), status=422)


@acts
def preview(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Show what would be added and what exists already, while the list is being typed."""
    parent = get_item(ontology, uid) if uid else None
    form = PasteForm(request.POST, kind=ontology.kind)
    return respond(request, ("_preview", _plan(ontology, parent, form)))


def _plan(ontology: Ontology, parent: OntologyItem | None, form: PasteForm) -> dict[str, Any]:
    if not form.is_valid():
        return {"problems": form.problems, "total": form.total, "fits": False, "new": 0}
    planned = ontology.preview_items(form.items(), parent)
    wrong = [row for row in planned if row.problem]
    return {
        "planned": planned[:SHOWN],
        "more": len(planned) - SHOWN,
        "new": sum(not row.exists for row in planned),
        "existing": sum(row.exists for row in planned),
        "wrong": wrong[:10],
        "fits": not wrong,
    }


@acts
def recolor_items(request: Request, ontology: Ontology) -> HttpResponse:
    return _change(request, ontology, "color", ontology.recolor_items, "Choose items and a colour.")


@acts
def switch_items(request: Request, ontology: Ontology) -> HttpResponse:
    reason = "Choose items, and whether they shall be on or off."
    return _change(request, ontology, "active", ontology.switch_items, reason)


def _change(request: Request, ontology: Ontology, field: str, save: Callable[..., int], reason: str) -> HttpResponse:
    form = SelectionForm(request.POST)
    if not form.is_valid() or form.cleaned_data[field] in ("", None):
        return refused(reason)
    value = form.cleaned_data[field]
    try:
        count = save(form.cleaned_data["uids"], value, branch=form.cleaned_data["reach"], by=request.user)
    except Refused as error:
        return refused(error)
    what = "recoloured" if field == "color" else f"switched {'on' if value else 'off'}"
    text = f"{_items(count)} {what}." if count else "Nothing had to be changed."
    return tree_changed(HttpResponse(), ontology, text, undo=count > 0)


def _items(count: int) -> str:
    return f"{words.number(count)} {'item was' if count == 1 else 'items were'}"
