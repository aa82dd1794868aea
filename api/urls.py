"""The addresses for programs: those of the table of operations, which these modules fill."""

from django.urls import URLPattern, URLResolver, include, path

from . import (  # noqa: F401
    blueprint_operations,
    item_operations,
    job_operations,
    label_operations,
    membership_operations,
    project_operations,
    review_operations,
    rule_operations,
    work_operations,
)
from .operations import PREFIX, routes

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [path(PREFIX.removeprefix("/"), include((routes(), "operations")))]
