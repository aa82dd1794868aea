from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from annotation_service.admin_base import Chosen, ReadOnlyAdmin, either

from .models import Token


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
