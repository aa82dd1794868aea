"""What can be taken of gold: downloads, and a dataset made of it."""

from functools import partial

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import access as blueprint_access
from annotation_service import http
from annotation_service.blueprint_views import NameForm
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.models import Job, User, start_job
from datasets.exports import DownloadFormat
from datasets.models import Dataset, Layer
from projects import access
from projects.forms import IDS_IN_DIALOGS, refusals_in
from projects.models import Project

from .gold_files import make_dataset, write_gold


@require_GET
def download(request: Request, pk: int, format: DownloadFormat) -> HttpResponseBase:
    project = access.project(request, pk, Right.KEEP)
    name = format.file_name(project.dataset, "-gold")
    return http.download(request, partial(write_gold, project, format), name, format.content_type)


@require_http_methods(["GET", "POST"])
def dataset(request: Request, pk: int) -> HttpResponse:
    """A dataset of the gold: at once, or by a job if there is much. Says first what would be in it."""
    blueprint_access.require_creator(request)
    project = access.project(request, pk, Right.KEEP)
    initial = {"name": f"{project.dataset} (gold)"[: settings.MAX_NAME_CHARACTERS]}
    form = NameForm(request.POST if request.method == "POST" else None, initial=initial, auto_id=IDS_IN_DIALOGS)
    items, marks = _size(project)
    if form.is_valid():
        with refusals_in(form):
            made = make_or_start(project, by=request.user, name=form.cleaned_data["name"])
            if isinstance(made, Job):
                return HttpResponseClientRedirect(reverse("job", args=[made.pk]))
            messages.success(request, f"“{made}” is yours: what is decided from now on does not reach it.")
            return HttpResponseClientRedirect(made.get_absolute_url())
    note = project.dataset.note_on_labels(Layer.GOLD)
    context = {"project": project, "form": form, "items": items, "marks": marks, "note": note}
    return render(request, "quality/_gold_dataset.html", context, status=422 if form.is_bound else 200)


def make_or_start(project: Project, *, by: User, name: str) -> Dataset | Job:
    """The dataset or, if there is much, the job that makes it."""
    if sum(_size(project)) > settings.JOB_ROWS:
        target, title = {"project": project.pk, "name": name}, f"Make a dataset of the gold of “{project}”"
        return start_job("gold_dataset", title=title, by=by, target=target)
    return make_dataset(project, by=by, name=name)


def _size(project: Project) -> tuple[int, int]:
    """How many items are decided, and how many marks they have."""
    return project.dataset.decided_items().count(), project.dataset.decided_marks()
