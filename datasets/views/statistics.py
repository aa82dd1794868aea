from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation_service import access
from annotation_service.http import Request
from ontologies.models import Ontology

from ..items.views import shell
from ..models import Dataset
from ..statistics import label_counts, statistics_of

SHOWN_LABELS = 30


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
    """The place for the figures, which come a moment later."""
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
    """The labels of an ontology in the order of their use."""
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
