"""What every kind of blueprint has: a list, and dialogs to rename and describe, duplicate, delete.

An app's URLs call them with its model: ``path("edit/", partial(edit, model=Ontology))`` or a view of two lines.
"""

from collections.abc import Sequence
from typing import IO, Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from . import access
from .blueprints import PagedBlueprint
from .edits import EditForm
from .http import Request
from .inputs import Problem, Refused, check_size, clean_title, decode, normalized
from .models import start_job
from .paging import Column, Page, named, order, search_text, sort_columns


class NameField(forms.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=settings.MAX_NAME_CHARACTERS, **options)

    def to_python(self, value: Any) -> str:
        """As it is stored, before its characters are counted."""
        return normalized(super().to_python(value) or "")

    def clean(self, value: str) -> str:
        name = super().clean(value)
        return clean_title(name) if name else ""


class DescriptionField(forms.CharField):
    def __init__(self, rows: int = 4) -> None:
        widget = forms.Textarea(attrs={"rows": rows})
        super().__init__(required=False, max_length=settings.MAX_DESCRIPTION_CHARACTERS, widget=widget)

    def to_python(self, value: Any) -> str:
        """As it is stored, before its characters are counted: a browser sends two for a line end, and counts one."""
        return normalized((super().to_python(value) or "").replace("\r\n", "\n"))


# A refused file up to this size is put into the text area, to be corrected there.
EDITABLE = 500_000


class DocumentForm(forms.Form):
    """A form with a document that is pasted or uploaded; ``problems`` are those of a refused one."""

    text = forms.CharField(required=False, strip=False)
    file = forms.FileField(required=False, allow_empty_file=True)

    file_text = ""
    problems: list[Problem] = []
    total = 0

    def pasted(self) -> str:
        text = self.cleaned_data.get("text", "")
        check_size(len(text.encode("utf-8", "surrogatepass")), settings.MAX_PASTED_BYTES)
        return text

    def uploaded(self, most: int) -> str | IO[bytes]:
        """The file of at most so many bytes: as a text, if people can correct it in the form."""
        upload = self.cleaned_data.get("file")
        if not upload:
            raise Refused("Choose a file.")
        check_size(upload.size, most)
        if upload.size > EDITABLE:
            return upload
        self.file_text = decode(upload.read())
        return self.file_text


class BlueprintForm(EditForm):
    name = NameField()
    description = DescriptionField()


class NameForm(forms.Form):
    name = NameField(widget=forms.TextInput(attrs={"autofocus": True}))


def list_context(request: Request, found: QuerySet[Any], columns: Sequence[Column], *searched: str) -> dict[str, Any]:
    """A page of a list of blueprints: searched in these columns, sorted, and only one kind or one's own if that is wanted.

    Each has ``uses``, in how many projects there is a copy."""
    query, kind, mine = search_text(request), request.GET.get("kind", ""), bool(request.GET.get("mine"))
    kinds = found.model.kinds()
    in_use = Q(copies__project__isnull=False, copies__deleted_at=None)
    found = named(found, query, *searched).annotate(uses=Count("copies", filter=in_use)).select_related("owner")
    if kind in kinds:
        found = found.filter(kind=kind)
    if mine:
        found = found.filter(owner=request.user)
    columns = sort_columns(request.GET.get("sort"), columns)
    page = Page.of(found.order_by(*order(columns)), request.GET.get("page"))
    section = found.model.namespace or found.model._meta.app_label
    return {
        "section": section,
        "query": query,
        "kind": kind if kind in kinds else "",
        "kinds": kinds.items(),
        "mine": mine,
        "columns": columns,
        "page": page,
        "new": found.model.address("create"),
    }


@require_http_methods(["GET", "POST"])
def edit(
    request: Request, pk: int, model: type[PagedBlueprint], form_class: type[EditForm] = BlueprintForm
) -> HttpResponse:
    thing = access.editable(request, model, pk)
    form = form_class(request.POST if request.method == "POST" else None, thing=thing)
    if form.save():
        return HttpResponseClientRedirect(thing.get_absolute_url())
    return render(request, "blueprints/_edit.html", {"form": form}, status=form.status)


@require_http_methods(["GET", "POST"])
def duplicate(request: Request, pk: int, model: type[PagedBlueprint]) -> HttpResponse:
    """A new blueprint of the user with the same content: at once, or by a job if it is large."""
    thing = access.duplicable(request, model, pk)
    initial = {"name": f"{thing.name} (copy)"[: settings.MAX_NAME_CHARACTERS]}
    form = NameForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        try:
            return HttpResponseClientRedirect(_duplicate(request, thing, form.cleaned_data["name"]))
        except Refused as error:
            form.add_error(None, error)
    context = {"thing": thing, "form": form}
    return render(request, "blueprints/_duplicate.html", context, status=422 if form.is_bound else 200)


def _duplicate(request: Request, thing: PagedBlueprint, name: str) -> str:
    """The address of the copy, or of the job that makes it."""
    if thing.row_count > settings.JOB_ROWS:
        target = {"model": thing._meta.label, "pk": thing.pk, "name": name}
        job = start_job("duplicate", title=f"Duplicate “{thing}”", by=request.user, target=target)
        return reverse("job", args=[job.pk])
    copy = thing.copy_to(by=request.user, name=name)
    messages.success(request, f"“{copy}” is yours: changes to it do not reach “{thing}”.")
    return copy.get_absolute_url()


@require_http_methods(["GET", "POST"])
def delete(request: Request, pk: int, model: type[PagedBlueprint]) -> HttpResponse:
    """Says first what goes with it, or why it cannot be deleted."""
    thing = access.editable(request, model, pk)
    reason, status = thing.reason_not_to_delete(), 200
    if request.method == "POST":
        try:
            thing.erase()
            messages.success(request, f"“{thing}” was deleted.")
            return HttpResponseClientRedirect(thing.address("list"))
        except Refused as error:
            reason, status = str(error), 422
    context = {"thing": thing, "kind": thing._meta.verbose_name, "reason": reason}
    return render(request, "blueprints/_delete.html", context, status=status)
