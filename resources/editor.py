"""The page of a constraint set: its rules and checks."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render

from annotation_service import access
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.edits import Conflict
from annotation_service.http import Request
from annotation_service.paging import search_text

from .answers import acts, changed, complain, gone, link_to_rule, offer_undo, reads
from .listing import Listing
from .models import ConstraintSet, rules_of
from .models.journal import rule_name
from .views import head

SHOWN_RULES = 30
SHOWN_CHECKS = 200


# --- Reading -------------------------------------------------------------------------------------------------------------


@reads
def page(request: Request, constraints: ConstraintSet) -> HttpResponse:
    seen = access.projects_seen_by(request.user, Right.READ)
    copies = constraints.copies.exclude(project=None).select_related("project").with_size()
    context = {
        "copies": [copy for copy in copies if copy.project_id in seen],
        "copies_elsewhere": sum(copy.project_id not in seen for copy in copies),
    }
    return render(
        request, "resources/page.html", head(request, constraints) | context | _rules_context(request, constraints)
    )


@reads
def rules(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """The list of rules, with the facts and the buttons above it."""
    return render(request, "resources/_refreshed.html", _rules_context(request, constraints))


def _rules_context(request: Request, constraints: ConstraintSet) -> dict[str, Any]:
    query, by = search_text(request), request.user
    known = rules_of([constraints])
    listing = Listing(known.rows if known else (), constraints.labels())
    found = listing.found(query)
    at = next((at for at, each in enumerate(found) if listing.key(each.rule) == request.GET.get("rule")), None)
    number = request.GET.get("page") if at is None else at // SHOWN_RULES + 1
    page = Paginator(found, SHOWN_RULES).get_page(number)
    editable = access.can_edit(by, constraints)
    return {
        "constraints": constraints,
        "query": query,
        "total": len(listing.rules),
        "page": page,
        "rules": [listing.shown(*each) for each in page.object_list],
        "editable": editable,
        "undoable": editable and constraints.undoable(by),
        "redoable": editable and constraints.redoable(by),
    }


@reads
def checks(request: Request, constraints: ConstraintSet) -> HttpResponse:
    with snapshot():  # the positions are those of the rules as they were checked
        mistakes = constraints.mistakes()
        keys = [rule.key for rule in constraints.rules_with_keys()] if mistakes else []
        names = constraints.names_by_uid()
    found = [
        (rule_name(names, keys[each.position]), link_to_rule(constraints, keys[each.position]), each)
        for each in mistakes[:SHOWN_CHECKS]
    ]
    return render(request, "resources/_checks.html", {"checks": found, "total": len(mistakes)})


# --- Changing ------------------------------------------------------------------------------------------------------------


@acts
def remove(request: Request, constraints: ConstraintSet, key: str) -> HttpResponse:
    if not constraints.rules_with(key).exists():
        return gone(constraints, key)
    name = constraints.rule_name(key)
    try:
        constraints.remove_rule(key, was=request.POST.get("was"), by=request.user)
    except Conflict:
        text = f"Somebody changed the rule for “{name}” meanwhile. You see it as it is now: remove it again if you still want to."
        return changed(complain(HttpResponse(status=409), text), constraints)
    return changed(offer_undo(HttpResponse(), constraints, f"The rule for “{name}” was removed."), constraints)
