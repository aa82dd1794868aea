"""The dialog that writes a dataset, or the work in a project, in a format of another program: it says first what that loses."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation_service import access
from annotation_service.db import snapshot
from annotation_service.http import Request, download
from annotation_service.inputs import Refused
from annotation_service.models import Job, start_job

from ..exports import Whose, count_losses, export_name, export_of, formats_out, write_dataset
from ..formats import format_named
from ..formats.conll import CONLL
from ..models import Dataset


class ExportForm(forms.Form):
    """Which format, and of a project whose marks: ``whose`` are their names, with what people read."""

    format = forms.ChoiceField(choices=lambda: [(format.name, format.title) for format in formats_out()])
    whose = forms.ChoiceField(required=False, label="Whose marks")
    done = forms.BooleanField(required=False, label="Only items that their person is done with")
    suggested = forms.BooleanField(required=False, label="Suggestions that nobody has decided about, too")

    def __init__(self, data: Mapping[str, Any], whose: Sequence[tuple[str, str]] = ()) -> None:
        first = {"format": CONLL.name, "whose": whose[0][0] if whose else ""}
        super().__init__({**first, **data.dict()} if hasattr(data, "dict") else {**first, **data})
        fields: dict[str, Any] = self.fields
        fields["whose"].choices = whose
        if not whose:
            for name in ("whose", "done", "suggested"):
                del fields[name]


def show_export(
    request: Request, form: ExportForm, title: str, rows: int, losses: Callable[[Mapping[str, Any]], list[str]]
) -> HttpResponse:
    """The dialog. Of few rows it tells the ``losses`` at once; of many a job does, with the file."""
    context: dict[str, Any] = {"form": form, "title": title, "is_large": rows > settings.JOB_ROWS}
    if form.is_valid():
        context["format"] = format_named(form.cleaned_data["format"])
        try:
            if not context["is_large"]:
                context["losses"] = losses(form.cleaned_data)
        except Refused as error:
            form.add_error(None, error)
    return render(request, "datasets/_export.html", context, status=200 if form.is_valid() else 422)


@require_http_methods(["GET", "POST"])
def export(request: Request, pk: int) -> HttpResponseBase:
    """Of a dataset, with the marks that came with it."""
    dataset = access.readable(request, Dataset, pk)
    form = ExportForm(request.POST if request.method == "POST" else request.GET)
    if request.method == "GET" or not form.is_valid():
        return show_export(request, form, dataset.name, dataset.row_count, lambda chosen: losses_of(dataset, chosen))
    made = export_or_start(request, dataset, form.cleaned_data["format"])
    return redirect("job", pk=made.pk) if isinstance(made, Job) else made


def export_or_start(request: Request, dataset: Dataset, format: str) -> HttpResponseBase | Job:
    """The file or, of many rows, the job that writes it."""
    if dataset.row_count > settings.JOB_ROWS:
        target = {"dataset": dataset.pk, "format": format}
        target |= {"project": dataset.project_id} if dataset.project_id else {}
        return start_job("export_dataset", title=f"Export “{dataset}”", by=request.user, target=target)
    name = export_name(format_named(format), dataset.name)
    return download(request, lambda target: write_dataset(dataset, format, target), name)


def losses_of(dataset: Dataset, chosen: Mapping[str, Any]) -> list[str]:
    with snapshot():
        return count_losses(format_named(chosen["format"]), export_of(dataset, dataset.items(), Whose()))
