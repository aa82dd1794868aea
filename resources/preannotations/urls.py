from django.urls import include, path

from annotation_service import blueprint_views
from annotation_service.http import PREANNOTATIONS
from annotation_service.journal_views import history_urls

from ..forms import PreannotationsEditForm
from ..models import PreannotationSet
from . import editor, views

app_name = "preannotations"

of_sets = {"model": PreannotationSet}

set_urls = [
    path("", views.page, name="page"),
    path(
        "edit/",
        PREANNOTATIONS.required(blueprint_views.edit),
        of_sets | {"form_class": PreannotationsEditForm},
        name="edit",
    ),
    path("duplicate/", PREANNOTATIONS.required(blueprint_views.duplicate), of_sets, name="duplicate"),
    path("delete/", PREANNOTATIONS.required(blueprint_views.delete), of_sets, name="delete"),
    path("download.json", views.download_json, name="download_json"),
    path("download.csv", views.download_csv, name="download_csv"),
    *history_urls(editor.reads, editor.acts, editor.changed),
    path("standing/", editor.standing, name="standing"),
    path("rows/add/", editor.add, name="add_row"),
    path("rows/remove/", editor.remove, name="remove_rows"),
    path("rows/<int:row_pk>/", editor.row, name="row"),
    path("rows/<int:row_pk>/<slug:field>/", editor.cell, name="cell"),
]

urlpatterns = [
    path("", views.list_sets, name="list"),
    path("new/", views.create, name="create"),
    path("new/check/", views.check, name="check"),
    path("<int:pk>/", include(set_urls)),
]
