"""The pages about how far people agree, their files, the places where marks differ, and the calibration set."""

from contextlib import suppress
from typing import Any, NamedTuple

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
from annotation_service.models import start_once
from annotation_service.paging import Page
from projects import access
from projects.models import Project

from . import agreement_tables as tables
from .agreement import COMPARE, MEASURES, Agreement, Changed, make_report, report_of
from .agreement_places import Places
from .agreement_tables import AskedFigures
from .calibration import calibrated
from .counting import PAIRS_AT_ONCE, Staleness
from .models import AgreementReport
from .review_list import KINDS
from .voices import Trees, names_for

A_PAGE = 50
# So many people have a row each in the map of pairs.
MOST_IN_MAP = 30
# In a project with so many items, what has changed is counted while one waits.
ITEMS_AT_ONCE = 200
PARTS = {"pairs": "People", "labels": "Labels", "confusion": "Confused labels", "weeks": "Over time"}
OF_LABELS = ("exact", "overlap", "tree")
ENOUGH = 80


class Shown(NamedTuple):
    project: Project
    report: AgreementReport | None
    names: dict[int, str]
    agreement: Agreement | None

    @classmethod
    def of(cls, request: Request, pk: int, *, with_figures: bool = True) -> "Shown":
        project = access.project(request, pk, Right.READ)
        report = report_of(project)
        if project.dataset.item_count <= ITEMS_AT_ONCE and Staleness.of(project).pairs <= PAIRS_AT_ONCE:
            with suppress(DatabaseError):  # without room to store them the figures stay as they were
                if report is None or any(Changed.since(project, report)):
                    make_report(project)
                    report = report_of(project)
        names, trees = names_for(project), Trees(project.ontology_set.all())
        agreement = Agreement.read(report, names, trees) if report and with_figures else None
        return cls(project, report, names, agreement)

    def context(self, request: Request) -> dict[str, Any]:
        found = {"section": "projects", "project": self.project, "report": self.report, "agreement": self.agreement}
        return found | {"parts": PARTS, "keeps": Right.KEEP in self.project.rights_of(request.user)}

    def asked(self, request: Request) -> AskedFigures | None:
        if self.agreement is None:
            return None
        measure = request.GET.get("measure", "")

        def toggle(opened: Any) -> str:
            query = request.GET.copy()
            query.setlist("open", [str(pk) for pk in sorted(opened) or [0]])
            return f"?{query.urlencode()}#labels"

        return AskedFigures(
            self.project,
            self.agreement,
            measure if measure in MEASURES else "exact",
            request.GET.get("with") == "gold",
            {whole_number(pk) or 0 for pk in request.GET.getlist("open")} if "open" in request.GET else None,
            toggle,
        )


@require_GET
def page(request: Request, pk: int, part: str = "pairs") -> HttpResponse:
    if part not in PARTS:
        raise Http404
    shown = Shown.of(request, pk)
    asked, context = shown.asked(request), shown.context(request) | {"part": part}
    if asked:
        if part == "labels" and asked.measure not in OF_LABELS:
            asked = asked._replace(measure="exact")
        has_measure = part != "confusion"
        measures = (
            {name: MEASURES[name] for name in (OF_LABELS if part == "labels" else MEASURES)} if has_measure else {}
        )
        table = tables.TABLES[part](asked)
        context |= {"asked": asked, "measures": measures, "has_gold": bool(asked.agreement.gold.pairs)}
        context["page"] = found = Paginator(table.rows, A_PAGE).get_page(request.GET.get("page"))
        context["table"] = table if part == "labels" else table._replace(rows=list(found.object_list))
        if part == "pairs":
            context["totals"] = tables.totals(asked)
            people = {who for pair in asked.part.pairs for who in pair}
            if not asked.with_gold and 2 < len(people) <= MOST_IN_MAP:
                context["map"] = tables.pair_map(asked)
        if part == "confusion":
            context["map"] = tables.confusion_map(asked)
    return render(request, "quality/agreement.html", context)


@require_GET
def changed(request: Request, pk: int) -> HttpResponse:
    """What has changed since the figures were counted, loaded after the page."""
    project = access.project(request, pk, Right.READ)
    report = report_of(project)
    context = {"project": project, "changed": report and Changed.since(project, report)}
    return render(request, "quality/_agreement_changed.html", context)


@require_POST
def count(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.READ)
    with write():
        title = f"Compare the marks in “{project}”"
        job = start_once(COMPARE, title=title, by=request.user, target={"project": pk})
    return redirect("job", pk=job.pk)


@require_GET
def as_csv(request: Request, pk: int, table: str) -> HttpResponseBase:
    shown = Shown.of(request, pk)
    asked = shown.asked(request)
    if asked is None or table not in tables.TABLES:
        raise Http404
    every_branch = asked.part.branches if table == "labels" else None
    found = tables.TABLES[table](asked._replace(opened=every_branch))
    lines = csv_tables.written([name for name, _ in found.head], found.records())
    return http.download(request, "".join(lines), f"agreement-{table}.csv", "text/csv; charset=utf-8")


@require_GET
def as_json(request: Request, pk: int) -> HttpResponse:
    shown = Shown.of(request, pk)
    if shown.agreement is None:
        raise Http404
    return JsonResponse(shown.agreement.as_json(), json_dumps_params={"ensure_ascii": False})


@require_GET
def places(request: Request, pk: int) -> HttpResponse:
    shown = Shown.of(request, pk, with_figures=False)
    asked = Places(shown.project, request.GET, shown.names)
    found = Page.of(asked.items(), request.GET.get("page"), size=A_PAGE)
    rows = [(item, item.excerpt(), differences) for item, differences in asked.shown(list(found.object_list))]
    context = shown.context(request) | {"asked": asked, "page": found, "rows": rows}
    context["kinds"] = list(KINDS.items())
    return render(request, "quality/agreement_places.html", context)


@require_GET
def calibration(request: Request, pk: int) -> HttpResponse:
    """How those who annotate do in the items that all get first."""
    shown = Shown.of(request, pk)
    least = whole_number(request.GET.get("at_least", "")[:3])
    least = ENOUGH if least is None else min(least, 100)
    items = list(shown.project.all_items().filter(position__lt=shown.project.calibration).values_list("pk", flat=True))
    context = shown.context(request) | {"part": "calibration", "count": len(items), "least": least}
    context["rows"] = calibrated(shown.project, items, shown.names, least / 100)
    return render(request, "quality/agreement_calibration.html", context)
