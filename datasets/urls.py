from django.urls import include, path

from annotation_service import blueprint_views

from .exports import DOWNLOAD_FORMATS
from .models import Dataset
from .views import corrections, exporting, pages, uploads

app_name = "datasets"
of_datasets = {"model": Dataset}

dataset_urls = [
    path("", pages.page, name="page"),
    path("items/<int:item_pk>/", pages.item, name="item"),
    path("items/<int:item_pk>/edit/", pages.edit_item, name="edit_item"),
    path("items/<int:item_pk>/text/", corrections.correct_text, name="correct_text"),
    path("items/<int:item_pk>/text/<int:correction_pk>/undo/", corrections.undo_correction, name="undo_correction"),
    path("remove/", pages.remove, name="remove"),
    path("restore/", pages.restore, name="restore"),
    path("statistics/", pages.statistics, name="statistics"),
    path("statistics/figures/", pages.figures, name="figures"),
    path("statistics/vocabulary/", pages.vocabulary, name="vocabulary"),
    path("edit/", blueprint_views.edit, of_datasets, name="edit"),
    path("duplicate/", blueprint_views.duplicate, of_datasets, name="duplicate"),
    path("delete/", blueprint_views.delete, of_datasets, name="delete"),
    path("export/", exporting.export, name="export"),
    path("add/", uploads.add_items, name="add_items"),
    path("uploads/", uploads.history, name="uploads"),
]
dataset_urls += [
    path(f"download/{format.name}/", pages.download_items, {"format": format}, name=f"download_{format.name}")
    for format in DOWNLOAD_FORMATS
]

upload_urls = [
    path("", uploads.upload_page, name="upload"),
    path("change/", uploads.change_upload, name="change_upload"),
    path("decide/", uploads.decide, name="decide"),
    path("store/", uploads.store_upload, name="store_upload"),
    path("discard/", uploads.discard_upload, name="discard_upload"),
    path("problems/", uploads.problems, name="upload_problems"),
    path("bad-items/", uploads.bad_items, name="bad_items"),
    path("labels/<str:kind>/", uploads.map_labels, name="map_labels"),
    path("labels/<str:kind>/make/", uploads.make_ontology, name="make_ontology"),
]

urlpatterns = [
    path("", pages.dataset_list, name="list"),
    path("new/", uploads.create, name="create"),
    path("new/preview/", uploads.preview, name="preview"),
    path("new/ontologies/<str:kind>/", uploads.ontologies, name="ontologies"),
    path("uploads/<int:pk>/", include(upload_urls)),
    path("schemas/<str:kind>.json", uploads.schema, name="schema"),
    path("examples/<str:kind>/", uploads.example, name="example"),
    path("<int:pk>/", include(dataset_urls)),
]
