from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation_service.admin import BlueprintAdmin, ReadOnlyAdmin, link

from .models import (
    ConstraintSet,
    EntityConstraint,
    EntityPreannotation,
    Ontology,
    OntologyChange,
    OntologyItem,
    PreannotationSet,
    RelationConstraint,
    RelationPreannotation,
    Resource,
)
from .models.constraints import ContainedLabel, ExcludedLabel, RangeLabel


@admin.register(Ontology)
class OntologyAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "size", "version", "updated_at"]
    list_filter = ["kind", ("project", admin.EmptyFieldListFilter), "updated_at"]
    list_select_related = ["owner", "project"]
    search_fields = ["name", "description", "owner__username", "project__name"]
    ordering = ["-updated_at"]
    readonly_fields = ["kind", "project", "copied_from", "size", "version", "created_at", "updated_at"]
    fields = ["name", "description", "owner", *readonly_fields]

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
    fields = ["verb", "ontology_link", "version", "count", "items", "user", "at", "undone_by"]

    @admin.display(description="ontology")
    def ontology_link(self, change: Any) -> str:
        thing: Model = change.ontology
        return link(thing)


@admin.register(ConstraintSet, PreannotationSet)
class ResourceAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "entity_ontology", "relation_ontology", "updated_at"]
    list_filter = ["kind", ("project", admin.EmptyFieldListFilter), "updated_at"]
    list_select_related = ["owner", "project", "entity_ontology", "relation_ontology"]
    search_fields = ["name", "description", "owner__username", "project__name"]
    ordering = ["-updated_at"]
    readonly_fields = [
        "kind",
        "project",
        "copied_from",
        "entity_ontology",
        "relation_ontology",
        "content",
        "created_at",
        "updated_at",
    ]
    fields = ["name", "description", "owner", *readonly_fields]

    @admin.display(description="content")
    def content(self, resource: Resource) -> str:
        return resource.content_in_words()


class RowAdmin(ReadOnlyAdmin):
    """The rows as they were uploaded."""

    list_select_related = ["resource"]
    sortable_by = ()
    ordering = ["resource", "position"]

    @admin.display(description="set")
    def resource_link(self, row: Any) -> str:
        return link(row.resource)


@admin.register(EntityConstraint)
class EntityConstraintAdmin(RowAdmin):
    list_display = ["__str__", "resource_link", "domain", "excluded", "contained"]
    list_select_related = ["resource", "domain"]
    search_fields = ["domain__name", "resource__name"]
    fields = ["resource_link", "domain", "excluded", "contained"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related("excludes", "can_contain")

    @admin.display(description="excludes")
    def excluded(self, row: EntityConstraint) -> str:
        return _listed(row.excludes)

    @admin.display(description="can contain")
    def contained(self, row: EntityConstraint) -> str:
        return _listed(row.can_contain) if row.limits_contents else "no limit"


@admin.register(RelationConstraint)
class RelationConstraintAdmin(RowAdmin):
    list_display = ["__str__", "resource_link", "relation", "domain", "targets"]
    list_select_related = ["resource", "relation", "domain"]
    search_fields = ["relation__name", "domain__name", "resource__name"]
    fields = ["resource_link", "relation", "domain", "targets"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related("range")

    @admin.display(description="range")
    def targets(self, row: RelationConstraint) -> str:
        return _listed(row.range)


@admin.register(ExcludedLabel, ContainedLabel, RangeLabel)
class ListedLabelAdmin(ReadOnlyAdmin):
    list_display = ["label", "row", "position", "resource_link"]
    list_select_related = ["label", "row__resource"]
    search_fields = ["label__name", "row__resource__name"]
    ordering = ["row", "position"]
    fields = ["resource_link", "row", "position", "label"]

    @admin.display(description="set")
    def resource_link(self, listed: Any) -> str:
        return link(listed.row.resource)


@admin.register(EntityPreannotation)
class EntityPreannotationAdmin(RowAdmin):
    list_display = ["surface_form", "label", "resource_link"]
    list_select_related = ["resource", "label"]
    search_fields = ["surface_form", "label__name", "resource__name"]
    fields = ["resource_link", "surface_form", "label"]


@admin.register(RelationPreannotation)
class RelationPreannotationAdmin(RowAdmin):
    list_display = [*RelationPreannotation.keys, "resource_link"]
    list_select_related = ["resource", "source_label", "target_label", "label"]
    search_fields = ["source_surface_form", "target_surface_form", "label__name", "resource__name"]
    fields = ["resource_link", *RelationPreannotation.keys]


def _listed(labels: Any) -> str:
    return ", ".join(item.name for item in labels.all()) or "none"
