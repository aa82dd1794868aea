from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import Annotation, Item
from projects import access
from projects.models import Project

from . import workspace


@require_GET
def start(request: Request, pk: int) -> HttpResponse:
    """To the member's next undone item: the first one, or the first after a position."""
    project = access.project(request, pk, Right.ANNOTATE)
    if request.GET.get("gone"):
        messages.info(request, "That item was removed, or it is no longer given to you. Here you go on.")
    after = request.GET.get("after", "")
    position = whole_number(after, digits=9)
    if item := workspace.next_undone(project, request.user, after=-1 if position is None else position):
        return redirect("annotations:item", pk=pk, item_pk=item)
    first = project.items_for(request.user).values_list("pk", flat=True).first()
    manages = Right.MANAGE in project.rights_of(request.user)
    context = {"section": "projects", "project": project, "first": first, "manages": manages}
    return render(request, "annotations/finished.html", context)


@require_GET
def item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """The workspace; for an item that was removed, the next one that is there."""
    try:
        project, found = access.item_given(request, pk, item_pk)
    except Http404:
        project = access.project(request, pk, Right.ANNOTATE)
        gone = get_object_or_404(Item.with_removed, pk=item_pk, dataset__project=project, removed_at__isnull=False)
        return redirect(f"{_undone(pk, gone)}&gone=1")
    items = project.items_for(request.user)
    context = _workspace(request, project, found, request.user, workspace.place(project, items, found))
    return render(request, "annotations/workspace.html", context)


@require_GET
def progress(request: Request, pk: int) -> JsonResponse:
    """How much the member has done: asked for after the page, because counting takes longer than everything else on it."""
    return JsonResponse({"done": workspace.done_count(access.project(request, pk, Right.ANNOTATE), request.user)})


@require_GET
def labels(request: Request, pk: int, version: str) -> HttpResponse:
    """All labels of the project. The address names their version, so the browser may keep them."""
    label_set = workspace.LabelSet.of(access.project(request, pk))
    response = HttpResponse(label_set.as_json(), content_type="application/json")
    is_current = label_set.version == version
    response["Cache-Control"] = "private, max-age=31536000, immutable" if is_current else "no-store"
    return response


@require_GET
def read_start(request: Request, pk: int, who: str) -> HttpResponse:
    """To the first item that somebody has marked, for a manager."""
    project, person = access.annotators_work(request, pk, who)
    first = workspace.first_marked(project, person)
    if first is None:
        raise Http404("No item is given to this person.")
    return redirect("annotations:read", pk=pk, who=person.pk, item_pk=first)


@require_GET
def read(request: Request, pk: int, who: str, item_pk: int) -> HttpResponse:
    """Somebody's marks on an item, for a manager: the same screen, without any control that changes."""
    project, person = access.annotators_work(request, pk, who)
    items = workspace.items_of(project, person)
    found = get_object_or_404(items, pk=item_pk)
    context = _workspace(request, project, found, person, workspace.place(project, items, found), reading=True)
    marked = workspace.next_marked(project, person, after=found.position)
    context["next_marked"] = marked and reverse("annotations:read", args=[pk, person.pk, marked])
    context["people"] = workspace.people(project)
    return render(request, "annotations/workspace.html", context)


def _undone(project_pk: int, item: Item) -> str:
    """Where the next undone item after this one is found."""
    return f"{reverse('annotations:start', args=[project_pk])}?after={item.position}"


def _workspace(
    request: Request, project: Project, item: Item, person: User, place: workspace.Place, reading: bool = False
) -> dict[str, Any]:
    annotation = Annotation.visible_to(person, item)
    own = annotation if annotation and annotation.annotator_id else None
    label_set = workspace.LabelSet.of(project)

    def link(to: int | None) -> str | None:
        if to is None:
            return None
        if reading:
            return reverse("annotations:read", args=[project.pk, person.pk, to])
        return reverse("annotations:item", args=[project.pk, to])

    undone, marks = _undone(project.pk, item), reverse("annotations:marks", args=[project.pk, item.pk])
    state = {
        "item": workspace.item_state(item),
        **workspace.marks_state(annotation),
        "reading": reading,
        "hasRelations": label_set.has_relations,
        "project": project.pk,
        "annotator": request.user.pk,
        "urls": {
            "labels": reverse("annotations:labels", args=[project.pk, label_set.version]),
            "item": marks.removesuffix("marks/"),
            "marks": marks,
            "next": link(place.next),
            "previous": link(place.previous),
            "progress": reverse("annotations:progress", args=[project.pk]),
            "undone": undone,
            "gone": f"{undone}&gone=1",
            "login": reverse("account_login"),
        },
    }
    return {
        "project": project,
        "item": item,
        "person": person,
        "own": own,
        "place": place,
        "previous": link(place.previous),
        "next": link(place.next),
        "reading": reading,
        "state": state,
    }
