from django.urls import URLPattern, URLResolver, include, path

from annotation_service import blueprint_views

from . import views
from .editor import bulk, history, items, tree
from .models import Ontology

app_name = "ontologies"

of_ontologies = {"model": Ontology}

item_urls: list[URLPattern] = [
    path("", items.details, name="item"),
    path("row/", items.row, name="row"),
    path("children/", tree.children, name="children"),
    path("usage/", tree.usage, name="usage"),
    path("add/", items.add, name="add_child"),
    path("paste/", bulk.paste, name="paste_below"),
    path("paste/preview/", bulk.preview, name="preview_below"),
    path("rename/", items.rename, name="rename"),
    path("describe/", items.describe, name="describe"),
    path("example-terms/", items.set_example_terms, name="example_terms"),
    path("color/", items.recolor, name="recolor"),
    path("active/", items.switch, name="switch"),
    path("move/", items.move, name="move"),
]

ontology_urls: list[URLPattern | URLResolver] = [
    path("", tree.page, name="page"),
    path("edit/", blueprint_views.edit, of_ontologies, name="edit"),
    path("duplicate/", blueprint_views.duplicate, of_ontologies, name="duplicate"),
    path("delete/", blueprint_views.delete, of_ontologies, name="delete"),
    path("download.json", views.download_tree, {"extension": "json"}, name="download_json"),
    path("download.txt", views.download_tree, {"extension": "txt"}, name="download_text"),
    path("tree/", tree.tree, name="tree"),
    path("find/", tree.find, name="find"),
    path("figures/", tree.figures, name="figures"),
    path("checks/", tree.checks, name="checks"),
    path("undo/", history.undo, name="undo"),
    path("redo/", history.redo, name="redo"),
    path("history/", history.history, name="history"),
    path("history/<int:version>/", history.step, name="step"),
    path("history/<int:version>/revert/", history.revert, name="revert"),
    path("items/", tree.levels, name="items"),
    path("items/add/", items.add, name="add_item"),
    path("items/paste/", bulk.paste, name="paste"),
    path("items/paste/preview/", bulk.preview, name="preview"),
    path("items/color/", bulk.recolor_items, name="recolor_items"),
    path("items/active/", bulk.switch_items, name="switch_items"),
    path("items/<str:uid>/", include(item_urls)),
]

urlpatterns = [
    path("", views.list_ontologies, name="list"),
    path("new/", views.create, name="create"),
    path("schemas/<str:kind>.json", views.schema, name="schema"),
    path("<int:pk>/", include(ontology_urls)),
]
