"""The forms for new data and what they show. A valid form leads to the page of an upload: see `uploads`."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.contrib import messages
from django.db.models import Case, When
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service import access
from annotation_service.http import Request, download
from annotation_service.inputs import Refused, split_lines, whole_number
from annotation_service.paging import named, search_text
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet

from ..forms import SAMPLE_CHARACTERS, AddForm, NewDatasetForm, PreviewForm, SourceForm
from ..importing.formats import Format, detect
from ..importing.items import NewItem
from ..kinds import DatasetKind
from ..models import Dataset, Upload
from ..preprocessing import Counts, Prepared, Preprocessing
from ..tokenising import TOKENISERS

PREVIEW_LINES = 200
PREVIEW_ROWS = 20
SHOWN_ONTOLOGIES = 6
KINDS = [
    (DatasetKind.STANDARD, "Standard", "Text, an item a line. It is cleaned up and cut into tokens here."),
    (DatasetKind.RICH, "Rich", "Texts that are cut into tokens already, with ids and fields of their own."),
    (
        DatasetKind.PREANNOTATED_ENTITY,
        "Preannotated entities",
        "Rich items with marks, whose labels are in an ontology.",
    ),
    (DatasetKind.PREANNOTATED_RELATION, "Preannotated relations", "Rich items with marks and relations between them."),
]


# --- Forms -------------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    return receive(request, create_form(request))


@require_http_methods(["GET", "POST"])
def add_items(request: Request, pk: int) -> HttpResponse:
    dataset = access.editable(request, Dataset, pk)
    return receive(request, add_form(request, dataset, initial={"format": Format.JSON}))


def create_form(request: Request, **options: Any) -> NewDatasetForm:
    ontologies, constraints = access.blueprints(request, Ontology), access.blueprints(request, ConstraintSet)
    return NewDatasetForm(*posted(request), ontologies=ontologies, constraints=constraints, **options)


def add_form(request: Request, dataset: Dataset, **options: Any) -> AddForm:
    constraints = access.blueprints(request, ConstraintSet) if dataset.is_blueprint else None
    return AddForm(*posted(request), dataset=dataset, constraints=constraints, **options)


def posted(request: Request) -> tuple[Any, ...]:
    """What a form is bound to, if it was sent."""
    return (request.POST, request.FILES) if request.method == "POST" else ()


def receive(request: Request, form: SourceForm) -> HttpResponse:
    """Keep the file and check it. It is kept even if the form is invalid: a browser would forget it."""
    if not form.is_bound:
        return show_form(request, form)
    is_valid, kept = form.is_valid(), None
    if form.sent and (is_valid or form.keeps_its_file):
        kept = Upload.begin(form.sent, by=request.user, options=form.options, dataset=form.dataset)
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
    context: dict[str, Any] = {"form": form, "kept": kept, "start": _beginning(kept) if kept else ""}
    context |= {"tokenisers": TOKENISERS, "dataset": form.dataset}
    if dataset := form.dataset:
        context |= {"formats": [DatasetKind(dataset.kind)], "upload_formats": Format.of_kind(dataset.kind)}
        context |= {"section": "datasets" if dataset.is_blueprint else "projects"}
    else:
        context |= {"section": "datasets", "kinds": KINDS, "formats": list(DatasetKind), "upload_formats": list(Format)}
        for kind in OntologyKind:
            context[f"{kind}_chooser"] = ontology_choices(request, kind, form[f"{kind}_ontology"].value())
    template = "datasets/add.html" if dataset else "datasets/create.html"
    return render(request, template, context, status=422 if form.is_bound else 200)


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
    text = values["sample"][:SAMPLE_CHARACTERS]
    if not text.strip():
        return render(request, "datasets/_preview.html")
    chosen, (kind, format) = DatasetKind(values["kind"]), detect(text.encode(), values["file_name"])
    context = {"kind": kind, "format": format, "chosen": chosen}
    if chosen == DatasetKind.STANDARD or values["format"] == Format.TEXT:
        numbered = ((number, line) for number, line in enumerate(split_lines(text), start=1) if line.strip())
        context |= preview_lines(list(islice(numbered, PREVIEW_LINES)), Preprocessing.of(values, chosen))
    response = render(request, "datasets/_preview.html", context)
    return trigger_client_event(response, "detected", {"kind": kind, "format": format, "name": kind.label})


def preview_lines(lines: list[tuple[int, str]], operations: Preprocessing) -> dict[str, Any]:
    """What the operations do to all numbered lines in figures, and to the first ones in full.

    Each row tells why the line becomes no item: "duplicate", "empty", or "" if it becomes one.
    """
    items = list(operations.prepare(lines, Counts()))
    prepared = {item.number: item for item in items}
    rows = []
    for number, original in lines[:PREVIEW_ROWS]:
        if item := prepared.get(number):
            cleaned = NewItem("", original, item.tokens, item.found).cleaned(" ".join(item.tokens))
            rows.append((number, original, cleaned, item.tokens, ""))
        else:
            dropped = "duplicate" if operations.clean(original).strip() else "empty"
            rows.append((number, original, "", [], dropped))
    uncleaned = Preprocessing().prepare(lines, Counts())
    return {"lines": len(lines), "before": _figures(uncleaned), "after": _figures(items), "rows": rows}


def _figures(items: Iterable[Prepared]) -> tuple[int, int, int]:
    """The numbers of items, tokens and distinct tokens."""
    tokens_of = [item.tokens for item in items]
    return len(tokens_of), sum(map(len, tokens_of)), len(set().union(*tokens_of))


def ontology_choices(request: Request, kind: OntologyKind, chosen: Any, query: str = "") -> dict[str, Any]:
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
    if kind not in OntologyKind.values:
        raise Http404
    chooser = ontology_choices(request, OntologyKind(kind), request.GET.get(f"{kind}_ontology"), search_text(request))
    return render(request, "datasets/_ontology_choices.html", {"chooser": chooser})


# --- Published formats -------------------------------------------------------------------------------------------------


@require_GET
def schema(request: Request, kind: str) -> HttpResponseBase:
    """The JSON Schema of a kind's documents."""
    if kind not in DatasetKind.values or kind == DatasetKind.STANDARD:
        raise Http404
    text = json.dumps(DatasetKind(kind).schema, indent=2, ensure_ascii=False)
    return download(request, text, f"{kind}_dataset.schema.json", "application/json")


@require_GET
def example(request: Request, kind: str) -> HttpResponseBase:
    if kind not in DatasetKind.values:
        raise Http404
    content_type = "text/plain; charset=utf-8" if kind == DatasetKind.STANDARD else "application/json"
    return download(request, DatasetKind(kind).example, DatasetKind(kind).example_name, content_type)
