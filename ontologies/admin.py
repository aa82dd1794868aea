from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation_service.admin import BlueprintAdmin, ReadOnlyAdmin, link

from .models import Ontology, OntologyChange, OntologyItem


@admin.register(Ontology)
class OntologyAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "size", "version", "updated_at"]
    readonly_fields = ["size"]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Ontology]":
        return Ontology.objects.with_size()

    @admin.display(description="items", ordering="size")
    def size(self, ontology: Ontology) -> int:
        return int(ontology.size)  # type: ignore[attr-defined]


@admin.register(OntologyItem)
class OntologyItemAdmin(ReadOnlyAdmin):
    """The rows as they are; the tree editor changes them."""

    list_display = ["tree_name", "uid", "ontology_link", "active", "color", "updated_at"]
    list_display_links = ["uid"]
    list_filter = ["ontology__kind", "active"]
    list_select_related = ["ontology"]
    search_fields = ["name", "=uid", "ontology__name"]
    sortable_by = ()
    fields = [
        "name",
        "fullname",
        "ontology_link",
        "uid",
        "description",
        "example_terms",
        "color",
        "active",
        "created_at",
        "updated_at",
    ]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[OntologyItem]":
        return OntologyItem.objects.filter(level__gt=0).order_by("tree_id", "lft")

    def get_ordering(self, request: HttpRequest) -> tuple[str, str]:
        return ("tree_id", "lft")

    @admin.display(description="name")
    def tree_name(self, item: OntologyItem) -> SafeString:
        return format_html('<span style="padding-left: {}em">{}</span>', min(item.level - 1, 40) * 1.5, item.name)

    @admin.display(description="ontology")
    def ontology_link(self, item: OntologyItem) -> str:
        return link(item.ontology)


@admin.register(OntologyChange)
class OntologyChangeAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "ontology_link", "version", "user", "at"]
    list_filter = ["verb", "at"]
    list_select_related = ["ontology", "user"]
    search_fields = ["verb", "ontology__name", "user__username"]
    ordering = ["-pk"]
    fields = ["kind", "verb", "ontology_link", "version", "operation", "stands", "count", "items", "user", "at"]

    @admin.display(description="ontology")
    def ontology_link(self, change: Any) -> str:
        thing: Model = change.ontology
        return link(thing)
