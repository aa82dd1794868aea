"""The page of what somebody did to all alike: each batch with what is left of it, and undoing it, told before what that does."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, F, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import trigger_client_event

from annotation_service.db import among
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.paging import Page, search_text
from annotation_service.words import plural
from datasets.models import MARKS
from datasets.models.item import folded
from ontologies.labels import Label
from ontologies.models import Ontology
from projects import access
from work.models import REMOVED, Batch


@require_GET
def batches(request: Request, pk: int) -> HttpResponse:
    project, found = access.batches(request, pk)
    labels, query = _labels(pk), search_text(request)
    if query:
        wanted = folded(query)
        named = [uid for uid, label in labels.items() if wanted in label.name.casefold()]
        found = found.filter(Q(search_text__contains=wanted) | Q(label__in=among(named)))
    page = Page.of(found, request.GET.get("page"))
    rows = _rows(list(page), labels)
    is_watched = any(row["batch"].state in ("storing", "undoing") for row in rows)
    context = {
        "section": "projects",
        "project": project,
        "page": page,
        "rows": rows,
        "query": query,
        "is_watched": is_watched,
    }
    return render(request, "annotations/batches.html", context)


@require_http_methods(["GET", "POST"])
def confirm_undo(request: Request, pk: int, batch_pk: int) -> HttpResponse:
    """Tell what an undo does, and do it."""
    batch = access.batch(request, pk, batch_pk)
    context: dict[str, Any] = {"batch": batch, "label": _labels(pk).get(batch.label)}
    if request.method == "POST":
        try:
            batch.start_undo()
        except Refused as error:
            context["problem"] = str(error)
        else:
            return _undone(access.batch(request, pk, batch_pk))
    context["count"] = batch.to_undo()
    return render(request, "annotations/_undo_batch.html", context, status=422 if "problem" in context else 200)


def _undone(batch: Batch) -> HttpResponse:
    stay = sum(batch.kept.values())
    rest = f", {plural(stay, 'stays,stay')}" if stay else ""
    text = f"{plural(batch.made - stay, 'place is,places are')} as before{rest}."
    toast = {"text": text if batch.undone_at else f"“{batch.words}” is being undone.", "kind": "success"}
    answer = trigger_client_event(HttpResponse(), "toast", toast)
    return trigger_client_event(trigger_client_event(answer, "batchesChanged", {}), "closeDialog", {})


def _labels(project: int) -> dict[str, Label]:
    return {label.uid: label for ontology in Ontology.objects.filter(project=project) for label in ontology.labels()}


def _rows(batches: Sequence[Batch], labels: dict[str, Label]) -> list[dict[str, Any]]:
    """Each batch with its label, and what is as it left it: how many places, in how many items."""
    there: dict[int, dict[str, int]] = {}
    counts = {"places": Count("pk"), "items": Count("annotation", distinct=True)}
    for kind in MARKS:
        of_kind = [batch.pk for batch in batches if batch.kind == kind]
        marks = MARKS[kind]._default_manager.filter(batch__in=of_kind, updated_at=F("batch__created_at"))
        removed = REMOVED[kind]._default_manager.filter(removed_by__in=of_kind)
        for name, rows in (("batch", marks), ("removed_by", removed)):
            there |= {row.pop(name): row for row in rows.order_by().values(name).annotate(**counts)}
    return [
        {"batch": batch, "label": labels.get(batch.label), **there.get(batch.pk, {"places": 0, "items": 0})}
        for batch in batches
    ]
