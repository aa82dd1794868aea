from collections.abc import Iterable
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import access as blueprint_access
from annotation_service import http
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.http import PREANNOTATIONS, Request
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import start_job
from annotation_service.paging import Page, named, search_text
from annotation_service.views import MOST, Hit, finders
from datasets.models import Dataset
from ontologies.models import Ontology
from resources.models import ConstraintSet, PreannotationSet
from work.models.item_work import refresh

from . import access, bundle, comments, progress
from .assignment_page import card
from .forms import ConstraintsForm, DetailsForm
from .items.views import COUNT_SECONDS
from .models import Project
from .people.table import people
from .violations import Report, Selection, foreseen_in

DOWNLOAD_MARKS_AT_ONCE = 20_000
VIOLATIONS_A_PAGE = 50


@require_GET
def home(request: Request) -> HttpResponse:
    """What is mine and what to do next: for managers, annotators and both."""
    context = {"section": "home", "invitations": access.invitations_to(request.user), **progress.home(request)}
    return render(request, "home/home.html", context)


@require_GET
def project_list(request: Request) -> HttpResponse:
    query, archived = search_text(request), "archived" in request.GET
    everything = access.projects(request.user)
    found = named(everything.filter(archived_at__isnull=not archived), query).select_related("created_by")
    page = Page.of(progress.finished_last(found, request.user), request.GET.get("page"))
    projects = progress.with_progress(page.object_list, request.user)
    context = {"section": "projects", "page": page, "query": query, "projects": projects, "archived": archived}
    context |= {"any_archived": archived or everything.filter(archived_at__isnull=False).exists()}
    context |= {"bin_count": access.binned(request).count()}
    return render(request, "projects/list.html", context)


@require_GET
def use(request: Request) -> HttpResponse:
    """Where a blueprint can be used: in a new project, or in an own one that lacks this kind."""
    blueprint_access.require_creator(request)
    if pk := request.GET.get("dataset"):
        context = {"thing": blueprint_access.readable(request, Dataset, whole_number(pk) or 0), "field": "dataset"}
    elif pk := request.GET.get("constraints"):
        thing = blueprint_access.readable(request, ConstraintSet, whole_number(pk) or 0)
        context = {"thing": thing, "field": thing.format, "projects": _with_labels_of(request, thing.kind)}
    elif PREANNOTATIONS.is_on and (pk := request.GET.get("preannotations")):
        lexicon = blueprint_access.readable(request, PreannotationSet, whole_number(pk) or 0)
        context = {"thing": lexicon, "field": lexicon.format, "projects": _with_labels_of(request, lexicon.kind)}
    else:
        ontology = blueprint_access.readable(request, Ontology, whole_number(request.GET.get("ontology", "")) or 0)
        lacking = access.projects(request.user, Right.MANAGE).exclude(ontology__kind=ontology.kind).order_by("name")
        context = {"thing": ontology, "field": f"{ontology.kind}_ontology", "projects": lacking}
    return render(request, "projects/_use.html", context)


def _with_labels_of(request: Request, kind: str) -> QuerySet[Project]:
    return access.projects(request.user, Right.MANAGE).filter(ontology__kind=kind).order_by("name")


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk)
    rights = project.rights_of(request.user)
    context: dict[str, Any] = {
        "section": "projects",
        "project": project,
        "manages": Right.MANAGE in rights,
        "keeps": Right.KEEP in rights,
    }
    context |= progress.overview(project, request.user)
    said = access.flags(request, project), access.comments(request, project)
    context["talk"] = comments.figures(*said, reader=None if Right.READ in rights else request.user)
    if Right.READ in rights:
        members, _ = people(project)
        works = any(member.begun for member in members if member.user == request.user)
        context |= {"reads": True, "people": members, "works": works}
        context["assignment"] = card(request, project, members)
    if context["mine"].is_own:
        context["calibration_left"] = project.calibration_left(request.user)
    return render(request, "projects/page.html", context)


@require_GET
def marks(request: Request, pk: int) -> HttpResponse:
    """The figures that take longer to count, loaded after the page."""
    project = access.project(request, pk, Right.READ)
    return render(request, "projects/_figures.html", {"project": project, **progress.marks(project)})


@require_GET
def violations(request: Request, pk: int) -> HttpResponse:
    """The marks that break the constraints: per rule, per annotator, and a list with links to each place."""
    project = access.project(request, pk, Right.READ)
    is_counted = refresh(project.dataset.pk, COUNT_SECONDS)
    with snapshot():
        report = Report(project)
        shown = Selection(report, rule=request.GET.get("rule", ""), who=request.GET.get("who", ""))
        page = Paginator(shown.broken(), VIOLATIONS_A_PAGE).get_page(request.GET.get("page"))
        rows = shown.rows(page)
    context = {"section": "projects", "project": project, "dataset": project.dataset, "report": report}
    context |= {"shown": shown, "page": page, "rows": rows, "is_counted": is_counted}
    context |= {"constraints": project.constraint_sets(), "keeps": Right.KEEP in project.rights_of(request.user)}
    return render(request, "projects/violations.html", context)


