"""The requests about all alike: what would happen, doing it as a batch, and taking it back."""

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import User
from annotation_service.words import number
from datasets.models import Item
from projects import access, alike
from projects.models import Project
from work.alike.places import Place
from work.alike.preview import in_context
from work.models import Batch
from work.models.batch import JOB_ITEMS
from work.own_rows import work_on

from .finding import own_items
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
    project = access.project(request, pk, Right.ANNOTATE)
    found = alike.preview(project, request.user, _read(request))
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
    project = access.project(request, pk, Right.ANNOTATE)
    page, more = alike.next_page(project, request.user, _read(request, after=str))
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
    return {"batch": state_of(alike.apply(project, request.user, values))}


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
    batch = access.batch(request, pk, batch_pk)
    if not batch.undone_at:
        raise Refused("This was not undone.")
    return {"batch": state_of(alike.apply(access.project(request, pk, Right.ANNOTATE), request.user, batch.asked))}


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
