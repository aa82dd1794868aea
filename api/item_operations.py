"""Datasets and their items, and uploads on their way into one: what the pages of the app `datasets` do."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

from django.conf import settings
from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from annotation_service import access
from annotation_service.db import write
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import download
from annotation_service.inputs import ENCODINGS, Refused
from annotation_service.json_input import parse_json
from annotation_service.models import Job
from datasets.access import get_upload
from datasets.exports import DOWNLOAD_FORMATS
from datasets.formats import format_named
from datasets.importing.document import ImportReport
from datasets.importing.options import DECISIONS, DROP, KEEP, UPDATE
from datasets.item_lists import ItemFilter
from datasets.label_table import ADD, BECOMES, SKIP, read_rows
from datasets.models import Dataset, Item, TextCorrection, Upload
from datasets.models.correction import Moves, cut_anew
from datasets.statistics import label_counts, statistics_of
from datasets.text_history import moves_in_words
from datasets.views.exporting import ExportForm, export_or_start, losses_of
from datasets.views.pages import item_of
from datasets.views.uploads import add_form, create_form
from ontologies.models import Ontology, OntologyKind

from .blueprint_operations import seen_by, show_blueprint
from .forms import valid
from .models import Scope
from .operations import FILE, ApiSection, Call, Rows, attributes, project_of
from .problems import show_problems

# Parameters of queries.
READING = "file_name format as_lines encoding reading labels tokeniser"
DECIDED = " ".join(name for name, each in DECISIONS.items() if each.what or name == "bad")
CONSTRAINTS = "entity_constraints relation_constraints"
NEW = f"name description kind entity_ontology relation_ontology {CONSTRAINTS} remove_characters lowercase remove_duplicates"
OF_NEW = f"{NEW} {READING} {DECIDED} make_ontology dry_run"
OF_ITEMS = f"agree {CONSTRAINTS} {READING} inactive violations dry_run"
FILTER = "q has label external upload"
# What no form has, and an upload keeps.
CARRIED = ("encoding", "reading", "labels", "agreed", *DECISIONS)
# What is asked for beside the options.
ASKED_ALONE = ("file_name", "dry_run", "make_ontology", "agree")
DATASET, UPLOAD = "datasets/<int:dataset>", "uploads/<int:upload>"
ITEM = f"{DATASET}/items/<int:item>"
datasets, uploads = ApiSection("Datasets"), ApiSection("Uploads")

project_of["upload"] = lambda pk: Upload.objects.filter(pk=pk).values_list("dataset__project", flat=True).first()


# --- Datasets ----------------------------------------------------------------------------------------------------------


def _taken(call: Call, dataset: Dataset | None, more: Mapping[str, Any]) -> Upload:
    """What was sent, as an upload with the options that were asked for. Nothing is kept of what its form refuses."""
    if dataset is None and not (call.asked["name"] or call.asked["file_name"]):
        raise Refused("Give the dataset a name.", place="name")
    sent = {name: value for name, value in call.asked.items() if value and name not in ASKED_ALONE}
    sent |= {name: _object_in(sent[name], name) for name in ("reading", "labels") if name in sent}
    upload = Upload.begin(call.sent, by=call.user, options={}, dataset=dataset)
    with discarded_if_refused(upload):
        _settle(call, upload, {**sent, **more})
    return upload


@contextmanager
def discarded_if_refused(upload: Upload) -> Iterator[None]:
    try:
        yield
    except Refused:
        if upload.state != Upload.State.DISCARDED:
            upload.discard()
        raise


def _object_in(text: str, name: str) -> dict[str, Any]:
    value = parse_json(text)
    inner = value.values() if isinstance(value, dict) and name == "labels" else [value]
    if not all(isinstance(each, dict) and all(isinstance(v, str) for v in each.values()) for each in inner):
        raise Refused("This is a JSON object of texts; of labels one for each kind of them.", place=name)
    return value


def _settle(call: Call, upload: Upload, sent: Mapping[str, Any]) -> None:
    """Change options of an upload as its form takes them; the others stay. It has to be checked again."""
    if sent.get("encoding", "") not in ENCODINGS:
        raise Refused(f"Encodings are {', '.join(filter(None, ENCODINGS))}.", place="encoding")
    make = partial(add_form, call, upload.dataset) if upload.dataset else partial(create_form, call)
    kept: Any = {"initial": upload.options, "kept": upload}
    usual = make(**kept)
    given = {name: usual.get_initial_for_field(field, name) for name, field in usual.fields.items()}
    if other := next((name for name in sent if name not in usual.fields and name not in CARRIED), None):
        raise Refused("This cannot be chosen here.", place=other)
    form = make({**given, **sent}, **kept)
    valid(form)
    carried = {name: value for name, value in {**upload.options, **sent}.items() if name in CARRIED}
    upload.change({**carried, **form.options})


def _stored(call: Call, upload: Upload) -> Job | Dataset:
    """At once or, of a large one, by a job."""
    return upload.start_job("store_upload", by=call.user) if upload.is_large else upload.store()


def _checked(call: Call, upload: Upload) -> Job | dict[str, Any]:
    return upload.begin_check(by=call.user) or show_upload(upload)


@datasets.create("datasets", FILE, "NewDataset", query=OF_NEW, long=True, pages="datasets:create")
def create_dataset(call: Call) -> Any:
    """Create a dataset of a file in any format.

    With “dry_run” the answer is an upload with the report of what was found; it waits for a day to be stored or discarded.
    “make_ontology” makes the ontologies that are not chosen, of the labels in the file.
    """
    access.require_creator(call)
    is_dry, makes = call.asked["dry_run"], call.asked["make_ontology"]
    if is_dry and makes:
        raise Refused("A dry run makes no ontologies: make them for the upload that waits.", place="make_ontology")
    of_kinds = {f"make_{of}_ontology": makes and not call.asked[f"{of}_ontology"] for of in OntologyKind.values}
    upload = _taken(call, None, of_kinds if makes else {})
    if is_dry:
        return _checked(call, upload)
    with discarded_if_refused(upload):
        found = upload.labels_found() if makes else {}
        with write() if makes else nullcontext():  # no ontology is left of what is refused
            if makes:
                upload.make_ontologies(found)
            stored = _stored(call, upload)
    return stored if isinstance(stored, Job) else show_blueprint(stored)


@datasets.get(f"{DATASET}/statistics", "DatasetStatistics")
def get_statistics(call: Call, dataset: int) -> Any:
    """Read the figures of a dataset: lengths, frequent words, and how many marks that came with it have each label."""
    found = access.readable(call, Dataset, dataset)
    counts = {}
    for ontology, used in zip(found.ontologies(), label_counts(found), strict=False):
        labels = ontology.labels().by_pk
        counts[ontology.kind] = {labels[pk].fullname: count for pk, count in used.items() if pk in labels}
    figures = dict(statistics_of(found))
    del figures["most_in_a_bar"]
    figures["lengths"] = [bar._asdict() for bar in figures["lengths"]]
    figures["words"] = [{"word": word, "count": count} for word, count in figures["words"]]
    return figures | {"labels": counts}


@datasets.file(f"{DATASET}/download/<str:format>", query=FILTER)
def download_dataset(call: Call, dataset: int, format: str) -> HttpResponseBase:
    """Download the items of a dataset, or those that match, as json, json-lines, text or cleaned text."""
    found = access.readable(call, Dataset, dataset)
    chosen = next((each for each in DOWNLOAD_FORMATS if each.name == format and found.kind in each.kinds), None)
    if chosen is None:
        raise Http404("A dataset of this kind has no such download.")
    items = ItemFilter.of(found, call.GET).items()
    return download(call, partial(chosen.write, found, items), chosen.file_name(found), chosen.content_type)


@datasets.post(
    f"{DATASET}/exports",
    answer="Losses",
    scope=Scope.READ,
    query="format dry_run",
    sends_file=True,
    long=True,
    pages="datasets:export",
)
def export_dataset(call: Call, dataset: int) -> Any:
    """Export a dataset in the format of another program. With “dry_run” the answer tells what that loses."""
    found = access.readable(call, Dataset, dataset)
    chosen = valid(ExportForm({"format": call.asked["format"] or ""}))
    if not call.asked["dry_run"]:
        return export_or_start(call, found, chosen["format"])
    if found.row_count > settings.JOB_ROWS:
        raise Refused("Of so many items the job tells what is lost, with the file.", place="dry_run")
    return {"losses": losses_of(found, chosen)}


# --- Items -------------------------------------------------------------------------------------------------------------


def show_item(item: Item) -> dict[str, Any]:
    return attributes(item, "id number external_id original tokens offsets extra_fields text_version removed_at")


@datasets.list(f"{DATASET}/items", "Item", query=f"{FILTER} external_id removed")
def list_items(call: Call, dataset: int) -> Rows:
    """List the items of a dataset that match, by their numbers; with “removed” those of its bin."""
    found = access.readable(call, Dataset, dataset)
    asked: dict[str, Any] = {name: call.asked[name] or "" for name in FILTER.split()}
    items = ItemFilter(dataset=found, bin="1" if call.asked["removed"] else "", **asked).matching()
    if call.asked["external_id"] is not None:
        items = items.filter(external_id=call.asked["external_id"])
    return Rows(items.defer("search_text"), lambda some: map(show_item, some), key="position")


@datasets.post(f"{DATASET}/items", FILE, "ItemOutcomes", query=OF_ITEMS, long=True, pages="datasets:add_items")
def upsert_items(call: Call, dataset: int) -> Any:
    """Add items, and replace those whose external ids are there.

    The body is a file in any format, such as rich items in lines of JSON. Each item is answered as created, replaced, unchanged
    or refused; of a large file, or in a large dataset, by a job whose file has these answers in lines of JSON. The same request
    again changes nothing, unless items have no external id: these are always new. To replace a text corrects it: all marks move
    with their words, and those that the file has for the item are left out, as are its extra fields if it has none. An item that
    would lose marks is refused with their number, unless “agree” is the sum of these numbers in the request. A request corrects
    500 texts at most (the setting MAX_CORRECTED_TEXTS); larger ones are refused: split them.
    """
    found = access.editable(call, Dataset, dataset)
    is_dry = call.asked["dry_run"]
    decided = {"duplicates": UPDATE, "bad": DROP, "unmarked": KEEP, "agreed": call.asked["agree"]}
    upload = _taken(call, found, decided)
    path = upload.outcomes_path
    with discarded_if_refused(upload):
        result = upload.begin_check(by=call.user) if is_dry else _stored(call, upload)
        if isinstance(result, Job):
            return result
        if is_dry:
            upload.found.raise_problems()
    with path.open(encoding="utf-8") as lines:
        items = [parse_json(line) for line in lines]
    path.unlink()
    if is_dry:
        upload.discard()
    counts = Counter(item["outcome"] for item in items)
    return {name: counts[name] for name in ("created", "replaced", "unchanged", "refused")} | {"items": items}


@datasets.get(ITEM, "Item")
def get_item(call: Call, dataset: int, item: int) -> Any:
    """Read an item, also one in the bin."""
    return show_item(item_of(access.readable(call, Dataset, dataset), item))


@datasets.patch(ITEM, "ItemChange", "Item", pages="datasets:edit_item")
def change_item(call: Call, dataset: int, item: int) -> Any:
    """Change the external id or the extra fields of an item."""
    found = item_of(access.editable(call, Dataset, dataset), item)
    was = seen_by(call)
    now = {"external_id": found.external_id, "extra_fields": found.extra_fields}
    found.edit(**{**now, **call.sent}, was=was | {n: fingerprint(v) for n, v in now.items() if n not in call.sent})
    return show_item(item_of(found.dataset, item))


@datasets.create(f"{ITEM}/corrections", "NewCorrection", "Correction", query="dry_run", pages="datasets:correct_text")
def correct_text(call: Call, dataset: int, item: int) -> Any:
    """Correct the text of an item: all marks move with their words.

    With “dry_run” the answer tells which marks change their words or would be lost. Where some would be lost, it is refused
    unless “agree” is their number.
    """
    found, sent = item_of(access.editable(call, Dataset, dataset), item), call.sent
    new = cut_anew(found, sent["text"], sent.get("tokeniser", ""))
    version = sent.get("text_version", found.text_version)
    if version != found.text_version:
        raise Conflict({"text": found.original})
    if call.asked["dry_run"]:
        moves = Moves(found, new)
        told = moves_in_words(found, moves.lines, moves.moved)
        return {"id": None, "version": version + 1, "at": None, "by": call.user.username, **_show_moves(told)}
    done = TextCorrection.make(found, new, by=call.user, was_version=version, agreed=sent.get("agree", 0))
    return _show_correction(found, done)


def _show_moves(told: Mapping[str, Any]) -> dict[str, Any]:
    lines = [
        {**attributes(line, "before after status"), "label": label.fullname if label else None, "people": people}
        for line, label, people in told["lines"]
    ]
    return {name: told[name] for name in ("moved", "changed", "lost", "back")} | {"marks": lines}


def _show_correction(item: Item, done: TextCorrection) -> dict[str, Any]:
    return {**attributes(done, "id version by at"), **_show_moves(moves_in_words(item, **done.marks))}


@datasets.list(f"{ITEM}/corrections", "Correction")
def list_corrections(call: Call, dataset: int, item: int) -> Rows:
    """List the corrections of the text of an item, the oldest first."""
    found = item_of(access.readable(call, Dataset, dataset), item)
    rows = TextCorrection.objects.filter(item=found).select_related("by").defer("kept", "offsets")
    return Rows(rows, lambda some: (_show_correction(found, each) for each in some))


@datasets.create(f"{ITEM}/corrections/<int:correction>/undo", answer="Correction", pages="datasets:undo_correction")
def undo_correction(call: Call, dataset: int, item: int, correction: int) -> Any:
    """Give an item the text of before its last correction, with the marks as they were."""
    found = item_of(access.editable(call, Dataset, dataset), item)
    last = get_object_or_404(TextCorrection, pk=correction, item=found)
    last.item = found
    return _show_correction(found, last.undo(by=call.user))


def _chosen(call: Call, dataset: Dataset, **more: str) -> ItemFilter:
    """The items that are named or, with “all”, every one that matches."""
    if bool(call.sent.get("items")) == bool(call.sent.get("all")):
        raise Refused("Name the items, or say “all” for every one that matches.", place="$.items")
    asked: dict[str, Any] = {name: call.asked[name] or "" for name in FILTER.split()}
    return ItemFilter(dataset=dataset, selected=tuple(map(str, call.sent.get("items", ()))), **asked, **more)


@datasets.post(f"{DATASET}/removals", "Removal", "Removed", query=f"{FILTER} dry_run", pages="datasets:remove")
def remove_items(call: Call, dataset: int) -> Any:
    """Put items into the bin with their marks, if they are as many as was agreed.

    With “dry_run”, or without a “count”, the answer tells how many items and marks would go.
    """
    found = access.editable(call, Dataset, dataset)
    items, agreed = _chosen(call, found).items(), call.sent.get("count")
    answer = {"count": items.count(), "marks": found.marks_of(items)._asdict()}
    if agreed is not None and not call.asked["dry_run"]:
        unbegun = call.sent.get("unbegun", False)
        answer["count"] = found.remove(items, by=call.user, agreed=agreed, unbegun=unbegun)
    return answer


@datasets.post(f"{DATASET}/restorations", "Restoration", "Restored", query=FILTER, pages="datasets:restore")
def restore_items(call: Call, dataset: int) -> Any:
    """Take items out of the bin with all their marks; the answer tells how many have the text of others that are there."""
    found = access.editable(call, Dataset, dataset)
    chosen = _chosen(call, found, bin="1").items()
    same = found.items_like(chosen).count()
    return {"count": found.restore(chosen), "same_text": same}


# --- Uploads -----------------------------------------------------------------------------------------------------------


def show_upload(upload: Upload) -> dict[str, Any]:
    return {
        **attributes(upload, "id number by state created_at stored_at options"),
        "dataset": upload.dataset_id,
        "file_name": upload.name,
        "job": upload.job_id,
        "report": _show_report(upload.found) if upload.report else None,
    }


def _show_report(report: ImportReport) -> dict[str, Any]:
    found = asdict(report)
    names = ("labels", "inactive_labels", "unusable_labels", "violations", "marks_at_stake", "not_read")
    labels: dict[int, str] = {}
    for ontology in Ontology.objects.filter(pk__in=report.versions):
        labels |= {label.pk: label.fullname for label in ontology.labels()}
    return {
        "is_good": report.is_good,
        "counts": {name: value for name, value in found.items() if type(value) is int},
        "doubtful": report.doubtful(),
        **{name: found[name] for name in names},
        "same_external_ids": [dict(zip(("place", "external_id", "taken_by"), e, strict=True)) for e in report.same_ids],
        "problems": show_problems(report.problem_lines),
        "problem_total": report.problems.total,
        "items": list(_first_items(report, labels)),
    }


def _first_items(report: ImportReport, labels: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    for item in report.preview:
        marks = {
            kind: [{**mark, "label": labels.get(mark["label"], "")} for mark in item[kind]]
            for kind in ("entities", "relations")
        }
        yield {**item, **marks}


@uploads.list("uploads", "Upload")
def list_uploads(call: Call) -> Rows:
    """List the person's uploads that wait to be stored or discarded."""
    waiting = Upload.unfinished_of(call.user).select_related("by")
    return Rows(waiting, lambda some: map(show_upload, some))


