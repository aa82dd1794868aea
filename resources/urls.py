from django.urls import URLPattern, URLResolver, include, path

from annotation_service import blueprint_views
from annotation_service.journal_views import history_urls

from . import answers, editor, matrix_views, picking, views
from .models import ConstraintSet

app_name = "resources"

of_sets = {"model": ConstraintSet}

set_urls: list[URLPattern | URLResolver] = [
    path("", editor.page, name="page"),
    path("edit/", blueprint_views.edit, of_sets, name="edit"),
    path("duplicate/", blueprint_views.duplicate, of_sets, name="duplicate"),
    path("delete/", blueprint_views.delete, of_sets, name="delete"),
    path("download.json", views.download_rules, name="download_json"),
    path("checks/", editor.checks, name="checks"),
    *history_urls(answers.reads, answers.acts, answers.changed),
    path("matrix/", matrix_views.matrix, name="matrix"),
    path("matrix/cell/", matrix_views.cell, name="cell"),
    path("rules/", editor.rules, name="rules"),
    path("rules/add/", picking.add, name="add_rule"),
    path("rules/<slug:key>/remove/", editor.remove, name="remove_rule"),
    path("rules/<slug:key>/<slug:field>/", picking.pick, name="pick"),
]

urlpatterns = [
    path("", views.list_sets, name="list"),
    path("new/", views.create, name="create"),
    path("new/check/", views.check, name="check"),
    path("<int:pk>/", include(set_urls)),
]
