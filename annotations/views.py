"""The annotation screen: where it begins, and its pages, with one item or several short ones; the marks of others, to be read."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import COMFORT, User, with_defaults
from datasets.extra_fields import Field
from datasets.models import Annotation, Entity, Item
from datasets.models.judged import broken_here
from projects import access
from projects.comment_list import waiting_for
from projects.models import Project
from projects.progress import done_by
from projects.roles import ROLES, with_right
from work.models.item_work import refresh_item
from work.own_items import OwnItems

from . import offers
from .own_lists import choices, item_address, next_undone, shown_items
from .requests import comments_on, flags_of, marks_states, text_of

# Around an item with so many tokens, a tall window has room for the texts of its neighbours.
SHORT = 100


def page_to_annotate(request: Request, project: Project, item: Item, shown: OwnItems) -> dict[str, Any]:
    """The item and those that follow it in the list that is walked through: as many as its person likes."""
    person, own_addresses = request.user, _own_addresses(project.pk, shown)
    comfort = with_defaults(person.comfort)
    size = shown.on_page if shown.on_page in COMFORT["on_page"].values else comfort["on_page"]
    keys, *neighbours = shown.page_from(item, int(size))
    others = shown.given.in_bulk(keys[1:])
    items = [item, *(others[key] for key in keys[1:] if key in others)]
    context = page_of(project, person, items, lambda key: item_address(shown, project, key), neighbours)
    for each in context["items"]:
        each["state"]["urls"] |= own_addresses(each["item"])
        each["state"]["isLater"] = each["item"].pk in shown.later
    state: dict[str, Any] = context["state"]
    member = access.own_membership(request, project)
    state |= {
        "reading": False,
        "annotator": person.pk,
        "shortcuts": member.shortcuts,
        "comfort": {**comfort, "on_page": size},
        "suggestsHistory": bool(project.history),
    }
    state["urls"] |= {
        "words": reverse("annotations:words", args=[project.pk]),
        "ownMarks": reverse("annotations:own_marks", args=[project.pk]),
        "shortcuts": reverse("annotations:shortcuts", args=[project.pk]),
        "alike": f"/projects/{project.pk}/alike/",
        "comfort": reverse("annotations:comfort"),
        "items": reverse("annotations:items", args=[project.pk]),
    }
    place = _place(items, shown.given)
    context["waiting"] = waiting_for(person, {project.pk: ROLES[member.role]})[project.pk]
    return {**context, "item": item, "place": place, "may_answer": True, "filter": shown, **choices(shown)}


def page_to_read(request: Request, project: Project, item: Item, person: User, given: QuerySet[Item]) -> dict[str, Any]:
    """An item with somebody's marks."""
    before, after = given.filter(position__lt=item.position), given.filter(position__gt=item.position)
    neighbours = [way.values_list("pk", flat=True).first() for way in (before.reverse(), after)]
    context = page_of(
        project, person, [item], lambda key: reverse("annotations:read", args=[project.pk, person.pk, key]), neighbours
    )
    context["state"] |= {"reading": True, "annotator": request.user.pk}
    place = _place([item], given)
    may_answer = Right.REVIEW in project.rights_of(request.user)
    return {**context, "item": item, "place": place, "reading": True, "may_answer": may_answer}


def undone_after(shown: OwnItems, project_pk: int, item: Item) -> str:
    """Where the next undone item after this one is found."""
    query = shown.query_string()
    return f"{reverse('annotations:start', args=[project_pk])}?after={item.position}{query and f'&{query}'}"


def page_of(
    project: Project,
    person: User | None,
    items: Sequence[Item],
    address: Callable[[int], str],
    neighbours: Sequence[int | None],
) -> dict[str, Any]:
    """What those who annotate and those who read have in common; with nobody's marks, those of the gold."""
    steps = [address(key) if key else None for key in neighbours]
    found = _with_work(project, person, items, address)
    if len(items) == 1 and items[0].token_count <= SHORT:
        found[0]["around"] = _around(neighbours, steps)
    state = {
        "items": [each["state"] for each in found],
        "hasRelations": project.task == Project.Task.ENTITIES_AND_RELATIONS,
        "project": project.pk,
        "urls": {
            **offers.addresses(project.pk),
            **dict(zip(("previous", "next"), steps, strict=True)),
            "progress": reverse("annotations:progress", args=[project.pk]),
            "login": reverse("account_login"),
        },
    }
    return {"project": project, "person": person, "items": found, "is_page": len(found) > 1, "state": state}


def _around(neighbours: Sequence[int | None], addresses: Sequence[str | None]) -> dict[str, dict[str, Any]]:
    """How the items before and after begin, and where they are."""
    texts = Item.objects.only("position", "search_text", "tokens").in_bulk([key for key in neighbours if key])
    ways = zip(("before", "after"), neighbours, addresses, strict=True)
    return {
        way: {"item": texts[key], "text": texts[key].excerpt().before, "url": url}
        for way, key, url in ways
        if key in texts
    }


def _with_work(
    project: Project, person: User | None, items: Sequence[Item], address: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Each item with what its person did and said in it, with a fixed number of queries. ``state`` is what the scripts know."""
    with snapshot():
        versions = dict(Item.with_removed.filter(pk__in=[item.pk for item in items]).values_list("pk", "text_version"))
        for item in items:
            if versions[item.pk] != item.text_version:  # corrected since it was read
                item.refresh_from_db()
        seen = (
            Annotation.all_visible_to(person, items) if person else {item.pk: Annotation.gold(item) for item in items}
        )
        annotations = [seen.get(item.pk) for item in items]
        states = marks_states(annotations)
    flags, comments = flags_of(items, person), comments_on(items, person)
    return [
        {
            "item": item,
            "annotation": annotation,
            "comments": comments[item.pk],
            "fields": Field.all_of(item.extra_fields),
            "state": {
                "item": text_of(item),
                "project": project.name,
                **marks,
                "flags": flags[item.pk],
                "urls": {
                    "item": reverse("annotations:marks", args=[project.pk, item.pk]).removesuffix("marks/"),
                    "page": address(item.pk),
                },
            },
        }
        for item, annotation, marks in zip(items, annotations, states, strict=True)
    ]


def _own_addresses(project: int, shown: OwnItems) -> Callable[[Item], dict[str, str]]:
    """Of an item: where it is left, to be gone on from, and where its place in the list is asked for."""
    query = shown.query_string()

    def addresses(item: Item) -> dict[str, str]:
        undone = undone_after(shown, project, item)
        return {
            "undone": undone,
            "gone": f"{undone}&gone=1",
            "place": f"{reverse('annotations:place', args=[project, item.pk])}?{query}",
            "skip": reverse("annotations:skip", args=[project, item.pk]),
        }

    return addresses


def _place(items: Sequence[Item], given: QuerySet[Item]) -> dict[str, int]:
    """Where the items stand among those that are given to their person, from the first to the last of them."""
    positions = [item.position for item in items]
    first = given.filter(position__lt=min(positions)).count() + 1
    last = given.filter(position__lte=max(positions)).count() if len(items) > 1 else first
    return {"number": first, "last": last, "count": given.count()}


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
def offered(request: Request, pk: int, version: str, what: str) -> HttpResponse:
    """All labels of the project, or its rules. Browsers keep them for good, if the version in the address is that of now."""
    project = access.project(request, pk)
    response = HttpResponse(offers.DOCUMENTS[what](project), content_type="application/json")
    is_current = offers.addresses(pk)[what] == request.path
    response["Cache-Control"] = "private, max-age=31536000, immutable" if is_current else "no-store"
    return response


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
