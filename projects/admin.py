from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.html import format_html_join

from annotation_service.access import people_with
from annotation_service.admin_base import BlueprintAdmin, Chosen, ReadOnlyAdmin, link, linked
from annotation_service.blueprints import Right
from annotation_service.inputs import Refused
from annotation_service.models import User
from datasets.models import Annotation

from .members import NEEDS_MANAGER
from .models import Assignment, FormerMember, HandChange, Invitation, ItemCounts, Membership, Project, Withheld
from .roles import with_right


class MembershipFormSet(BaseInlineFormSet):
    def clean(self) -> None:
        """Keep a manager who can sign in. The lock keeps others from removing the remaining ones before this is stored."""
        super().clean()
        self.instance.locked()
        kept = [form.cleaned_data for form in self.forms if form not in self.deleted_forms]
        managers = [data.get("user") for data in kept if data.get("role") in with_right(Right.MANAGE)]
        if not User.objects.filter(pk__in=[each.pk for each in managers if each], is_active=True).exists():
            raise Refused(NEEDS_MANAGER)

    def add_fields(self, form: Any, index: int | None) -> None:
        """A membership stays the person's: another one is added and this one removed."""
        super().add_fields(form, index)
        form.fields["user"].disabled = form.instance.pk is not None

    def save_new(self, form: Any, commit: bool = True) -> Membership:
        [begun] = self.instance.begin_memberships([form.instance.user], form.instance.role)
        return begun

    def delete_existing(self, obj: Any, commit: bool = True) -> None:
        self.instance.end_membership(obj)


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
    search_fields = ["name", "description", "created_by__username"]
    EDITED = ("name", "description", "guidelines")
    readonly_fields = ["resources"]
    parts = [(model, "item__dataset__project") for model in (Annotation, Assignment, Withheld)]
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

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request) and not (obj and obj.archived_at)

    @admin.action(description="Put the selected projects into the bin", permissions=["change"])
    def erase(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for project in queryset:
            project.put_into_bin()
            self.message_user(
                request,
                f"The project “{project}” is in the bin, from where its {people_with[Right.KEEP]} can bring it back.",
            )


for member, fields in ((Membership, ["role", "joined_at"]), (FormerMember, ["left_at"])):
    admin.site.register(
        member,
        ReadOnlyAdmin,
        part_of="project",
        in_index=member is Membership,
        list_display=["user", "project", *fields],
        list_filter=[("project", Chosen), ("user", Chosen), *fields],
        search_fields=["user__username", "project__name"],
    )
admin.site.register(
    Invitation,
    ReadOnlyAdmin,
    part_of="project",
    list_display=["__str__", "by", "created_at", "expires_at", "state", "uses"],
    fields=["project", "role", "address", "by", "created_at", "expires_at", "state", "uses", "asked_by"],
    list_filter=[("project", Chosen), ("by", Chosen), "role", "state"],
    list_select_related=["project"],
    search_fields=["address", "project__name", "by__username"],
)
for kept, fields in ((ItemCounts, ["project", "begun", "done"]), (HandChange, ["project", "text", "at"])):
    admin.site.register(
        kept,
        ReadOnlyAdmin,
        part_of="project",
        in_index=False,
        list_display=fields,
        fields=fields,
        search_fields=["project__name"],
    )
for about_item in (Assignment, Withheld):
    admin.site.register(
        about_item,
        ReadOnlyAdmin,
        part_of="item__dataset",
        in_index=False,
        list_display=["annotator", linked("item"), "by"],
        list_filter=[("item__dataset__project", Chosen), ("annotator", Chosen)],
        search_fields=["=annotator__username"],
    )
