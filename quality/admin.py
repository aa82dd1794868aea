from django.contrib import admin

from annotation_service.admin_base import Chosen, ReadOnlyAdmin, either, linked, within
from datasets.admin import dataset_parts

from .models import GoldDecision, Overruled, ReviewAssignment, Verdict

dataset_parts += [(GoldDecision, "annotation__item__dataset"), (ReviewAssignment, "item__dataset")]
admin.site.register(
    GoldDecision,
    ReadOnlyAdmin,
    part_of="annotation__item__dataset",
    list_display=["__str__", linked("annotation__item"), "by", "at", "kind", "reason", "undone_at"],
    list_filter=[
        *within("annotation__item__dataset"),
        ("by", Chosen),
        "kind",
        either("undone_at", "state", empty="In force", filled="Undone"),
    ],
    search_fields=["reason"],
)
admin.site.register(
    Verdict,
    ReadOnlyAdmin,
    part_of="annotation__item__dataset",
    list_display=["what", "is_taken", linked("annotation__item"), linked("decision")],
    list_filter=[*within("annotation__item__dataset"), "is_taken"],
    list_select_related=["decision__by"],
    search_fields=["=what"],
)
admin.site.register(
    Overruled,
    ReadOnlyAdmin,
    part_of="annotation__item__dataset",
    in_index=False,
    list_display=["__str__", "person", linked("decision"), linked("annotation__item")],
    list_filter=[*within("annotation__item__dataset"), ("person", Chosen)],
    list_select_related=["decision__by"],
    search_fields=["=person__username"],
)
admin.site.register(
    ReviewAssignment,
    ReadOnlyAdmin,
    part_of="item__dataset",
    list_display=["__str__", linked("item"), "person"],
    list_filter=[*within("item__dataset"), ("person", Chosen)],
    search_fields=["=person__username"],
)
