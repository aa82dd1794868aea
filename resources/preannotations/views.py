"""The list of preannotation sets, creating and downloading, and the page of one."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import replace_url

from annotation_service import access
from annotation_service.http import PREANNOTATIONS, Request, download
from annotation_service.views import Hit, blueprints_and_copies, finders

from ..forms import PreannotationsForm
from ..models import PreannotationSet
from ..views import creation, dry_run, file_name, list_of, uses
from .table import Table

_find = blueprints_and_copies("Preannotations", PreannotationSet)


@finders.append
def find_sets(request: Request, text: str) -> Iterable[Hit]:
    return _find(request, text) if PREANNOTATIONS.is_on else ()


@require_GET
@PREANNOTATIONS.required
def list_sets(request: Request) -> HttpResponse:
    return render(request, "resources/preannotations/list.html", list_of(request, PreannotationSet))


@require_http_methods(["GET", "POST"])
@PREANNOTATIONS.required
def create(request: Request) -> HttpResponse:
    return creation(request, PreannotationsForm, "resources/preannotations/create.html")


@require_POST
@PREANNOTATIONS.required
def check(request: Request) -> HttpResponse:
    return dry_run(request, PreannotationsForm)


@require_GET
@PREANNOTATIONS.required
def page(request: Request, pk: int) -> HttpResponse:
    """The page or, for its search and after a change, the rows and what says how things stand."""
    thing = access.readable(request, PreannotationSet, pk)
    context = shown(request, thing, Table(thing, request.GET))
    if request.htmx and request.htmx.target == "rows":
        answer = render(request, "resources/preannotations/_refreshed.html", context)
        if request.htmx.trigger == "filter":  # at other times the address may be that of a dialog
            replace_url(answer, context["path"])
    else:
        answer = render(request, "resources/preannotations/page.html", context | uses(request, thing))
    patch_vary_headers(answer, ["HX-Request", "HX-Target"])
    return answer


def shown(request: Request, thing: PreannotationSet, table: Table) -> dict[str, Any]:
    """What the page shows of a set and its table."""
    page, by = table.page(), request.user
    editable = access.can_edit(by, thing)
    query = table.query_string(page=page.number if page.number > 1 else "")
    return {
        "resource": thing,
        "base": thing.get_absolute_url(),
        "section": "preannotations" if thing.is_blueprint else "projects",
        "table": table,
        "page": page,
        "total": thing.row_count if table.q else page.paginator.count,
        "path": f"{thing.get_absolute_url()}?{query}" if query else thing.get_absolute_url(),
        "editable": editable,
        "undoable": editable and thing.undoable(by),
        "redoable": editable and thing.redoable(by),
    }


@require_GET
@PREANNOTATIONS.required
def download_json(request: Request, pk: int) -> HttpResponseBase:
    thing = access.readable(request, PreannotationSet, pk)
    return download(request, "".join(thing.json_document()), file_name(thing, "json"), "application/json")


@require_GET
@PREANNOTATIONS.required
def download_csv(request: Request, pk: int) -> HttpResponseBase:
    thing = access.readable(request, PreannotationSet, pk)
    return download(request, "".join(thing.csv_document()), file_name(thing, "csv"), "text/csv; charset=utf-8")
