"""The annotation screen: where it begins, its pages, and what they ask for; the marks of others, to be read."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import Entity, Item
from datasets.models.judged import broken_here
from projects import access
from projects.models import Project
from projects.progress import done_by
from projects.roles import with_right
from work.models.item_work import refresh_item

from . import offers
from .finding import item_address, next_undone, shown_items
from .pages import page_to_annotate, page_to_read, undone_after


@require_GET
def start(request: Request, pk: int) -> HttpResponse:
    """To the member's next undone item, of those that match the filter: the first one, or the first after a position."""
    project = access.project(request, pk, Right.ANNOTATE)
    if request.GET.get("gone"):
        messages.info(request, "That item was removed, or it is no longer given to you. Here you go on.")
    shown = shown_items(request, project)
    after = whole_number(request.GET.get("after", ""), digits=9)
    if item := next_undone(shown, after):
        if item in shown.later:
            messages.info(request, "All others are done: this is an item that you left for later.")
        return redirect(item_address(shown, project, item))
    first = shown.given.values_list("pk", flat=True).first()
    manages = Right.MANAGE in project.rights_of(request.user)
    context = {"section": "projects", "project": project, "first": first, "manages": manages, "filter": shown}
    return render(request, "annotations/finished.html", context)


@require_GET
def item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """The workspace; for an item that was removed, the next one that is there."""
    try:
        project, found = access.item_given(request, pk, item_pk)
    except Http404:
        project = access.project(request, pk, Right.ANNOTATE)
        gone = get_object_or_404(Item.with_removed, pk=item_pk, dataset__project=project, removed_at__isnull=False)
        return redirect(f"{undone_after(shown_items(request, project), pk, gone)}&gone=1")
    except PermissionDenied:
        access.project(request, pk, Right.LOOK)  # in an archived project
        return redirect("annotations:read", pk=pk, who=request.user.pk, item_pk=item_pk)
    shown = shown_items(request, project)
    return render(request, "annotations/workspace.html", page_to_annotate(request, project, found, shown))


@require_GET
def progress(request: Request, pk: int) -> JsonResponse:
    """How much the member has done: asked for after the page, because counting takes longer than everything else on it."""
    return JsonResponse({"done": done_by(access.project(request, pk, Right.ANNOTATE), request.user)})


@require_GET
def labels(request: Request, pk: int, version: str) -> HttpResponse:
    """All labels of the project."""
    project = access.project(request, pk)
    return _kept_by_browsers(request, pk, offers.labels_json(project), "labels")


@require_GET
def rules(request: Request, pk: int, version: str) -> HttpResponse:
    """The constraints of the project."""
    project = access.project(request, pk)
    return _kept_by_browsers(request, pk, offers.rules_json(project), "rules")


@require_GET
def read_start(request: Request, pk: int, who: str) -> HttpResponse:
    """To the first item that somebody has marked, for a manager or that person."""
    project, person = access.annotators_work(request, pk, who)
    items = access.items_to_read(request, project, person).values_list("pk", flat=True)
    if first := _marked_items(project, person).first() or items.first():
        return redirect("annotations:read", pk=pk, who=person.pk, item_pk=first)
    raise Http404("No item is given to this person.")


@require_GET
def read(request: Request, pk: int, who: str, item_pk: int) -> HttpResponse:
    """Somebody's marks on an item, for a manager or that person: the same screen, without any control that changes."""
    project, person = access.annotators_work(request, pk, who)
    items = access.items_to_read(request, project, person)
    found = get_object_or_404(items, pk=item_pk)
    context = page_to_read(request, project, found, person, items)
    marked = _marked_items(project, person).filter(position__gt=found.position).first()
    context["next_marked"] = marked and reverse("annotations:read", args=[pk, person.pk, marked])
    [shown] = context["items"]
    annotation = shown["annotation"]
    refresh_item(found)
    count, broken = broken_here(annotation) if annotation else (0, [])
    shown["state"]["broken"] = sorted({uid for each in broken for uid in each.uids})
    context["own"] = annotation if annotation and annotation.annotator_id else None
    context |= {"broken": broken, "broken_count": count}
    context["sources"] = words.listed(annotation.sources()) if annotation else ""
    if access.reads_marks(request, project):
        annotates = {"membership__project": project, "membership__role__in": with_right(Right.ANNOTATE)}
        context["people"] = User.objects.filter(**annotates).order_by("username")
    return render(request, "annotations/workspace.html", context)


def _marked_items(project: Project, person: User) -> QuerySet[Item, int]:
    """The keys of the items on which somebody has marks."""
    marks = Entity.objects.filter(annotation__item=OuterRef("pk"), annotation__annotator=person)
    return project.all_items().filter(Exists(marks)).values_list("pk", flat=True)


def _kept_by_browsers(request: Request, pk: int, document: bytes, name: str) -> HttpResponse:
    """A document whose address names its version; for good, if it is the version of now."""
    response = HttpResponse(document, content_type="application/json")
    is_current = offers.addresses(pk)[name] == request.path
    response["Cache-Control"] = "private, max-age=31536000, immutable" if is_current else "no-store"
    return response
