from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from annotation_service.admin_base import BlueprintAdmin, Chosen, ReadOnlyAdmin, either, linked, within

from .models import Annotation, BrokenRule, Dataset, Entity, Item, Judged, Rejection, Relation, TextCorrection, Upload


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    list_display = ["__str__", linked("dataset"), "external_id", "removed_at"]
    list_filter = [
        *within("dataset"),
        "dataset__kind",
        either("removed_at", "bin", empty="Not removed", filled="Removed"),
    ]
    search_fields = ["search_text"]
    fields = ["dataset", "position", "original", "tokens", "offsets", "external_id", "extra_fields"]
    fields += ["removed_at", "removed_by"]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Item]":
        return Item.with_removed.filter(dataset__deleted_at=None)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return queryset.containing(search_term), False


# The lists that the page of a dataset leads to. The apps above add theirs.
dataset_parts: list[tuple[type[Model], str]] = [
    (Item, "dataset"),
    (Upload, "dataset"),
    (Annotation, "item__dataset"),
    (Entity, "annotation__item__dataset"),
    (Relation, "annotation__item__dataset"),
]
admin.site.register(
    Dataset,
    BlueprintAdmin,
    list_display=["name", "kind", "owner", "project", "item_count", "token_count", "updated_at"],
    date_hierarchy="updated_at",
    parts=dataset_parts,
)
admin.site.register(
    Upload,
    ReadOnlyAdmin,
    part_of="dataset",
    list_display=["name", linked("dataset"), "number", "item_count", "by", "state", "created_at", "stored_at"],
    list_filter=[*within("dataset"), "state", "created_at"],
    search_fields=["name", "dataset__name", "by__username"],
    date_hierarchy="created_at",
)
admin.site.register(
    Annotation,
    ReadOnlyAdmin,
    part_of="item__dataset",
    list_display=["__str__", linked("item"), "annotator", "started_at", "done_at", "imported_from"],
    list_filter=[
        *within("item__dataset"),
        ("annotator", Chosen),
        "layer",
        either("done_at", "done", empty="Not done", filled="Done"),
        either("imported_by", "origin", empty="Made here", filled="From a file"),
    ],
    search_fields=["=annotator__username"],
)
admin.site.register(
    Rejection,
    ReadOnlyAdmin,
    part_of="annotation__item__dataset",
    list_display=["what", linked("annotation")],
    list_select_related=["annotation__annotator"],
    search_fields=["=what"],
)
admin.site.register(
    TextCorrection,
    ReadOnlyAdmin,
    part_of="item__dataset",
    list_display=["__str__", linked("item"), "by", "at", "is_undo"],
    list_filter=within("item__dataset"),
    list_select_related=["by"],
    search_fields=["=by__username"],
)
admin.site.register(
    BrokenRule,
    ReadOnlyAdmin,
    part_of="annotation__item__dataset",
    in_index=False,
    list_display=["rule", "count", linked("annotation__item"), linked("annotation")],
    list_filter=within("annotation__item__dataset"),
    list_select_related=["annotation__annotator"],
    search_fields=["=rule"],
)
admin.site.register(
    Judged,
    ReadOnlyAdmin,
    part_of="dataset",
    in_index=False,
    list_display=["__str__", linked("dataset")],
    search_fields=["dataset__name"],
)
for model, columns, read in (
    (Entity, ["start", "end"], []),
    (Relation, [linked("source"), linked("target")], ["source__label", "target__label"]),
):
    admin.site.register(
        model,
        ReadOnlyAdmin,
        part_of="annotation__item__dataset",
        list_display=[
            "__str__",
            "label",
            *columns,
            "status",
            "origin",
            "suggested_by",
            linked("annotation__item"),
            linked("annotation"),
        ],
        list_select_related=["annotation__annotator", "suggested_by", *read],
        list_filter=[
            *within("annotation__item__dataset"),
            ("annotation__annotator", Chosen),
            "status",
            "origin",
        ],
        search_fields=["label__name", "=uid"],
    )
