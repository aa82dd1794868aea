"""The addresses of resource sets. What all sets have is declared once."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, include, path

from annotation_service import blueprint_views
from annotation_service.edits import EditForm
from annotation_service.journal_views import history_urls

from . import matrix, preannotations_page, rules_page, views
from .forms import PreannotationsEditForm, PreannotationSetForm, ResourceSetForm

Patterns = list[URLPattern]


def urls_of(
    form_class: type[ResourceSetForm], edit_form: type[EditForm], history: Patterns, own: Patterns
) -> list[Any]:
    """The addresses of a class of sets; ``own`` are those that only each of its sets has."""
    model = form_class.model

    def at(route: str, view: Callable[..., Any], name: str, **options: Any) -> URLPattern:
        return path(route, model.feature.required(view), options, name=name)

    of_one = [
        at("edit/", blueprint_views.edit, "edit", model=model, form_class=edit_form),
        at("duplicate/", blueprint_views.duplicate, "duplicate", model=model),
        at("delete/", blueprint_views.delete, "delete", model=model),
        path("download.json", views.download_json, {"model": model}, name="download_json"),
        *history,
        *own,
    ]
    return [
        path("", views.list_sets, {"model": model}, name="list"),
        at("new/", views.create, "create", form_class=form_class),
        at("new/check/", views.check, "check", form_class=form_class),
        path("<int:pk>/", include(of_one)),
    ]


constraint_urls = urls_of(
    ResourceSetForm,
    blueprint_views.BlueprintForm,
    history_urls(rules_page.reads, rules_page.acts, rules_page.changed),
    [
        path("", rules_page.page, name="page"),
        path("checks/", rules_page.checks, name="checks"),
        path("matrix/", matrix.matrix, name="matrix"),
        path("matrix/cell/", matrix.cell, name="cell"),
        path("matrix/cell/set/", matrix.set_cell, name="set_cell"),
        path("rules/", rules_page.rules, name="rules"),
        path("rules/add/", rules_page.add, name="add_rule"),
        path("rules/<slug:key>/remove/", rules_page.remove, name="remove_rule"),
        path("rules/<slug:key>/<slug:field>/", rules_page.pick, name="pick"),
    ],
)
preannotation_urls = urls_of(
    PreannotationSetForm,
    PreannotationsEditForm,
    history_urls(preannotations_page.reads, preannotations_page.acts, preannotations_page.changed),
    [
        path("", preannotations_page.page, name="page"),
        path("download.csv", views.download_csv, name="download_csv"),
        path("standing/", preannotations_page.standing, name="standing"),
        path("rows/add/", preannotations_page.add, name="add_row"),
        path("rows/remove/", preannotations_page.remove, name="remove_rows"),
        path("rows/<int:row_pk>/", preannotations_page.row, name="row"),
        path("rows/<int:row_pk>/<slug:field>/", preannotations_page.cell, name="cell"),
    ],
)

urlpatterns = [
    path("constraints/", include((constraint_urls, "resources"))),
    path("preannotations/", include((preannotation_urls, "preannotations"))),
]
