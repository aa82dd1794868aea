"""The annotation screen: an item, its place among the others, its marks, the labels."""

from typing import Any

from django.contrib import messages
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotation_service.blueprints import Right
from annotation_service.comfort import with_defaults
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import Annotation, Entity, Item
from projects import access
from projects.models import Project
from projects.progress import done_by
from projects.roles import with_right

from . import offers
from .requests import marks_state


@require_GET
def start(request: Request, pk: int) -> HttpResponse:
    """To the member's next undone item: the first one, or the first after a position."""
    project = access.project(request, pk, Right.ANNOTATE)
    if request.GET.get("gone"):
        messages.info(request, "That item was removed, or it is no longer given to you. Here you go on.")
    after = request.GET.get("after", "")
    position = whole_number(after, digits=9)
    if item := _next_undone(project, request.user, after=-1 if position is None else position):
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
    context = _workspace(request, project, found, request.user, project.items_for(request.user))
    return render(request, "annotations/workspace.html", context)


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
    """To the first item that somebody has marked, for a manager."""
    project, person = access.annotators_work(request, pk, who)
    items = _items_to_read(project, person).values_list("pk", flat=True)
    if first := _marked_items(project, person).first() or items.first():
        return redirect("annotations:read", pk=pk, who=person.pk, item_pk=first)
    raise Http404("No item is given to this person.")


@require_GET
def read(request: Request, pk: int, who: str, item_pk: int) -> HttpResponse:
    """Somebody's marks on an item, for a manager: the same screen, without any control that changes."""
    project, person = access.annotators_work(request, pk, who)
    items = _items_to_read(project, person)
    found = get_object_or_404(items, pk=item_pk)
    context = _workspace(request, project, found, person, items, reading=True)
    marked = _marked_items(project, person).filter(position__gt=found.position).first()
    context["next_marked"] = marked and reverse("annotations:read", args=[pk, person.pk, marked])
    annotates = {"membership__project": project, "membership__role__in": with_right(Right.ANNOTATE)}
    annotation = Annotation.visible_to(person, found)
    broken = annotation.broken() if annotation else []
    context["state"]["broken"] = [uid for each in broken for uid in each.uids]
    context["broken"] = annotation.in_words(broken) if annotation else []
    context["people"] = User.objects.filter(**annotates).order_by("username")
    return render(request, "annotations/workspace.html", context)


def _undone(project_pk: int, item: Item) -> str:
    """Where the next undone item after this one is found."""
    return f"{reverse('annotations:start', args=[project_pk])}?after={item.position}"


def _workspace(
    request: Request, project: Project, item: Item, person: User, items: QuerySet[Item], reading: bool = False
) -> dict[str, Any]:
    annotation = Annotation.visible_to(person, item)
    keys = items.values_list("pk", flat=True)
    before, after = keys.filter(position__lt=item.position), keys.filter(position__gt=item.position)
    neighbours = {"previous": before.order_by("-position").first(), "next": after.first()}
    count = project.dataset.item_count if project.annotators_per_item is None else items.count()
    page: list[Any] = ["annotations:read", project.pk, person.pk] if reading else ["annotations:item", project.pk]
    links = {name: key and reverse(page[0], args=[*page[1:], key]) for name, key in neighbours.items()}
    undone, marks = _undone(project.pk, item), reverse("annotations:marks", args=[project.pk, item.pk])
    state: dict[str, Any] = {
        "item": _text(item),
        **marks_state(annotation),
        "reading": reading,
        "hasRelations": project.task == Project.Task.ENTITIES_AND_RELATIONS,
        "project": project.pk,
        "annotator": request.user.pk,
        "urls": {
            **offers.addresses(project.pk),
            "item": marks.removesuffix("marks/"),
            "marks": marks,
            **links,
            "progress": reverse("annotations:progress", args=[project.pk]),
            "undone": undone,
            "gone": f"{undone}&gone=1",
            "login": reverse("account_login"),
        },
    }
    if not reading:
        state |= {
            "shortcuts": access.own_membership(request, project).shortcuts,
            "comfort": with_defaults(person.comfort),
        }
        state["urls"] |= {
            "words": reverse("annotations:words", args=[project.pk]),
            "shortcuts": reverse("annotations:shortcuts", args=[project.pk]),
            "comfort": reverse("annotations:comfort"),
        }
    return {
        "project": project,
        "item": item,
        "person": person,
        "own": annotation if annotation and annotation.annotator_id else None,
        "place": {"number": before.count() + 1, "count": count},
        **links,
        "reading": reading,
        "state": state,
    }


def _text(item: Item) -> dict[str, Any]:
    """What is read, and the original where it is something else."""
    original = None if str(item.cleaned) == item.original else item.original
    return {"number": item.number, **item.cleaned._asdict(), "original": original, "offsets": item.offsets}


def _items_to_read(project: Project, person: User) -> QuerySet[Item]:
    """The items given to somebody, and those that they have worked on."""
    given = project.items_for(person)
    if project.annotators_per_item is None:
        return given
    begun = Annotation.objects.filter(item=OuterRef("pk"), annotator=person)
    return project.all_items().filter(Q(pk__in=given.order_by().values("pk")) | Exists(begun))


def _next_undone(project: Project, person: User, after: int) -> int | None:
    """The next item that the person has not done, from a position on and then from the beginning."""
    done = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, done_at__isnull=False)
    undone = project.items_for(person).filter(~Exists(done)).values_list("pk", flat=True)
    return undone.filter(position__gt=after).first() or undone.filter(position__lt=after).first()


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
