"""The preannotations of a project on its pages: choosing them, taking them away, matching, and how they fare."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import access as blueprint_access
from annotation_service.blueprints import Right
from annotation_service.http import PREANNOTATIONS, Request, refused
from annotation_service.inputs import Refused
from annotation_service.models import Job
from annotation_service.paging import Column, sort_columns
from resources.models import PreannotationSet
from resources.preannotations_table import PAGE_SIZE, Table
from work.suggestions.decisions import Figures, figures_of

from . import access
from .forms import PreannotationsForm
from .models import Project

COLUMNS = [
    Column("made", "Suggested", 0, number=True, big_first=True),
    Column("accepted", "Accepted", 1, number=True, big_first=True),
    Column("rejected", "Rejected", 2, number=True, big_first=True),
    Column("open", "Open", 3, number=True, big_first=True),
]


@require_http_methods(["GET", "POST"])
@PREANNOTATIONS.required
def choose(request: Request, pk: int, kind: str) -> HttpResponse:
    """Add preannotations to a project or replace those that it has, and match them with its items."""
    project = access.project(request, pk, Right.MANAGE)
    own = _own(project, kind)
    offered = blueprint_access.blueprints(request, PreannotationSet).filter(kind=kind)
    asked = request.GET if "preannotations" in request.GET else None
    form = PreannotationsForm(request.POST if request.method == "POST" else asked, offered=offered)
    if form.is_valid():
        chosen = form.cleaned_data["preannotations"]
        try:
            if request.method == "POST":
                job = project.put_preannotations(chosen, by=request.user)
                return _matched(request, project, job, f"“{chosen}” suggests marks in the project now.")
            chosen.labels_in({ontology.kind: ontology for ontology in project.ontology_set.all()})
        except Refused as error:
            form.add_error("preannotations", str(error))
    context = {"project": project, "kind": kind, "own": own, "form": form}
    status = 422 if form.is_bound and not form.is_valid() else 200
    return render(request, "projects/_preannotations.html", context, status=status)


@require_http_methods(["GET", "POST"])
@PREANNOTATIONS.required
def take_away(request: Request, pk: int, kind: str) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    own = _chosen(project, kind)
    if request.method == "POST":
        try:
            job = project.take_preannotations_away(kind, by=request.user)
        except Refused as error:
            return refused(error)
        return _matched(request, project, job, f"“{own}” was taken away, with the suggestions that nobody has touched.")
    return render(request, "projects/_remove_preannotations.html", {"project": project, "own": own})


@require_POST
@PREANNOTATIONS.required
def match(request: Request, pk: int) -> HttpResponse:
    """Match them again, because rows have changed since."""
    project = access.project(request, pk, Right.MANAGE)
    try:
        job = project.match_preannotations(by=request.user)
    except Refused as error:
        return refused(error)
    here = request.htmx.current_url_abs_path
    return _matched(request, project, job, "The suggestions are those of the preannotations as they are now.", here)


def _matched(request: Request, project: Project, job: Job | None, done: str, then: str | None = None) -> HttpResponse:
    """Lead to the job that matches or, if it is done, to the page ``then``: the project's, unless it is given."""
    if job:
        return HttpResponseClientRedirect(reverse("job", args=[job.pk]))
    messages.success(request, done)
    return HttpResponseClientRedirect(then or reverse("projects:page", args=[project.pk]))


@require_GET
@PREANNOTATIONS.required
def figures(request: Request, pk: int, kind: str) -> HttpResponse:
    """How often each form was suggested, and what people decided. They are counted after the page has come."""
    project = access.project(request, pk, Right.READ)
    thing = _chosen(project, kind)
    context = {"section": "projects", "project": project, "resource": thing, "total": thing.row_count}
    context["editable"] = blueprint_access.can_edit(request.user, thing)
    if not (request.htmx and request.htmx.target == "rows"):
        return render(request, "projects/preannotation_figures.html", context)
    return render(request, "projects/_preannotation_figures.html", context | _figures(request, project, thing))


def _figures(request: Request, project: Project, thing: PreannotationSet) -> dict[str, Any]:
    found = figures_of(thing, project.dataset)
    columns = sort_columns(request.GET.get("sort"), COLUMNS, default="-rejected")
    by = next(column for column in columns if column.direction)
    # Those that are alike come by their number of suggestions, then as they are stored.
    keys = sorted(found, key=lambda key: (-found[key].made, key))
    keys.sort(key=lambda key: found[key][by.order], reverse=by.direction == "descending")
    page = Paginator(keys, PAGE_SIZE).get_page(request.GET.get("page"))
    table = Table(thing, QueryDict())
    return {
        "columns": columns,
        "page": page,
        "table": table,
        "rows": [(row, found[row.pk]) for row in table.shown(list(page.object_list))],
        "all": Figures.total(found.values()),
        "never": thing.row_count - len(found),
        "path": request.get_full_path(),
    }


def _own(project: Project, kind: str) -> PreannotationSet | None:
    """Those of a kind that the project has, if any."""
    if kind not in PreannotationSet.row_models:
        raise Http404
    return project.preannotation_sets().filter(kind=kind).first()


def _chosen(project: Project, kind: str) -> PreannotationSet:
    if own := _own(project, kind):
        return own
    raise Http404
