"""The settings page of a project, and what ends or repeats a project: the archive, duplicates, the bin."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import access as blueprint_access
from annotation_service import limits
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import start_job
from annotation_service.paging import Page
from datasets.models import Dataset
from ontologies.models import Ontology

from . import access, progress
from .duplicating import duplicate, is_large
from .forms import DeleteForm, DetailsForm, DuplicateForm, TaskForm
from .models import Project


def tells_why_not(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Somebody else was quicker: says on the list of projects what stands in the way now."""

    @wraps(view)
    def told(request: Request, *args: Any, **options: Any) -> HttpResponse:
        try:
            return view(request, *args, **options)
        except Refused as error:
            messages.error(request, str(error))
            address = reverse("projects:list")
            return HttpResponseClientRedirect(address) if request.htmx else redirect(address)

    return told


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
    if context["relation_ontology"] is None and blueprint_access.can_create(request.user):
        context["task_form"] = TaskForm(ontologies=blueprint_access.blueprints(request, Ontology))
    return render(request, "projects/settings.html", context, status=form.status)


@require_POST
@tells_why_not
def archive(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    project.archive()
    messages.success(request, f"“{project}” is archived: it can be read and downloaded, but not changed.")
    return redirect("projects:settings", pk=pk)


@require_POST
@tells_why_not
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
        try:
            return HttpResponseClientRedirect(_duplicate(request, project, **form.cleaned_data))
        except Refused as error:
            form.add_error(None, error)
    context = {"project": project, "form": form, **progress.losses(project)}
    return render(request, "projects/_duplicate.html", context, status=422 if form.is_bound else 200)


def _duplicate(request: Request, project: Project, *, name: str, people: bool, contents: str) -> str:
    """The address of the new project, or of the job that makes it."""
    wishes: dict[str, Any] = {"name": name, "people": people, "contents": contents}
    if is_large(project, contents):
        target = {"project": project.pk, **wishes}
        job = start_job("duplicate_project", title=f"Duplicate “{project}”", by=request.user, target=target)
        return reverse("job", args=[job.pk])
    copy = duplicate(project, by=request.user, **wishes)
    messages.success(request, f"“{copy}” is ready. Nothing that is done here reaches “{project}”.")
    return copy.get_absolute_url()


# --- The bin -----------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@tells_why_not
def delete(request: Request, pk: int) -> HttpResponse:
    """Into the bin. Says first what goes with it; the name has to be typed."""
    project = access.project(request, pk, Right.KEEP)
    form = DeleteForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        project.put_into_bin()
        days = limits.DAYS_IN_BIN
        messages.success(request, f"The project “{project}” is in the bin. It can be brought back for {days} days.")
        return HttpResponseClientRedirect(reverse("projects:list"))
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
@tells_why_not
def take_out_of_bin(request: Request, pk: int) -> HttpResponse:
    project = access.in_bin(request, pk)
    project.take_out_of_bin()
    messages.success(request, f"“{project}” is back, with everything that it had.")
    return redirect("projects:page", pk=pk)


@require_http_methods(["GET", "POST"])
@tells_why_not
def delete_for_good(request: Request, pk: int) -> HttpResponse:
    """Without waiting until its time there is over; the name has to be typed once more."""
    project = access.in_bin(request, pk)
    form = DeleteForm(request.POST or None, project=project)
    if request.method == "POST" and form.is_valid():
        project.erase_from_bin()
        messages.success(request, f"The project “{project}” was deleted for good.")
        return HttpResponseClientRedirect(reverse("projects:bin"))
    context = {"project": project, "form": form, **progress.losses(project)}
    return render(request, "projects/_delete.html", context, status=422 if form.is_bound else 200)
