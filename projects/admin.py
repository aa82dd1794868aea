from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.html import format_html_join

from annotation_service.admin import BlueprintAdmin, ReadOnlyAdmin, link, linked
from annotation_service.admin_filters import Chosen
from annotation_service.blueprints import Right
from annotation_service.inputs import Refused
from datasets.models import Annotation

from .models import NEEDS_MANAGER, Assignment, ItemCounts, Membership, Project
from .roles import with_right


class MembershipFormSet(BaseInlineFormSet):
    def clean(self) -> None:
        """Keep the last manager. The lock keeps others from removing the remaining ones before this is stored."""
        super().clean()
        self.instance.locked()
        kept = [form for form in self.forms if form not in self.deleted_forms]
        managers = [form.instance.pk for form in kept if form.cleaned_data.get("role") in with_right(Right.MANAGE)]
        if None not in managers and not self.instance.membership_set.filter(pk__in=managers).exists():
            raise Refused(NEEDS_MANAGER)


class MembershipInline(admin.TabularInline):
    model = Membership
    formset = MembershipFormSet
    extra = 0
    autocomplete_fields = ["user"]
    readonly_fields = ["joined_at"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True  # whoever sees the project

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


@admin.register(Project)
class ProjectAdmin(BlueprintAdmin):
    """Words and memberships can be edited."""

    list_display = ["name", "task", "created_by", "member_count", "created_at"]
    list_filter = ["task", ("created_by", Chosen), "created_at"]
    list_select_related = ["created_by"]
    search_fields = ["name", "description", "created_by__username"]
    EDITED = ("name", "description", "guidelines")
    readonly_fields = ["resources"]
    parts = [(Annotation, "item__dataset__project"), (Assignment, "item__dataset__project")]
    autocomplete_fields = []
    ordering = ["-created_at"]
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Project]":
        return super().get_queryset(request).annotate(member_count=Count("membership"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.edit(name=obj.name, description=obj.description, guidelines=obj.guidelines)

    def save_related(self, request: Any, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        form.instance.assign_items()

    @admin.display(description="members", ordering="member_count")
    def member_count(self, project: Any) -> int:
        return project.member_count

    @admin.display(description="resources")
    def resources(self, project: Project) -> Any:
        copies = [project.dataset, *project.ontology_set.all(), *project.resources()]
        return format_html_join("", "{}<br>", [(link(copy),) for copy in copies])

    @admin.action(description="Delete the selected projects with their copies and marks", permissions=["change"])
    def erase(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for project in queryset:
            project.erase()
            self.message_user(request, f"The project “{project}” was deleted.")


admin.site.register(
    Membership,
    ReadOnlyAdmin,
    list_display=["user", "project", "role", "joined_at"],
    in_index=False,
    list_filter=[("project", Chosen), ("user", Chosen), "role", "joined_at"],
    list_select_related=["user", "project"],
    search_fields=["user__username", "project__name"],
)
admin.site.register(
    ItemCounts,
    ReadOnlyAdmin,
    in_index=False,
    list_display=["project", "begun", "done"],
    list_select_related=["project"],
    search_fields=["project__name"],
)
admin.site.register(
    Assignment,
    ReadOnlyAdmin,
    part_of="item__dataset",
    in_index=False,
    list_display=["annotator", linked("item")],
    list_filter=[("item__dataset__project", Chosen), ("annotator", Chosen)],
    list_select_related=["annotator", "item"],
    search_fields=["=annotator__username"],
)
