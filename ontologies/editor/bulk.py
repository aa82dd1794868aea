"""Changes of many items in one step: pasted lists, recolouring and switching what is selected."""

from django.http import HttpResponse
from django.shortcuts import render

from annotation_service import words
from annotation_service.http import Request
from annotation_service.inputs import Refused

from ..models import Ontology, OntologyItem
from .forms import PasteForm, SelectionForm
from .parts import acts, changed, edits, fetch, fetch_item, refused

SHOWN = 300


@edits
def paste(request: Request, pk: int, uid: str = "") -> HttpResponse:
    """A list below an item or at the top level, in one step."""
    parent = fetch_item(request, pk, uid) if uid else None
    ontology = parent.ontology if parent else fetch(request, pk)
    form = PasteForm(request.POST or None, kind=ontology.kind)
    context: dict[str, object] = {"ontology": ontology, "parent": parent, "form": form}
    if request.method == "POST":
        context |= _plan(ontology, parent, form)
        if context["fits"] and context["new"]:
            try:
                added = ontology.add_items(form.items(), parent=parent, by=request.user)
            except Refused as error:
                context |= {"problems": error.problems, "total": error.total}
            else:
                what = f"{words.number(added.count)} {'item was' if added.count == 1 else 'items were'} added."
                return changed(request, ontology, what, uid=added.uids[0])
    status = 422 if request.method == "POST" else 200
    return render(request, "ontologies/_paste.html", context, status=status)


@acts
def preview(request: Request, pk: int, uid: str = "") -> HttpResponse:
    """What would be added and what is there already, while the list is being typed."""
    parent = fetch_item(request, pk, uid) if uid else None
    ontology = parent.ontology if parent else fetch(request, pk)
    form = PasteForm(request.POST, kind=ontology.kind)
    return render(request, "ontologies/_preview.html", _plan(ontology, parent, form))


def _plan(ontology: Ontology, parent: OntologyItem | None, form: PasteForm) -> dict[str, object]:
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
def recolor_items(request: Request, pk: int) -> HttpResponse:
    ontology = fetch(request, pk)
    form = SelectionForm(request.POST)
    if not form.is_valid() or not form.cleaned_data["color"]:
        return refused(Refused("Choose items and a colour."))
    data = form.cleaned_data
    try:
        count = ontology.recolor_items(data["uids"], data["color"], branch=data["reach"], by=request.user)
    except Refused as error:
        return refused(error)
    return _told(request, ontology, count, "recoloured")


@acts
def switch_items(request: Request, pk: int) -> HttpResponse:
    ontology = fetch(request, pk)
    form = SelectionForm(request.POST)
    if not form.is_valid() or not form.cleaned_data["active"]:
        return refused(Refused("Choose items, and whether they shall be on or off."))
    data, active = form.cleaned_data, form.cleaned_data["active"] == "1"
    try:
        count = ontology.switch_items(data["uids"], active, branch=data["reach"], by=request.user)
    except Refused as error:
        return refused(error)
    return _told(request, ontology, count, f"switched {'on' if active else 'off'}")


def _told(request: Request, ontology: Ontology, count: int, what: str) -> HttpResponse:
    if not count:
        return changed(request, ontology, "Nothing had to be changed.", undo=False)
    return changed(request, ontology, f"{words.number(count)} {'item was' if count == 1 else 'items were'} {what}.")
