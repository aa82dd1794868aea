from collections.abc import Callable
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
    list_select_related = ["owner", "project", "entity_ontology", "relation_ontology"]
    readonly_fields = ["content"]

    @admin.display(description="content")
    def content(self, resource_set: ResourceSet) -> str:
        return resource_set.content_in_words()


class RowAdmin(ReadOnlyAdmin):
    sortable_by = ()
    ordering = ["resource_set", "position"]

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        return [field.name for field in self.opts.concrete_fields if field.is_relation]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related(*(field.name for field in self.opts.many_to_many))


def listed(field: str) -> Callable[[Any], str]:
    """A column with the names of the labels in a list."""

    @admin.display(description=field.replace("_", " "))
    def column(row: Any) -> str:
        return ", ".join(label.name for label in getattr(row, field).all())

    return column


LISTS = [listed("excludes"), "limits_contents", listed("can_contain")]
for model, columns, search_fields in (
    (EntityConstraint, ["domain", *LISTS], ["domain__name"]),
    (RelationConstraint, ["relation", "domain", listed("range")], ["relation__name", "domain__name"]),
    (EntityPreannotation, ["surface_form", "label"], ["surface_form", "label__name"]),
    (RelationPreannotation, RELATION_FIELDS, ["source_surface_form", "target_surface_form", "label__name"]),
):
    admin.site.register(
        model,
        RowAdmin,
        list_display=["__str__", *columns, linked("resource_set")],
        fields=["resource_set", *columns],
        search_fields=[*search_fields, "resource_set__name"],
    )
