from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from .models import User


class Request(HttpRequest):
    """What a view gets: `LoginRequiredMiddleware` lets nobody in who is not signed in."""

    user: User
    htmx: HtmxDetails
