"""The pages of a project's sources of suggestions: how each fares, and the switch."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused
from ontologies.labels import Label
from work.models import Source
from work.models.source import SourceFigures

from . import access
from .forms import toasts_refusals
from .models import Project


@require_GET
def source_page(request: Request, pk: int, source_pk: int) -> HttpResponse:
    """How often it suggested each label, and what became of that. It is counted after the page has come."""
    project = access.project(request, pk, Right.READ)
    source = get_object_or_404(Source, pk=source_pk, dataset__project=project)
    context = {"section": "projects", "project": project, "source": source}
    rights = project.rights_of(request.user)
    context |= {"manages": Right.MANAGE in rights, "keeps": Right.KEEP in rights}
    if not (request.htmx and request.htmx.target == "rows"):
        return render(request, "projects/source.html", context)
    return render(request, "projects/_source_figures.html", context | _figures(project, source))


def _figures(project: Project, source: Source) -> dict[str, Any]:
    rows = sorted(labelled_figures(project, source), key=lambda row: (-row[1].made, row[0].fullname))
    total = SourceFigures(*map(sum, zip(SourceFigures(), *(figures for _, figures in rows), strict=True)))
    return {"rows": rows, "all": total, "columns": [name.capitalize() for name in SourceFigures._fields]}


def labelled_figures(project: Project, source: Source) -> list[tuple[Label, SourceFigures]]:
    labels = {label.pk: label for own in project.ontology_set.all() for label in own.labels()}
    return [(labels[pk], figures) for pk, figures in source.figures().items() if pk in labels]


@require_http_methods(["GET", "POST"])
@toasts_refusals
def switch_source(request: Request, pk: int, source_pk: int) -> HttpResponse:
    """Sends the wanted state. Off is asked for first, with the count of what goes."""
    project = access.project(request, pk, Right.MANAGE)
    source = get_object_or_404(Source, pk=source_pk, dataset__project=project)
    if request.method == "GET":
        context = {"project": project, "source": source, "count": source.untouched()}
        return render(request, "projects/_switch_source.html", context)
    wanted = request.POST.get("on", "")
    if wanted not in ("0", "1"):
        raise Refused("Say whether it shall be on.")
    job = source.switch(wanted == "1", by=request.user)
    if job:
        return HttpResponseClientRedirect(reverse("job", args=[job.pk]))
    messages.success(request, f"“{source}” is on again." if wanted == "1" else f"“{source}” is off.")
    return HttpResponseClientRedirect(source.get_absolute_url())
