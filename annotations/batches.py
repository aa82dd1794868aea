"""All alike: what would happen, doing it as a batch, and undoing it; the page of what somebody had done so."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service.blueprints import Right
from annotation_service.db import among
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import User
from annotation_service.paging import Page, search_text
from annotation_service.words import number
from datasets.models import MARKS, Item
from datasets.models.item import folded
from ontologies.labels import Label
from ontologies.models import Ontology
from projects import access, all_alike
from projects.models import Project
from work.alike.places import Place
from work.alike.preview import in_context
from work.models import Batch, BatchChange
from work.models.batch import JOB_ITEMS
from work.own_items import work_on

from .own_lists import own_items
from .requests import Answer, answers_json, read_body

MAX_BODY, MAX_BODY_DEPTH = 200_000, 6
MAX_TICKS = 2000
ASKED: dict[str, Any] = {
    "verb": str,
    "kind": str,
    "form": dict,
    "ignore_case": bool | None,
    "where": str | None,
    "new_ends": bool | None,
    "items": list | None,
    "filter": str | None,
}


@require_POST
@answers_json
def preview(request: Request, pk: int) -> Answer:
    return previewed(request, access.project(request, pk, Right.ANNOTATE), _read(request))


def previewed(request: Request, project: Project, values: dict[str, Any]) -> Answer:
    """What a batch would do, with the first page of its places."""
    found = all_alike.preview(project, request.user, values)
    return {
        "places": found.places,
        "count_items": found.items,
        "relations": found.relations,
        "forbidden": [{"rule": rule, "count": count} for rule, count in found.forbidden.most_common()],
        "page": _shown(project, request.user, found.page),
        "next": found.more,
        "is_job": found.candidates > JOB_ITEMS,
    }


@require_POST
@answers_json
def places(request: Request, pk: int) -> Answer:
    return more_places(request, access.project(request, pk, Right.ANNOTATE), _read(request, after=str))


def more_places(request: Request, project: Project, values: dict[str, Any]) -> Answer:
    """A later page of the places."""
    page, more = all_alike.next_page(project, request.user, values)
    return {"page": _shown(project, request.user, page), "next": more}


@require_POST
@answers_json
def apply(request: Request, pk: int) -> Answer:
    project = access.project(request, pk, Right.ANNOTATE)
    values = _read(request, ticked=list | None, unticked=list | None)
    for name in ("ticked", "unticked"):
        if len(values.get(name, ())) > MAX_TICKS:
            raise Refused(
                f"At most {number(MAX_TICKS)} places are {name} one by one. Choose fewer items by the filter."
            )
        if not all(isinstance(key, str) for key in values.get(name, ())):
            raise Refused("This must be a list of places.", place=f"$.{name}")
    return {"batch": state_of(all_alike.apply(project, request.user, values))}


@require_GET
@answers_json
def batch(request: Request, pk: int, batch_pk: int) -> Answer:
    return {"batch": state_of(access.batch(request, pk, batch_pk))}


@require_POST
@answers_json
def undo(request: Request, pk: int, batch_pk: int) -> Answer:
    access.batch(request, pk, batch_pk).start_undo()
    return {"batch": state_of(access.batch(request, pk, batch_pk))}


@require_POST
@answers_json
def redo(request: Request, pk: int, batch_pk: int) -> Answer:
    """Do what was undone once more, as a new batch: where it is alike by now, with the same ticks."""
    return {"batch": state_of(done_again(request, pk, batch_pk))}


def done_again(request: Request, pk: int, batch_pk: int) -> Batch:
    batch = access.batch(request, pk, batch_pk)
    if not batch.undone_at:
        raise Refused("This was not undone.")
    if not batch.asked:
        raise Refused("This came with the bundle of another project, in which the items were others. Do it anew.")
    return all_alike.apply(access.project(request, pk, Right.ANNOTATE), request.user, batch.asked)


def state_of(batch: Batch) -> Answer:
    project = batch.dataset.project_id
    where = [project, batch.pk]
    return {
        "id": batch.pk,
        **{
            name: getattr(batch, name)
            for name in ("verb", "kind", "label", "words", "made", "left_out", "kept", "state")
        },
        "done": batch.job.done if batch.job else 0,
        "total": batch.job.total if batch.job else 0,
        "created_at": batch.created_at.isoformat(),
        "undone_at": batch.undone_at and batch.undone_at.isoformat(),
        "in_words": batch.in_words(),
        "url": reverse("annotations:batch", args=where),
        "undo": reverse("annotations:undo_batch", args=where),
        "redo": reverse("annotations:redo_batch", args=where),
    }


def _read(request: Request, **more: Any) -> dict[str, Any]:
    return read_body(request, most=MAX_BODY, depth=MAX_BODY_DEPTH, **ASKED, **more)


def _shown(project: Project, person: User, places: list[Place]) -> list[Answer]:
    items = Item.objects.in_bulk({place.item for place in places})
    work = dict(zip(items, work_on(list(items.values()), own_items(project, person, QueryDict())), strict=True))
    return [
        {
            **row,
            "state": work[row["item"]].state,
            "suggestions": work[row["item"]].suggestions,
            "url": reverse("annotations:item", args=[project.pk, row["item"]]),
        }
        for row in in_context(places, items)
    ]


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
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
    answer = render(request, "annotations/_undo_batch.html", context, status=422 if "problem" in context else 200)
    # What was refused is mostly something that the list does not show yet.
    return trigger_client_event(answer, "batchesChanged") if "problem" in context else answer


def _undone(batch: Batch) -> HttpResponse:
    text = batch.undone_in_words() if batch.undone_at else f"“{batch.words}” is being undone."
    toast = {"text": text, "kind": "success"}
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
        removed = BatchChange.objects.filter(batch__in=of_kind, batch__verb=Batch.Verb.REMOVE, kind=kind)
        sets: list[QuerySet[Any]] = [marks, removed]
        for rows in sets:
            there |= {row.pop("batch"): row for row in rows.order_by().values("batch").annotate(**counts)}
    return [
        {"batch": batch, "label": labels.get(batch.label), **there.get(batch.pk, {"places": 0, "items": 0})}
        for batch in batches
    ]
