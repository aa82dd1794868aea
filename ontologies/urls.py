from django.urls import URLPattern, URLResolver, include, path

from annotation_service import blueprint_views
from annotation_service.journal_views import history_urls

from . import views
from .editor import answers, selection, switching
from .editor import views as editor
from .forms import DescriptionForm, ExampleTermsForm
from .label_files import DOWNLOADS
from .models import Ontology

app_name = "ontologies"

of_ontologies = {"model": Ontology}

item_urls: list[URLPattern] = [
    path("", editor.details, name="item"),
    path("row/", editor.row, name="row"),
    path("children/", editor.children, name="children"),
    path("usage/", editor.usage, name="usage"),
    path("add/", editor.add, name="add_child"),
    path("paste/", editor.paste, name="paste_below"),
    path("paste/preview/", editor.preview, name="preview_below"),
    path("rename/", editor.rename, name="rename"),
    path("describe/", editor.save_field, {"form": DescriptionForm}, name="describe"),
    path("example-terms/", editor.save_field, {"form": ExampleTermsForm}, name="example_terms"),
    path("color/", editor.recolor, name="recolor"),
    path("active/", switching.switch, name="switch"),
    path("move/", selection.move, name="move"),
]

ontology_urls: list[URLPattern | URLResolver] = [
    path("", editor.page, name="page"),
    path("edit/", blueprint_views.edit, of_ontologies, name="edit"),
    path("duplicate/", blueprint_views.duplicate, of_ontologies, name="duplicate"),
    path("delete/", blueprint_views.delete, of_ontologies, name="delete"),
    *(
        path(f"download{each.extensions[0]}", views.download_tree, {"format": each}, name=f"download_{each.name}")
        for each in DOWNLOADS
    ),
    path("codebook/", views.codebook, name="codebook"),
    path("codebook.md", views.download_codebook, name="download_codebook"),
    path("tree/", editor.tree, name="tree"),
    path("version/", editor.version, name="version"),
    path("find/", editor.find, name="find"),
    path("overview/", editor.overview, name="overview"),
    path("figures/", editor.figures, name="figures"),
    path("checks/", editor.checks, name="checks"),
    *history_urls(answers.reads, answers.acts, answers.changed),
    path("items/", editor.levels, name="items"),
    path("items/add/", editor.add, name="add_item"),
    path("update/", editor.update, name="update"),
    path("items/paste/", editor.paste, name="paste"),
    path("items/paste/preview/", editor.preview, name="preview"),
    path("items/color/", selection.recolor_items, name="recolor_items"),
    path("items/color/separate/", selection.separate_colors, name="separate_colors"),
    path("items/active/", switching.switch_items, name="switch_items"),
    path("items/active/ask/", switching.ask_switch, name="ask_switch"),
    path("items/example-terms/", selection.add_terms, name="add_terms"),
    path("items/several/", selection.details, name="several"),
    path("items/<str:uid>/", include(item_urls)),
]

urlpatterns = [
    path("", views.list_ontologies, name="list"),
    path("new/", views.create, name="create"),
    path("new/look/", views.look, name="look"),
    path("schemas/<str:kind>.json", views.schema, name="schema"),
    path("<int:pk>/", include(ontology_urls)),
]
