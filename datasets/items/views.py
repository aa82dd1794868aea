from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET
from django_htmx.http import push_url

from annotation_service import access
from annotation_service.http import Request

from ..exports import DOWNLOAD_FORMATS
from ..labels import branches, ontologies_of
from ..models import Dataset
from ..statistics import label_counts
from .filters import ItemFilter
from .table import ItemTable

# The filter offers the newest uploads; every one can be reached from the list of uploads.
MAX_UPLOADS = 50
# So many tokens are counted while a page waits for its vocabulary; with more, somebody has to ask for it.
COUNTED_UNASKED = 300_000


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
    """The items, or those in the bin. Filtering asks for the table alone."""
    dataset = access.readable(request, Dataset, pk)
    shown = ItemFilter.of(dataset, request.GET).without_selection()
    table = ItemTable.of(shown, request.GET.get("page"))
    # The address again, without what is empty: the links of the table are made from it.
    query = shown.query_string(page=table.page.number)
    request.GET = QueryDict(query)
    context = shell(request, dataset, "bin" if shown.bin else "items")
    context |= {
        "filter": shown,
        "table": table,
        "page": table.page,
        "path": f"{request.path}?{query}" if query else request.path,
    }
    if request.htmx and request.htmx.target == "items":
        response = push_url(render(request, "datasets/_items.html", context), context["path"])
    else:
        response = render(request, "datasets/page.html", context | _choices(shown))
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def shell(request: Request, dataset: Dataset, tab: str) -> dict[str, Any]:
    """What `datasets/_head.html` needs: the head and the tabs of every page of a dataset."""
    return {
        "section": "datasets" if dataset.is_blueprint else "projects",
        "dataset": dataset,
        "tab": tab,
        "download_formats": [format for format in DOWNLOAD_FORMATS if dataset.kind in format.kinds],
        "can_edit": access.can_edit(request.user, dataset),
        "bin_count": dataset.bin().count(),
    }


def _choices(shown: ItemFilter) -> dict[str, Any]:
    """What can be filtered by, and what stands beside the table."""
    dataset = shown.dataset
    ontologies = ontologies_of(dataset)
    kinds = zip(("Entities", "Relations"), ontologies, label_counts(dataset), strict=False)
    return {
        "used_labels": [(name, len(used), branches(tree.labels(), used)) for name, tree, used in kinds if used],
        "uploads": dataset.additions()[:MAX_UPLOADS],
        "ontologies": ontologies,
        "count_vocabulary": dataset.token_count <= COUNTED_UNASKED,
    }
