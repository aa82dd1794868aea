"""How data comes in: the forms, which lead to the page of an upload with its progress, its report and the decisions about it."""

import json
from collections import ChainMap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.contrib import messages
from django.db.models import Case, When
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service import access, words
from annotation_service.file_formats import Beginning
from annotation_service.http import Request, download
from annotation_service.inputs import ENCODINGS, Refused, split_lines, whole_number
from annotation_service.paging import Page, named, search_text
from annotation_service.views import announce_once
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet

from .. import drawing
from ..access import get_upload
from ..extra_fields import Field
from ..formats import Detected, detect, format_named, labels_in, readable
from ..formats.own import TEXT
from ..forms import SAMPLE_CHARACTERS, AddForm, NewDatasetForm, PreviewForm, SourceForm
from ..importing.document import ImportReport
from ..importing.items import NewItem
from ..importing.options import DECISIONS, KEEP, REFUSE, ImportOptions, decided
from ..kinds import DatasetKind
from ..label_table import ACTIONS, ADD, read_rows, rows_of
from ..models import Dataset, Upload
from ..preprocessing import Counts, Prepared, Preprocessing
from ..tokenising import TOKENISERS
from .pages import label_chart, shell

PREVIEW_LINES = 200
PREVIEW_ROWS = 20
SHOWN_ONTOLOGIES = 6
COMPARED_ONTOLOGIES = 50
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
MOST_LABELS = 12
GREY = "#808080"
SAMPLE_LINES, SAMPLE_LINE = 5, 120


# --- Forms -------------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    return receive(request, create_form(request, *posted(request)))


@require_http_methods(["GET", "POST"])
def add_items(request: Request, pk: int) -> HttpResponse:
    dataset = access.editable(request, Dataset, pk)
    return receive(request, add_form(request, dataset, *posted(request)))


def create_form(request: Request, *bound: Any, **options: Any) -> NewDatasetForm:
    ontologies, constraints = access.blueprints(request, Ontology), access.blueprints(request, ConstraintSet)
    return NewDatasetForm(*bound, ontologies=ontologies, constraints=constraints, **options)


def add_form(request: Request, dataset: Dataset, *bound: Any, **options: Any) -> AddForm:
    constraints = access.blueprints(request, ConstraintSet) if dataset.is_blueprint else None
    return AddForm(*bound, dataset=dataset, constraints=constraints, **options)


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
    if form.makes_ontologies:
        make_and_check(request, kept)
    else:
        check(request, kept)
    return redirect(kept)


def make_and_check(request: Request, upload: Upload, *, instead: str = "") -> None:
    """Make the ontologies that are not chosen, of the labels that occur, or one of a kind instead of the chosen."""
    with refusal_as_message(request):
        for made in upload.make_ontologies(instead=instead):
            messages.success(request, f"The {made.kind_in_words} “{made}” was made with {made.content_in_words()}.")
        check(request, upload)


def check(request: Request, upload: Upload) -> None:
    with refusal_as_message(request):
        upload.begin_check(by=request.user)


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
        context |= {"formats": [DatasetKind(dataset.kind)], "upload_formats": _extensions(form.blueprint)}
        context |= {"section": "datasets" if dataset.is_blueprint else "projects"}
    else:
        context |= {
            "section": "datasets",
            "kinds": KINDS,
            "formats": list(DatasetKind),
            "upload_formats": _extensions(None),
        }
        for kind in OntologyKind:
            context[f"{kind}_chooser"] = ontology_choices(request, kind, form[f"{kind}_ontology"].value())
    template = "datasets/add.html" if dataset else "datasets/create.html"
    return render(request, template, context, status=422 if form.is_bound else 200)


def _extensions(blueprint: Dataset | None) -> list[str]:
    """Those of the files that a dataset takes: a standard one, unless it is that of a project, lines of text alone."""
    formats = [TEXT] if blueprint and blueprint.kind == DatasetKind.STANDARD else readable()
    return list(dict.fromkeys(extension for format in formats for extension in format.extensions))


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
    data = values["sample_bytes"] or values["sample"][:SAMPLE_CHARACTERS].encode()
    if not data.strip():
        return render(request, "datasets/_preview.html")
    start = Beginning(data, values["file_name"])
    chosen, detected = DatasetKind(values["kind"]), detect(start)
    format, kind = detected.format, detected.kind if _is_told(data, detected) else None
    context: dict[str, Any] = {"recognised": detected, "kind": kind, "format": format, "chosen": chosen, "text": TEXT}
    if format is None:
        return render(request, "datasets/_preview.html", context)
    if request.POST.get("for_new"):
        named_labels = labels_in(start, format)
        context["coverings"] = [covering(request, OntologyKind(of), named_labels[of]) for of in chosen.label_kinds]
    if chosen == DatasetKind.STANDARD or (values["format"] or format.name) == TEXT.name:
        numbered = ((number, line) for number, line in enumerate(split_lines(start.text), start=1) if line.strip())
        context |= preview_lines(list(islice(numbered, PREVIEW_LINES)), Preprocessing.of(values, chosen))
    response = render(request, "datasets/_preview.html", context)
    return trigger_client_event(response, "detected", {"kind": kind or "", "name": str(detected)})


