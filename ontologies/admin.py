from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation_service.admin_base import BlueprintAdmin, ReadOnlyAdmin, linked, swatch, within

from .models import Ontology, OntologyChange, OntologyItem
from .models.changes import FACTS, TIMES


@admin.register(Ontology)
class OntologyAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "size", "version", "updated_at"]
    readonly_fields = ["size"]
    parts = [(OntologyItem, "ontology"), (OntologyChange, "ontology")]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Ontology]":
        return Ontology.objects.with_size()

    @admin.display(description="items", ordering="size")
    def size(self, ontology: Ontology) -> int:
        return int(ontology.size)  # type: ignore[attr-defined]


@admin.register(OntologyItem)
class OntologyItemAdmin(ReadOnlyAdmin):
    """The rows as they are; the tree editor changes them."""

    part_of = "ontology"
    list_display = ["tree_name", "uid", linked("ontology"), "active", "swatch", "updated_at"]
    list_display_links = ["uid"]
    list_filter = [*within("ontology"), "ontology__kind", "active"]
    search_fields = ["name", "=uid", "ontology__name"]
    sortable_by = ()
    ordering = ["tree_id", "lft"]
    fields = [
        "name",
        "fullname",
        "ontology",
        "uid",
        *(fact if fact != "color" else "swatch" for fact in FACTS[1:]),
        "active",
        *TIMES,
    ]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[OntologyItem]":
        return super().get_queryset(request).filter(level__gt=0)

    @admin.display(description="colour")
    def swatch(self, item: OntologyItem) -> SafeString:
        return swatch(item.color)

    @admin.display(description="name")
    def tree_name(self, item: OntologyItem) -> SafeString:
        return format_html('<span style="padding-left: {}em">{}</span>', min(item.level - 1, 40) * 1.5, item.name)


admin.site.register(
    OntologyChange,
    ReadOnlyAdmin,
    part_of="ontology",
    list_display=["__str__", linked("ontology"), "version", "user", "at"],
    list_filter=[*within("ontology"), "verb", "at"],
    search_fields=["verb", "ontology__name", "user__username"],
)
