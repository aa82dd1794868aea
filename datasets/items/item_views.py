from functools import partial
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from annotation_service import access
from annotation_service.downloads import download
from annotation_service.http import Request

from ..exports import DownloadFormat
from ..extra_fields import Field
from ..labels import labels_of
from ..models import Annotation, Dataset, Entity, Item, Relation, Upload
from ..models.marks import Mark
from . import drawing
from .filters import ItemFilter
from .views import shell


@require_GET
def item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """One item with its given marks, also one in the bin; the filter of the table leads to those beside it."""
    dataset = access.readable(request, Dataset, pk)
    found = item_of(dataset, item_pk)
    shown = ItemFilter.of(dataset, request.GET).without_selection()
    previous, following = shown.neighbours(found)
    context = shell(request, dataset, "bin" if found.removed_at else "items") | _marks(found)
    context |= {"item": found, "filter": shown, "previous": previous, "next": following}
    context |= {"fields": Field.all_of(found.extra_fields), "upload": _upload(found), "work": _work(found)}
    return render(request, "datasets/item.html", context | {"path": request.get_full_path()})


@require_GET
def download_items(request: Request, pk: int, format: DownloadFormat) -> HttpResponseBase:
    """The items that the address asks for, as a file."""
    dataset = access.readable(request, Dataset, pk)
    if dataset.kind not in format.kinds:
        raise Http404
    items = ItemFilter.of(dataset, request.GET).items()
    return download(request, partial(format.write, dataset, items), format.file_name(dataset), format.content_type)


def item_of(dataset: Dataset, pk: int) -> Item:
    items = Item.with_removed.filter(dataset=dataset).select_related("dataset", "removed_by")
    return get_object_or_404(items.defer("search_text"), pk=pk)


def _marks(item: Item) -> dict[str, Any]:
    labels = labels_of(item.dataset)
    given = {"annotation__item": item, "annotation__annotator": None}
    entities = list(Entity.objects.filter(**given).order_by("start", "-end", "pk"))
    relations = list(Relation.objects.filter(**given).select_related("source", "target").order_by("pk"))
    drawn = drawing.draw(
        item.original,
        item.tokens,
        item.offsets,
        [(e.uid, e.label_id, e.start, e.end) for e in entities],
        [(r.uid, r.label_id, r.source.uid, r.target.uid) for r in relations],
        labels=labels,
    )
    texts = (drawing.span_text(item.original, item.tokens, item.offsets, e.start, e.end) for e in entities)
    listed = [(labels.get(entity.label_id), entity, text) for entity, text in zip(entities, texts, strict=True)]
    return {"drawing": drawn, "entities": listed, "relations": relations}


def _upload(item: Item) -> Upload | None:
    """The one that brought the item."""
    end = F("first_position") + F("item_count")
    return (
        item.dataset.additions()
        .annotate(end=end)
        .filter(first_position__lte=item.position, end__gt=item.position)
        .first()
    )


def _work(item: Item) -> QuerySet[Annotation]:
    """What annotators have made of it."""
    kept = {
        f"{kind}_count": Count(kind, filter=~Q(**{f"{kind}__status": Mark.Status.REJECTED}), distinct=True)
        for kind in ("entity", "relation")
    }
    work = Annotation.objects.filter(item=item).exclude(annotator=None).select_related("annotator")
    return work.annotate(**kept).order_by("annotator__username")
