"""The dialogs of a constraint set in which labels are picked: for a new rule, and for the lists of a rule."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django_htmx.http import trigger_client_event

from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request
from annotation_service.inputs import Refused

from .answers import changed, complain, edits, gone, link_to_rule
from .choices import Choice, dialog, offer, wanted
from .listing import TITLES
from .models import ConstraintSet, Rule

LIMITS: dict[str, list[str] | None] = {"0": None, "1": []}


@edits
def add(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """Add a rule for the picked labels, first a relation, if its rules are about some; then lead on to its first list."""
    if request.method == "POST":
        key = request.POST.get("key", "")
        constraints.add_rule(key, by=request.user)
        (field, *_) = constraints.row_model.list_fields
        rule = constraints.rules_with(key).get()
        answer = dialog(request, _picking(request, constraints, rule, field))
        return changed(answer, constraints)
    return dialog(request, _adding(request, constraints))


def _adding(request: Request, constraints: ConstraintSet) -> dict[str, Any]:
    """What the dialog shows in which the label of a new rule is picked, after its relation."""
    url, labels = reverse("resources:add_rule", args=[constraints.pk]), constraints.labels()
    relation = labels["relation"].by_uid.get(request.GET.get("relation", "")) if "relation" in labels else None
    if "relation" in labels and relation is None:
        steps = (Choice(label, "relation", label.uid) for label in wanted(request, labels["relation"]))
        return offer(request, steps) | {
            "heading": "Add a rule: for which relation?",
            "url": url,
            "target": "#dialog",
        }
    there = {rule.key for rule in constraints.rules_with_keys()}
    keys = (
        (label, f"{relation.uid}-{label.uid}" if relation else label.uid) for label in wanted(request, labels["entity"])
    )
    choices = (
        Choice(label, "key", key, why_not="has a rule", link=link_to_rule(constraints, key))
        if key in there
        else Choice(label, "key", key)
        for label, key in keys
    )
    return offer(request, choices) | {
        "heading": f"“{relation.name}” leads from which label?" if relation else "Add a rule: for which label?",
        "url": f"{url}?relation={relation.uid}" if relation else url,
        "post_to": url,
        "target": "#dialog",
    }


@edits
def pick(request: Request, constraints: ConstraintSet, key: str, field: str) -> HttpResponse:
    """Put labels into a list of a rule, or take them out: in a dialog that stays open, or from the page."""
    if field not in constraints.row_model.list_fields:
        raise Http404
    status, toast = 200, ""
    try:
        if request.method == "POST":
            _change_list(request, constraints, key, field)
    except Conflict:
        status = 409
        toast = "Somebody changed this list meanwhile. You see it as it is now: do it again if you still want to."
    except Refused as error:
        status, toast = 422, str(error)
    rule = constraints.rules_with(key).first()  # only now, as it has become
    if rule is None:
        return gone(constraints, key)
    if request.method == "GET":
        return dialog(request, _picking(request, constraints, rule, field))
    answer = render(request, "resources/_choices.html", _picking(request, constraints, rule, field), status=status)
    if toast:
        complain(answer, toast)
    elif "limit" in request.POST:
        trigger_client_event(answer, "closeDialog")
    return changed(answer, constraints)


def _change_list(request: Request, constraints: ConstraintSet, key: str, field: str) -> None:
    wanted, by = request.POST, request.user
    if "add" in wanted:
        constraints.add_label(key, field, wanted["add"], limits="limits" in wanted, by=by)
    elif "drop" in wanted:
        constraints.drop_label(key, field, wanted["drop"], by=by)
    elif field == constraints.row_model.optional_list and wanted.get("limit") in LIMITS:
        was = {field: wanted["was"]} if "was" in wanted else None
        constraints.change_rule(key, was=was, by=by, **{field: LIMITS[wanted["limit"]]})
    else:
        raise Refused("Choose a label.")


def _picking(request: Request, constraints: ConstraintSet, rule: Rule, field: str) -> dict[str, Any]:
    """What the dialog shows in which labels are picked for a list."""
    state, labels = rule.state(), constraints.labels()["entity"]
    own = state[field]
    others = {uid: TITLES[name] for name, uids in state.items() if name != field for uid in uids or ()}
    listed = set(own or ())
    url = reverse("resources:pick", args=[constraints.pk, rule.key, field])
    choices = (
        Choice(
            label,
            "drop" if label.uid in listed else "add",
            label.uid,
            label.uid in listed,
            f"stands in “{others[label.uid]}”" if label.uid in others else "",
        )
        for label in wanted(request, labels)
    )
    return offer(request, choices) | {
        "heading": f"“{constraints.rule_name(rule.key)}” {TITLES[field]}",
        "picks_for": field,
        "url": url,
        "post_to": url,
        "target": "#choices",
        "is_list": True,
        "starts_limit": own is None,
        "was": fingerprint(own),
    }
