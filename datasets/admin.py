from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from annotation_service.admin import BlueprintAdmin, ReadOnlyAdmin, link

from .models import Annotation, Dataset, Entity, Item, Relation, Upload


@admin.register(Dataset)
class DatasetAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "item_count", "token_count", "updated_at"]
    list_filter = ["kind", ("project", admin.EmptyFieldListFilter), "updated_at"]
    list_select_related = ["owner", "project"]
    search_fields = ["name", "owner__username", "project__name"]
    date_hierarchy = "updated_at"
    ordering = ["-updated_at"]
    readonly_fields = [
        "kind",
        "project",
        "copied_from",
        "entity_ontology",
        "relation_ontology",
        "preprocessing",
        "item_count",
        "token_count",
        "created_at",
        "updated_at",
    ]
    fields = ["name", "description", "owner", *readonly_fields]


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "dataset_link", "external_id", "removed_at"]
    list_filter = ["dataset__kind"]
    list_select_related = ["dataset"]
    search_fields = ["search_text"]
    ordering = ["-pk"]
    fields = [
        "dataset_link",
        "position",
        "original",
        "tokens",
        "offsets",
        "external_id",
        "extra_fields",
        "removed_at",
        "removed_by",
    ]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Item]":
        return Item.with_removed.all()

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return queryset.containing(search_term), False

    @admin.display(description="dataset")
    def dataset_link(self, item: Item) -> str:
        return link(item.dataset)


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    list_display = ["name", "dataset_link", "number", "item_count", "by", "state", "created_at", "stored_at"]
    list_filter = ["state", "created_at"]
    list_select_related = ["dataset", "by"]
    search_fields = ["name", "dataset__name", "by__username"]
    date_hierarchy = "created_at"
    ordering = ["-pk"]
    fields = [
        "name",
        "dataset_link",
        "number",
        "first_position",
        "item_count",
        "by",
        "state",
        "file",
        "options",
        "report",
        "job",
        "created_at",
        "stored_at",
    ]

    @admin.display(description="dataset")
    def dataset_link(self, upload: Upload) -> str:
        return link(upload.dataset)


class _OfAnItem(ReadOnlyAdmin):
    ordering = ["-pk"]

    @admin.display(description="item")
    def item_link(self, thing: Any) -> str:
        return link(thing.item if isinstance(thing, Annotation) else thing.annotation.item)


@admin.register(Annotation)
class AnnotationAdmin(_OfAnItem):
    list_display = ["__str__", "item_link", "annotator", "started_at", "done_at"]
    list_filter = [("annotator", admin.EmptyFieldListFilter), ("done_at", admin.EmptyFieldListFilter)]
    list_select_related = ["item", "annotator"]
    search_fields = ["=annotator__username"]
    fields = ["item_link", "annotator", "started_at", "done_at"]


class _MarkAdmin(_OfAnItem):
    list_filter = ["status"]
    search_fields = ["label__name", "=uid"]

    @admin.display(description="annotation")
    def annotation_link(self, mark: Any) -> str:
        return link(mark.annotation)


@admin.register(Entity)
class EntityAdmin(_MarkAdmin):
    list_display = ["__str__", "label", "start", "end", "status", "item_link", "annotation_link"]
    list_select_related = ["label", "annotation__item", "annotation__annotator"]
    fields = ["label", "start", "end", "uid", "status", "item_link", "annotation_link", "created_at", "updated_at"]


@admin.register(Relation)
class RelationAdmin(_MarkAdmin):
    list_display = ["__str__", "label", "source_link", "target_link", "status", "item_link", "annotation_link"]
    list_select_related = ["label", "source__label", "target__label", "annotation__item", "annotation__annotator"]
    fields = [
        "label",
        "source_link",
        "target_link",
        "uid",
        "status",
        "item_link",
        "annotation_link",
        "created_at",
        "updated_at",
    ]

    @admin.display(description="source")
    def source_link(self, relation: Relation) -> str:
        return link(relation.source)

    @admin.display(description="target")
    def target_link(self, relation: Relation) -> str:
        return link(relation.target)
