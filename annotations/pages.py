"""What a page of the workspace shows: an item, or several short ones one below the other, each with the marks on it and with what
is said about it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.models import COMFORT, User, with_defaults
from datasets.extra_fields import Field
from datasets.models import Annotation, Item
from projects import access
from projects.models import Project
from work.models import Comment
from work.own_items import OwnItems

from . import offers
from .comments import comments_on, flags_of
from .finding import choices, item_address
from .requests import marks_states


def page_to_annotate(request: Request, project: Project, item: Item, shown: OwnItems) -> dict[str, Any]:
    """The item and those that follow it in the list that is walked through: as many as its person likes."""
    person, own_addresses = request.user, _own_addresses(project.pk, shown)
    comfort = with_defaults(person.comfort)
    size = shown.on_page if shown.on_page in COMFORT["on_page"].values else comfort["on_page"]
    keys, *neighbours = shown.page_from(item, int(size))
    others = shown.given.in_bulk(keys[1:])
    items = [item, *(others[key] for key in keys[1:] if key in others)]
    context = _page(project, person, items, lambda key: item_address(shown, project, key), neighbours)
    for each in context["items"]:
        each["state"]["urls"] |= own_addresses(each["item"])
    state: dict[str, Any] = context["state"]
    state |= {
        "reading": False,
        "annotator": person.pk,
        "shortcuts": access.own_membership(request, project).shortcuts,
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
    place = _place(items, shown.given, shown.given_count)
    context["answered"] = Comment.objects.waiting_for(person).filter(item__dataset__project=project).count()
    return {**context, "item": item, "place": place, "may_answer": True, "filter": shown, **choices(shown)}


def page_to_read(request: Request, project: Project, item: Item, person: User, given: QuerySet[Item]) -> dict[str, Any]:
    """An item with somebody's marks."""
    before, after = given.filter(position__lt=item.position), given.filter(position__gt=item.position)
    neighbours = [way.values_list("pk", flat=True).first() for way in (before.reverse(), after)]
    context = _page(
        project, person, [item], lambda key: reverse("annotations:read", args=[project.pk, person.pk, key]), neighbours
    )
    context["state"] |= {"reading": True, "annotator": request.user.pk}
    place = _place([item], given, project.dataset.item_count if project.annotators_per_item is None else None)
    may_answer = Right.REVIEW in project.rights_of(request.user)
    return {**context, "item": item, "place": place, "reading": True, "may_answer": may_answer}


def undone_after(shown: OwnItems, project_pk: int, item: Item) -> str:
    """Where the next undone item after this one is found."""
    query = shown.query_string()
    return f"{reverse('annotations:start', args=[project_pk])}?after={item.position}{query and f'&{query}'}"


def _page(
    project: Project,
    person: User,
    items: Sequence[Item],
    address: Callable[[int], str],
    neighbours: Iterable[int | None],
) -> dict[str, Any]:
    """What those who annotate and those who read have in common."""
    steps = [key and address(key) for key in neighbours]
    found = _with_work(project, person, items, address)
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


def _with_work(
    project: Project, person: User, items: Sequence[Item], address: Callable[[int], str]
) -> list[dict[str, Any]]:
    """Each item with what its person did and said in it, with a fixed number of queries. ``state`` is what the scripts know."""
    seen = Annotation.all_visible_to(person, items)
    annotations = [seen.get(item.pk) for item in items]
    flags, comments = flags_of(items, person), comments_on(items, person)
    return [
        {
            "item": item,
            "annotation": annotation,
            "comments": comments[item.pk],
            "fields": Field.all_of(item.extra_fields),
            "state": {
                "item": _text(item),
                **marks,
                "flags": flags[item.pk],
                "urls": {
                    "item": reverse("annotations:marks", args=[project.pk, item.pk]).removesuffix("marks/"),
                    "page": address(item.pk),
                },
            },
        }
        for item, annotation, marks in zip(items, annotations, marks_states(annotations), strict=True)
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


def _text(item: Item) -> dict[str, Any]:
    """What is read, and the original where it is something else."""
    original = None if str(item.cleaned) == item.original else item.original
    return {
        "pk": item.pk,
        "number": item.number,
        **item.cleaned._asdict(),
        "original": original,
        "offsets": item.offsets,
    }


def _place(items: Sequence[Item], given: QuerySet[Item], count: int | None) -> dict[str, int]:
    """Where the items stand among those that are given to their person, from the first to the last of them."""
    positions = [item.position for item in items]
    first = given.filter(position__lt=min(positions)).count() + 1
    last = given.filter(position__lte=max(positions)).count() if len(items) > 1 else first
    return {"number": first, "last": last, "count": given.count() if count is None else count}
