"""The fragments of the tree editor: one item's details, fields and children."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django_htmx.http import trigger_client_event

from annotation_service import access
from annotation_service.http import Request
from annotation_service.inputs import Refused, clean_description, whole_number

from ..models import OntologyItem
from ..models.item import Conflict
from . import parts
from .forms import AddForm, ColorForm, DescriptionForm, ExampleTermsForm, ItemNameForm, SwitchForm
from .parts import Part, acts, edits, fetch, fetch_item, offer_undo, pane, reads, refused, rendered, tree_list
from .rows import ALL_LEVELS, Row

# --- Reading -----------------------------------------------------------------------------------------------------------


@reads
def details(request: Request, pk: int, uid: str) -> HttpResponse:
    item = fetch_item(request, pk, uid, access.readable)
    context = pane(item) | {"editable": access.can_edit(request.user, item.ontology)}
    return render(request, "ontologies/_details.html", context)


@reads
def row(request: Request, pk: int, uid: str) -> HttpResponse:
    return render(request, "ontologies/_row.html", {"row": Row.of(fetch_item(request, pk, uid, access.readable))})


@reads
def children(request: Request, pk: int, uid: str) -> HttpResponse:
    item = fetch_item(request, pk, uid, access.readable)
    return render(request, "ontologies/_list.html", tree_list(request, item.ontology, item))


@reads
def levels(request: Request, pk: int) -> HttpResponse:
    """The whole tree down to a level, in one go."""
    ontology = fetch(request, pk, access.readable)
    depth = min(whole_number(request.GET.get("levels", "")) or 1, ALL_LEVELS)
    return render(request, "ontologies/_list.html", tree_list(request, ontology, None, levels=depth))


# --- Changing ----------------------------------------------------------------------------------------------------------


@acts
def rename(request: Request, pk: int, uid: str) -> HttpResponse:
    item = fetch_item(request, pk, uid)
    form = ItemNameForm(request.POST)
    return _edit(
        request,
        item,
        form,
        save=lambda data: item.rename(data["name"], was=data["was"], by=request.user),
        template="ontologies/_rename.html",
        done=lambda item: rendered(request, [("_row", parts.row(item)), *parts.pane_if_shown(request, item)]),
    )


@acts
def describe(request: Request, pk: int, uid: str) -> HttpResponse:
    item = fetch_item(request, pk, uid)
    form = DescriptionForm(request.POST)
    return _edit(
        request,
        item,
        form,
        save=lambda data: item.describe(
            data["description"], was=clean_description(data["was"]) if data["was"] else "", by=request.user
        ),
        template="ontologies/_description.html",
    )


@acts
def set_example_terms(request: Request, pk: int, uid: str) -> HttpResponse:
    item = fetch_item(request, pk, uid)
    form = ExampleTermsForm(request.POST)
    return _edit(
        request,
        item,
        form,
        save=lambda data: item.set_example_terms(form.terms(), was=data["was"], by=request.user),
        template="ontologies/_example_terms.html",
    )


@acts
def recolor(request: Request, pk: int, uid: str) -> HttpResponse:
    item = fetch_item(request, pk, uid)
    form = ColorForm(request.POST)
    return _edit(
        request,
        item,
        form,
        save=lambda data: item.recolor(data["color"], branch=data["branch"], was=data["was"], by=request.user),
        template="ontologies/_color.html",
        done=lambda item: _recolored(request, item, form),
    )


def _recolored(request: Request, item: OntologyItem, form: ColorForm) -> HttpResponse:
    swatches: list[Part] = [("_color", pane(item)), ("_swatch", pane(item, oob=True))]
    answer = rendered(request, [*swatches, *_branch(request, item, form)])
    if not form.cleaned_data["branch"] or not parts.has_changed(request):
        return answer
    count = item.descendant_count + 1
    return offer_undo(answer, item.ontology, f"“{item.name}” and its branch were recoloured, {count:,} items.")


@edits
def switch(request: Request, pk: int, uid: str) -> HttpResponse:
    """Asks first, in a dialog that says what it means for the marks."""
    item = fetch_item(request, pk, uid)
    form = SwitchForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            item = item.switch(form.wanted, branch=form.branch, by=request.user)
        except Refused as error:
            return refused(error)
        ontology = item.ontology
        around = [parts.facts(ontology), parts.undo_buttons(request, ontology), *parts.pane_if_shown(request, item)]
        answer = rendered(request, [*_branch(request, item, form), *around])  # nothing is for the dialog, so it closes
        return offer_undo(answer, ontology, f"“{item.name}” was switched {'on' if form.wanted else 'off'}.")
    context = {"item": item, "marks": item.mark_count(), "below": item.descendant_count}
    return render(request, "ontologies/_switch.html", context, status=422 if request.method == "POST" else 200)


@acts
def add(request: Request, pk: int, uid: str = "") -> HttpResponse:
    """A new item, last below an item or at the top level. The answer is the list that it stands in."""
    parent = fetch_item(request, pk, uid) if uid else None
    ontology = parent.ontology if parent else fetch(request, pk)
    form = AddForm(request.POST)
    if form.is_valid():
        try:
            item = ontology.add_item(form.cleaned_data["name"], parent=parent, by=request.user)
        except Refused as error:
            form.add_error("name", str(error))
        else:
            if parent and item.parent:
                parent = item.parent
                parent.ontology = ontology
            branch = parts.named_item(ontology, parts.sent(request, "within"))
            shown = branch.level if branch else 1
            above = parent.get_ancestors(include_self=True).filter(level__gte=shown) if parent else ()
            rows = [("_row", parts.row(each, oob=True)) for each in above]
            around = [parts.facts(ontology), parts.undo_buttons(request, ontology)]
            answer = rendered(request, [("_list", tree_list(request, ontology, parent)), *rows, *around])
            return trigger_client_event(answer, "itemAdded", {"uid": item.uid}, after="settle")
    context = {
        "form": form,
        "color": (parent or ontology.root).next_child_color(),
        **tree_list(request, ontology, parent),
    }
    return render(request, "ontologies/_list.html", context, status=422)


# --- Answers -----------------------------------------------------------------------------------------------------------


def _edit(
    request: Request,
    item: OntologyItem,
    form: forms.Form,
    *,
    save: Callable[[dict[str, Any]], OntologyItem],
    template: str,
    done: Callable[[OntologyItem], HttpResponse] | None = None,
) -> HttpResponse:
    """Save one field of an item. Its control comes back: with the new value, with the reason against it, or with both values
    if somebody else has changed it meanwhile."""
    context = {**pane(item), "row": Row.of(item), "form": form}
    if form.is_valid():
        try:
            item = save(form.cleaned_data)
        except Conflict as conflict:
            context |= {"item": conflict.item, "conflict": conflict}
            return render(request, template, context, status=409)
        except Refused as error:
            form.add_error(None, str(error))
        else:
            answer = done(item) if done else render(request, template, pane(item))
            around = [("_changed", pane(item, oob=True)), parts.undo_buttons(request, item.ontology)]
            if parts.is_shown(request, item):
                around.append(("_last_change", {"item": item, "last": item.ontology.last_change(item), "oob": True}))
            answer.write(rendered(request, around).content)
            return answer
    return render(request, template, context, status=422)


def _branch(request: Request, item: OntologyItem, form: forms.Form) -> list[Part]:
    """The item's row and, if the change reached further, the rows below it; those of them that the page says it has."""
    has = parts.sent(request, "has") or "row,kids"
    rows = [("_row", parts.row(item, oob=True))] if "row" in has else []
    reached = form.branch if isinstance(form, SwitchForm) else form.cleaned_data["branch"]
    if reached and item.descendant_count and "kids" in has:
        rows.append(("_list", tree_list(request, item.ontology, item, oob=True)))
    return rows
