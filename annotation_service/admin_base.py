"""What the administration of each app is made of."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet, TextField
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from . import words
from .blueprint_views import NameField
from .blueprints import Blueprint
from .inputs import Refused, clean_description, whole_number
from .models import Job


def link(thing: Model | None) -> str | SafeString:
    """The thing's name, leading to its page in the administration."""
    if thing is None:
        return "none"
    url = reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])
    return format_html('<a href="{}">{}</a>', url, thing)


def linked(path: str) -> Callable[[Any], str | SafeString]:
    """A column with a link to what a row points to, such as ``linked("annotation__item")``."""

    @admin.display(description=path.rpartition("__")[2].replace("_", " "))
    def column(row: Any) -> str | SafeString:
        return link(reduce(getattr, path.split("__"), row))

    column.__name__ = f"{path}_link"
    column.path = path  # type: ignore[attr-defined]
    return column


def swatch(color: str) -> SafeString:
    return format_html('<span class="swatch" style="--c: {0}"></span> {0}', color)


# --- Filters of lists that stay quick with many rows and many things to choose from --------------------------------------------


def in_full(thing: Model) -> str:
    """The name of a thing and, of a copy, that of its project: the blueprint has the same name."""
    project = getattr(thing, "project", None)
    return f"{thing} ({project})" if project else str(thing)


class SearchSuggestions(AutocompleteJsonView):
    """What the fields for searching offer."""

    def get_queryset(self) -> "QuerySet[Any]":
        found: QuerySet[Any] = super().get_queryset()
        return found.select_related("project") if hasattr(found.model, "project") else found

    def serialize_result(self, obj: Model, to_field_name: str) -> dict[str, str]:
        return {**super().serialize_result(obj, to_field_name), "text": in_full(obj)}


class ThingField(forms.ModelChoiceField):
    def label_from_instance(self, obj: Model) -> str:
        return in_full(obj)


class Chosen(admin.FieldListFilter):
    """The rows of one thing, such as ``("item__dataset", Chosen)``: it is searched, for there may be thousands."""

    template = "admin/chosen.html"

    def __init__(
        self, field: Any, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.parameter = f"{field_path}__id__exact"
        self.chosen = params.get(self.parameter, [""])[-1]
        super().__init__(field, request, params, model, model_admin, field_path)
        self.sees = admin.site.get_model_admin(field.related_model).has_view_permission(request)

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter]

    def has_output(self) -> bool:
        return self.sees

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        if not self.chosen:
            return queryset
        if (key := whole_number(self.chosen)) is None:
            raise IncorrectLookupParameters
        return queryset.filter(**{self.field_path: key})

    def choices(self, changelist: Any) -> Iterator[Any]:
        """The field, and what else the list is filtered by."""
        model: Any = self.field.related_model
        field = ThingField(
            model._default_manager.all(),
            widget=AutocompleteSelect(self.field, admin.site, {"aria-label": self.title}),
            required=False,
        )
        kept = {name: value for name, value in changelist.params.items() if name != self.parameter}
        yield {"field": field.widget.render(self.parameter, self.chosen), "kept": kept}


def either(field: str, title: str, *, empty: str, filled: str) -> type[admin.SimpleListFilter]:
    """Whether a field is empty, in words."""

    class Either(admin.SimpleListFilter):
        parameter_name = f"{field}__isempty"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [("1", empty), ("0", filled)]

        def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
            return queryset.filter(**{f"{field}__isnull": self.value() == "1"}) if self.value() else queryset

    Either.title = title
    return Either


def within(path: str) -> list[Any]:
    """Filters by the thing that rows belong to, such as ``*within("item__dataset")``, and by the project of that."""
    return [(path, Chosen), (f"{path}__project", Chosen)]


# --- Lists and pages ---------------------------------------------------------------------------------------------------------


class AtLeast(int):
    """A number of rows that is shown as the least that there are."""

    def __str__(self) -> str:
        return f"more than {words.number(self)}"