def _is_told(sample: bytes, detected: Detected) -> bool:
    """Whether the kind is known: in the beginning of what is packed no marks can be seen."""
    is_cut = len(sample) >= SAMPLE_CHARACTERS and detected.format and detected.format.is_packed
    return not is_cut or detected.kind != DatasetKind.RICH


def covering(request: Request, kind: OntologyKind, names: list[str]) -> dict[str, Any]:
    """The ontology that has most of these labels or, if somebody has chosen one, that one; and which of them it lacks."""
    field = f"{kind}_ontology"
    sent, found = request.POST.get(field, ""), access.blueprints(request, Ontology).filter(kind=kind)
    is_given = sent != request.POST.get(f"{field}_found", "") and whole_number(sent)
    own_first = Case(When(owner=request.user, then=0), default=1)
    compared = found.filter(pk=sent) if is_given else found.order_by(own_first, "-updated_at")[:COMPARED_ONTOLOGIES]
    lacking = {each: list(filter(each.label_names().lacks, names)) for each in compared}
    best = min(lacking, key=lambda each: len(lacking[each]), default=None)
    lacks = lacking[best] if best else names
    if len(lacks) == len(names) and not is_given:
        best = None
    return {
        "ontology": best,
        "kind": kind,
        "names": names,
        "lacking": lacks,
        "covered": len(names) - len(lacks),
        "chooser": ontology_choices(request, kind, best.pk) if best and not is_given else None,
    }


def preview_lines(lines: list[tuple[int, str]], operations: Preprocessing) -> dict[str, Any]:
    """What the operations do to all numbered lines in figures, and to the first ones in full.

    Each row tells why the line becomes no item: "duplicate", "empty", or "" if it becomes one.
    """
    items = list(operations.prepare(lines, counts := Counts()))
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
    return {
        "lines": len(lines),
        "before": _figures(uncleaned),
        "after": _figures(items),
        "rows": rows,
        "counts": counts,
    }


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


# --- Uploads -----------------------------------------------------------------------------------------------------------


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
    if upload.is_outdated and not upload.is_worked_on:
        check(request, upload)
    context["working"] = upload.is_worked_on
    if upload.report:
        context |= _found(upload)
    if upload.options.get("format") == TEXT.name and upload.size:
        seems = detect(Beginning.of(upload.path, upload.name))
        context["misread"] = seems.recognised if seems.format != TEXT else None
    return render(request, "datasets/upload.html", context)


def _found(upload: Upload) -> dict[str, Any]:
    """The report, with the first items drawn and the labels in their colours."""
    report, kind = upload.found, DatasetKind(upload.options["kind"])
    chosen, doubtful = decided(upload.options), report.doubtful().items()
    context: dict[str, Any] = {"report": report, "kind": kind}
    context["decisions"] = {name: (name, each.choices, chosen[name]) for name, each in DECISIONS.items()}
    context["kept"] = [words.plural(n, DECISIONS[name].counted) for name, n in doubtful if n and chosen[name] == KEEP]
    context["refused"] = [(name, DECISIONS[name].what) for name, n in doubtful if n and chosen[name] == REFUSE]
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
        "format": format_named(options.format),
        "operations": options.preprocessing.operations() if options.format == TEXT.name else [],
        "trees": trees,
        "labels": [_counted(tree, report.labels[tree.kind]) for tree in trees if report.labels[tree.kind]],
        "named": list(_named(upload, report)),
        "label_tables": [
            (
                tree,
                list(rows_of(tree, report.unusable_labels[tree.kind], options.labels.get(tree.kind, {}))),
                {name: ACTIONS[name] for name in ACTIONS if name != ADD or access.can_edit(upload.by, tree)},
            )
            for tree in trees
            if not upload.is_copy
        ],
        "author": options.whose.removeprefix("@") if options.whose.startswith("@") else "",
        "told_total": len(report.problem_lines) + report.untold,
        "has_bad": upload.bad_path.is_file(),
        **(_reading(upload, options, report) if upload.size else {}),
        "shown": drawn,
    }


def _reading(upload: Upload, options: ImportOptions, report: ImportReport) -> dict[str, Any]:
    """What can be chosen about how the file is read."""
    start = Beginning.of(upload.path, upload.name, options.encoding)
    choices = format_named(options.format).settings(start)
    formats = [TEXT] if options.kind == DatasetKind.STANDARD else readable()
    return {
        "formats": formats,
        "encoding": options.encoding,
        "encodings": encoding_samples(start.data) if report.wrong_encoding or options.encoding else (),
        "reading": [(choice, options.reading.get(choice.name, choice.default)) for choice in choices],
    }


