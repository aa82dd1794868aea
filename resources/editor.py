"""The page of a constraint set: its rules, the dialogs in which labels are picked, and taking back.

Each change answers with the event `constraintsChanged`, upon which the parts of the page fetch themselves again.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import reswap, retarget, trigger_client_event

from annotation_service import access
from annotation_service.blueprint_views import SHOWN_STEPS, get_change, history_page
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import search_text
from ontologies.labels import Label

from .listing import TITLES, Listing
from .models import ConstraintChange, ConstraintSet, Rule, rules_of
from .models.journal import rule_name
from .views import head

SHOWN_RULES = 30
SHOWN_CHOICES = 200
SHOWN_CHECKS = 200
LIMITS: dict[str, list[str] | None] = {"0": None, "1": []}
View = Callable[..., HttpResponse]


def constraints_view(
    get: Callable[[Request, type[ConstraintSet], int], ConstraintSet], *methods: str
) -> Callable[[View], View]:
    """Fetch the set through an access function. What is refused is shown as a toast."""

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        def answer(request: Request, pk: int, **options: Any) -> HttpResponse:
            try:
                return view(request, get(request, ConstraintSet, pk), **options)
            except Refused as error:
                return refused(error)

        return answer

    return decorate


reads = constraints_view(access.readable, "GET")
acts = constraints_view(access.editable, "POST")
edits = constraints_view(access.editable, "GET", "POST")


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
        (rule_name(names, keys[each.position]), _link(constraints, keys[each.position]), each)
        for each in mistakes[:SHOWN_CHECKS]
    ]
    return render(request, "resources/_checks.html", {"checks": found, "total": len(mistakes)})


def _link(constraints: ConstraintSet, key: str) -> str:
    """Leads to a rule, on whichever page of the list it stands."""
    return f"{reverse('resources:page', args=[constraints.pk])}?rule={key}#rule-{key}"


@reads
def history(request: Request, constraints: ConstraintSet) -> HttpResponse:
    return render(request, *history_page(request, constraints))


@reads
def step(request: Request, constraints: ConstraintSet, version: int) -> HttpResponse:
    steps = get_change(constraints, version).steps(limit=SHOWN_STEPS)
    return render(request, "journal/_steps.html", {"steps": steps})


# --- Changing ------------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A label in a dialog: ``name`` and ``value`` are sent if it is picked, unless there is a reason ``why_not``. Then it
    may have a ``link`` instead."""

    label: Label
    name: str
    value: str
    is_picked: bool = False
    why_not: str = ""
    link: str = ""


