from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join

from annotation_service.admin import ReadOnlyAdmin, StaffAdmin, link
from annotation_service.blueprint_views import NameField
from annotation_service.http import Request

from .models import Assignment, Membership, Project


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True  # whoever sees the project

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission
    autocomplete_fields = ["user"]
    readonly_fields = ["joined_at"]


@admin.register(Project)
class ProjectAdmin(StaffAdmin):
    """Words and memberships can be edited; deleting is an action that calls the model's method."""

    list_display = ["name", "task", "created_by", "member_count", "created_at"]
    list_filter = ["task", "created_at"]
    list_select_related = ["created_by"]
    search_fields = ["name", "description", "created_by__username"]
    readonly_fields = ["task", "annotators_per_item", "resources", "created_by", "created_at", "updated_at"]
    fields = ["name", "description", "guidelines", *readonly_fields]
    inlines = [MembershipInline]
    actions = ["erase"]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Project]":
        return super().get_queryset(request).annotate(member_count=Count("membership"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not by the ORM's collector: by the action."""
        return False

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        if db_field.name == "name":
            return NameField()
        return super().formfield_for_dbfield(db_field, request, **options)

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        obj.edit(name=obj.name, description=obj.description, guidelines=obj.guidelines)

    def save_related(self, request: Any, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        form.instance.deal_anew()

    @admin.display(description="members", ordering="member_count")
    def member_count(self, project: Any) -> int:
        return project.member_count

    @admin.display(description="resources")
    def resources(self, project: Project) -> Any:
        return format_html_join(
            "",
            "{}<br>",
            [(link(thing),) for thing in [project.dataset, *project.ontology_set.all(), *project.resources()]],
        )

    @admin.action(description="Delete the selected projects with their copies and marks", permissions=["change"])
    def erase(self, request: Request, queryset: "QuerySet[Project]") -> None:
        for project in queryset:
            project.erase()
            self.message_user(request, f"The project “{project}” was deleted.")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """For finding; memberships are edited on their project's page."""

    list_display = ["user", "project", "role", "joined_at"]
    list_filter = ["role", "joined_at"]
    list_select_related = ["user", "project"]
    search_fields = ["user__username", "project__name"]


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = ["annotator", "item"]
    list_select_related = ["annotator", "item"]
    search_fields = ["=annotator__username"]
    ordering = ["-pk"]
