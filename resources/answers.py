"""How the pages of sets are asked, and those of constraint sets answered.

Each change of rules answers with the event `constraintsChanged`, upon which the parts of the page fetch themselves again.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import reswap, trigger_client_event

from annotation_service import access
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused

from .models import ConstraintSet, ResourceSet

View = Callable[..., HttpResponse]
S = TypeVar("S", bound=ResourceSet)


def set_view(model: type[S], get: Callable[[Request, type[S], int], S], *methods: str) -> Callable[[View], View]:
    """Fetch the set through an access function. What is refused is shown as a toast."""

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        def answer(request: Request, pk: int, **options: Any) -> HttpResponse:
            try:
                return view(request, get(request, model, pk), **options)
            except Refused as error:
                return refused(error)

        return answer

    return decorate


reads = set_view(ConstraintSet, access.readable, "GET")
acts = set_view(ConstraintSet, access.editable, "POST")
edits = set_view(ConstraintSet, access.editable, "GET", "POST")


def link_to_rule(constraints: ConstraintSet, key: str) -> str:
    """Leads to a rule, on whichever page of the list it stands."""
    return f"{reverse('resources:page', args=[constraints.pk])}?rule={key}#rule-{key}"


# --- Events --------------------------------------------------------------------------------------------------------------


def changed(answer: HttpResponse, constraints: ConstraintSet) -> HttpResponse:
    return trigger_client_event(answer, "constraintsChanged", {"version": constraints.version})


def complain(answer: HttpResponse, text: str) -> HttpResponse:
    return trigger_client_event(answer, "toast", {"text": text, "kind": "error"})


def gone(constraints: ConstraintSet, key: str) -> HttpResponse:
    """The page still shows a rule that somebody has removed."""
    text = f"The rule for “{constraints.rule_name(key)}” was removed meanwhile."
    answer = trigger_client_event(complain(HttpResponse(status=409), text), "closeDialog")
    return changed(reswap(answer, "none"), constraints)


def offer_undo(answer: HttpResponse, thing: ResourceSet, text: str) -> HttpResponse:
    url = f"{thing.address('undo', thing.pk)}?version={thing.version}"
    shown = {"text": text, "kind": "success", "action": {"label": "Undo", "url": url}}
    return trigger_client_event(answer, "toast", shown)
