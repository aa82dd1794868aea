"""The pages of uploads: progress, report, and the decisions to change, store or discard them."""

from collections import ChainMap
from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation_service import access, limits, words
from annotation_service.http import Request, download
from annotation_service.inputs import Refused
from annotation_service.paging import Page
from annotation_service.views import announce_once
from ontologies.models import Ontology

from .. import drawing
from ..access import get_upload
from ..extra_fields import Field
from ..forms import SourceForm
from ..importing.document import Duplicates, ImportOptions, ImportReport, Inactive, Violations
from ..importing.formats import Format, detect
from ..kinds import DatasetKind
from ..models import Dataset, Upload
from .browsing import label_chart, shell
from .creating import add_form, check, create_form, refusal_as_message, show_form

MOST_LABELS = 12
GREY = "#808080"
DUPLICATES = {
    Duplicates.REFUSE: "The external ids have to be changed first.",
    Duplicates.SKIP: "What is there first stays as it is.",
    Duplicates.REPLACE: "Items that the dataset has already go to its bin with their marks, and can be restored for"
    f" {limits.DAYS_IN_BIN} days.",
}
INACTIVE = {
    Inactive.REFUSE: "The labels have to be switched on, or the marks changed, first.",
    Inactive.KEEP: "They come in and go out as they are, but annotators cannot accept them.",
}
VIOLATIONS = {
    Violations.REFUSE: "The marks or the constraints have to be changed first.",
    Violations.KEEP: "They come in as they are; annotators can put them right, and add no others like them.",
}
DECISIONS: dict[str, dict[Any, str]] = {"duplicates": DUPLICATES, "inactive": INACTIVE, "violations": VIOLATIONS}


@require_GET
def upload_page(request: Request, pk: int) -> HttpResponse:
    """The report or the progress of the work; redirects to the dataset once the upload is stored."""
    upload = get_upload(request, pk)
    if upload.state == Upload.State.STORED and upload.dataset:
        if upload.job:
            announce_once(request, upload.job)
        return redirect(upload.dataset)
    context: dict[str, Any] = {"upload": upload, "dataset": upload.dataset, "job": upload.job}
    context |= {"section": "projects" if upload.dataset and upload.dataset.project else "datasets"}
    context["working"] = upload.is_worked_on
    if upload.report:
        context |= _found(upload)
    if upload.options.get("format") == Format.TEXT and upload.size:
        seems = detect(upload.path, upload.name)
        context["misread"] = seems if seems.format != Format.TEXT else None
    return render(request, "datasets/upload.html", context)


def _found(upload: Upload) -> dict[str, Any]:
    """The report, with the first items drawn and the labels in their colours."""
    report, kind = upload.found, DatasetKind(upload.options["kind"])
    context: dict[str, Any] = {"report": report, "kind": kind, "decisions": DECISIONS}
    context |= {"kept_marks": list(_kept_marks(upload)), "refused_marks": list(_refused_marks(upload))}
    if report.items:
        context["tokens_an_item"] = round(report.tokens / report.items)
    try:
        options = ImportOptions.from_json(upload.options)
    except Refused as error:
        return context | {"gone": error}
    trees = list(options.ontologies.values())
    by_pk = ChainMap(*(tree.labels().by_pk for tree in trees))
    drawn = [(item, drawing.draw(item, labels=by_pk), Field.all_of(item["extra_fields"])) for item in report.preview]
    return context | {
        "format": Format(options.format),
        "operations": options.preprocessing.operations() if options.format == Format.TEXT else [],
        "trees": trees,
        "labels": [_counted(tree, report.labels[tree.kind]) for tree in trees if report.labels[tree.kind]],
        "named": list(_named(report)),
        "shown": drawn,
    }


def _kept_marks(upload: Upload) -> Iterator[str]:
    """What comes in although it is not as it should be, counted."""
    report, options = upload.found, upload.options
    if report.violation_total and options.get("violations") == Violations.KEEP:
        yield words.plural(report.violation_total, "violation of constraints,violations of constraints")
    if report.inactive_marks and options.get("inactive") == Inactive.KEEP:
        yield words.plural(report.inactive_marks, "mark with a label that is off,marks with labels that are off")


