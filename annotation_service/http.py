from django.http import HttpRequest, HttpResponse
from django_htmx.http import trigger_client_event
from django_htmx.middleware import HtmxDetails

from .inputs import Refused
from .models import User


class Request(HttpRequest):
    """What a view gets: `LoginRequiredMiddleware` lets nobody in who is not signed in."""

    user: User
    htmx: HtmxDetails


def refused(reason: Refused | str) -> HttpResponse:
    """Show the reason as a toast, for requests without a form."""
    return trigger_client_event(HttpResponse(status=422), "toast", {"text": str(reason), "kind": "error"})
