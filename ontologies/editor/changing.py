"""Changes: fields of items, new items, and moving."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django_htmx.http import retarget, trigger_client_event

from annotation_service.blueprint_views import NameForm
from annotation_service.edits import Conflict
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused
from annotation_service.words import plural

from ..forms import ColorForm, FieldForm, ItemNameForm, PasteForm
from ..models import Ontology, OntologyItem, Reach
from . import answers
from .answers import ACTIVE, Fragment, acts, edits, find_item, get_item, respond

SHOWN_PLACES = 50
SHOWN_PLANNED = 300


# --- Fields --------------------------------------------------------------------------------------------------------------


@acts
def rename(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    form = ItemNameForm(request.POST, item=get_item(ontology, uid))
    answer = _save(request, form, answers.details, saved=answers.row)
    return answer if answer.status_code == 200 else _into_form(answer)


@acts
def save_field(request: Request, ontology: Ontology, uid: str, form: type[FieldForm]) -> HttpResponse:
    return _save(request, form(request.POST, item=get_item(ontology, uid)), answers.row)


@acts
def recolor(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    item = get_item(ontology, uid)
    form = ColorForm(request.POST, item=item)
    answer = _save(request, form, lambda item: ("_swatch", {"item": item}), answers.row)
    if not ontology.written or not form.cleaned_data["branch"]:
        return answer
    text = f"“{item.name}” and its branch were recoloured, {item.descendant_count + 1:,} items."
    return answers.tree_changed(answer, ontology, text)


def _save(
    request: Request,
    form: FieldForm,
    *also: Callable[[OntologyItem], Fragment],
    saved: Callable[[OntologyItem], Fragment] | None = None,
) -> HttpResponse:
    """Save one field of an item. Answer with its control: with the new value, the error, or both values after a conflict."""
    context = {"item": form.item, "ontology": form.item.ontology, "form": form}
    if form.is_valid():
        try:
            item = form.save(by=request.user)
        except Conflict:
            return respond(
                request, (form.template, context | {"item": form.item.again(), "conflict": True}), status=409
            )
        except Refused as error:
            form.add_error(None, error)
        else:
            ontology = item.ontology
            control = saved(item) if saved else (form.template, {"item": item, "ontology": ontology})
            around = [("_changed", {"ontology": ontology}), answers.undo_buttons(request, ontology)]
            last = ("_last_change", {"item": item, "last": ontology.last_change(item)})
            return respond(request, control, *(show(item) for show in also), *around, last)
    return respond(request, (form.template, context), status=422)


def _into_form(answer: HttpResponse) -> HttpResponse:
    """Put a refused name back into its form."""
    answer["HX-Reswap"] = "morph:innerHTML"
    return retarget(answer, "this")


@edits
def switch(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Ask in a dialog that says what switching means for the marks. The dialog closes because the answer has nothing for it."""
    item = get_item(ontology, uid)
    active = ACTIVE.get(request.POST.get("active", ""))
    reach = request.POST.get("reach", Reach.TOGETHER if active else Reach.BRANCH)
    if active is None or reach not in Reach.values:
        return respond(request, _switch_dialog(item), status=422 if request.method == "POST" else 200)
    item = item.switch(active, reach=reach, by=request.user)
    text = f"“{item.name}” was switched {'on' if active else 'off'}."
    if reach != Reach.ITEM and item.descendant_count:
        return answers.tree_changed(HttpResponse(), ontology, text)
    around = [answers.facts(ontology), answers.undo_buttons(request, ontology)]
    return answers.toast(respond(request, None, answers.row(item), answers.details(item), *around), ontology, text)


def _switch_dialog(item: OntologyItem) -> Fragment:
    together = None if item.active else item.went_off_with()
    return "_switch", {"item": item, "together": together}


# --- New items -----------------------------------------------------------------------------------------------------------


