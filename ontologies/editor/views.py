"""What the page of the tree asks for: its branches and items, searched, counted and checked; fields and new items."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django_htmx.http import reswap, retarget, trigger_client_event

from annotation_service import access
from annotation_service.blueprints import Right
from annotation_service.edits import Conflict
from annotation_service.http import Request
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import search_text
from annotation_service.words import plural

from ..checks import likely_mistakes
from ..documents import notes_on
from ..forms import ColorForm, FieldForm, ItemNameForm, NewItemForm, PasteForm, UpdateForm
from ..label_filters import RECENTLY, TITLES, LabelFilters
from ..models import Ontology, OntologyItem
from ..search import rank
from ..updates import TreeUpdate
from ..usage import item_panels, marks_below
from . import answers
from .answers import Fragment, acts, edits, find_item, get_item, ontology_view, reads, respond, uids_in
from .tree_rows import ALL_LEVELS, found_rows, levels_at_first, rows

SHOWN_MATCHES = 200
SHOWN_CHECKS = 200
SHOWN_CHANGES = 5
SHOWN_PLANNED = 300


# --- The tree ------------------------------------------------------------------------------------------------------------


@reads
def page(request: Request, ontology: Ontology) -> HttpResponse:
    return _page(request, ontology, find_item(ontology, request.GET.get("item")))


def _page(request: Request, ontology: Ontology, item: OntologyItem | None) -> HttpResponse:
    facts = ontology.facts()
    branch = _branch_with(item, find_item(ontology, request.GET.get("branch")))
    editable = access.can_edit(request.user, ontology)
    context = {
        "ontology": ontology,
        "item": item,
        "branch": branch,
        "facts": facts,
        "rows": rows(ontology, branch, levels=1 if branch else levels_at_first(facts.level_sizes), reveal=item),
        "levels": range(1, min(facts.depth, 9)),
        "all_levels": ALL_LEVELS,
        "editable": editable,
        "can_move": settings.ONTOLOGY_MOVE_ITEMS,
        "columns": ["datasets", "projects"] if ontology.is_blueprint else ["marks"],
        "only_own": ontology.whose_marks(request.user) is not None,
        "filter_titles": TITLES,
        "recently": RECENTLY,
        "section": "ontologies" if ontology.is_blueprint else "projects",
    }
    if editable:
        context |= answers.undo_buttons(request, ontology)[1]
    return respond(request, ("page", context))


@ontology_view(access.readable, "POST")
def tree(request: Request, ontology: Ontology) -> HttpResponse:
    """The current tree, tool bar and details. Nothing is stored; it is a POST because the open branches may not fit into an
    address."""
    editable = access.can_edit(request.user, ontology)
    wanted = request.POST
    reveal = find_item(ontology, wanted.get("reveal"))
    branch = _branch_with(reveal, find_item(ontology, wanted.get("within")))
    opened = uids_in(wanted.get("open", ""))[:5000]
    shown = {"branch": branch, "rows": rows(ontology, branch, opened=opened, reveal=reveal)}
    around: list[Fragment] = [answers.facts(ontology), ("_branch", shown)]
    if editable:
        around.append(answers.undo_buttons(request, ontology))
    if uid := wanted.get("item"):
        item = find_item(ontology, uid)
        around.append(answers.details(item, editable=editable) if item else ("_overview", {"ontology": ontology}))
    return respond(request, ("_list", shown), *around)


@reads
def version(request: Request, ontology: Ontology) -> HttpResponse:
    """Whether something has changed: only the header that every answer has."""
    return HttpResponse()


def _branch_with(item: OntologyItem | None, branch: OntologyItem | None) -> OntologyItem | None:
    """The branch that is shown alone, unless the item that is to be seen is outside it."""
    return branch if branch and (item is None or branch.lft <= item.lft < branch.rght) else None


@reads
def levels(request: Request, ontology: Ontology) -> HttpResponse:
    """The whole tree, or the branch shown alone, down to a level in one go."""
    depth = whole_number(request.GET.get("levels", "")[:4])
    branch = find_item(ontology, request.GET.get("within"))
    return respond(request, ("_list", {"rows": rows(ontology, branch, levels=min(depth or 1, ALL_LEVELS))}))


@reads
def children(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    parent = get_item(ontology, uid)
    return respond(request, ("_list", {"parent": parent, "rows": rows(ontology, parent, itself=False)}))


@reads
def find(request: Request, ontology: Ontology) -> HttpResponse:
    """The items that are meant with a text and that a filter lets through, within their branches; also those that were added
    meanwhile."""
    text = search_text(request)
    labels, filters = ontology.labels(), _filters(request, ontology).named(request.GET.get("only", ""))
    found = labels.find(text) if text or not filters else labels
    inside = [{label.pk for label in each.labels} for each in filters]
    if branch := find_item(ontology, request.GET.get("within")):
        inside.append(set(branch.branch().values_list("pk", flat=True)))
    found = [label for label in found if all(label.pk in some for some in inside)]
    also = request.GET.get("also", "").split(",")[:SHOWN_MATCHES]
    added = [labels.by_uid[uid] for uid in also if uid in labels.by_uid]
    shown = found_rows(ontology, found[:SHOWN_MATCHES], text, also=added)
    best = min(found[:SHOWN_MATCHES], key=lambda label: rank(text, label.name), default=None)
    context = {"rows": shown, "total": len(found), "best": best}
    return respond(request, ("_list", context), ("_filters", {"filters": filters}))


def _filters(request: Request, ontology: Ontology) -> LabelFilters:
    return LabelFilters(ontology, request.user, ontology.whose_marks(request.user))


@reads
def overview(request: Request, ontology: Ontology) -> HttpResponse:
    """What is shown while no item is selected."""
    levels, others = _filters(request, ontology).overview()
    context = {
        "ontology": ontology,
        "overview": True,
        "labels": ontology.labels(),
        "levels": levels,
        "others": others,
        "changes": ontology.changes.select_related("user").defer("items")[:SHOWN_CHANGES],
        "editable": access.can_edit(request.user, ontology),
    }
    return respond(request, ("_overview", context))


# --- Items ---------------------------------------------------------------------------------------------------------------


@reads
def details(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """The details of an item or, unless htmx asks for them, the page with the item selected."""
    if not request.htmx:
        return _page(request, ontology, get_item(ontology, uid))
    item = find_item(ontology, uid)
    if item is None:  # adding it was undone while they were on their way: the page does not know that yet
        return answers.changed(HttpResponse(status=204), ontology)
    return respond(request, answers.details(item, editable=access.can_edit(request.user, ontology)))


@reads
def row(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    return respond(request, answers.row(get_item(ontology, uid)))


@reads
def usage(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Count who uses an item, and ask other apps about it, after its details have been shown."""
    item = find_item(ontology, uid)
    if item is None:  # adding it was undone while its details were being loaded
        return HttpResponse()
    usage = item.usage(access.projects_seen_by(request.user, Right.READ), ontology.whose_marks(request.user))
    asked = (panel(request, item) for panel in item_panels)
    context = {
        "item": item,
        "ontology": ontology,
        "usage": usage,
        "panels": [render_to_string(*found, request) for found in asked if found],
        "last": ontology.last_change(item),
    }
    return respond(request, ("_usage", context))