def encoding_samples(data: bytes) -> list[tuple[str, str, list[str]]]:
    """The encodings with the first lines that differ between them, as each has these."""
    lines = [line for line in data.splitlines() if not line.isascii()][:SAMPLE_LINES]
    return [
        (name, label, [line.decode(name, "replace")[:SAMPLE_LINE] for line in lines if name])
        for name, label in ENCODINGS.items()
    ]


def _named(upload: Upload, report: ImportReport) -> Iterator[tuple[str, str, list[tuple[str, int]]]]:
    """What is wrong with labels that the document names: a title, a note, and the names with the numbers of their marks."""
    for kind in report.labels:
        if off := report.inactive_labels[kind]:
            yield f"{kind.capitalize()} labels", "switched off", list(off.items())
        if (unknown := report.unusable_labels[kind]) and upload.is_copy:  # else there is a table to decide about them
            known = report.known_labels[kind]
            of = words.plural(known + len(unknown), "label,labels")
            yield f"Not {kind} labels", f"{words.number(known)} of {of} are known", list(unknown.items())


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
    if upload.state not in Upload.UNFINISHED or upload.is_worked_on or upload.is_copy:
        return redirect(upload)
    form = _form(request, upload)
    if not form.is_bound:
        return show_form(request, form, upload)
    is_valid = form.is_valid()
    if is_valid or form.keeps_its_file:
        with refusal_as_message(request):
            before = ("encoding", "reading", "labels") if not form.sent else ()
            kept = {name: upload.options[name] for name in before if name in upload.options}
            upload.change({**kept, **form.options}, file=form.sent)
            if is_valid and form.makes_ontologies:
                make_and_check(request, upload)
            elif is_valid:
                check(request, upload)
    return redirect(upload) if is_valid else show_form(request, form, upload)


def _form(request: Request, upload: Upload) -> SourceForm:
    kept: Any = {"initial": upload.options, "kept": upload}
    bound = posted(request)
    return add_form(request, upload.dataset, *bound, **kept) if upload.dataset else create_form(request, *bound, **kept)


@require_POST
def decide(request: Request, pk: int) -> HttpResponse:
    """Take a decision of the report's, or another way to read the file, and check again."""
    upload, sent = get_upload(request, pk), request.POST
    wanted: dict[str, Any] = {name: sent[name] for name in DECISIONS if sent.get(name) in DECISIONS[name].values}
    if sent.get("format") in {format.name for format in readable()}:
        wanted["format"] = sent["format"]
    if sent.get("encoding") in ENCODINGS:
        wanted["encoding"] = sent["encoding"]
    choices = {name.removeprefix("reading_"): sent[name] for name in sent if name.startswith("reading_")}
    wanted["reading"] = {**upload.options.get("reading", {}), **choices}
    with refusal_as_message(request):
        upload.change({**upload.options, **wanted})
        check(request, upload)
    return redirect(upload)


@require_POST
def make_ontology(request: Request, pk: int, kind: str) -> HttpResponse:
    """Make an ontology of the labels that occur in the file, instead of the one that was chosen."""
    upload = get_upload(request, pk)
    access.require_creator(request)
    with refusal_as_message(request):
        make_and_check(request, upload, instead=kind)
    return redirect(upload)


@require_POST
def map_labels(request: Request, pk: int, kind: str) -> HttpResponse:
    """Say which labels those of the file are, and check again."""
    upload = get_upload(request, pk)
    ontology = get_object_or_404(access.all_readable(request, Ontology), pk=upload.options.get(f"{kind}_ontology") or 0)
    with refusal_as_message(request):
        labels, new = read_rows(dict(request.POST.lists()), ontology)
        if new:
            access.editable(request, Ontology, ontology.pk)
        upload.map_labels(kind, labels, new, by=request.user)
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
def bad_items(request: Request, pk: int) -> HttpResponseBase:
    """The items with problems, one a line, to be corrected and added."""
    upload = get_upload(request, pk)
    if not upload.bad_path.is_file():
        raise Http404("There are no such items, or they were deleted after a day.")
    return download(request, upload.bad_path, f"{upload.name} problems.jsonl", "application/jsonl")


@require_GET
def history(request: Request, pk: int) -> HttpResponse:
    """The stored uploads of a dataset, and the unfinished ones of the user."""
    dataset = access.readable(request, Dataset, pk)
    stored = dataset.additions().select_related("by")
    page = Page.of(stored, request.GET.get("page"))
    unfinished = Upload.unfinished_of(request.user).select_related("dataset", "job").filter(dataset=dataset)
    context = shell(request, dataset, "uploads") | {"page": page, "unfinished": unfinished}
    return render(request, "datasets/uploads.html", context)


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