def _refused_marks(upload: Upload) -> Iterator[tuple[str, str]]:
    """What could be kept, with the place of the decision."""
    report, options = upload.found, upload.options
    if report.violation_total and options.get("violations") != Violations.KEEP:
        yield "violations", "the marks that break constraints"
    if report.inactive_marks and options.get("inactive") != Inactive.KEEP:
        yield "inactive-labels", "the marks with labels that are off"


def _named(report: ImportReport) -> Iterator[tuple[str, str, list[tuple[str, int]]]]:
    """What is wrong with labels that the document names: a title, a note, and the names with the numbers of their marks."""
    for kind in report.labels:
        if off := report.inactive_labels[kind]:
            yield f"{kind.capitalize()} labels", "switched off", list(off.items())
        if unknown := report.unusable_labels[kind]:
            yield f"Not {kind} labels", "unknown", list(unknown.items())


def _counted(ontology: Ontology, counts: dict[str, int]) -> dict[str, Any]:
    """The labels in use, the most frequent first; deleted ones keep their names."""
    labels, rows = ontology.labels().by_fullname, []
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        label = labels.get(name)
        rows.append((name, name.rpartition("/")[2], label.color if label else GREY, count))
    return label_chart(ontology, rows, MOST_LABELS)


@require_http_methods(["GET", "POST"])
def change_upload(request: Request, pk: int) -> HttpResponse:
    """Change kind, ontologies, file, ...; the rest stays as chosen before."""
    upload = get_upload(request, pk)
    if upload.state not in Upload.UNFINISHED or upload.is_worked_on:
        return redirect(upload)
    form = _form(request, upload)
    if not form.is_bound:
        return show_form(request, form, upload)
    is_valid = form.is_valid()
    if is_valid or form.keeps_its_file:
        with refusal_as_message(request):
            upload.change(form.options, file=form.sent)
            if is_valid:
                check(request, upload)
    return redirect(upload) if is_valid else show_form(request, form, upload)


def _form(request: Request, upload: Upload) -> SourceForm:
    kept: Any = {"initial": upload.options, "kept": upload.name}
    return add_form(request, upload.dataset, **kept) if upload.dataset else create_form(request, **kept)


@require_POST
def decide(request: Request, pk: int) -> HttpResponse:
    """Take a decision of the report's, and check again."""
    upload = get_upload(request, pk)
    sent = {name: request.POST.get(name) for name in DECISIONS}
    if wanted := {name: value for name, value in sent.items() if value in DECISIONS[name]}:
        with refusal_as_message(request):
            upload.change({**upload.options, **wanted})
            check(request, upload)
    return redirect(upload)


@require_POST
def store_upload(request: Request, pk: int) -> HttpResponse:
    """Store an upload at once or, if it is large, by a job. Sent twice, it is stored once."""
    upload = get_upload(request, pk)
    if upload.state == Upload.State.STORED:
        return redirect(upload)
    with refusal_as_message(request):
        if upload.is_large:
            upload.start_job("store_upload", by=request.user)
        else:
            messages.success(request, upload.outcome(upload.store()))
    return redirect(upload)


@require_POST
def discard_upload(request: Request, pk: int) -> HttpResponse:
    upload = get_upload(request, pk)
    with refusal_as_message(request):
        upload.discard()
        messages.success(request, f"“{upload}” was discarded.")
        return redirect("datasets:uploads", upload.dataset.pk) if upload.dataset else redirect("datasets:list")
    return redirect(upload)


@require_GET
def problems(request: Request, pk: int) -> HttpResponseBase:
    """All problems, one a line."""
    upload = get_upload(request, pk)
    if not upload.problems_path.is_file():
        raise Http404("There is no list of problems, or it was deleted after a day.")
    return download(request, upload.problems_path, f"{upload.name} problems.txt", "text/plain; charset=utf-8")


@require_GET
def history(request: Request, pk: int) -> HttpResponse:
    """The stored uploads of a dataset, and the unfinished ones of the user."""
    dataset = access.readable(request, Dataset, pk)
    stored = dataset.additions().select_related("by")
    page = Page.of(stored, request.GET.get("page"))
    unfinished = Upload.unfinished_of(request.user).select_related("dataset", "job").filter(dataset=dataset)
    context = shell(request, dataset, "uploads") | {"page": page, "unfinished": unfinished}
    return render(request, "datasets/uploads.html", context)
