"""Giving the chosen rows of the item table to people, or taking them away from people, after a look at what that does."""

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service.blueprints import Right
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import Job, User, start_job
from datasets.views.editing import items_changed
from work.models.item_work import refresh

from .. import access
from ..models import HandChange, Project
from .filters import ProjectItems
from .views import COUNT_SECONDS


@require_POST
def give(request: Request, pk: int) -> HttpResponse:
    return _by_hand(request, pk, "give")


@require_POST
def take(request: Request, pk: int) -> HttpResponse:
    return _by_hand(request, pk, "take")


def _by_hand(request: Request, pk: int, verb: str) -> HttpResponse:
    """Say what would happen, for the people chosen so far, and do it when somebody agrees to so many items."""
    project = access.project(request, pk, Right.MANAGE)
    chosen = _chosen(request, project)
    if chosen is None:
        return refused("Choose the items first.")
    refresh(chosen.dataset.pk, COUNT_SECONDS)
    items, agreed = chosen.without_order().items(), whole_number(request.POST.get("count", ""))
    count = items.order_by().count()
    if not count:
        return refused("None of these items is in the project any more.")
    able = list(project.working() if verb == "give" else project.all_annotating())
    people = [person for person in able if str(person.pk) in request.POST.getlist("people")]
    changed = agreed not in (None, count)
    context: dict[str, Any] = {"project": project, "filter": chosen, "count": count, "verb": verb}
    context |= {"able": able, "people": people, "changed": changed}
    try:
        if people and "agree" in request.POST and not changed:
            if count * len(people) > settings.JOB_ROWS:
                return _start(request, chosen, verb, count, people)
            return items_changed(getattr(project, verb)(items, people, by=request.user).in_words(people))
        if people:
            context["foreseen"] = asdict(getattr(project, f"foresee_{verb}")(items, people))
    except Refused as error:
        return refused(error)
    return render(request, "projects/items/_by_hand.html", context, status=409 if changed else 200)


@require_POST
def undo(request: Request, pk: int) -> HttpResponse:
    """Undo what was done last, if it is still what the user has seen."""
    project, change_pk = (
        access.project(request, pk, Right.MANAGE),
        whole_number(request.POST.get("change", "")[:18]) or 0,
    )
    change = HandChange.objects.filter(pk=change_pk, project=project).first()
    if change and change.row_count > settings.JOB_ROWS:
        target = {"project": project.pk, "change": change.pk}
        job = start_job("undo_by_hand", title=f"Undo in “{project}”", by=request.user, target=target)
        return HttpResponseClientRedirect(reverse("job", args=[job.pk]))
    try:
        return items_changed(project.undo_by_hand(change_pk, by=request.user))
    except Refused as error:
        return refused(error)


def _chosen(request: Request, project: Project) -> ProjectItems | None:
    """The selected items or, with ``all``, every item that matches the filter in the address."""
    asked = request.GET.copy()
    asked.setlist("items", request.POST.getlist("items"))
    chosen = ProjectItems.of(project, asked)
    return chosen if chosen.selected or request.POST.get("all") == "1" else None


def _start(request: Request, chosen: ProjectItems, verb: str, count: int, people: list[User]) -> HttpResponse:
    """Many items are given or taken by a job."""
    target = {"project": chosen.project.pk, "verb": verb, "filter": chosen.query_string(), "count": count}
    target |= {"people": [person.pk for person in people]}
    title = {"give": "Give items of", "take": "Take away items of"}[verb]
    job = start_job("by_hand", title=f"{title} “{chosen.project}”", by=request.user, target=target)
    return HttpResponseClientRedirect(reverse("job", args=[job.pk]))


def carry_out(project: Project, job: Job) -> None:
    """What `_start` asked for, if it is about as many items."""
    target = job.target
    chosen = ProjectItems.of(project, QueryDict(target["filter"])).without_order()
    refresh(project.dataset.pk, COUNT_SECONDS)
    if chosen.items().count() != target["count"]:
        raise Refused("Meanwhile it has become another number of items. Choose them again in the table of items.")
    people = list(User.objects.filter(pk__in=target["people"]).order_by("username"))
    getattr(project, target["verb"])(chosen.items(), people, by=job.by, job=job)
