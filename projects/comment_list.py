"""Flags and comments of a project: how many there are, the list of them, and what is done with a comment wherever it is shown."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Case, Count, DateTimeField, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import replace_url

from annotation_service.blueprints import Right
from annotation_service.db import among, snapshot
from annotation_service.http import Request, refused_beside
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import User
from annotation_service.paging import search_text
from datasets.models import Item
from datasets.models.item import ItemQuerySet
from work.models import Answer, Comment, Flag
from work.models.remarks import CommentQuerySet

from . import access
from .assignment.assigned import is_given
from .roles import Role

ITEMS_A_PAGE = 20
STATES = {"waiting": "Waiting for you", "open": "Open", "resolved": "Resolved"}
SORTS = {"waiting": "Waiting for you first", "changed": "Last changed", "item": "Item number"}
LONG_AGO = Value(datetime(1, 1, 1, tzinfo=UTC), output_field=DateTimeField())
Do = Callable[[Request, Comment], Any]


def waits_for(user: User, *, reads: bool) -> Q:
    """Open comments in which the other side had the last word: anybody else on one's own work and, for those who read everybody's
    work, its annotator on that of others."""
    own = Q(person=user) & ~Q(last_by=user)
    return Q(resolved_at=None) & (own | Q(last_by=F("person")) & ~Q(person=user) if reads else own)


def waiting_for(user: User, roles: Mapping[int, Role]) -> Counter[int]:
    """How many comments wait for somebody in each project, by their roles there: those in its list of them."""
    read, managed = ([pk for pk, role in roles.items() if right in role.rights] for right in (Right.READ, Right.MANAGE))
    is_open = {"item__dataset__project__is_blind": False}
    seen = Q(item__dataset__project__in=managed) | Q(item__dataset__project__in=read, **is_open)
    shown = seen & waits_for(user, reads=True) | is_given(user, "item__") & waits_for(user, reads=False)
    found = Comment.objects.filter(shown, item__dataset__project__in=roles, item__removed_at=None)
    return Counter(dict(found.order_by().values_list("item__dataset__project").annotate(Count("pk"))))


def talk_figures(flags: QuerySet[Flag], comments: CommentQuerySet, user: User, *, reads: bool) -> dict[str, Any]:
    """How many flags of each kind there are, and how many comments are open, and wait for the user."""
    kinds = dict(flags.order_by().values_list("kind").annotate(n=Count("pk")))
    waiting = Count("pk", filter=waits_for(user, reads=reads))
    counts = comments.aggregate(comments=Count("pk"), resolved=Count("resolved_at"), waiting=waiting)
    return {
        "kinds": [(label, kind, kinds[kind]) for kind, label in Flag.Kind.choices if kind in kinds],
        "flags": sum(kinds.values()),
        **counts,
        "open": counts["comments"] - counts["resolved"],
    }


class CommentList:
    """What somebody may see of the flags and comments in a project, and what they want to see of it: empty means all, and so does
    what is no choice."""

    def __init__(self, flags: QuerySet[Flag], comments: CommentQuerySet, user: User, *, reads: bool) -> None:
        self.flags, self.comments, self.waits = flags.order_by(), comments.order_by(), waits_for(user, reads=reads)
        of_somebody = Q(pk__in=self.flags.values("person")) | Q(pk__in=self.comments.values("person"))
        self.people = list(User.objects.filter(of_somebody).order_by("username"))

    def choose(self, *, query: str, flag: str, state: str, who: str, sort: str) -> None:
        self.query, self.sort = query, sort if sort in SORTS else "waiting"
        self.flag = flag if flag in (*Flag.Kind.values, "any") else ""
        self.state = state if state in STATES else ""
        self.who = next((person.pk for person in self.people if str(person.pk) == who), None)
        if self.flag not in ("", "any"):
            self.flags = self.flags.filter(kind=self.flag)
        if self.state:
            states = {"waiting": self.waits, "open": Q(resolved_at=None), "resolved": Q(resolved_at__isnull=False)}
            self.comments = self.comments.filter(states[self.state])
        if self.who:
            self.flags, self.comments = self.flags.filter(person=self.who), self.comments.filter(person=self.who)

    @property
    def is_all(self) -> bool:
        return not (self.query or self.flag or self.state or self.who)

    def items(self) -> QuerySet[Item]:
        """The items that match, in their order: the last changed before the others, where nothing else tells them apart."""
        flagged, commented = Q(pk__in=self.flags.values("item")), Q(pk__in=self.comments.values("item"))
        items = Item.objects.filter(flagged | commented)
        if self.flag:
            items = items.filter(flagged)
        if self.state:
            items = items.filter(commented)
        if self.query:
            said = Q(pk__in=among(list(set(self._items_with_words()))))
            items = items.filter(said | Q(pk__in=items.containing(self.query).order_by().values("pk")))
        return self._sorted(items)

    def _sorted(self, items: ItemQuerySet) -> QuerySet[Item]:
        if self.sort == "item":
            return items.order_by("position")
        here = {"item": OuterRef("pk")}
        rank: Any = Value(0)
        if self.sort == "waiting":
            comments = self.comments.filter(**here)
            waits, is_open = Exists(comments.filter(self.waits)), Exists(comments.open())
            rank = Case(When(waits, then=0), When(is_open, then=1), default=2)
        flagged, commented = (
            Coalesce(Subquery(rows.filter(**here).values("item").annotate(at=Max(field)).values("at")), LONG_AGO)
            for rows, field in ((self.flags, "set_at"), (self.comments, "last_at"))
        )
        return items.alias(rank=rank, at=Greatest(flagged, commented)).order_by("rank", "-at", "position")

    def _items_with_words(self) -> Iterator[int]:
        """Items about which the flags and comments say what is searched, in any case and script: no database compares so."""
        wanted = unicodedata.normalize("NFC", self.query).casefold()
        answers = Answer.objects.filter(comment__in=self.comments.values("pk"))
        said: list[tuple[QuerySet[Any], tuple[str, ...]]] = [
            (self.flags, ("item_id", "why")),
            (self.comments, ("item_id", "text", "words")),
            (answers, ("comment__item_id", "text")),
        ]
        for rows, columns in said:
            for item, *texts in rows.values_list(*columns).iterator():
                if any(wanted in text.casefold() for text in texts):
                    yield item

    def entries(self, items: Collection[Item]) -> list[dict[str, Any]]:
        """Items with what is said about each, the open comments before the others."""
        entries: dict[int, dict[str, Any]] = {
            item.pk: {"item": item, "excerpt": item.excerpt(self.query, 200), "flags": [], "comments": []}
            for item in items
        }
        for flag in self.flags.filter(item__in=entries).select_related("person").order_by("set_at", "pk"):
            entries[flag.item_id]["flags"].append(flag)
        open_first = F("resolved_at").asc(nulls_first=True), "pk"
        for comment in self.comments.filter(item__in=entries).with_words().order_by(*open_first):
            entries[comment.item_id]["comments"].append(comment)
        return [entry | {"person": _first_person(entry)} for entry in entries.values()]


def _first_person(entry: dict[str, Any]) -> int | None:
    """Whose work the number of the item leads to."""
    said: list[Comment | Flag] = [*entry["comments"], *entry["flags"]]
    return said[0].person_id if said else None


@require_GET
def comment_list(request: Request, pk: int) -> HttpResponse:
    """The items that are flagged or commented on: for managers all, for annotators their own."""
    project = access.project(request, pk)
    query = urlencode({name: str(value) for name, value in request.GET.items() if value})
    request.GET = QueryDict(query)
    reads = access.reads_marks(request, project)
    said = access.flags(request, project), access.comments(request, project)
    choices = {name: request.GET.get(name, "") for name in ("flag", "state", "who", "sort")}
    with snapshot():
        listed = CommentList(*said, request.user, reads=reads)
        listed.choose(query=search_text(request), **choices)
        page = Paginator(listed.items(), ITEMS_A_PAGE).get_page(request.GET.get("page"))
        entries = listed.entries(list(page.object_list))
    context = {"section": "projects", "project": project, "listed": listed, "reads": reads, "page": page}
    context |= {"kinds": Flag.Kind.choices, "states": STATES.items(), "sorts": SORTS.items()}
    rights = project.rights_of(request.user)
    context |= {"entries": entries, "annotates": Right.ANNOTATE in rights, "keeps": Right.KEEP in rights}
    context["may_answer"] = not rights.isdisjoint({Right.REVIEW, Right.ANNOTATE})
    response = render(request, "projects/comments.html", context)
    return replace_url(response, f"{request.path}?{query}" if query else request.path)


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
    comment.reply(request.POST.get("text", ""), resolves="resolve" in request.POST, by=request.user)


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
