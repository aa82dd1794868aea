"""The list of datasets, and the pages of one: its items, one item, what is done to them, statistics, downloads."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Lower
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service import access, words
from annotation_service.blueprint_views import list_context
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request, download, refused, show_table
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import Column
from annotation_service.views import blueprints_and_copies, finders
from ontologies.labels import Label, Labels
from ontologies.models import Ontology

from .. import drawing
from ..exports import DOWNLOAD_FORMATS, DownloadFormat
from ..extra_fields import Field, read_lines, to_object
from ..item_lists import ItemFilter, given_count
from ..kinds import DatasetKind
from ..models import GIVEN, Annotation, Dataset, Entity, Item, Layer, Relation, Upload
from ..models.judged import broken_here
from ..models.marks import Mark
from ..statistics import label_counts, statistics_of
from ..text_history import history_of

COLUMNS = [
    Column("name", "Name", Lower("name")),
    Column("kind", "Kind", "kind"),
    Column("items", "Items", "item_count", number=True, big_first=True),
    Column("tokens", "Tokens", "token_count", number=True, big_first=True),
    Column("state", "State", "uses", big_first=True),
    Column("owner", "Owner", Lower("owner__username")),
    Column("changed", "Changed", "updated_at", big_first=True),
]
SHOWN_LABELS = 30
# The filter offers the newest uploads; the list of uploads has all of them.
MAX_UPLOADS = 50
# Up to this number of tokens the page counts its vocabulary by itself; above, a button does.
COUNTED_UNASKED = 300_000


@require_GET
def dataset_list(request: Request) -> HttpResponse:
    context = list_context(
        request, access.blueprints(request, Dataset), COLUMNS, "name", "description", "owner__username"
    )
    context["unfinished"] = Upload.unfinished_of(request.user).select_related("dataset", "job")
    return render(request, "datasets/list.html", context)


# --- Items -------------------------------------------------------------------------------------------------------------


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
    """Show the items, or the bin; a filter request gets the table alone."""
    dataset = access.readable(request, Dataset, pk)
    shown = ItemFilter.of(dataset, request.GET).without_selection()
    counted = {"entity_count": given_count(Entity), "relation_count": given_count(Relation)}
    texts = Item.with_removed.select_related("removed_by").annotate(**counted)
    page = shown.page(request.GET.get("page"), texts)
    columns = _columns(shown, page.object_list)
    context = shell(request, dataset, "bin" if shown.bin else "items")
    context |= {
        "filter": shown,
        "page": page,
        "rows": [(item, item.excerpt(shown.q), None) for item in page.object_list],
        "columns": columns,
        "cells": [column.name for column in columns],
        "selects": context["can_edit"],
        "corrects": context["can_edit"] and not shown.bin and dataset.get_absolute_url(),
        "everything": f"{request.path}?bin=1" if shown.bin else request.path,
    }
    query, choices = shown.query_string(page=page.number), partial(_choices, shown)
    return show_table(request, query, "datasets/_items.html", "datasets/page.html", context, choices=choices)


def _columns(shown: ItemFilter, items: Any) -> list[Column]:
    """Without those that are empty."""
    kind = DatasetKind(shown.dataset.kind)
    filled = {
        "external": kind != DatasetKind.STANDARD or any(item.external_id for item in items),
        "entities": kind.has_entities or any(item.entity_count for item in items),
        "relations": kind.has_relations or any(item.relation_count for item in items),
    }
    return [column for column in shown.columns if filled.get(column.name, True)]


def shell(request: Request, dataset: Dataset, tab: str) -> dict[str, Any]:
    """The context of `datasets/_head.html`: the head and the tabs of every page of a dataset."""
    return {
        "section": "datasets" if dataset.is_blueprint else "projects",
        "dataset": dataset,
        "tab": tab,
        "download_formats": [format for format in DOWNLOAD_FORMATS if dataset.kind in format.kinds],
        "can_edit": access.can_edit(request.user, dataset),
        "bin_count": dataset.bin().count(),
    }


def _choices(shown: ItemFilter) -> dict[str, Any]:
    """The context of the filter form and of the column beside the table."""
    dataset = shown.dataset
    ontologies = dataset.ontologies()
    kinds = zip(("Entities", "Relations"), ontologies, label_counts(dataset), strict=False)
    return {
        "used_labels": [(name, len(used), _branches(tree.labels(), used)) for name, tree, used in kinds if used],
        "uploads": dataset.additions()[:MAX_UPLOADS],
        "ontologies": ontologies,
        "count_vocabulary": dataset.token_count <= COUNTED_UNASKED,
    }


def _branches(labels: Labels, counts: Mapping[int, int]) -> list[tuple[Label, int]]:
    """The counted labels and their ancestors in tree order, each with the count of its whole branch."""
    sums: Counter[int] = Counter()
    for pk, count in counts.items():
        label = labels.by_pk.get(pk)
        while label:
            sums[label.pk] += count
            label = labels.by_uid.get(label.parent_uid or "")
    return [(label, sums[label.pk]) for label in labels if label.pk in sums]


@require_GET
def item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Show an item, also one in the bin, with its given marks and links to its neighbours in the filtered table."""
    dataset = access.readable(request, Dataset, pk)
    found = item_of(dataset, item_pk)
    shown = ItemFilter.of(dataset, request.GET).without_selection()
    previous, following = shown.neighbours(found)
    context = shell(request, dataset, "bin" if found.removed_at else "items") | _marks(found)
    context |= {"item": found, "filter": shown, "previous": previous, "next": following}
    context |= {"fields": Field.all_of(found.extra_fields), "work": _work(found)}
    context["history"] = list(history_of(found))
    begun = dataset.additions().filter(first_position__lte=found.position)
    context["upload"] = begun.filter(first_position__gt=found.position - F("item_count")).first()
    return render(request, "datasets/item.html", context | {"path": request.get_full_path()})