@require_GET
def violations_count(request: Request, pk: int) -> HttpResponse:
    """How many marks break the constraints, loaded after the page of the project."""
    project = access.project(request, pk, Right.READ)
    is_counted = refresh(project.dataset.pk, COUNT_SECONDS)
    context = {"project": project, "report": Report(project), "is_counted": is_counted}
    return render(request, "projects/_violations_count.html", context)


@require_GET
def violations_of_rules(request: Request, pk: int, constraints_pk: int) -> JsonResponse:
    """How many marks break each rule of a set of the project, for its page: by numbers of rules, with the address of the list."""
    project = access.project(request, pk, Right.READ)
    refresh(project.dataset.pk, COUNT_SECONDS)
    url = reverse("projects:violations", args=[pk])
    found: dict[int, dict[str, Any]] = {}
    for rule, counts in Report(project).by_rule().items():
        if rule.set == constraints_pk and rule.position is not None:
            # A rule that is broken in two ways has no list of its own.
            address = url if rule.position in found else f"{url}?rule={rule}"
            there = found.setdefault(rule.position, {"rule": rule.position + 1, "count": 0})
            there |= {"count": there["count"] + counts.total(), "url": address}
    return JsonResponse({"rules": list(found.values())})


@require_http_methods(["GET", "POST"])
def edit(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    form = DetailsForm(request.POST if request.method == "POST" else None, thing=project)
    if form.save():
        return HttpResponseClientRedirect(reverse("projects:page", args=[pk]))
    if wanted := form.fields.get(request.GET.get("field", "")):
        wanted.widget.attrs["autofocus"] = True
    context = {"form": form, "heading": "Edit the project"}
    return render(request, "blueprints/_edit.html", context, status=form.status)


@require_POST
def download(request: Request, pk: int) -> HttpResponseBase:
    """The project bundle: at once, or by a job if there is much in it. A POST, because a job may be stored."""
    project = access.project(request, pk, Right.KEEP)
    if progress.losses(project)["marks"] + project.dataset.item_count > DOWNLOAD_MARKS_AT_ONCE:
        title = f"Download “{project}”"
        return redirect("job", pk=start_job("bundle", title=title, by=request.user, target={"project": pk}).pk)
    return http.download(request, partial(bundle.write, project), bundle.file_name(project))


@require_POST
def add_ontology(request: Request, pk: int) -> HttpResponse:
    """Copy a relation ontology into a project that was made without one."""
    project = access.project(request, pk, Right.MANAGE)
    ontology = blueprint_access.readable(request, Ontology, whole_number(request.POST.get("ontology", "")) or 0)
    try:
        copy = project.use(ontology, by=request.user)
        messages.success(request, f"“{copy}” is now the project’s own: changes of it do not reach the blueprint.")
    except Refused as error:
        messages.error(request, str(error))
    return redirect("projects:settings" if "settings" in request.POST else "projects:page", pk=pk)


@require_http_methods(["GET", "POST"])
def constraints(request: Request, pk: int, kind: str) -> HttpResponse:
    """Add constraints to a project or replace those that it has; says first how many marks would break them."""
    project = access.project(request, pk, Right.MANAGE)
    own = _constraints_of(project, kind)
    sets = blueprint_access.blueprints(request, ConstraintSet)
    asked = request.GET if "constraints" in request.GET else None
    form = ConstraintsForm(request.POST if request.method == "POST" else asked, kind=kind, constraints=sets)
    context: dict[str, Any] = {"project": project, "kind": kind, "own": own, "form": form}
    if form.is_valid():
        chosen = form.cleaned_data["constraints"]
        try:
            if request.method == "POST":
                copy = project.put_constraints(chosen, by=request.user)
                messages.success(request, f"“{copy}” is now the project’s own, and binds from the next mark on.")
                return HttpResponseClientRedirect(reverse("projects:page", args=[pk]))
            context["tally"] = foreseen_in(project, chosen)
        except Refused as error:
            form.add_error("constraints", str(error))
    status = 422 if form.is_bound and not form.is_valid() else 200
    return render(request, "projects/_constraints.html", context, status=status)


@require_http_methods(["GET", "POST"])
def remove_constraints(request: Request, pk: int, kind: str) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    own = _constraints_of(project, kind)
    if own is None:
        raise Http404
    if request.method == "POST":
        try:
            project.take_constraints_away(kind)
        except Refused as error:
            return http.refused(error)
        messages.success(request, f"“{own}” was taken away. All marks are as they were.")
        return HttpResponseClientRedirect(reverse("projects:page", args=[pk]))
    return render(request, "projects/_remove_constraints.html", {"project": project, "own": own})


def _constraints_of(project: Project, kind: str) -> ConstraintSet | None:
    """Those of a kind that the project has, if any."""
    if kind not in ConstraintSet.row_models:
        raise Http404
    return next((each for each in project.constraint_sets() if each.kind == kind), None)


def find_projects(request: Request, text: str) -> Iterable[Hit]:
    found = named(access.projects(request.user), text).select_related("created_by").order_by("-created_at", "-pk")
    for project in found[:MOST]:
        archived = "archived, " if project.archived_at else ""
        yield Hit("Projects", project.name, f"{archived}created by {project.created_by}", project.get_absolute_url())


finders.append(find_projects)
