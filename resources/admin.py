from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from annotation_service.admin import BlueprintAdmin, ReadOnlyAdmin, link

from .models import (
    ConstraintSet,
    EntityConstraint,
    EntityPreannotation,
    PreannotationSet,
    RelationConstraint,
    RelationPreannotation,
    Resource,
)
from .models.constraints import ContainedLabel, ExcludedLabel, RangeLabel


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
