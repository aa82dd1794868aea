from django.contrib import admin

from annotation_service.admin_base import Chosen, ReadOnlyAdmin, either, linked, within
from datasets.admin import dataset_parts

from .models import Answer, Batch, BatchChange, Comment, Flag, ItemLabel, ItemWork, Source

dataset_parts += [
    (Batch, "dataset"),
    (Source, "dataset"),
    (Flag, "item__dataset"),
    (Comment, "item__dataset"),
    (ItemWork, "item__dataset"),
]
admin.site.register(
    Batch,
    ReadOnlyAdmin,
    part_of="dataset",
    list_display=["words", "label_name", "verb", "made", linked("dataset"), "person", "created_at", "undone_at"],
    list_filter=[*within("dataset"), ("person", Chosen), "verb", "kind"],
    search_fields=["words"],
)
admin.site.register(
    BatchChange,
    ReadOnlyAdmin,
    part_of="annotation__item__dataset",
    list_display=["__str__", linked("annotation"), linked("batch")],
    list_select_related=["annotation__annotator"],
    search_fields=["=uid"],
)
admin.site.register(
    Source,
    ReadOnlyAdmin,
    part_of="dataset",
    list_display=["name", "kind", linked("dataset"), "version", "is_on", "updated_at"],
    list_filter=[*within("dataset"), "kind", "is_on"],
    search_fields=["name"],
)
for figures, numbers in ((ItemWork, ["begun", "done", "marks", "is_disputed"]), (ItemLabel, ["label"])):
    admin.site.register(
        figures,
        ReadOnlyAdmin,
        part_of="item__dataset",
        in_index=False,
        list_display=["__str__", linked("item"), *numbers],
        list_filter=within("item__dataset"),
        search_fields=["=item__external_id"],
    )
ABOUT_ITEMS = [*within("item__dataset"), ("person", Chosen)]
admin.site.register(
    Flag,
    ReadOnlyAdmin,
    part_of="item__dataset",
    list_display=["kind", "why", linked("item"), "person", "set_at"],
    list_filter=[*ABOUT_ITEMS, "kind"],
    search_fields=["why"],
)
admin.site.register(
    Comment,
    ReadOnlyAdmin,
    part_of="item__dataset",
    list_display=["__str__", "author", linked("item"), "person", "words", "written_at", "resolved_at"],
    list_filter=[*ABOUT_ITEMS, either("resolved_at", "state", empty="Open", filled="Resolved")],
    search_fields=["text", "words"],
)
admin.site.register(
    Answer,
    ReadOnlyAdmin,
    part_of="comment__item__dataset",
    list_display=["__str__", "author", linked("comment"), "written_at"],
    list_filter=within("comment__item__dataset"),
    search_fields=["text"],
)
