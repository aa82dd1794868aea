"""Flags and comments of a project on the screen: the list of them, and what is done with a comment wherever it is shown."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.http import Request, refused_beside
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import search_text
from work.models import Comment, Flag

from . import access, talking

ITEMS_A_PAGE = 20
Do = Callable[[Request, Comment], Any]


@require_GET
def comment_list(request: Request, pk: int) -> HttpResponse:
    """The items that are flagged or commented on: for managers all, for annotators their own."""
    project = access.project(request, pk)
    reads = access.reads_marks(request, project)
    said = access.flags(request, project), access.comments(request, project)
    choices = {name: request.GET.get(name, "") for name in ("flag", "state", "who", "sort")}
    with snapshot():
        talk = talking.Talk(*said, reader=None if reads else request.user)
        talk.choose(query=search_text(request), **choices)
        page = Paginator(talk.items(), ITEMS_A_PAGE).get_page(request.GET.get("page"))
        entries = talk.entries(list(page.object_list))
    context = {"section": "projects", "project": project, "talk": talk, "reads": reads, "page": page}
    context |= {"kinds": Flag.Kind.choices, "states": talking.STATES.items(), "sorts": talking.SORTS.items()}
    rights = project.rights_of(request.user)
    context |= {"entries": entries, "annotates": Right.ANNOTATE in rights, "keeps": Right.KEEP in rights}
    context["may_answer"] = not rights.isdisjoint({Right.REVIEW, Right.ANNOTATE})
    return render(request, "projects/comments.html", context)


def changes_comment(do: Do) -> Callable[..., HttpResponse]:
    """A request about a comment; the answer shows it as it is now, or nothing where it is gone."""

    @require_POST
    @wraps(do)
    def view(request: Request, pk: int, comment_pk: int) -> HttpResponse:
        try:
            with access.changing_comment(request, pk, comment_pk) as comment:
                do(request, comment)
        except Refused as error:
            return refused_beside(error)
        return show_comment(request, pk, comment_pk)

    return view


@changes_comment
def answer(request: Request, comment: Comment) -> None:
    """Answer it, resolve it, or both at once."""
    text, resolves = request.POST.get("text", ""), "resolve" in request.POST
    if text.strip() or not resolves:
        comment.answer(text, by=request.user)
    if resolves:
        comment.resolve(by=request.user)


@changes_comment
def edit(request: Request, comment: Comment) -> None:
    """Change one's own last words; the field ``answer`` names them, if they are not the comment itself."""
    comment.edit(request.POST.get("text", ""), by=request.user, answer=_answer_of(request))


@changes_comment
def take_back(request: Request, comment: Comment) -> None:
    comment.take_back(by=request.user, answer=_answer_of(request))


@changes_comment
def reopen(request: Request, comment: Comment) -> None:
    comment.reopen()


def show_comment(request: Request, project_pk: int, pk: int) -> HttpResponse:
    found = Comment.objects.with_words().filter(pk=pk).first()
    if found is None:
        return HttpResponse()
    return render(request, "projects/_comment.html", {"project_pk": project_pk, "comment": found, "may_answer": True})


def _answer_of(request: Request) -> int | None:
    return whole_number(request.POST.get("answer", "")) or None
