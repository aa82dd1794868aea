from django.contrib import admin

from annotation_service.admin_base import Chosen, ReadOnlyAdmin, linked, within
from datasets.admin import dataset_parts

from .models import Graph, GraphChange, NotSame, SurfaceForm

dataset_parts += [(SurfaceForm, "graph__dataset"), (GraphChange, "graph__dataset")]
admin.site.register(
    Graph,
    ReadOnlyAdmin,
    part_of="dataset",
    list_display=["__str__", linked("dataset"), "stem", "namespace", "version", "counted_at", "updated_at"],
    list_filter=within("dataset"),
    list_select_related=["dataset__project"],
    search_fields=["dataset__name", "dataset__project__name"],
)
admin.site.register(
    SurfaceForm,
    ReadOnlyAdmin,
    part_of="graph__dataset",
    list_display=["text", "name", linked("node"), "iri", "external_id"],
    list_filter=within("graph__dataset"),
    search_fields=["search_text"],
)
admin.site.register(
    GraphChange,
    ReadOnlyAdmin,
    part_of="graph__dataset",
    in_index=False,
    list_display=["__str__", linked("graph"), "version", "user", "at", "stands"],
    list_filter=[*within("graph__dataset"), ("user", Chosen), "verb"],
    list_select_related=["graph__dataset__project"],
    search_fields=["verb", "=user__username"],
)
admin.site.register(
    NotSame,
    ReadOnlyAdmin,
    part_of="graph__dataset",
    in_index=False,
    list_display=["__str__", linked("one"), linked("other")],
    list_filter=within("graph__dataset"),
    search_fields=["one__search_text", "other__search_text"],
)
