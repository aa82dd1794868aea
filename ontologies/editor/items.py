"""One item: its details, its fields, its place, and new items."""

from collections.abc import Callable, Iterable
from itertools import islice

from django.conf import settings
from django.http import HttpResponse
from django_htmx.http import reselect, retarget, trigger_client_event

from annotation_service import access
from annotation_service.edits import Conflict
from annotation_service.http import Request
from annotation_service.inputs import Refused

from ..models import Ontology, OntologyItem
from . import answers, rows
from .answers import Fragment, acts, edits, find_item, get_item, reads, refused, respond
from .forms import AddForm, ColorForm, DescriptionForm, ExampleTermsForm, FieldForm, ItemNameForm, SwitchForm

SHOWN_PLACES = 50


@reads
def details(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    item = get_item(ontology, uid)
    return respond(request, answers.details(item, editable=access.can_edit(request.user, ontology)))


@reads
def row(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    return respond(request, answers.row(get_item(ontology, uid)))


# --- Fields --------------------------------------------------------------------------------------------------------------


@acts
def rename(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    form = ItemNameForm(request.POST, item=get_item(ontology, uid))
    answer = _save(request, form, "_name_fields", saved="_row", also=lambda item: [answers.details(item)])
    return answer if answer.status_code == 200 else _into_form(answer)


@acts
def describe(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    return _save(request, DescriptionForm(request.POST, item=get_item(ontology, uid)), "_description")


@acts
def set_example_terms(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    return _save(request, ExampleTermsForm(request.POST, item=get_item(ontology, uid)), "_example_terms")


@acts
def recolor(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    item, version = get_item(ontology, uid), ontology.version
    form = ColorForm(request.POST, item=item)
    answer = _save(request, form, "_color", also=lambda item: [("_swatch", {"item": item}), answers.row(item)])
    if ontology.version == version or not form.cleaned_data["branch"]:
        return answer
    text = f"“{item.name}” and its branch were recoloured, {item.descendant_count + 1:,} items."
    return answers.tree_changed(answer, ontology, text)


def _save(
    request: Request,
    form: FieldForm,
    template: str,
    *,
    saved: str = "",
    also: Callable[[OntologyItem], Iterable[Fragment]] = lambda item: (),
) -> HttpResponse:
    """Save one field of an item. Answer with its control: with the new value, the error, or both values after a conflict."""
    context = {"item": form.item, "ontology": form.item.ontology, "form": form}
    if form.is_valid():
        try:
            item = form.save(by=request.user)
        except Conflict:
            return respond(request, (template, context | {"item": form.item.again(), "conflict": True}), status=409)
        except Refused as error:
            form.add_error(None, str(error))
        else:
            control = (saved or template, {"item": item, "ontology": item.ontology, "row": rows.row(item)})
            around = [answers.changed_at(item.ontology), answers.undo_buttons(request, item.ontology)]
            return respond(request, control, *also(item), *around, answers.last_change(item))
    return respond(request, (template, context), status=422)


def _into_form(answer: HttpResponse) -> HttpResponse:
    """Put a refused name back into its form."""
    answer["HX-Reswap"] = "morph:innerHTML"
    return retarget(answer, "this")


@edits
def switch(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Ask in a dialog that says what switching means for the marks. The dialog closes because the answer has nothing for it."""
    item = get_item(ontology, uid)
    form = SwitchForm(request.POST or None)
    if not form.is_valid():
        context = {"item": item, "marks": item.mark_count(), "below": item.descendant_count}
        return respond(request, ("_switch", context), status=422 if form.is_bound else 200)
    active, branch = form.cleaned_data["active"], form.cleaned_data["reach"]
    try:
        item = item.switch(active, branch=branch, by=request.user)
    except Refused as error:
        return refused(error)
    text = f"“{item.name}” was switched {'on' if active else 'off'}."
    if branch and item.descendant_count:
        return answers.tree_changed(HttpResponse(), ontology, text)
    around = [answers.facts(ontology), answers.undo_buttons(request, ontology)]
    return answers.toast(respond(request, None, answers.row(item), answers.details(item), *around), ontology, text)


# --- New items -----------------------------------------------------------------------------------------------------------


@acts
def add(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Add an item, last below another one or at the top level. It replaces its form on the page."""
    parent = get_item(ontology, uid) if uid else None
    form = AddForm(request.POST)
    if form.is_valid():
        try:
            item = ontology.add_item(form.cleaned_data["name"], parent=parent, by=request.user)
        except Refused as error:
            form.add_error("name", str(error))
        else:
            above = item.get_ancestors().filter(level__gt=0)
            around = [answers.facts(ontology), answers.undo_buttons(request, ontology), *map(answers.row, above)]
            answer = respond(request, ("_list", {"parent": parent, "rows": [rows.row(item)]}), *around)
            return trigger_client_event(reselect(answer, "li"), "itemAdded", {"uid": item.uid}, after="settle")
    return _into_form(respond(request, ("_name_fields", {"form": form}), status=422))


# --- Moving: only where the installation allows it ---------------------------------------------------------------------------


@edits
def move(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Move an item below another one or to the top level: last there, or before or after a sibling. GET offers the places."""
    item = get_item(ontology, uid)
    if not settings.ONTOLOGY_MOVE_ITEMS:
        return refused("Moving items is switched off in this installation.")
    if request.method == "GET":
        text = request.GET.get("q", "")[: settings.MAX_SEARCH_CHARACTERS]
        context = {"ontology": ontology, "item": item, "places": _places(ontology, item, text), "text": text}
        return respond(request, ("_places" if "q" in request.GET else "_move", context))
    try:
        places = {name: _place(ontology, request.POST.get(name, "")) for name in ("to", "before", "after")}
        item = item.move(by=request.user, **places)
    except Refused as error:
        return refused(error)
    return answers.tree_changed(HttpResponse(), ontology, f"“{item.name}” was moved.", uid=item.uid)


def _place(ontology: Ontology, uid: str) -> OntologyItem | None:
    item = find_item(ontology, uid)
    if uid and item is None:
        raise Refused("The place is not there any more.")
    return item


def _places(ontology: Ontology, item: OntologyItem, text: str) -> list[object]:
    """The items below which it could stand, by name."""
    inside = set(item.branch().values_list("uid", flat=True))
    wanted = text.casefold().strip()
    labels = (label for label in ontology.labels() if wanted in label.name.casefold() and label.uid not in inside)
    return list(islice(labels, SHOWN_PLACES))