@require_GET
def download_items(request: Request, pk: int, format: DownloadFormat) -> HttpResponseBase:
    """Download the items that match the filter in the address."""
    dataset = access.readable(request, Dataset, pk)
    if dataset.kind not in format.kinds:
        raise Http404
    items = ItemFilter.of(dataset, request.GET).items()
    return download(request, partial(format.write, dataset, items), format.file_name(dataset), format.content_type)


def item_of(dataset: Dataset, pk: int) -> Item:
    items = Item.with_removed.filter(dataset=dataset).select_related("dataset", "removed_by")
    return get_object_or_404(items.defer("search_text"), pk=pk)


def _marks(item: Item) -> dict[str, Any]:
    entities = Entity.objects.filter(GIVEN, annotation__item=item).order_by("start", "-end", "pk")
    relations = Relation.objects.filter(GIVEN, annotation__item=item).select_related("source", "target").order_by("pk")
    drawn = {
        "original": item.original,
        "tokens": item.tokens,
        "offsets": item.offsets,
        "entities": list(entities.values("uid", "label", "start", "end")),
        "relations": [
            {"uid": r.uid, "label": r.label_id, "source": r.source.uid, "target": r.target.uid} for r in relations
        ],
    }
    labels = item.dataset.labels()
    annotation = None if item.removed_at else item.annotation_set.filter(layer=Layer.GIVEN).first()
    count, broken = broken_here(annotation) if annotation else (0, [])
    return {
        "drawing": drawing.draw(drawn, labels=labels, broken={uid for each in broken for uid in each.uids}),
        "broken": broken,
        "broken_count": count,
        "project": item.dataset.project,
        "entities": [
            (labels.get(e["label"]), e, item.cleaned.between(e["start"], e["end"])) for e in drawn["entities"]
        ],
        "relations": drawn["relations"],
    }


def _work(item: Item) -> QuerySet[Annotation]:
    """The annotators' annotations of the item, with the numbers of their marks."""
    kept = {
        f"{kind}_count": Count(kind, filter=~Q(**{f"{kind}__status": Mark.Status.REJECTED}), distinct=True)
        for kind in ("entity", "relation")
    }
    work = Annotation.objects.filter(item=item, layer=Layer.OWN).select_related("annotator")
    return work.annotate(**kept).order_by("annotator__username")


# --- Removing, restoring and editing -----------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def remove(request: Request, pk: int) -> HttpResponse:
    """Say first how many items and marks would go, and ask again if it has become another number when somebody agrees. To undo an
    upload, as long as its items are ``unbegun``.

    A selection may be too long for an address, so a POST without an agreed ``count`` asks as well.
    """
    dataset = access.editable(request, Dataset, pk)
    chosen = _chosen(request, dataset)
    if chosen is None:
        return refused("Choose the items first.")
    items, agreed = chosen.items(), whole_number(request.POST.get("count", ""))
    unbegun = "unbegun" in request.GET
    if agreed:
        try:
            removed = dataset.remove(items, by=request.user, agreed=agreed, unbegun=unbegun)
        except Refused as error:
            if items.count() == agreed:
                return refused(str(error))
        else:
            last = dataset.bin().filter(removed_by=request.user)[0]
            together = ItemFilter(dataset=dataset, bin="1", removed=str(last.removed_at))
            url = f"{reverse('datasets:restore', args=[pk])}?{together.query_string()}&all=1"
            done = f"{words.plural(removed, 'item is,items are')} in the bin."
            return items_changed(done, {"label": "Restore", "url": url})
    if unbegun:
        try:
            Annotation.check_unbegun(items)
        except Refused as error:
            return refused(str(error))
    first, count = items.first(), items.count()
    if first is None:
        return refused("None of these items is in the dataset any more.")
    changed = agreed is not None
    context = {
        "dataset": dataset,
        "filter": chosen,
        "first": first,
        "count": count,
        "changed": changed,
        "unbegun": unbegun,
    }
    context |= {"marks": dataset.marks_of(items)}
    return render(request, "datasets/_remove.html", context, status=409 if changed else 200)


