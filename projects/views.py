"""The home page, the list of projects, the page of one, its settings; what ends or repeats it: archive, duplicates, the bin."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, Subquery
from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import access as blueprint_access
from annotation_service import http, limits
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.http import PREANNOTATIONS, Request
from annotation_service.inputs import whole_number
from annotation_service.models import Job, User, start_job
from annotation_service.paging import Page, named, search_text
from annotation_service.views import MOST, Hit, finders
from datasets.models import Contents, Dataset
from ontologies.models import Ontology
from resources.models import ConstraintSet, PreannotationSet
from work.models.item_work import refresh

from . import access, bundle, comment_list, progress
from .assignment_page import card
from .forms import DeleteForm, DetailsForm, DuplicateForm, refusals_in, tells_on_list
from .item_views import COUNT_SECONDS
from .models import Project
from .project_pages import find_in_project
from .violation_report import Selection, ViolationReport

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
    """Where a blueprint can be used: in a new project, or in one that the user manages, which may have something of its kind."""
    blueprint_access.require_creator(request)
    models: dict[str, Any] = {"dataset": Dataset, "constraints": ConstraintSet, "ontology": Ontology}
    models |= {"preannotations": PreannotationSet} if PREANNOTATIONS.is_on else {}
    name = next((name for name in models if request.GET.get(name)), "ontology")
    thing = blueprint_access.readable(request, models[name], whole_number(request.GET.get(name, "")) or 0)
    kind = {} if name == "dataset" else {"kind": thing.kind}
    theirs, labels = (models[each].objects.filter(project=OuterRef("pk"), **kind) for each in (name, "ontology"))
    managed = access.projects(request.user, Right.MANAGE).order_by("name", "pk")
    managed = managed.annotate(own=Subquery(theirs.values("name")[:1]), has_labels=Exists(labels))
    field = name if name == "dataset" else f"{thing.kind}_{name}"
    return render(request, "projects/_use.html", {"thing": thing, "what": name, "field": field, "projects": managed})


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk)
    rights = project.rights_of(request.user)
    context: dict[str, Any] = {
        "section": "projects",
        "project": project,
        "manages": Right.MANAGE in rights,
        "keeps": Right.KEEP in rights,
        "reviews": Right.REVIEW in rights,
    }
    context |= progress.overview(project, request.user)
    said = access.flags(request, project), access.comments(request, project)
    context["talk"] = comment_list.talk_figures(*said, request.user, reads=Right.READ in rights)
    if Right.READ in rights:
        members, _ = progress.people(project)
        works = any(member.touched for member in members if member.user == request.user)
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
        report = ViolationReport(project)
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
    context = {"project": project, "report": ViolationReport(project), "is_counted": is_counted}
    return render(request, "projects/_violations_count.html", context)


@require_GET
def violations_of_rules(request: Request, pk: int, constraints_pk: int) -> JsonResponse:
    """How many marks break each rule of a set of the project, for its page: by numbers of rules, with the address of the list."""
    project = access.project(request, pk, Right.READ)
    refresh(project.dataset.pk, COUNT_SECONDS)
    url = reverse("projects:violations", args=[pk])
    found: dict[int, dict[str, Any]] = {}
    for rule, counts in ViolationReport(project).by_rule().items():
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
        return redirect("job", pk=start_bundle(project, by=request.user).pk)
    return http.download(request, partial(bundle.write, project), bundle.file_name(project))


def start_bundle(project: Project, *, by: User) -> Job:
    return start_job("bundle", title=f"Download “{project}”", by=by, target={"project": project.pk})


def find_projects(request: Request, text: str) -> Iterable[Hit]:
    found = named(access.projects(request.user), text).select_related("created_by").order_by("-created_at", "-pk")
    for project in found[:MOST]:
        archived = "archived, " if project.archived_at else ""
        yield Hit("Projects", project.name, f"{archived}created by {project.created_by}", project.get_absolute_url())


finders += [find_in_project, find_projects]


@require_http_methods(["GET", "POST"])
def settings_page(request: Request, pk: int) -> HttpResponse:
    """Everything about a project that can be changed; of an archived one, what is left to do with it."""
    saves = request.method == "POST"
    project = access.project(request, pk, Right.MANAGE if saves else Right.KEEP)
    form = DetailsForm(request.POST if saves else None, thing=project)
    if form.save():
        messages.success(request, "Saved.")
        return redirect("projects:settings", pk=pk)
    context = {"section": "projects", "project": project, "form": form, "relation_ontology": project.relation_ontology}
    return render(request, "projects/settings.html", context, status=form.status)


@require_POST
@tells_on_list
def archive(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    project.archive()
    messages.success(request, f"“{project}” is archived: it can be read and downloaded, but not changed.")
    return redirect("projects:settings", pk=pk)


@require_POST
@tells_on_list
def restore(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.KEEP)
    project.restore()
    messages.success(request, f"“{project}” is no longer archived: everybody can go on.")
    return redirect("projects:settings", pk=pk)


@require_http_methods(["GET", "POST"])
def duplicate_project(request: Request, pk: int) -> HttpResponse:
    """A new project like this one: at once, or by a job if much is to be copied."""
    blueprint_access.require_creator(request)
    project = access.project(request, pk, Right.KEEP)
    initial = {"name": f"{project} (copy)"[: settings.MAX_NAME_CHARACTERS]}
    form = DuplicateForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with refusals_in(form):
            made = duplicate_or_start(project, by=request.user, **form.cleaned_data)
            if isinstance(made, Job):
                return HttpResponseClientRedirect(reverse("job", args=[made.pk]))
            messages.success(request, f"“{made}” is ready. Nothing that is done here reaches “{project}”.")
            return HttpResponseClientRedirect(made.get_absolute_url())
    context = {"project": project, "form": form, **progress.losses(project)}
    return render(request, "projects/_duplicate.html", context, status=422 if form.is_bound else 200)


def duplicate_or_start(project: Project, *, by: User, name: str, people: bool, contents: str) -> Project | Job:
    """At once, or by a job if much has to be copied."""
    wishes: dict[str, Any] = {"name": name, "people": people, "contents": contents}
    rows = 0 if contents == Contents.NOTHING else project.dataset.row_count
    rows += progress.losses(project)["marks"] if contents == Contents.EVERYBODY else 0
    if rows > settings.JOB_ROWS:
        target = {"project": project.pk, **wishes}
        return start_job("duplicate_project", title=f"Duplicate “{project}”", by=by, target=target)
    return project.duplicate(by=by, **wishes)


# --- The bin -----------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@tells_on_list
def delete(request: Request, pk: int) -> HttpResponse:
    """Into the bin."""
    days = limits.DAYS_IN_BIN
    done = f"The project “{{}}” is in the bin. It can be brought back for {days} days."
    return _delete(request, access.project(request, pk, Right.KEEP), Project.put_into_bin, done, "projects:list")


def _delete(request: Request, project: Project, verb: Callable[[Project], None], done: str, then: str) -> HttpResponse:
    """Says first what goes with it; the name has to be typed."""
    form = DeleteForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        verb(project)
        messages.success(request, done.format(project))
        return HttpResponseClientRedirect(reverse(then))
    context = {"project": project, "form": form, **progress.losses(project)}
    return render(request, "projects/_delete.html", context, status=422 if form.is_bound else 200)


@require_GET
def bin_page(request: Request) -> HttpResponse:
    """The deleted projects that the user may bring back, the last deleted first."""
    page = Page.of(access.binned(request).order_by("-deleted_at", "-pk"), request.GET.get("page"))
    sizes = dict(Dataset._base_manager.filter(project__in=page.object_list).values_list("project_id", "item_count"))
    projects = [{"project": project, "items": sizes.get(project.pk, 0)} for project in page.object_list]
    return render(request, "projects/bin.html", {"section": "projects", "page": page, "projects": projects})


@require_POST
@tells_on_list
def take_out_of_bin(request: Request, pk: int) -> HttpResponse:
    project = access.in_bin(request, pk)
    project.take_out_of_bin()
    messages.success(request, f"“{project}” is back, with everything that it had.")
    return redirect("projects:page", pk=pk)


@require_http_methods(["GET", "POST"])
@tells_on_list
def delete_for_good(request: Request, pk: int) -> HttpResponse:
    """Without waiting until its time there is over."""
    done = "The project “{}” was deleted for good."
    return _delete(request, access.in_bin(request, pk), Project.erase_from_bin, done, "projects:bin")