@uploads.list(f"{DATASET}/uploads", "Upload")
def list_additions(call: Call, dataset: int) -> Rows:
    """List the uploads that were stored in a dataset, the oldest first."""
    stored = access.readable(call, Dataset, dataset).additions().select_related("by")
    return Rows(stored, lambda some: map(show_upload, some))


@uploads.create(f"{DATASET}/uploads", FILE, "Upload", query=f"{CONSTRAINTS} {READING} {DECIDED} whose", long=True)
def begin_upload(call: Call, dataset: int) -> Any:
    """Upload more items for a dataset, to be checked first: stored or discarded afterwards, also by a person on its page."""
    return _checked(call, _taken(call, access.editable(call, Dataset, dataset), {}))


@uploads.get(UPLOAD, "Upload", scope=Scope.MANAGE)
def get_upload_report(call: Call, upload: int) -> Any:
    """Read how an upload is read, and the report of what was found in it."""
    return show_upload(get_upload(call, upload))


@uploads.patch(UPLOAD, "UploadChange", "Upload", long=True, pages="datasets:change_upload datasets:decide")
def change_upload(call: Call, upload: int) -> Any:
    """Change how an upload is read, or decide about what was found; it is checked again."""
    found = get_upload(call, upload)
    if call.sent.keys() <= {*CARRIED, "format"}:
        format_named(call.sent.get("format", found.options["format"]))
        found.change({**found.options, **call.sent})
    elif found.is_copy:
        raise Refused("Of a copy there are only decisions to take.")
    else:
        _settle(call, found, call.sent)
    return _checked(call, found)


