from django.urls import URLPattern, URLResolver, include, path

from annotation_service import blueprint_views
from annotation_service.journal_views import history_urls

from . import matrix, rules_page, views
from .models import ConstraintSet

app_name = "resources"

of_sets = {"model": ConstraintSet}

set_urls: list[URLPattern | URLResolver] = [
    path("", rules_page.page, name="page"),
    path("edit/", blueprint_views.edit, of_sets, name="edit"),
    path("duplicate/", blueprint_views.duplicate, of_sets, name="duplicate"),
    path("delete/", blueprint_views.delete, of_sets, name="delete"),
    path("download.json", views.download_rules, name="download_json"),
    path("checks/", rules_page.checks, name="checks"),
    *history_urls(rules_page.reads, rules_page.acts, rules_page.changed),
    path("matrix/", matrix.matrix, name="matrix"),
    path("matrix/cell/", matrix.cell, name="cell"),
    path("rules/", rules_page.rules, name="rules"),
    path("rules/add/", rules_page.add, name="add_rule"),
    path("rules/<slug:key>/remove/", rules_page.remove, name="remove_rule"),
    path("rules/<slug:key>/<slug:field>/", rules_page.pick, name="pick"),
]

urlpatterns = [
    path("", views.list_sets, name="list"),
    path("new/", views.create, name="create"),
    path("new/check/", views.check, name="check"),
    path("<int:pk>/", include(set_urls)),
]
