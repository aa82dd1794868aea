"""Reading the tree as a whole: again after a change, searched, counted and checked."""

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render

from annotation_service import access
from annotation_service.http import Request
from annotation_service.models import User

from ..models import Ontology
from ..usage import marks_below
from .parts import (
    Part,
    acts,
    facts,
    fetch,
    named_item,
    next_steps,
    pane,
    reads,
    rendered,
    sent,
    tree_list,
)
from .rows import found_rows

SHOWN_MATCHES = 200
SHOWN_CHECKS = 200
TITLES = {
    "similar_names": "Nearly the same name",
    "same_name": "The same name twice",
    "similar_colors": "Similar colours",
    "no_description": "No description",
    "single_child": "A single item below",
    "many_levels": "Many levels",
}


@acts
def tree(request: Request, pk: int) -> HttpResponse:
    """The tree and what stands around it, as they are now. Nothing is stored; it is a POST because the page tells which branches
    are open, which may be more than fits into an address."""
    ontology = fetch(request, pk, access.readable)
    editable = access.can_edit(request.user, ontology)
    shown = tree_list(request, ontology, reveal=named_item(ontology, sent(request, "reveal")))
    parts: list[Part] = [("_list", shown), facts(ontology), ("_branch", shown)]
    if editable:
        parts.append(("_undo", {"ontology": ontology, **next_steps(request, ontology)}))
    if uid := sent(request, "item"):
        item = named_item(ontology, uid)
        name = "_details" if item else "_overview"
        parts.append((name, (pane(item) if item else {}) | {"editable": editable}))
    return rendered(request, parts)


@reads
def find(request: Request, pk: int) -> HttpResponse:
    """The items with a text in their name, description or example terms, within their branches."""
    ontology = fetch(request, pk, access.readable)
    text = request.GET.get("q", "")[:200]
    found = ontology.find(text)
    if branch := named_item(ontology, sent(request, "within")):
        inside = set(branch.branch().values_list("uid", flat=True))
        found = [each for each in found if each.uid in inside]
    rows = found_rows(ontology.labels(), found[:SHOWN_MATCHES], text)
    return render(request, "ontologies/_list.html", {"rows": rows, "total": len(found), "searched": True})


def _whose_marks(request: Request, ontology: Ontology) -> User | None:
    """Annotators of a project see only their own marks; ``None`` for everybody's."""
    is_annotators = ontology.project is not None and not access.can_edit(request.user, ontology)
    return request.user if is_annotators else None


@reads
def figures(request: Request, pk: int) -> HttpResponse:
    """What is counted after the tree is on the screen: marks by item, those of all items below it, and likely mistakes."""
    ontology = fetch(request, pk, access.readable)
    marks = ontology.marks_by_uid(_whose_marks(request, ontology))
    below = marks_below(ontology.labels(), marks)
    return JsonResponse({"marks": marks, "below": below, "checks": len(ontology.checks())})


@reads
def checks(request: Request, pk: int) -> HttpResponse:
    ontology = fetch(request, pk, access.readable)
    found = ontology.checks()
    names = ontology.labels().by_uid
    shown = [
        {
            "title": TITLES[check.kind],
            "text": check.text,
            "items": [names[uid] for uid in check.uids[:8]],
            "more": len(check.uids) - 8,
        }
        for check in found[:SHOWN_CHECKS]
    ]
    return render(request, "ontologies/_checks.html", {"ontology": ontology, "checks": shown, "total": len(found)})


@reads
def usage(request: Request, pk: int, uid: str) -> HttpResponse:
    """Who uses an item, counted after its details are on the screen."""
    ontology = fetch(request, pk, access.readable)
    item = named_item(ontology, uid)
    if item is None:  # its addition was undone while its details were on their way
        return HttpResponse(status=204)
    visible = access.projects_seen_by(request.user)
    context = {
        "item": item,
        "ontology": ontology,
        "usage": item.usage(visible, _whose_marks(request, ontology)),
        "last": ontology.last_change(item),
    }
    return render(request, "ontologies/_usage.html", context)
