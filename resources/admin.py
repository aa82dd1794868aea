from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from annotation_service.admin import BlueprintAdmin, ReadOnlyAdmin, linked

from .models import (
    ConstraintSet,
    EntityConstraint,
    EntityPreannotation,
    PreannotationSet,
    RelationConstraint,
    RelationPreannotation,
    ResourceSet,
)
from .models.preannotations import RELATION_FIELDS


@admin.register(ConstraintSet, PreannotationSet)
class ResourceSetAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "entity_ontology", "relation_ontology", "updated_at"]
    list_filter = ["kind", ("project", admin.EmptyFieldListFilter), "updated_at"]
    list_select_related = ["owner", "project", "entity_ontology", "relation_ontology"]
    search_fields = ["name", "description", "owner__username", "project__name"]
    ordering = ["-updated_at"]
    readonly_fields = ["kind", "project", "copied_from", "entity_ontology", "relation_ontology", "content"]
    readonly_fields += ["created_at", "updated_at"]
    fields = ["name", "description", "owner", *readonly_fields]

    @admin.display(description="content")
    def content(self, resource_set: ResourceSet) -> str:
        return resource_set.content_in_words()


class RowAdmin(ReadOnlyAdmin):
    sortable_by = ()
    ordering = ["resource_set", "position"]

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        return [field.name for field in self.opts.concrete_fields if field.is_relation]


class ConstraintAdmin(RowAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related(*(field.name for field in self.opts.many_to_many))

    @admin.display(description="excludes")
    def excluded(self, row: EntityConstraint) -> str:
        return _listed(row.excludes)

    @admin.display(description="can contain")
    def contained(self, row: EntityConstraint) -> str:
        return _listed(row.can_contain) if row.limits_contents else "no limit"

    @admin.display(description="range")
    def targets(self, row: RelationConstraint) -> str:
        return _listed(row.range)


def _listed(labels: Any) -> str:
    return ", ".join(item.name for item in labels.all()) or "none"


for model, base, columns, search_fields in (
    (EntityConstraint, ConstraintAdmin, ["domain", "excluded", "contained"], ["domain__name"]),
    (RelationConstraint, ConstraintAdmin, ["relation", "domain", "targets"], ["relation__name", "domain__name"]),
    (EntityPreannotation, RowAdmin, ["surface_form", "label"], ["surface_form", "label__name"]),
    (RelationPreannotation, RowAdmin, RELATION_FIELDS, ["source_surface_form", "target_surface_form", "label__name"]),
):
    admin.site.register(
        model,
        base,
        list_display=["__str__", *columns, linked("resource_set")],
        fields=["resource_set", *columns],
        search_fields=[*search_fields, "resource_set__name"],
    )
