"""The forms for new data and what they show. A valid form leads to the page of an upload: see `uploads`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Case, When
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service import access, inputs
from annotation_service.downloads import download
from annotation_service.http import Request
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import named, search_text
from ontologies.models import Ontology

from ..forms import SAMPLE_CHARACTERS, AddForm, CreateForm, PreviewForm, SourceForm
from ..importing.formats import Format, detect
from ..kinds import Kind
from ..models import Dataset, Upload
from ..preprocessing import Preprocessing
from ..preview import preview_lines
from ..tokenising import TOKENISERS

PREVIEW_LINES = 200
PREVIEW_ROWS = 20
SHOWN_ONTOLOGIES = 6
KINDS = [
    (Kind.STANDARD, "Standard", "Text, an item a line. It is cleaned up and cut into tokens here."),
    (Kind.RICH, "Rich", "Texts that are cut into tokens already, with ids and fields of their own."),
    (Kind.PREANNOTATED_ENTITY, "Preannotated entities", "Rich items with marks, whose labels are in an ontology."),
    (Kind.PREANNOTATED_RELATION, "Preannotated relations", "Rich items with marks and relations between them."),
]


# --- Forms -------------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    access.require_creator(request)
    ontologies = access.blueprints(request, Ontology)
    if request.method == "GET":
        return show_form(request, CreateForm(ontologies=ontologies))
    return receive(request, CreateForm(request.POST, request.FILES, ontologies=ontologies))


@require_http_methods(["GET", "POST"])
def add_items(request: Request, pk: int) -> HttpResponse:
    dataset = access.editable(request, Dataset, pk)
    if request.method == "GET":
        return show_form(request, AddForm(dataset=dataset, initial={"format": Format.JSON}))
    return receive(request, AddForm(request.POST, request.FILES, dataset=dataset))


def receive(request: Request, form: SourceForm) -> HttpResponse:
    """Keep the file and check it. It is kept even if the form is invalid: a browser would forget it."""
    is_valid, kept = form.is_valid(), None
    if form.sent and (is_valid or form.keeps_its_file):
        dataset = form.dataset if isinstance(form, AddForm) else None
        try:
            kept = Upload.begin(form.sent, by=request.user, options=form.options, dataset=dataset)
        except Refused as error:  # the disk is full
            form.add_error("file", str(error))
    if not (is_valid and kept):
        return show_form(request, form, kept)
    check(request, kept)
    return redirect(kept)


def check(request: Request, upload: Upload) -> None:
    """Check an upload at once or, if it is large, by a job."""
    with refusal_as_message(request):
        if upload.is_large:
            upload.start_job("check_upload", by=request.user)
        else:
            upload.examine()


@contextmanager
def refusal_as_message(request: Request) -> Iterator[None]:
    """Show a refusal on the next page."""
    try:
        yield
    except Refused as error:
        messages.error(request, str(error))


def show_form(request: Request, form: SourceForm, kept: Upload | None = None) -> HttpResponse:
    """The form for a new dataset or for more items; ``kept`` is the upload that it changes."""
    context: dict[str, Any] = {
        "form": form,
        "kept": kept,
        "action": reverse("datasets:change_upload", args=[kept.pk]) if kept else "",
        "max_pasted": settings.MAX_PASTED_BYTES,
        "max_file": settings.MAX_FILE_BYTES,
        "tokenisers": TOKENISERS,
        "upload_formats": Format.of_kind(form.dataset.kind if isinstance(form, AddForm) else ""),
        "start": _beginning(kept) if kept else "",
    }
    status = 422 if form.is_bound else 200
    if isinstance(form, AddForm):
        dataset = form.dataset
        context |= {"dataset": dataset, "formats": [Kind(dataset.kind)]}
        context |= {"section": "datasets" if dataset.is_blueprint else "projects"}
        return render(request, "datasets/add.html", context, status=status)
    context |= {"section": "datasets", "kinds": KINDS, "formats": list(Kind)}
    for kind in Ontology.Kind:
        context[f"{kind}_chooser"] = ontology_choices(request, kind, form[f"{kind}_ontology"].value())
    return render(request, "datasets/create.html", context, status=status)


def _beginning(upload: Upload) -> str:
    """The first lines of the kept file, for the preview."""
    if not upload.size:
        return ""
    with upload.path.open("rb") as file:
        start = file.read(SAMPLE_CHARACTERS).decode("utf-8-sig", "replace")
    return start if upload.size <= SAMPLE_CHARACTERS or "\n" not in start else start[: start.rindex("\n") + 1]


# --- Fragments ---------------------------------------------------------------------------------------------------------


@require_POST
def preview(request: Request) -> HttpResponse:
    """What the beginning of a text or file seems to be, and what the chosen operations make of its lines."""
    form = PreviewForm(request.POST)
    if not form.is_valid():
        return render(request, "datasets/_preview.html", {"form": form}, status=422)
    values = form.cleaned_data
    try:
        text = inputs.check_text(values["sample"]) if values["sample"].strip() else ""
    except Refused as error:
        return render(request, "datasets/_preview.html", {"refused": error}, status=422)
    if not text:
        return render(request, "datasets/_preview.html")
    kind, format = detect(text.encode(), values["file_name"])
    context = {"kind": kind, "format": format, "chosen": Kind(values["kind"])}
    if values["kind"] == Kind.STANDARD:
        context |= _lines(text, form.preprocessing)
    elif values["format"] == Format.TEXT:
        context |= _lines(text, Preprocessing(tokeniser=values["tokeniser"]))
    response = render(request, "datasets/_preview.html", context)
    return trigger_client_event(response, "detected", {"kind": kind, "format": format, "name": kind.label})


def _lines(text: str, operations: Preprocessing) -> dict[str, Any]:
    numbered = ((number, line) for number, line in enumerate(inputs.split_lines(text), start=1) if line.strip())
    lines = list(islice(numbered, PREVIEW_LINES))
    return {"preview": preview_lines(lines, operations, rows=PREVIEW_ROWS), "lines": len(lines)}


def ontology_choices(request: Request, kind: Ontology.Kind, chosen: Any, query: str = "") -> dict[str, Any]:
    """A few ontologies to choose from: the chosen one, then those that match, the user's own and the newest first."""
    of_kind: Any = access.blueprints(request, Ontology).filter(kind=kind)
    of_kind = of_kind.with_size().select_related("owner")
    matching: Any = named(of_kind, query)
    count, pk = matching.count(), whole_number(str(chosen))
    if pk is None and not query and count == 1:
        pk = matching.get().pk
    own_first = Case(When(owner=request.user, then=0), default=1)
    others = matching.exclude(pk=pk).order_by(own_first, "-updated_at")
    found = [*of_kind.filter(pk=pk), *others[:SHOWN_ONTOLOGIES]]
    return {
        "kind": kind,
        "query": query,
        "chosen": pk,
        "found": found,
        "count": count,
        "more": max(0, count - len(found)),
    }


@require_GET
def ontologies(request: Request, kind: str) -> HttpResponse:
    """The ontologies with a text in their names, to choose from."""
    access.require_creator(request)
    if kind not in Ontology.Kind.values:
        raise Http404
    chosen = request.GET.get(f"{kind}_ontology")
    chooser = ontology_choices(request, Ontology.Kind(kind), chosen, search_text(request))
    return render(request, "datasets/_ontology_choices.html", {"chooser": chooser})


# --- Published formats -------------------------------------------------------------------------------------------------


@require_GET
def schema(request: Request, kind: str) -> HttpResponseBase:
    """The JSON Schema of a kind's documents."""
    if kind not in Kind.values or kind == Kind.STANDARD:
        raise Http404
    text = json.dumps(Kind(kind).schema, indent=2, ensure_ascii=False)
    return download(request, text, f"{kind}_dataset.schema.json", "application/json")


@require_GET
def example(request: Request, kind: str) -> HttpResponseBase:
    if kind not in Kind.values:
        raise Http404
    content_type = "text/plain; charset=utf-8" if kind == Kind.STANDARD else "application/json"
    return download(request, Kind(kind).example, Kind(kind).example_name, content_type)
