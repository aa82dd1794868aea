"""The history of an ontology, and taking its steps back."""

from django.http import HttpResponse
from django_htmx.http import trigger_client_event

from annotation_service import journal_views
from annotation_service.http import Request

from ..models import Ontology
from .answers import acts, reads


@reads
def history(request: Request, ontology: Ontology) -> HttpResponse:
    """A dialog; its further pages are fetched one by one."""
    return journal_views.history(request, ontology)


@reads
def step(request: Request, ontology: Ontology, version: int) -> HttpResponse:
    return journal_views.step(request, ontology, version)


@acts
def undo(request: Request, ontology: Ontology) -> HttpResponse:
    return _changed(journal_views.undo(request, ontology))


@acts
def redo(request: Request, ontology: Ontology) -> HttpResponse:
    return _changed(journal_views.redo(request, ontology))


@acts
def revert(request: Request, ontology: Ontology, version: int) -> HttpResponse:
    return _changed(journal_views.revert(request, ontology, version))


def _changed(answer: HttpResponse) -> HttpResponse:
    return trigger_client_event(answer, "ontologyChanged", {})