class CappedPaginator(Paginator):
    """Pages through the first rows only: to count a million takes long, and nobody turns so many pages. The others are found
    by search and filters."""

    limit = 10_000

    @cached_property
    def count(self) -> int:
        count = self.object_list.order_by()[: self.limit + 1].count()  # type: ignore[attr-defined]
        return count if count <= self.limit else AtLeast(self.limit)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Shows rows that only the methods of their model change.

    Staff see everything of the service; accounts and groups stay with those who have Django's permissions for them. Nothing is
    added here, and deletion is left to actions that call the model's method: cascading in Python is too slow.

    An app registers its models without a class of their own, with `linked` columns where a row belongs to something::

        admin.site.register(Upload, ReadOnlyAdmin, list_display=["name", linked("dataset")], search_fields=["name"])

    The page of a row shows all its fields, or those in ``fields``; foreign keys are links there. ``part_of`` leads to the
    blueprint or copy that a row is part of. Rows that only link others are not ``in_index``: what they belong to leads to them.
    """

    part_of = ""
    in_index = True
    paginator: ClassVar[Any] = CappedPaginator
    ordering = ["-pk"]
    actions: Any = None
    list_per_page = 50
    list_select_related: ClassVar[Any] = ()
    show_full_result_count = False  # large tables are not counted for a headline
    show_facets = admin.ShowFacets.NEVER  # nor for each filter

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        rows = super().get_queryset(request)
        return rows.filter(**{f"{self.part_of}__deleted_at": None}) if self.part_of else rows

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        """What the columns name; `list_select_related` adds what these take their names from."""
        relations = {field.name for field in self.opts.concrete_fields if field.is_relation}
        named = [column for column in self.list_display if column in relations]
        linked = [column.path for column in self.list_display if hasattr(column, "path")]
        return [*named, *linked, *self.list_select_related]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    @property
    def media(self) -> forms.Media:
        """With what the fields of filters need."""
        return super().media + AutocompleteSelect(Job._meta.get_field("by"), admin.site).media

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        return super().get_model_perms(request) if self.in_index else {}

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields or [field.name for field in self.opts.concrete_fields if not field.primary_key]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class BlueprintAdmin(ReadOnlyAdmin):
    """Name, description and owner can be edited, all other fields are shown; deleting is an action that calls the model's
    method. ``parts``: the models whose lists its page leads to, and the way from them to it."""

    EDITED = ("name", "description", "owner")

    parts: Sequence[tuple[type[Model], str]] = ()

    paginator = Paginator
    actions = ["erase"]
    autocomplete_fields = ["owner"]
    list_filter = [
        "kind",
        either("project", "use", empty="Blueprints", filled="Copies in projects"),
        ("project", Chosen),
        ("owner", Chosen),
        "updated_at",
    ]
    ordering = ["-updated_at"]
    search_fields = ["name", "description", "owner__username", "project__name"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        project = obj and obj.its_project
        return self.has_view_permission(request) and not (project and project.reason_not_to_change())

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        fields = [field.name for field in self.opts.concrete_fields if not field.primary_key]
        lists = ["lists"] if self.parts else []
        return [*(name for name in fields if name not in self.EDITED), *self.readonly_fields, *lists]

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return [*self.EDITED, *self.get_readonly_fields(request, obj)]

    @admin.display(description="lists")
    def lists(self, thing: Blueprint) -> SafeString:
        links = []
        for model, path in self.parts:
            url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            links.append((url, path, thing.pk, model._meta.verbose_name_plural))
        return format_html_join(" · ", '<a href="{}?{}__id__exact={}">{}</a>', links)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        field = NameField() if db_field.name == "name" else super().formfield_for_dbfield(db_field, request, **options)
        if field and isinstance(db_field, TextField):
            field.widget.needs_multipart_form = True
        return field

    def save_model(self, request: HttpRequest, obj: Blueprint, form: Any, change: bool) -> None:
        obj.touch(name=obj.name, description=clean_description(obj.description), owner=obj.owner)

    @admin.action(description="Delete selected %(verbose_name_plural)s", permissions=["change"])
    def erase(self, request: HttpRequest, queryset: "QuerySet[Blueprint]") -> None:
        for thing in queryset:
            words = thing.content_in_words()
            try:
                thing.erase()
            except Refused as error:
                self.message_user(request, f"“{thing}” was not deleted. {error}", messages.ERROR)
            else:
                self.message_user(request, f"“{thing}” was deleted with {words}.")