@acts
def add(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Add an item, last below another one or at the top level. It replaces its form on the page."""
    parent = get_item(ontology, uid) if uid else None
    form = NameForm(request.POST)
    if form.is_valid():
        try:
            item = ontology.add_item(form.cleaned_data["name"], parent=parent, by=request.user)
        except Refused as error:
            form.add_error("name", error)
        else:
            above = item.get_ancestors().filter(level__gt=0)
            around = [answers.facts(ontology), answers.undo_buttons(request, ontology), *map(answers.row, above)]
            answer = respond(request, answers.row(item), *around)
            if not item.active:
                answers.toast(answer, ontology, f"“{item.name}” starts off, like “{item.parent}” above it.")
            event = {"uid": item.uid, "level": item.level}
            return trigger_client_event(answer, "itemAdded", event, after="swap")
    return _into_form(respond(request, ("_name_fields", {"form": form}), status=422))


@edits
def paste(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Add a list below an item or at the top level, in one step."""
    parent = get_item(ontology, uid) if uid else None
    form = PasteForm(request.POST or None, kind=ontology.kind)
    context: dict[str, Any] = {"ontology": ontology, "parent": parent, "form": form}
    if request.method == "GET":
        return respond(request, ("_paste", context))
    context |= _plan(ontology, parent, form)
    if context.get("new") and not context["wrong"]:
        try:
            added = ontology.add_items(form.cleaned_data["items"], parent=parent, by=request.user)
        except Refused as error:
            context |= {"problems": error.problems, "total": error.total}
        else:
            text = f"{plural(len(added), 'item was,items were')} added."
            if off := context["off"]:
                text += f" {plural(off, 'starts,start')} off, like the item above."
            return answers.tree_changed(HttpResponse(), ontology, text, uid=next(iter(added), ""))
    return respond(request, ("_paste", context), status=422)


@acts
def preview(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Show what would be added and what exists already, while the list is being typed."""
    parent = get_item(ontology, uid) if uid else None
    return respond(request, ("_preview", _plan(ontology, parent, PasteForm(request.POST, kind=ontology.kind))))


def _plan(ontology: Ontology, parent: OntologyItem | None, form: PasteForm) -> dict[str, Any]:
    if not form.is_valid():
        return {"problems": form.problems, "total": form.total}
    planned = ontology.preview_items(form.cleaned_data["items"], parent)
    existing = sum(row.exists for row in planned)
    return {
        "planned": planned[:SHOWN_PLANNED],
        "more": len(planned) - SHOWN_PLANNED,
        "new": len(planned) - existing,
        "existing": existing,
        "off": sum(row.starts_off for row in planned),
        "wrong": [row for row in planned if row.problem][:10],
    }


# --- Moving: only where the installation allows it ---------------------------------------------------------------------------


@edits
def move(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Move an item below another one or to the top level: last there, or before or after a sibling. GET offers the places."""
    item = get_item(ontology, uid)
    if not settings.ONTOLOGY_MOVE_ITEMS:
        return refused("Moving items is switched off in this installation.")
    if request.method == "GET":
        text = request.GET.get("q", "")[: settings.MAX_SEARCH_CHARACTERS]
        wanted, inside = text.casefold().strip(), set(item.branch().values_list("uid", flat=True))
        places = (label for label in ontology.labels() if wanted in label.name.casefold() and label.uid not in inside)
        context = {"ontology": ontology, "item": item, "places": list(islice(places, SHOWN_PLACES)), "text": text}
        return respond(request, ("_places" if "q" in request.GET else "_move", context))
    item = item.move(
        by=request.user, **{name: _place(ontology, request.POST.get(name)) for name in ("to", "before", "after")}
    )
    return answers.tree_changed(HttpResponse(), ontology, f"“{item.name}” was moved.", uid=item.uid)


def _place(ontology: Ontology, uid: str | None) -> OntologyItem | None:
    item = find_item(ontology, uid)
    if uid and item is None:
        raise Refused("The place is not there any more.")
    return item
