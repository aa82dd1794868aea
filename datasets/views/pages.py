"""The list of datasets, and the statistics of one."""

from typing import Any

from django.db.models.functions import Lower
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation_service import access
from annotation_service.blueprints import with_uses
from annotation_service.http import Request
from annotation_service.paging import Column, Page, named, order, search_text, sort_columns
from ontologies.models import Ontology

from ..items.views import shell
from ..models import Dataset, Upload
from ..statistics import label_counts, statistics_of

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


@require_GET
def dataset_list(request: Request) -> HttpResponse:
    query, mine = search_text(request), request.GET.get("mine") == "1"
    columns = sort_columns(request.GET.get("sort"), COLUMNS)
    found = with_uses(named(access.blueprints(request, Dataset), query))
    datasets = found.select_related("owner").order_by(*order(columns))
    if mine:
        datasets = datasets.filter(owner=request.user)
    page = Page.of(datasets, request.GET.get("page"), item_words="dataset,datasets")
    context = {"section": "datasets", "page": page, "columns": columns, "query": query, "mine": mine}
    context["unfinished"] = Upload.unfinished_of(request.user).select_related("dataset", "job")
    return render(request, "datasets/list.html", context)


@require_GET
def statistics(request: Request, pk: int) -> HttpResponse:
    """Show the page; the figures are loaded afterwards."""
    return render(
        request, "datasets/statistics.html", shell(request, access.readable(request, Dataset, pk), "statistics")
    )


@require_GET
def figures(request: Request, pk: int) -> HttpResponse:
    dataset = access.readable(request, Dataset, pk)
    kinds = zip(("Entities", "Relations"), dataset.ontologies(), label_counts(dataset), strict=False)
    charts = [_chart(*kind) for kind in kinds]
    context = {"dataset": dataset, "statistics": statistics_of(dataset), "charts": charts}
    return render(request, "datasets/_statistics.html", context)


def _chart(kind: str, ontology: Ontology, counts: dict[int, int]) -> dict[str, Any]:
    """The labels of an ontology, the most used first."""
    labels = ontology.labels()
    rows = [(labels.by_pk[key], count) for key, count in counts.items() if key in labels.by_pk]
    return {
        "kind": kind,
        "ontology": ontology,
        "first": rows[:SHOWN_LABELS],
        "rest": rows[SHOWN_LABELS:],
        "most": rows[0][1] if rows else 0,
        "total": sum(count for _, count in rows),
        "label_count": len(labels),
        "unused": len(labels) - len(rows),
    }


@require_GET
def vocabulary(request: Request, pk: int) -> HttpResponse:
    dataset = access.readable(request, Dataset, pk)
    return render(request, "datasets/_vocabulary.html", {"statistics": statistics_of(dataset)})
