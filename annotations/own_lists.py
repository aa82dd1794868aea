"""A person's own lists: their items, the way through these and what they left for later, their marks, and their last days."""

import re
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib import messages
from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request, show_table
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import Item
from projects import access
from projects.models import Project
from work.glance import DAYS, glance
from work.own_items import HAS, STATES, OwnItems, work_on
from work.own_marks import LOOKED_AT, OwnMarks

MOST_SKIPPED = 1000


def own_items(project: Project, person: User, data: QueryDict, *, later: Sequence[int] = ()) -> OwnItems:
    """The items given to somebody, as the filter in an address wants them; ``later`` is what they left for later."""
    return OwnItems.read(
        data,
        dataset=project.dataset,
        given=project.items_for(person),
        person=person,
        ontologies=project.ontology_set.order_by("kind"),
        later=later,
    )


def item_address(shown: OwnItems, project: Project, key: int) -> str:
    """Of the workspace; the way from it leads through the list."""
    query = shown.query_string()
    return reverse("annotations:item", args=[project.pk, key]) + (f"?{query}" if query else "")


def shown_items(request: Request, project: Project) -> OwnItems:
    """The user's items, as the filter in the address wants them."""
    return own_items(project, request.user, request.GET, later=skipped(request, project))


@require_GET
def items(request: Request, pk: int) -> HttpResponse:
    """The list as a page. The workspace, which names the item that is open, gets the page of the table on which that stands."""
    project = access.project(request, pk, Right.LOOK)
    if number := whole_number(request.GET.get("number", ""), digits=9):
        return _jump(request, project, number)
    shown = shown_items(request, project)
    open_item = whole_number(request.GET.get("at", ""))
    at = shown.given.filter(pk=open_item).first() if open_item else None
    page = shown.page(request.GET.get("page"), Item.objects.all(), at=at)
    found = list(page.object_list)
    rows = [(item, item.excerpt(shown.q), own) for item, own in zip(found, work_on(found, shown), strict=True)]
    context = {
        "section": "projects",
        "project": project,
        "filter": shown,
        "columns": shown.columns,
        "page": page,
        "at": at,
        "rows": rows,
        "everything": request.path + (f"?at={at.pk}" if at else ""),
        "calibration_left": project.calibration_left(request.user),
        **choices(shown),
    }
    query, templates = shown.query_string(page=page.number), ("annotations/_items.html", "annotations/items.html")
    return show_table(request, query, *templates, context, is_pushed=not at)


def choices(shown: OwnItems) -> dict[str, Any]:
    """What the form of the filter offers, and the one beside it, which leads to an item by its number."""
    return {
        "states": [(state, state) for state in STATES],
        "has": HAS.items(),
        "last": shown.given.last(),
        "later": shown.left_for_later(),
    }


def _jump(request: Request, project: Project, number: int) -> HttpResponse:
    """To the item with a number or, if it is not given to the person, to the one that follows it, if any."""
    given = project.items_for(request.user)
    found = given.filter(position__gte=number - 1).first()
    if found is None:
        last = given.last()
        where = f"the last is {words.number(last.number)}." if last else "none is given to you."
        messages.error(request, f"There is no item {words.number(number)}; {where}")
        return redirect("annotations:items", pk=project.pk)
    if found.number != number:
        what = f"There is no item {words.number(number)} among yours. This is item {words.number(found.number)}."
        messages.info(request, what)
    return redirect("annotations:item", pk=project.pk, item_pk=found.pk)


@require_GET
def place(request: Request, pk: int, item_pk: int) -> JsonResponse:
    """At which place of the list an item stands: asked for after the page, because counting takes longer than everything else."""
    project, item = access.item_given(request, pk, item_pk)
    shown = shown_items(request, project)
    return JsonResponse({"place": shown.place(item), "count": shown.count()})


# --- The next one --------------------------------------------------------------------------------------------------------


@require_POST
def skip(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Leave an item for later: the next undone item is another one as long as there is one. Kept until the person signs out."""
    _keep_skipped(request, pk, item_pk, is_last=True)
    return HttpResponse(status=204)


@require_POST
def take_up(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Have an item that was left for later come in its turn again."""
    _keep_skipped(request, pk, item_pk, is_last=False)
    return HttpResponse()


def _keep_skipped(request: Request, pk: int, item_pk: int, *, is_last: bool) -> None:
    project, item = access.item_given(request, pk, item_pk)
    kept = [key for key in skipped(request, project) if key != item.pk] + [item.pk] * is_last
    request.session["skipped"] = {**request.session.get("skipped", {}), str(project.pk): kept[-MOST_SKIPPED:]}


def skipped(request: Request, project: Project) -> list[int]:
    """What the person left for later, the oldest first."""
    return request.session.get("skipped", {}).get(str(project.pk), [])


def next_undone(shown: OwnItems, after: int | None) -> int | None:
    """The next item of the list that its person has not done, from a position on and then from the beginning. What was left for
    later comes last."""
    item = Item.with_removed.filter(dataset=shown.dataset, position=after).first() if after is not None else None
    return shown.undone().first_behind(item)


UTC = ZoneInfo("UTC")


@require_GET
def marks(request: Request, pk: int) -> HttpResponse:
    """A page of the list; a filter request gets the table alone."""
    project = access.project(request, pk, Right.LOOK)
    ontologies = list(project.ontology_set.order_by("kind"))
    shown = OwnMarks.of(request.GET, dataset=project.dataset, person=request.user, ontologies=ontologies)
    page = shown.page(request.GET.get("page"))
    context = {"section": "projects", "project": project, "filter": shown, "columns": shown.columns, "page": page}
    context["looked_at"] = LOOKED_AT
    query, templates = shown.query_string(page=page.number), ("annotations/_marks.html", "annotations/marks.html")
    return show_table(request, query, *templates, context, target="marks")


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
