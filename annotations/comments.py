"""What is said about an item while it is annotated, or read: flags, and new comments."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from annotation_service.http import Request, refused_beside
from annotation_service.inputs import Refused
from annotation_service.models import User
from datasets.models import Item
from projects import access
from projects.comments import show_comment
from work.models import Comment, Flag

from .requests import Answer, answers_json, read_body


@require_POST
@answers_json
def flag(request: Request, pk: int, item_pk: int) -> Answer:
    """Set one of the user's flags, with a word of why, or take it away."""
    values = read_body(request, kind=str, is_set=bool, why=str | None)
    is_set = values.pop("is_set")
    with access.annotating(request, pk, item_pk) as item:
        Flag.put(item, request.user, **values) if is_set else Flag.take_away(item, request.user, kind=values["kind"])
        return {"flags": flags_of([item], request.user)[item.pk]}


@require_POST
def comment(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """On one's own work."""
    try:
        with access.annotating(request, pk, item_pk) as item:
            new = Comment.begin(item, request.user, by=request.user, **_said(request))
    except Refused as error:
        return refused_beside(error)
    return show_comment(request, pk, new.pk)


@require_POST
def comment_on(request: Request, pk: int, who: str, item_pk: int) -> HttpResponse:
    """On somebody else's work, by those who read it."""
    try:
        with access.commenting_on(request, pk, who, item_pk) as (item, person):
            new = Comment.begin(item, person, by=request.user, **_said(request))
    except Refused as error:
        return refused_beside(error)
    return show_comment(request, pk, new.pk)


def flags_of(items: Sequence[Item], person: User) -> dict[int, list[dict[str, str]]]:
    """Those of each item, in the order of their kinds."""
    flags: dict[int, list[dict[str, str]]] = {item.pk: [] for item in items}
    kinds = Flag.Kind.values
    for flag in sorted(Flag.objects.filter(item__in=items, person=person), key=lambda flag: kinds.index(flag.kind)):
        flags[flag.item_id].append({"kind": flag.kind, "name": flag.get_kind_display(), "why": flag.why})
    return flags


def comments_on(items: Sequence[Item], person: User) -> dict[int, list[Any]]:
    """Those on each item, the open ones first."""
    comments: dict[int, list[Any]] = {item.pk: [] for item in items}
    found = Comment.objects.filter(item__in=items, person=person).with_words().order_by("pk")
    for comment in sorted(found, key=lambda comment: not comment.is_open):
        comments[comment.item_id].append(comment)
    return comments


def _said(request: Request) -> dict[str, str]:
    return {name: request.POST.get(name, "") for name in ("text", "kind", "uid")}
