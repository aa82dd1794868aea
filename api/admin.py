from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from annotation_service.admin_base import Chosen, ReadOnlyAdmin, either, linked

from .models import Delivery, Token, Webhook


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    """Who may change accounts may end what lets programs in as them."""

    list_display = ["name", "user", "scope", "project", "created_at", "expires_at", "used_at", "revoked_at"]
    list_filter = [("user", Chosen), "scope", either("revoked_at", "state", empty="Not revoked", filled="Revoked")]
    search_fields = ["name", "=user__username"]
    fields = ["name", "user", "scope", "project", "begins_with", "created_at", "expires_at", "used_at", "revoked_at"]
    actions = ["revoke"]

    @admin.action(description="Revoke the selected tokens", permissions=["end"])
    def revoke(self, request: HttpRequest, queryset: "QuerySet[Any]") -> None:
        for token in queryset:
            token.revoke()
            self.message_user(request, f"“{token}” of {token.user} lets nobody in any more.")

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("annotation_service.change_user")


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    """Without the secret, which is for those who manage the project."""

    list_display = ["url", linked("project"), "is_on", "off_reason", "created_by", "created_at"]
    list_filter = [("project", Chosen), "is_on"]
    search_fields = ["url"]
    fields = ["url", "project", "events", "is_on", "off_reason", "created_by", "created_at"]
    part_of = "project"


admin.site.register(
    Delivery,
    ReadOnlyAdmin,
    list_display=["message_id", "event", linked("webhook"), "attempts", "code", "error", "created_at", "delivered_at"],
    list_filter=[("webhook", Chosen)],
    search_fields=["=message_id"],
    part_of="project",
)
