from django.contrib.auth.models import User
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class Request(HttpRequest):
    """What a view gets: `LoginRequiredMiddleware` lets nobody in who is not signed in."""

    user: User
    htmx: HtmxDetails
