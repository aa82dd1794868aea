"""The pages about how far people agree, their files, and the places where marks differ."""

from contextlib import suppress
from typing import Any

from django.core.paginator import Paginator
from django.db import DatabaseError
from django.http import Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotation_service import csv_tables, http
from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import Job, User, start_once
from annotation_service.paging import Page
from projects import access
from projects.models import Project

from . import agreement_tables as tables
from .agreement import COMPARE, MEASURES, Agreement, Changed, make_report, report_of
from .agreement_places import Places
from .agreement_tables import AskedFigures
from .counting import is_quick
from .models import AgreementReport
from .review_list import KINDS
from .voices import Trees, names_for

A_PAGE = 50
# So many people have a row each in the map of pairs.
MOST_IN_MAP = 30
PARTS = {"pairs": "People", "labels": "Labels", "confusion": "Confused labels", "weeks": "Over time"}
CALIBRATION = "calibration"
MOST_CONFUSED = 20
OF_LABELS = ("exact", "overlap", "tree")
ENOUGH = 80


def project_of(request: Request, pk: int) -> Project:
    """With its figures, which in a small project are those of now."""
    project = access.project(request, pk, Right.READ)
    if is_quick(project):
        with suppress(DatabaseError):  # without room to store them the figures stay as they were
            report = report_of(project)
            if report is None or any(Changed.since(project, report)):
                make_report(project)
    return project


def figures_asked(
    request: Request, project: Project, report: AgreementReport | None, part: str = ""
) -> AskedFigures | None:
    """What an address asks for; None if nothing was counted yet."""
    if report is None:
        return None
    measure, least = request.GET.get("measure", ""), whole_number(request.GET.get("at_least", "")[:3])
    known = OF_LABELS if part == "labels" else MEASURES

    def toggle(opened: Any) -> str:
        query = request.GET.copy()
        query.setlist("open", [str(pk) for pk in sorted(opened) or [0]])
        return f"?{query.urlencode()}#labels"

    return AskedFigures(
        project,
        Agreement.read(report, names_for(project), Trees(project.ontology_set.all())),
        measure if measure in known else "exact",
        CALIBRATION if part == CALIBRATION else "gold" if request.GET.get("with") == "gold" else "people",
        {whole_number(pk) or 0 for pk in request.GET.getlist("open")} if "open" in request.GET else None,
        toggle,
        ENOUGH if least is None else min(least, 100),
    )


@require_GET
def page(request: Request, pk: int, part: str = "pairs") -> HttpResponse:
    if part not in (*PARTS, CALIBRATION):
        raise Http404
    project = project_of(request, pk)
    report = report_of(project)
    asked = figures_asked(request, project, report, part)
    context = _context(request, project) | {"report": report, "parts": PARTS, "part": part, "asked": asked}
    if asked:
        table = tables.TABLES[part](asked)
        context["page"] = found = Paginator(table.rows, A_PAGE).get_page(request.GET.get("page"))
        context["table"] = table if part == "labels" else table._replace(rows=list(found.object_list))
        context["has_gold"] = bool(asked.agreement.gold.pairs)
        if part not in ("confusion", CALIBRATION):
            context["measures"] = {name: MEASURES[name] for name in (OF_LABELS if part == "labels" else MEASURES)}
    if asked and part == "pairs":
        context["totals"] = tables.totals(asked)
        people = {who for pair in asked.part.pairs for who in pair}
        if asked.side == "people" and 2 < len(people) <= MOST_IN_MAP:
            context["map"] = tables.pair_map(asked)
    if asked and part == "confusion":
        context["map"] = tables.confusion_map(asked)
    if asked and part == CALIBRATION:
        most = tables.confusion(asked)
        context["confused"] = most._replace(rows=most.rows[:MOST_CONFUSED])
    return render(request, "quality/agreement.html", context)


def _context(request: Request, project: Project) -> dict[str, Any]:
    keeps = Right.KEEP in project.rights_of(request.user)
    return {"section": "projects", "project": project, "keeps": keeps}


@require_GET
def changed(request: Request, pk: int) -> HttpResponse:
    """What has changed since the figures were counted, loaded after the page."""
    project = access.project(request, pk, Right.READ)
    report = report_of(project)
    context = {"project": project, "changed": report and Changed.since(project, report)}
    return render(request, "quality/_agreement_changed.html", context)


@require_POST
def count(request: Request, pk: int) -> HttpResponse:
    return redirect("job", pk=start_counting(access.project(request, pk, Right.READ), by=request.user).pk)


def start_counting(project: Project, *, by: User) -> Job:
    with write():
        title = f"Compare the marks in “{project}”"
        return start_once(COMPARE, title=title, by=by, target={"project": project.pk})


@require_GET
def as_csv(request: Request, pk: int, table: str) -> HttpResponseBase:
    project = project_of(request, pk)
    asked = figures_asked(request, project, report_of(project), table)
    if asked is None or table not in tables.TABLES:
        raise Http404
    every_branch = asked.part.branches if table == "labels" else None
    found = tables.TABLES[table](asked._replace(opened=every_branch))
    lines = csv_tables.written([name for name, _ in found.head], found.records())
    return http.download(request, "".join(lines), f"agreement-{table}.csv", "text/csv; charset=utf-8")


@require_GET
def as_json(request: Request, pk: int) -> HttpResponse:
    project = project_of(request, pk)
    asked = figures_asked(request, project, report_of(project))
    if asked is None:
        raise Http404
    return JsonResponse(asked.agreement.as_json(), json_dumps_params={"ensure_ascii": False})


@require_GET
def places(request: Request, pk: int) -> HttpResponse:
    project = project_of(request, pk)
    asked = Places(project, request.GET, names_for(project))
    found = Page.of(asked.items(), request.GET.get("page"), size=A_PAGE)
    rows = [(item, item.excerpt(), differences) for item, differences in asked.shown(list(found.object_list))]
    context = _context(request, project) | {"asked": asked, "page": found, "rows": rows, "kinds": list(KINDS.items())}
    return render(request, "quality/agreement_places.html", context)
