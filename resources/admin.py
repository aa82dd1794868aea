from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import CharField, QuerySet
from django.http import HttpRequest

from annotation_service.admin_base import BlueprintAdmin, ReadOnlyAdmin, linked, within

from .models import RESOURCE_SETS, ConstraintChange, ConstraintSet, PreannotationChange, PreannotationSet, ResourceSet


@admin.register(ConstraintSet, PreannotationSet)
class ResourceSetAdmin(BlueprintAdmin):
    list_display = ["name", "kind", "owner", "project", "entity_ontology", "relation_ontology", "updated_at"]
    readonly_fields = ["content"]

    @admin.display(description="content")
    def content(self, resource_set: ResourceSet) -> str:
        return resource_set.content_in_words()


class RowAdmin(ReadOnlyAdmin):
    part_of = "resource_set"
    list_filter = within("resource_set")
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


for model in (model for resource_set in RESOURCE_SETS for model in resource_set.row_models.values()):
    fields = model.content_fields()
    columns = [listed(field.name) if field.many_to_many else field.name for field in fields]
    texts = [f"{field.name}__name" for field in fields if field.is_relation and not field.many_to_many]
    texts += [field.name for field in fields if isinstance(field, CharField)]
    admin.site.register(
        model,
        RowAdmin,
        list_display=["__str__", *columns, linked("resource_set")],
        fields=["resource_set", *columns],
        search_fields=[*texts, "resource_set__name"],
    )

for change in (ConstraintChange, PreannotationChange):
    thing = change.of
    admin.site.register(
        change,
        ReadOnlyAdmin,
        part_of=thing,
        list_display=["__str__", linked(thing), "version", "user", "at"],
        list_filter=[*within(thing), "verb", "at"],
        search_fields=["verb", f"{thing}__name", "user__username"],
    )
