"""The constraints and preannotations of a project on its pages: choosing them, taking them away, matching, and how
preannotations fare."""

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
from annotation_service.http import PREANNOTATIONS, Request
from annotation_service.models import Job
from annotation_service.paging import Column, sort_columns
from resources.models import ConstraintSet, PreannotationSet, ResourceSet
from resources.preannotations_page import PAGE_SIZE, Table
from work.suggestions.decisions import Figures, figures_of

from . import access
from .forms import SetForm, refusals_in, toasts_refusals
from .models import Project
from .violation_report import foreseen_in

CHOSEN: dict[type[ResourceSet], str] = {
    ConstraintSet: "“{}” is now the project’s own, and binds from the next mark on.",
    PreannotationSet: "“{}” suggests marks in the project now.",
}
TAKEN_AWAY: dict[type[ResourceSet], str] = {
    ConstraintSet: "“{}” was taken away. All marks are as they were.",
    PreannotationSet: "“{}” was taken away, with the suggestions that nobody has touched.",
}
COLUMNS = [
    Column("made", "Suggested", 0, number=True, big_first=True),
    Column("accepted", "Accepted", 1, number=True, big_first=True),
    Column("rejected", "Rejected", 2, number=True, big_first=True),
    Column("open", "Open", 3, number=True, big_first=True),
]


@require_http_methods(["GET", "POST"])
def choose(request: Request, pk: int, kind: str, model: type[ResourceSet]) -> HttpResponse:
    """Add constraints or preannotations to a project or replace those that it has; of constraints, say first how many marks would
    break them."""
    project, name = access.project(request, pk, Right.MANAGE), f"{model.noun}s"
    own = _own(project, model, kind)
    offered = blueprint_access.blueprints(request, model).filter(kind=kind)
    asked = request.GET if name in request.GET else None
    form = SetForm(request.POST if request.method == "POST" else asked, name=name, offered=offered)
    context: dict[str, Any] = {"project": project, "kind": kind, "own": own, "form": form}
    if form.is_valid():
        chosen = form.cleaned_data[name]
        with refusals_in(form, name):
            if request.method == "POST":
                job = project.put_set(chosen, by=request.user)
                return _matched(request, project, job, CHOSEN[model].format(chosen))
            context["tally"] = foreseen_in(project, chosen)
    status = 422 if form.is_bound and not form.is_valid() else 200
    return render(request, f"projects/_{name}.html", context, status=status)


@require_http_methods(["GET", "POST"])
@toasts_refusals
def take_away(request: Request, pk: int, kind: str, model: type[ResourceSet]) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    own = _there(project, model, kind)
    if request.method == "POST":
        job = project.take_set_away(model, kind, by=request.user)
        return _matched(request, project, job, TAKEN_AWAY[model].format(own))
    return render(request, f"projects/_remove_{model.noun}s.html", {"project": project, "own": own})


@require_POST
@PREANNOTATIONS.required
@toasts_refusals
def match(request: Request, pk: int) -> HttpResponse:
    """Match the preannotations again, because rows have changed since."""
    project = access.project(request, pk, Right.MANAGE)
    job = project.match_preannotations(by=request.user)
    here = request.htmx.current_url_abs_path
    return _matched(request, project, job, "The suggestions are those of the preannotations as they are now.", here)


def _matched(request: Request, project: Project, job: Job | None, done: str, then: str | None = None) -> HttpResponse:
    """Lead to the job that matches or, if there is none, to the page ``then``: the project's, unless it is given."""
    if job:
        return HttpResponseClientRedirect(reverse("job", args=[job.pk]))
    messages.success(request, done)
    return HttpResponseClientRedirect(then or project.get_absolute_url())


@require_GET
def figures(request: Request, pk: int, kind: str) -> HttpResponse:
    """How often each form was suggested, and what people decided. They are counted after the page has come."""
    project = access.project(request, pk, Right.READ)
    thing = _there(project, PreannotationSet, kind)
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


def _own(project: Project, model: type[ResourceSet], kind: str) -> Any:
    """The set of a kind that the project has, if any."""
    if kind not in model.row_models:
        raise Http404
    return model._default_manager.filter(project=project, kind=kind).first()


def _there(project: Project, model: type[ResourceSet], kind: str) -> Any:
    if own := _own(project, model, kind):
        return own
    raise Http404