@edits
def add(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """Add a rule for the picked labels, first a relation, if its rules are about some; then lead on to its first list."""
    if request.method == "POST":
        key = request.POST.get("key", "")
        constraints.add_rule(key, by=request.user)
        (field, *_) = constraints.row_model.list_fields
        rule = constraints.rules_with(key).get()
        answer = _dialog(request, _picking(request, constraints, rule, field))
        return _changed(answer, constraints)
    return _dialog(request, _adding(request, constraints))


def _adding(request: Request, constraints: ConstraintSet) -> dict[str, Any]:
    """What the dialog shows in which the label of a new rule is picked, after its relation."""
    url, labels = reverse("resources:add_rule", args=[constraints.pk]), constraints.labels()
    relation = labels["relation"].by_uid.get(request.GET.get("relation", "")) if "relation" in labels else None
    if "relation" in labels and relation is None:
        steps = (Choice(label, "relation", label.uid) for label in _wanted(request, labels["relation"]))
        return _choices(request, steps) | {
            "heading": "Add a rule: for which relation?",
            "url": url,
            "target": "#dialog",
        }
    there = {rule.key for rule in constraints.rules_with_keys()}
    keys = (
        (label, f"{relation.uid}-{label.uid}" if relation else label.uid)
        for label in _wanted(request, labels["entity"])
    )
    choices = (
        Choice(label, "key", key, why_not="has a rule", link=_link(constraints, key))
        if key in there
        else Choice(label, "key", key)
        for label, key in keys
    )
    return _choices(request, choices) | {
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
    rule = constraints.rules_with(key).first()
    if rule is None:
        return _gone(constraints, key)
    if request.method == "GET":
        return _dialog(request, _picking(request, constraints, rule, field))
    status, toast = 200, ""
    try:
        _change_list(request, constraints, key, field)
    except Conflict:
        status = 409
        toast = "Somebody changed this list meanwhile. You see it as it is now: do it again if you still want to."
    except Refused as error:
        status, toast = 422, str(error)
    answer = render(request, "resources/_choices.html", _picking(request, constraints, rule, field), status=status)
    if toast:
        _complain(answer, toast)
    elif "limit" in request.POST:
        trigger_client_event(answer, "closeDialog")
    return _changed(answer, constraints)


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
        for label in _wanted(request, labels)
    )
    return _choices(request, choices) | {
        "heading": f"“{constraints.rule_name(rule.key)}” {TITLES[field]}",
        "picks_for": field,
        "url": url,
        "post_to": url,
        "target": "#choices",
        "is_list": True,
        "starts_limit": own is None,
        "was": fingerprint(own),
    }


def _wanted(request: Request, labels: Any) -> Iterable[Label]:
    text = _searched(request)
    return labels.find_best_first(text) if text.strip() else labels


def _searched(request: Request) -> str:
    return (request.POST if request.method == "POST" else request.GET).get("q", "")[: settings.MAX_SEARCH_CHARACTERS]


def _choices(request: Request, found: Iterator[Choice]) -> dict[str, Any]:
    choices = list(islice(found, SHOWN_CHOICES))
    return {"choices": choices, "more": sum(1 for _ in found), "searched": _searched(request)}


def _dialog(request: Request, context: dict[str, Any]) -> HttpResponse:
    """The dialog or, while somebody searches in it, its labels."""
    return render(request, f"resources/{'_choices' if 'q' in request.GET else '_pick'}.html", context)


@acts
def remove(request: Request, constraints: ConstraintSet, key: str) -> HttpResponse:
    if not constraints.rules_with(key).exists():
        return _gone(constraints, key)
    name = constraints.rule_name(key)
    try:
        constraints.remove_rule(key, was=request.POST.get("was"), by=request.user)
    except Conflict:
        text = f"Somebody changed the rule for “{name}” meanwhile. You see it as it is now: remove it again if you still want to."
        return _changed(_complain(HttpResponse(status=409), text), constraints)
    return _changed(_offer_undo(HttpResponse(), constraints, f"The rule for “{name}” was removed."), constraints)


# --- Taking back ---------------------------------------------------------------------------------------------------------


@acts
def undo(request: Request, constraints: ConstraintSet) -> HttpResponse:
    version = whole_number(request.GET.get("version", ""), digits=9) or 0
    return _taken_back(constraints, constraints.undo_offered(version, by=request.user))


@acts
def redo(request: Request, constraints: ConstraintSet) -> HttpResponse:
    return _taken_back(constraints, constraints.redo(by=request.user))


def _taken_back(constraints: ConstraintSet, done: ConstraintChange) -> HttpResponse:
    operation = done.operation
    assert operation
    text = f"{'Done again' if operation.stands else 'Undone'}: {operation.verb}, {done.subject()}."
    answer = trigger_client_event(HttpResponse(), "toast", {"text": text, "kind": "success"})
    return _changed(answer, constraints)


@acts
def revert(request: Request, constraints: ConstraintSet, version: int) -> HttpResponse:
    """Revert one operation; answer with the history, or with the reason why not."""
    change = get_change(constraints, version)
    try:
        constraints.revert(change, by=request.user)
    except Refused as error:
        context = {"change": change, "reason": error}
        return render(request, "journal/_not_reverted.html", context, status=422)
    answer = retarget(reswap(render(request, *history_page(request, constraints)), "innerHTML"), "#dialog")
    return _changed(answer, constraints)


# --- Events --------------------------------------------------------------------------------------------------------------


def _changed(answer: HttpResponse, constraints: ConstraintSet) -> HttpResponse:
    return trigger_client_event(answer, "constraintsChanged", {"version": constraints.version})


def _complain(answer: HttpResponse, text: str) -> HttpResponse:
    return trigger_client_event(answer, "toast", {"text": text, "kind": "error"})


def _gone(constraints: ConstraintSet, key: str) -> HttpResponse:
    """The page still shows a rule that somebody has removed."""
    text = f"The rule for “{constraints.rule_name(key)}” was removed meanwhile."
    answer = trigger_client_event(_complain(HttpResponse(status=409), text), "closeDialog")
    return _changed(reswap(answer, "none"), constraints)


def _offer_undo(answer: HttpResponse, constraints: ConstraintSet, text: str) -> HttpResponse:
    url = f"{reverse('resources:undo', args=[constraints.pk])}?version={constraints.version}"
    shown = {"text": text, "kind": "success", "action": {"label": "Undo", "url": url}}
    return trigger_client_event(answer, "toast", shown)
