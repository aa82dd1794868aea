from collections.abc import Iterator
from typing import Any

from allauth.account.admin import EmailAddressAdmin
from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.socialaccount.admin import SocialAccount, SocialApp, SocialToken
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import urlize
from django.utils.html import format_html
from django.utils.safestring import SafeString

from . import words
from .admin_base import Chosen, ReadOnlyAdmin, SearchSuggestions
from .inputs import Refused
from .leaving import anonymise, set_active
from .models import Job, Mail, User, fold
from .templatetags.ui import ago

admin.site.site_header = admin.site.site_title = "Annotation Service"
admin.site.index_title = "Administration"
# One sign-in page, with its limits for failed attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.autocomplete_view = SearchSuggestions.as_view(admin_site=admin.site)  # type: ignore[method-assign, assignment]


def folded_app_list(request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
    """The index: what can only be looked at stands in one group at the end, whatever app it belongs to."""
    apps = _app_list(request, app_label)
    if app_label:
        return apps
    read_only = []
    for app in apps:
        fixed = [model for model in app["models"] if not (model["perms"]["change"] or model["perms"]["add"])]
        app["models"] = [model for model in app["models"] if model not in fixed]
        read_only += fixed
    group = {"name": "Only to look at", "app_label": "read_only", "models": read_only, "is_folded": True}
    return [*(app for app in apps if app["models"]), *([group] if read_only else [])]


_app_list = admin.site.get_app_list
admin.site.get_app_list = folded_app_list  # type: ignore[method-assign]


def in_reach(request: HttpRequest) -> "QuerySet[User]":
    """The accounts that somebody may change, if they may change any: those that may do more than others, or could at once, are
    left to superusers."""
    if request.user.is_superuser:
        return User.objects.all()
    powers = Q(is_staff=True) | Q(is_superuser=True)
    return User.objects.exclude(powers | Q(user_permissions__isnull=False) | Q(groups__permissions__isnull=False))


@admin.register(User)
class PersonAdmin(UserAdmin):
    """Accounts of people who have left something behind can be deactivated, but not deleted.

    Whoever may change accounts gives nobody powers by that, and takes no account over that has some: superusers do.
    """

    actions = ["deactivate", "anonymise"]
    add_fieldsets = [
        (None, {"fields": ["username", "first_name", "last_name", "email", "groups"]}),
        ("How they sign in", {"fields": ["usable_password", "password1", "password2"]}),
    ]
    list_display = ["username", "email", "in_groups", "last_login", "is_active", "is_staff", "name", "date_joined"]
    list_filter = ["groups", "last_login", "is_active", "is_staff", ("imported_as", admin.EmptyFieldListFilter)]
    list_per_page = 50
    search_fields = [*UserAdmin.search_fields, "username_folded", "email_folded"]

    @admin.display(description="name", ordering="last_name")
    def name(self, person: User) -> str:
        return person.get_full_name()

    @admin.display(description="groups")
    def in_groups(self, person: User) -> str:
        return ", ".join(sorted(group.name for group in person.groups.all()))

    def get_queryset(self, request: HttpRequest) -> "QuerySet[User]":
        return super().get_queryset(request).prefetch_related("groups")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_account = obj is None or not obj.imported_as  # authors without an account get none
        return super().has_change_permission(request, obj) and is_account and self._reaches(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and self._reaches(request, obj)

    def _reaches(self, request: HttpRequest, person: User | None) -> bool:
        return person is None or in_reach(request).filter(pk=person.pk).exists()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without the password where it cannot be reset: beside it stands a button for that. An author who came with a
        bundle has the name that stands there."""
        found = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return found
        named = [("In the bundle", {"fields": ["imported_as"]})] if obj.imported_as else []
        return named + [
            (title, {**options, "fields": [name for name in options["fields"] if name != "password"]})
            for title, options in found
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if request.user.is_superuser else ("is_staff", "is_superuser", "user_permissions")

    def formfield_for_manytomany(self, db_field: Any, request: Any, **options: Any) -> Any:
        if db_field.name == "groups" and not request.user.is_superuser:
            options["queryset"] = Group.objects.filter(permissions=None)
        return super().formfield_for_manytomany(db_field, request, **options)

    def changeform_view(self, *args: Any, **options: Any) -> Any:
        try:
            return super().changeform_view(*args, **options)
        except (ValidationError, IntegrityError):  # somebody else took the name in the meantime: now the form says so
            return super().changeform_view(*args, **options)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        found, duplicates = super().get_search_results(request, queryset, search_term)
        return found | super().get_search_results(request, queryset, fold(search_term))[0], duplicates

    def render_delete_form(self, request: Any, context: dict[str, Any]) -> Any:
        return super().render_delete_form(request, {**context, "people": [context["object"]]})

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "email" in form.changed_data:  # the old address is not theirs any more
            EmailAddress.objects.filter(user=obj, email=form.initial["email"].lower()).delete()
        if change and "is_active" in form.changed_data:
            set_active(obj, obj.is_active)

    @admin.action(description="Deactivate the selected people", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: "QuerySet[User]") -> None:
        for person in self._changeable(request, queryset, "deactivate"):
            set_active(person, False)
            self.log_change(request, person, "Deactivated.")
            self.message_user(request, f"“{person}” can no longer sign in. What they made stays.")

    @admin.action(description="Anonymise the selected people, for good", permissions=["change"])
    def anonymise(self, request: HttpRequest, queryset: "QuerySet[User]") -> None:
        for person in self._changeable(request, queryset, "anonymise"):
            name = str(person)
            try:
                anonymise(person)
            except Refused as error:
                self.message_user(request, f"“{name}” was not anonymised. {error}", messages.ERROR)
                continue
            self.log_change(request, person, "Anonymised.")
            self.message_user(request, f"“{name}” is now “{person}”, in all places. What they made stays.")

    def _changeable(self, request: HttpRequest, people: "QuerySet[User]", verb: str) -> Iterator[User]:
        for person in people:
            if person == request.user:
                self.message_user(request, f"You cannot {verb} your own account.", messages.ERROR)
            elif not self._reaches(request, person):
                self.message_user(request, f"Only superusers change the account of “{person}”.", messages.ERROR)
            else:
                yield person


admin.site.unregister(Group)


@admin.register(Group)
class PermissionsAdmin(GroupAdmin):
    """Groups can carry permissions."""

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_superuser

    has_add_permission = has_delete_permission = has_change_permission


@admin.register(Mail)
class MailAdmin(ReadOnlyAdmin):
    """What would have been sent. A link to a new password opens the account, whoever's it is: only superusers see it."""

    list_display = ["subject", "to", "sent"]
    fields = ["to", "subject", "sent", "text"]
    readonly_fields = ["sent", "text"]
    search_fields = ["to", "subject"]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    @admin.display(description="sent", ordering="sent_at")
    def sent(self, mail: Mail) -> str | SafeString:
        return ago(mail.sent_at)

    @admin.display(description="text")
    def text(self, mail: Mail) -> SafeString:
        return format_html('<pre class="mail">{}</pre>', urlize(mail.body))


admin.site.unregister(EmailAddress)


@admin.register(EmailAddress)
class AddressAdmin(EmailAddressAdmin):
    """People add their addresses themselves, and the first one is a field of the person: here they are confirmed and deleted. By
    an address somebody gets a new password."""

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        return super().get_queryset(request).filter(user__in=in_reach(request))

    def has_confirm_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("account.change_emailaddress")

    @admin.action(description="Confirm the selected addresses", permissions=["confirm"])
    def make_verified(self, request: HttpRequest, queryset: Any) -> None:
        super().make_verified(request, queryset)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


# Whose an account is at the identity provider, the provider says; which one that is, the settings do; tokens are not kept.
admin.site.unregister([SocialAccount, SocialApp, SocialToken])


@admin.display(description="done")
def progress(job: Job) -> str:
    return f"{words.number(job.done)} of {words.number(job.total)}" if job.total else ""


admin.site.register(
    Job,
    ReadOnlyAdmin,
    list_display=["title", "kind", "by", "state", "phase", progress, "created_at", "finished_at"],
    list_filter=["state", "kind", ("by", Chosen), "created_at"],
    search_fields=["title", "by__username"],
)