@reads
def figures(request: Request, ontology: Ontology) -> HttpResponse:
    """Count marks by column, those of each item and those of all items below it, and likely mistakes without the hints, after the
    tree has been shown."""
    labels = ontology.labels()
    columns = ontology.marks_by_column(ontology.whose_marks(request.user))
    counted = {name: {"own": own, "below": marks_below(labels, own)} for name, own in columns.items()}
    warnings = sum(not check.is_hint for check in likely_mistakes(labels))
    return JsonResponse({"columns": counted, "checks": warnings})


@reads
def checks(request: Request, ontology: Ontology) -> HttpResponse:
    return respond(request, checks_dialog(request, ontology))


def checks_dialog(request: Request, ontology: Ontology) -> Fragment:
    found, editable = likely_mistakes(ontology.labels()), access.can_edit(request.user, ontology)
    context = {"ontology": ontology, "checks": found[:SHOWN_CHECKS], "total": len(found), "editable": editable}
    return "_checks", context


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


# --- New items -----------------------------------------------------------------------------------------------------------


@acts
def add(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Add an item, last below another one or at the top level. It replaces its form on the page."""
    parent = get_item(ontology, uid) if uid else None
    form = NewItemForm(request.POST)
    if form.is_valid():
        try:
            item = ontology.add_item(**form.cleaned_data, parent=parent, by=request.user)
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
    form = PasteForm(request.POST or None, ontology=ontology, parent=parent)
    if request.method == "GET":
        return respond(request, ("_paste", {"ontology": ontology, "parent": parent, "form": form}))
    context = _plan(form)
    if context.get("new") and not context["wrong"]:
        try:
            added = ontology.add_items(form.cleaned_data["items"], parent=parent, by=request.user, alike=True)
        except Refused as error:
            context |= {"problems": error.problems, "total": error.total}
        else:
            text = f"{plural(len(added), 'item was,items were')} added."
            if off := context["off"]:
                text += f" {plural(off, 'starts,start')} off, like the item above."
            text += notes_on(form.cleaned_data["items"])
            return answers.tree_changed(HttpResponse(), ontology, text, uid=next(iter(added), ""))
    return respond(request, ("_paste", context), status=422)


@acts
def preview(request: Request, ontology: Ontology, uid: str = "") -> HttpResponse:
    """Show what would be added and what exists already, while the list is being typed."""
    parent = get_item(ontology, uid) if uid else None
    return respond(request, ("_preview", _plan(PasteForm(request.POST, ontology=ontology, parent=parent))))


def _plan(form: PasteForm) -> dict[str, Any]:
    context = {"form": form, "ontology": form.ontology, "parent": form.parent}
    if not form.is_valid():
        return {**context, "problems": form.problems, "total": form.total}
    planned = form.ontology.preview_items(form.cleaned_data["items"], form.parent, alike=True)
    existing = sum(row.exists for row in planned)
    return {
        **context,
        "repeated": sum(new.repeated for new in form.cleaned_data["items"]),
        "planned": planned[:SHOWN_PLANNED],
        "more": len(planned) - SHOWN_PLANNED,
        "new": len(planned) - existing,
        "existing": existing,
        "off": sum(row.starts_off for row in planned),
        "wrong": [row for row in planned if row.problem][:10],
    }


# --- Update from a file --------------------------------------------------------------------------------------------------


@edits
def update(request: Request, ontology: Ontology) -> HttpResponse:
    """Change labels as a table says, in one step: what somebody has seen and agreed to, else it is shown again."""
    form = UpdateForm(request.POST or None, request.FILES or None, ontology=ontology)
    context: dict[str, Any] = {"ontology": ontology, "form": form}
    if request.method == "GET":
        return respond(request, ("_update", context))
    if form.is_valid():
        rows, agreed = form.cleaned_data["items"], request.POST.get("agreed")
        foreseen = TreeUpdate(ontology.labels(), rows)
        if "preview" not in request.POST and foreseen.summary and agreed == foreseen.digest:
            ontology.update_from(rows, by=request.user, agreed=agreed)
            return answers.tree_changed(HttpResponse(), ontology, f"Labels: {foreseen.summary}.")
        steps = list(islice(foreseen.steps(), SHOWN_PLANNED + 1))
        context |= {"update": foreseen, "steps": steps[:SHOWN_PLANNED], "is_more": len(steps) > SHOWN_PLANNED}
        context["is_other"] = "preview" not in request.POST and agreed
    answer = respond(request, ("_foreseen", context), status=200 if "preview" in request.POST else 422)
    return reswap(retarget(answer, "#foreseen"), "outerHTML")
