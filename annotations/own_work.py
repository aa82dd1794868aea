"""What the annotator did in a project: their marks as a list, and their last days at a glance."""

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET
from django_htmx.http import push_url

from annotation_service.blueprints import Right
from annotation_service.http import Request
from projects import access
from work.glance import DAYS, glance
from work.own_marks import LOOKED_AT, MOST, OwnMarks

UTC = ZoneInfo("UTC")


@require_GET
def marks(request: Request, pk: int) -> HttpResponse:
    """A page of the list; a filter request gets the table alone."""
    project = access.project(request, pk, Right.LOOK)
    ontologies = list(project.ontology_set.order_by("kind"))
    shown = OwnMarks.of(request.GET, dataset=project.dataset, person=request.user, ontologies=ontologies)
    page = shown.page(request.GET.get("page"))
    query = shown.query_string(page=page.number)
    request.GET = QueryDict(query)  # of which the links of the table are made
    context = {"section": "projects", "project": project, "filter": shown, "page": page}
    context |= {"most": MOST, "looked_at": LOOKED_AT}
    if request.htmx and request.htmx.target == "marks":
        path = f"{request.path}?{query}" if query else request.path
        response = push_url(render(request, "annotations/_marks.html", context), path)
    else:
        response = render(request, "annotations/marks.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


@require_GET
def work(request: Request, pk: int) -> HttpResponse:
    """The last days, as they are where the annotator is."""
    project = access.project(request, pk, Right.LOOK)
    zone = _zone(request.GET.get("zone", ""))
    context = {"project": project, "glance": glance(project.dataset, request.user, zone), "days": DAYS, "zone": zone}
    return render(request, "annotations/_work.html", context)


def _zone(name: str) -> ZoneInfo:
    """As a browser names it."""
    try:
        return ZoneInfo(name) if re.fullmatch(r"[A-Za-z][\w+/-]{0,60}", name) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
