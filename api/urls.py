"""The addresses for programs: those of the table of operations, which these modules fill."""

from django.urls import URLPattern, URLResolver, include, path

from . import (  # noqa: F401
    blueprint_operations,
    graph_operations,
    item_operations,
    job_operations,
    label_operations,
    membership_operations,
    project_operations,
    review_operations,
    rule_operations,
    source_operations,
    webhook_operations,
    webhook_pages,
    work_operations,
)
from .operations import PREFIX, routes
from .reference import openapi, reference
from .token_pages import revoke, tokens

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [
    path(f"{PREFIX[1:]}openapi.json", openapi, name="openapi"),
    path(PREFIX[1:], include((routes(), "operations"))),
    path("help/api/", reference, name="reference"),
    path("accounts/tokens/", tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", revoke, name="revoke_token"),
    *webhook_pages.urls,
]