@uploads.post(f"{UPLOAD}/labels/<str:kind>", "LabelNames", "Upload", long=True, pages="datasets:map_labels")
def map_labels(call: Call, upload: int, kind: str) -> Any:
    """Say what the labels of a file are called in the ontology, and which are added to it; it is checked again."""
    found = get_upload(call, upload)
    chosen = found.options.get(f"{kind}_ontology") or 0
    ontology = get_object_or_404(access.all_readable(call, Ontology), pk=chosen)
    called, added = call.sent.get("labels", {}), call.sent.get("new", [])
    actions = [SKIP if ours is None else BECOMES for ours in called.values()] + [ADD] * len(added)
    ours = [*called.values(), *added]
    labels, new = read_rows({"theirs": [*called, *added], "action": actions, "ours": [*map(str, ours)]}, ontology)
    if new:
        access.editable(call, Ontology, ontology.pk)
    found.map_labels(kind, labels, new, by=call.user)
    return _checked(call, found)


@uploads.create(f"{UPLOAD}/ontologies/<str:kind>", answer="Upload", long=True, pages="datasets:make_ontology")
def make_ontology(call: Call, upload: int, kind: str) -> Any:
    """Make an ontology of the labels in a file, instead of the one that was chosen for a new dataset."""
    found = get_upload(call, upload)
    access.require_creator(call)
    found.make_ontologies(instead=kind)
    return _checked(call, found)


