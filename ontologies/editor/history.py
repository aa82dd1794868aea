"""Undo, redo and the history of an ontology."""

from collections.abc import Callable

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django_htmx.http import reswap, retarget, trigger_client_event

from annotation_service import access, words
from annotation_service.http import Request
from annotation_service.inputs import Refused, whole_number

from ..models import Ontology
from ..models.journal import OntologyChange
from .answers import Fragment, acts, reads, refused, respond, tree_changed

PAGE = 30
STEPS = 500


@acts
def undo(request: Request, ontology: Ontology) -> HttpResponse:
    """Undo the user's newest operation. A toast names the one that it offers to undo; if newer ones followed, revert that one."""
    version = whole_number(request.GET.get("version", ""), digits=9) or 0
    offered = ontology.changes.filter(version=version, user=request.user).first()
    if offered and ontology.undoable(request.user) != offered:
        return _take_back(ontology, lambda: ontology.revert(offered, by=request.user))
    return _take_back(ontology, lambda: ontology.undo(by=request.user))


@acts
def redo(request: Request, ontology: Ontology) -> HttpResponse:
    return _take_back(ontology, lambda: ontology.redo(by=request.user))


def _take_back(ontology: Ontology, act: Callable[[], OntologyChange]) -> HttpResponse:
    try:
        done = act()
    except Refused as error:
        return refused(error)
    steps = done.steps(limit=1)
    what = f"“{steps[0].name}”" if done.count == 1 and steps else f"{words.number(done.count)} items"
    operation = done.operation
    assert operation
    text = f"{'Done again' if operation.stands else 'Undone'}: {operation.verb}, {what}."
    return tree_changed(HttpResponse(), ontology, text, undo=False)


@reads
def history(request: Request, ontology: Ontology) -> HttpResponse:
    """A dialog; its further pages are fetched one by one."""
    return respond(request, _page(request, ontology, whole_number(request.GET.get("start", ""), digits=9) or 0))


def _page(request: Request, ontology: Ontology, start: int) -> Fragment:
    found = ontology.history(start=start, size=PAGE + 1)
    context = {
        "ontology": ontology,
        "entries": found[:PAGE],
        "next": start + PAGE if len(found) > PAGE else None,
        "editable": access.can_edit(request.user, ontology),
    }
    return ("_history_entries" if start else "_history"), context


@reads
def step(request: Request, ontology: Ontology, version: int) -> HttpResponse:
    """All that one operation did."""
    change = _change(ontology, version)
    return respond(request, ("_steps", {"change": change, "steps": change.steps(limit=STEPS), "ontology": ontology}))


@acts
def revert(request: Request, ontology: Ontology, version: int) -> HttpResponse:
    """Revert one operation; answer with the history, or with the reason why not."""
    change = _change(ontology, version)
    try:
        ontology.revert(change, by=request.user)
    except Refused as error:
        context = {"ontology": ontology, "change": change, "reason": str(error)}
        return respond(request, ("_not_reverted", context), status=422)
    answer = retarget(reswap(respond(request, _page(request, ontology, 0)), "innerHTML"), "#dialog")
    return trigger_client_event(answer, "ontologyChanged", {})


def _change(ontology: Ontology, version: int) -> OntologyChange:
    change = get_object_or_404(ontology.changes.select_related("user"), version=version)
    change.ontology = ontology
    return change