@require_POST
def restore(request: Request, pk: int) -> HttpResponse:
    dataset = access.editable(request, Dataset, pk)
    chosen = _chosen(request, dataset)
    if chosen is None or not chosen.bin:
        return refused("Choose items of the bin first.")
    there = dataset.items_like(chosen.items())
    first, others = there.first(), there.count() - 1
    try:
        restored = dataset.restore(chosen.items())
    except Refused as error:
        return refused(error)
    if not restored:
        return refused("None of these items is in the bin any more.")
    theirs = "its" if restored == 1 else "their"
    done = f"{words.plural(restored, 'item is,items are')} back with all {theirs} marks."
    if first:
        more = f" and {words.plural(others, 'other was,others were')}" if others else " was"
        done += f" Item {words.number(first.number)}{more} there already with the same text."
    return items_changed(done)


def _chosen(request: Request, dataset: Dataset) -> ItemFilter | None:
    """The selected items or, with ``all``, every item that matches the filter in the address."""
    asked = request.GET.copy()
    for name in ("items", "all"):
        asked.setlist(name, asked.getlist(name) + request.POST.getlist(name))
    chosen = ItemFilter.of(dataset, asked)
    return chosen if chosen.selected or asked.get("all") == "1" else None


def items_changed(text: str, action: dict[str, str] | None = None) -> HttpResponse:
    """Show a message, perhaps with a button, reload the items and close the dialog."""
    toast = {"text": text, "kind": "success"} | ({"action": action} if action else {})
    answer = trigger_client_event(HttpResponse(), "toast", toast)
    return trigger_client_event(trigger_client_event(answer, "itemsChanged", {}), "closeDialog", {})


@require_http_methods(["GET", "POST"])
def edit_item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Edit the external id and the extra fields. What was typed stays in the form until it is stored."""
    item = item_of(access.editable(request, Dataset, pk), item_pk)
    form: dict[str, Any] = {"external_id": item.external_id, "fields": Field.all_of(item.extra_fields)}
    seen = {name: fingerprint(getattr(item, name)) for name in ("external_id", "extra_fields")}
    status = 200
    if request.method == "POST":
        seen = {name: request.POST.get(f"was_{name}") or now for name, now in seen.items()}
        if (external_id := request.POST.get("external_id", "")) != item.external_id:
            form["external_id"] = external_id.strip()
        try:
            form["fields"] = read_lines(request.POST.get("fields", ""))
            values = to_object(form["fields"], known=item.extra_fields)
            item.edit(external_id=form["external_id"], extra_fields=values, was=seen)
            return items_changed(f"Item {words.number(item.number)} is saved.")
        except Conflict as conflict:
            status = 409
            form["theirs"] = {name: Field.of(name, value).value for name, value in conflict.fields.items()}
            seen |= {name: fingerprint(value) for name, value in conflict.fields.items()}
        except Refused as error:
            status, form["problems"] = 422, error.problems
    return render(request, "datasets/_edit_item.html", {"form": form | {"seen": seen}, "item": item}, status=status)


# --- Statistics --------------------------------------------------------------------------------------------------------


@require_GET
def statistics(request: Request, pk: int) -> HttpResponse:
    """Show the page; the figures are loaded afterwards."""
    context = shell(request, access.readable(request, Dataset, pk), "statistics")
    return render(request, "datasets/statistics.html", context)


@require_GET
def figures(request: Request, pk: int) -> HttpResponse:
    dataset = access.readable(request, Dataset, pk)
    charts = []
    for ontology, counts in zip(dataset.ontologies(), label_counts(dataset), strict=False):
        labels = ontology.labels().by_pk
        rows = [(labels[pk], count) for pk, count in counts.items() if pk in labels]
        charts.append(label_chart(ontology, rows, SHOWN_LABELS))
    context = {"dataset": dataset, "statistics": statistics_of(dataset), "charts": charts}
    return render(request, "datasets/_statistics.html", context)


def label_chart(ontology: Ontology, rows: list[Any], most: int) -> dict[str, Any]:
    """The context for the labels in use; each row has its count at the end, and the greatest comes first."""
    label_count = len(ontology.labels())
    used = {"used": len(rows), "unused": label_count - len(rows), "total": sum(row[-1] for row in rows)}
    return {"ontology": ontology, "first": rows[:most], "rest": rows[most:], "label_count": label_count, **used}


@require_GET
def vocabulary(request: Request, pk: int) -> HttpResponse:
    dataset = access.readable(request, Dataset, pk)
    return render(request, "datasets/_vocabulary.html", {"statistics": statistics_of(dataset)})


finders.append(blueprints_and_copies("Datasets", Dataset))