@uploads.post(f"{UPLOAD}/store", answer="Blueprint", long=True, pages="datasets:store_upload")
def store_upload(call: Call, upload: int) -> Any:
    """Store an upload in its dataset, or as a new one. Asked again, it is stored once."""
    found = get_upload(call, upload)
    if found.state == Upload.State.STORED and found.dataset:
        return show_blueprint(found.dataset)
    return found.start_job("store_upload", by=call.user) if found.is_large else show_blueprint(found.store())


@uploads.delete(UPLOAD, pages="datasets:discard_upload")
def discard_upload(call: Call, upload: int) -> None:
    """Discard an upload that was not stored."""
    get_upload(call, upload).discard()


@uploads.file(f"{UPLOAD}/files/<str:name>", scope=Scope.MANAGE)
def get_upload_file(call: Call, upload: int, name: str) -> HttpResponseBase:
    """Download all “problems” of an upload, its “bad” items as lines of JSON, or the “outcomes” of a dry run."""
    found = get_upload(call, upload)
    paths = {"problems": found.problems_path, "bad": found.bad_path, "outcomes": found.outcomes_path}
    if name not in paths or not paths[name].is_file():
        raise Http404("There is no such file, or it was deleted after a day.")
    return download(call, paths[name], f"{found.name} {name}.{'txt' if name == 'problems' else 'jsonl'}")
