"""Filters of the lists in Django admin that stay quick with many rows and many things to choose from."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from .inputs import whole_number


def in_full(thing: Model) -> str:
    """The name of a thing and, of a copy, that of its project: the blueprint has the same name."""
    project = getattr(thing, "project", None)
    return f"{thing} ({project})" if project else str(thing)


class Suggestions(AutocompleteJsonView):
    """What the fields for searching offer."""

    def get_queryset(self) -> "QuerySet[Any]":
        found: QuerySet[Any] = super().get_queryset()
        return found.select_related("project") if hasattr(found.model, "project") else found

    def serialize_result(self, obj: Model, to_field_name: str) -> dict[str, str]:
        return {**super().serialize_result(obj, to_field_name), "text": in_full(obj)}


class Choice(forms.ModelChoiceField):
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
        field = Choice(
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
