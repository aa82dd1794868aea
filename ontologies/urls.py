from django.urls import URLPattern, URLResolver, include, path

from annotation_service import blueprint_views
from annotation_service.journal_views import history_urls

from . import views
from .editor import answers, changing, reading, several
from .forms import DescriptionForm, ExampleTermsForm
from .models import Ontology

app_name = "ontologies"

of_ontologies = {"model": Ontology}

item_urls: list[URLPattern] = [
    path("", reading.details, name="item"),
    path("row/", reading.row, name="row"),
    path("children/", reading.children, name="children"),
    path("usage/", reading.usage, name="usage"),
    path("add/", changing.add, name="add_child"),
    path("paste/", changing.paste, name="paste_below"),
    path("paste/preview/", changing.preview, name="preview_below"),
    path("rename/", changing.rename, name="rename"),
    path("describe/", changing.save_field, {"form": DescriptionForm}, name="describe"),
    path("example-terms/", changing.save_field, {"form": ExampleTermsForm}, name="example_terms"),
    path("color/", changing.recolor, name="recolor"),
    path("active/", changing.switch, name="switch"),
    path("move/", changing.move, name="move"),
]

ontology_urls: list[URLPattern | URLResolver] = [
    path("", reading.page, name="page"),
    path("edit/", blueprint_views.edit, of_ontologies, name="edit"),
    path("duplicate/", blueprint_views.duplicate, of_ontologies, name="duplicate"),
    path("delete/", blueprint_views.delete, of_ontologies, name="delete"),
    path("download.json", views.download_tree, {"extension": "json"}, name="download_json"),
    path("download.txt", views.download_tree, {"extension": "txt"}, name="download_text"),
    path("codebook/", views.codebook, name="codebook"),
    path("codebook.md", views.download_codebook, name="download_codebook"),
    path("tree/", reading.tree, name="tree"),
    path("version/", reading.version, name="version"),
    path("find/", reading.find, name="find"),
    path("overview/", reading.overview, name="overview"),
    path("figures/", reading.figures, name="figures"),
    path("checks/", reading.checks, name="checks"),
    *history_urls(answers.reads, answers.acts, answers.changed),
    path("items/", reading.levels, name="items"),
    path("items/add/", changing.add, name="add_item"),
    path("items/paste/", changing.paste, name="paste"),
    path("items/paste/preview/", changing.preview, name="preview"),
    path("items/color/", several.recolor_items, name="recolor_items"),
    path("items/color/separate/", several.separate_colors, name="separate_colors"),
    path("items/active/", several.switch_items, name="switch_items"),
    path("items/active/ask/", several.ask_switch, name="ask_switch"),
    path("items/example-terms/", several.add_terms, name="add_terms"),
    path("items/several/", several.several, name="several"),
    path("items/<str:uid>/", include(item_urls)),
]

urlpatterns = [
    path("", views.list_ontologies, name="list"),
    path("new/", views.create, name="create"),
    path("schemas/<str:kind>.json", views.schema, name="schema"),
    path("<int:pk>/", include(ontology_urls)),
]
