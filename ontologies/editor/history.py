"""Undo, redo and the history of an ontology."""

from collections.abc import Callable

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django_htmx.http import reswap, retarget, trigger_client_event

from annotation_service import access, words
from annotation_service.http import Request
from annotation_service.inputs import Refused, whole_number

from ..models import Ontology
from ..models.journal import OntologyChange
from .parts import acts, changed, fetch, reads, refused

PAGE = 30
STEPS = 500


@acts
def undo(request: Request, pk: int) -> HttpResponse:
    """The user's newest operation. A toast names the one that it offered to undo: if others came after, that one is reverted."""
    ontology = fetch(request, pk)
    version = whole_number(request.GET.get("version", ""), digits=9) or 0
    offered = ontology.changes.filter(version=version, user=request.user).first()
    if offered and ontology.undoable(request.user) != offered:
        return _take_back(request, ontology, lambda: ontology.revert(offered, by=request.user))
    return _take_back(request, ontology, lambda: ontology.undo(by=request.user))


@acts
def redo(request: Request, pk: int) -> HttpResponse:
    ontology = fetch(request, pk)
    return _take_back(request, ontology, lambda: ontology.redo(by=request.user))


def _take_back(request: Request, ontology: Ontology, act: Callable[[], OntologyChange]) -> HttpResponse:
    try:
        done = act()
    except Refused as error:
        return refused(error)
    return changed(request, ontology, _in_words(done), undo=False)


def _in_words(done: OntologyChange) -> str:
    steps = done.steps(limit=1)
    what = f"“{steps[0].name}”" if done.count == 1 and steps else f"{words.number(done.count)} items"
    operation = done.operation
    assert operation
    return f"{'Done again' if operation.stands else 'Undone'}: {operation.verb}, {what}."


@reads
def history(request: Request, pk: int) -> HttpResponse:
    """A dialog; the parts after its first are fetched when they come into sight."""
    ontology = fetch(request, pk, access.readable)
    start = whole_number(request.GET.get("start", ""), digits=9) or 0
    template = "ontologies/_history_entries.html" if start else "ontologies/_history.html"
    return render(request, template, _entries(request, ontology, start))


def _entries(request: Request, ontology: Ontology, start: int) -> dict[str, object]:
    found = ontology.history(start=start, size=PAGE + 1)
    return {
        "ontology": ontology,
        "entries": found[:PAGE],
        "next": start + PAGE if len(found) > PAGE else None,
        "editable": access.can_edit(request.user, ontology),
    }


@reads
def step(request: Request, pk: int, version: int) -> HttpResponse:
    """All that one operation did."""
    ontology = fetch(request, pk, access.readable)
    change = _change(ontology, version)
    steps = change.steps(limit=STEPS)
    return render(request, "ontologies/_steps.html", {"change": change, "steps": steps, "ontology": ontology})


@acts
def revert(request: Request, pk: int, version: int) -> HttpResponse:
    """Take back one operation; the history comes again, with the reason at its place if it could not be."""
    ontology = fetch(request, pk)
    change = _change(ontology, version)
    try:
        ontology.revert(change, by=request.user)
    except Refused as error:
        context = {"ontology": ontology, "change": change, "reason": str(error)}
        return render(request, "ontologies/_not_reverted.html", context, status=422)
    answer = render(request, "ontologies/_history.html", _entries(request, ontology, 0))
    return trigger_client_event(retarget(reswap(answer, "innerHTML"), "#dialog"), "ontologyChanged", {})


def _change(ontology: Ontology, version: int) -> OntologyChange:
    change = get_object_or_404(ontology.changes.select_related("user"), version=version)
    change.ontology = ontology
    return change
