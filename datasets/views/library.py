from django.db.models.functions import Lower
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation_service import access
from annotation_service.blueprints import with_uses
from annotation_service.http import Request
from annotation_service.paging import Column, Page, named, order, search_text, sort_columns

from ..models import Dataset, Upload

COLUMNS = [
    Column("name", "Name", Lower("name")),
    Column("kind", "Kind", "kind"),
    Column("items", "Items", "item_count", number=True, big_first=True),
    Column("tokens", "Tokens", "token_count", number=True, big_first=True),
    Column("state", "State", "uses", big_first=True),
    Column("owner", "Owner", Lower("owner__username")),
    Column("changed", "Changed", "updated_at", big_first=True),
]


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
