"""What a project gets after it was made, on its pages: items and labels of blueprints; constraints and preannotations chosen and
taken away, matching, and how preannotations fare."""

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
from annotation_service.inputs import whole_number
from annotation_service.models import Job
from annotation_service.paging import Column, sort_columns
from annotation_service.words import plural
from datasets.models import Dataset, Upload
from datasets.views.uploads import check
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet, PreannotationSet, ResourceSet
from resources.preannotations_page import PAGE_SIZE, Table
from work.suggestions.decisions import Figures, figures_of

from . import access
from .forms import PutForm, refusals_in, toasts_refusals
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
def copy_items(request: Request, pk: int) -> HttpResponse:
    """Begin to add the items of a dataset: the page of the upload says what would come, and what does not fit."""
    project = access.project(request, pk, Right.MANAGE)
    form = PutForm(request.POST or None, name="dataset", offered=blueprint_access.blueprints(request, Dataset))
    if form.is_valid():
        upload = Upload.begin_copy(form.cleaned_data["dataset"], by=request.user, dataset=project.dataset)
        check(request, upload)
        return HttpResponseClientRedirect(upload.get_absolute_url())
    context = {"project": project, "form": form}
    return render(request, "projects/_copy_items.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
def put_labels(request: Request, pk: int, kind: str) -> HttpResponse:
    """Put the labels of an ontology among a project's own. Says first which are new, and asks again if it is another number when
    somebody agrees."""
    project = access.project(request, pk, Right.MANAGE)
    if kind not in OntologyKind.values:
        raise Http404
    own = project.ontology_set.filter(kind=kind).first()
    offered: Any = blueprint_access.blueprints(request, Ontology).filter(kind=kind)
    asked = request.GET if "ontology" in request.GET else None
    form = PutForm(request.POST or asked, name="ontology", offered=offered.with_size())
    context: dict[str, Any] = {"project": project, "kind": kind, "own": own, "form": form}
    if form.is_valid():
        chosen, agreed = form.cleaned_data["ontology"], whole_number(request.POST.get("count", ""))
        if agreed is not None:
            with refusals_in(form, "ontology"):
                count = project.put_labels(chosen, by=request.user, agreed=agreed)
                messages.success(request, f"{plural(count, 'label of,labels of')} “{chosen}” came to the project.")
                return HttpResponseClientRedirect((own or project).get_absolute_url())
        context |= {"chosen": chosen, **foreseen_labels(own, chosen)}
    return render(request, "projects/_put_labels.html", context, status=422 if form.errors else 200)


def foreseen_labels(own: Ontology | None, chosen: Ontology) -> dict[str, Any]:
    """What would come to the project's own labels, if it has any of the kind."""
    labels = chosen.labels()
    if own is None:
        return {"new": [label.fullname for label in labels]}
    rows, here = list(zip(own.foresee_labels(chosen), labels, strict=True)), own.labels().by_pk
    return {
        "new": [label.fullname for row, label in rows if not row.exists],
        "same": sum(row.exists and not row.elsewhere for row, _ in rows),
        "elsewhere": [(label.fullname, here[row.key].fullname) for row, label in rows if row.elsewhere],
        "off": sum(row.starts_off for row, _ in rows),
        "wrong": [(label.fullname, row.problem) for row, label in rows if row.problem],
    }


@require_http_methods(["GET", "POST"])
def choose(request: Request, pk: int, kind: str, model: type[ResourceSet]) -> HttpResponse:
    """Add constraints or preannotations to a project or replace those that it has; of constraints, say first how many marks would
    break them."""
    project, name = access.project(request, pk, Right.MANAGE), f"{model.noun}s"
    own = own_set(project, model, kind)
    offered = blueprint_access.blueprints(request, model).filter(kind=kind)
    asked = request.GET if name in request.GET else None
    form = PutForm(request.POST if request.method == "POST" else asked, name=name, offered=offered)
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
    own = set_there(project, model, kind)
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
    thing = set_there(project, PreannotationSet, kind)
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


def own_set(project: Project, model: type[ResourceSet], kind: str) -> Any:
    """The set of a kind that the project has, if any."""
    if kind not in model.row_models:
        raise Http404
    return model._default_manager.filter(project=project, kind=kind).first()


def set_there(project: Project, model: type[ResourceSet], kind: str) -> Any:
    if own := own_set(project, model, kind):
        return own
    raise Http404
