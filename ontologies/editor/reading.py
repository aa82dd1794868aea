"""Reading: the page of the tree, its branches and items, searched, counted and checked."""

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string

from annotation_service import access
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User

from ..checks import likely_mistakes
from ..label_filters import RECENTLY, TITLES, LabelFilters
from ..models import Ontology, OntologyItem
from ..panels import item_panels
from ..usage import marks_below
from . import answers
from .answers import Fragment, find_item, get_item, ontology_view, reads, respond, uids_in
from .rows import ALL_LEVELS, found_rows, levels_at_first, rows

SHOWN_MATCHES = 200
SHOWN_CHECKS = 200
SHOWN_CHANGES = 5


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
        "only_own": _whose_marks(request, ontology) is not None,
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
    text = request.GET.get("q", "")[: settings.MAX_SEARCH_CHARACTERS]
    labels, filters = ontology.labels(), _filters(request, ontology).named(request.GET.get("only", ""))
    found = labels.find(text) if text.strip() or not filters else labels
    for each in filters:
        inside = {label.uid for label in each.labels}
        found = [label for label in found if label.uid in inside]
    if branch := find_item(ontology, request.GET.get("within")):
        inside = set(branch.branch().values_list("uid", flat=True))
        found = [each for each in found if each.uid in inside]
    also = request.GET.get("also", "").split(",")[:SHOWN_MATCHES]
    added = [labels.by_uid[uid] for uid in also if uid in labels.by_uid]
    shown = found_rows(ontology, found[:SHOWN_MATCHES], text, also=added)
    return respond(request, ("_list", {"rows": shown, "total": len(found)}), ("_filters", {"filters": filters}))


def _filters(request: Request, ontology: Ontology) -> LabelFilters:
    return LabelFilters(ontology, request.user, _whose_marks(request, ontology))


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
    usage = item.usage(access.projects_seen_by(request.user, Right.READ), _whose_marks(request, ontology))
    asked = (panel(request, item) for panel in item_panels)
    context = {
        "item": item,
        "ontology": ontology,
        "usage": usage,
        "panels": [render_to_string(*found, request) for found in asked if found],
        "last": ontology.last_change(item),
    }
    return respond(request, ("_usage", context))


def _whose_marks(request: Request, ontology: Ontology) -> User | None:
    """Those who may not read a project see only their own marks in it; ``None`` for everybody's."""
    reads = ontology.project is None or Right.READ in ontology.project.rights_of(request.user)
    return None if reads else request.user


@reads
def figures(request: Request, ontology: Ontology) -> HttpResponse:
    """Count marks by column, those of each item and those of all items below it, and likely mistakes, after the tree has been
    shown."""
    labels = ontology.labels()
    columns = ontology.marks_by_column(_whose_marks(request, ontology))
    counted = {name: {"own": own, "below": marks_below(labels, own)} for name, own in columns.items()}
    return JsonResponse({"columns": counted, "checks": len(likely_mistakes(labels))})


@reads
def checks(request: Request, ontology: Ontology) -> HttpResponse:
    return respond(request, checks_dialog(request, ontology))


def checks_dialog(request: Request, ontology: Ontology) -> Fragment:
    found, editable = likely_mistakes(ontology.labels()), access.can_edit(request.user, ontology)
    context = {"ontology": ontology, "checks": found[:SHOWN_CHECKS], "total": len(found), "editable": editable}
    return "_checks", context
