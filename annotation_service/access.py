"""Who may see and do what with blueprints and projects' copies of them; `projects.access` has the rules of projects.

A view gets its object through a function of an access module and never queries an owned model itself. Somebody who may not know
that a thing exists gets 404, somebody who knows it but lacks the right 403.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.functional import SimpleLazyObject

from . import jobs
from .blueprints import Blueprint, Right
from .http import PREANNOTATIONS, Request
from .models import PROJECT_MANAGERS, Job, User

people_with: dict[Right, str] = {}
"""What those are called who have a right in a project, such as “managers and reviewers”: `projects` says so."""
REFUSALS = {
    Right.ANNOTATE: "Only {} of the project annotate in it.",
    Right.LOOK: "Only {} of the project annotate in it.",
    Right.READ: "Only {} of the project can open this.",
    Right.REVIEW: "Only {} of the project can say something about others’ work.",
    Right.MANAGE: "Only {} of the project can do this.",
    Right.KEEP: "Only {} of the project can do this.",
}
B = TypeVar("B", bound=Blueprint)
Person = Any  # a User, or an AnonymousUser


# --- People ------------------------------------------------------------------------------------------------------------


def can_create(user: Person) -> bool:
    """Staff and project managers make blueprints and projects, while they can sign in."""
    if not user.is_active:
        return False
    if not hasattr(user, "_can_create"):
        user._can_create = user.is_staff or user.groups.filter(name=PROJECT_MANAGERS).exists()
    return user._can_create


def let_create_nothing(user: Person) -> None:
    """Whatever they are otherwise: as whom a program asks that is let into one project alone."""
    user._can_create = False


def require_creator(request: Request) -> None:
    if not can_create(request.user):
        raise PermissionDenied("Only project managers can do this.")


def shell(request: HttpRequest) -> dict[str, object]:
    """What every page needs: whether the sections for project managers are shown, which of them, and how people sign in."""
    user = getattr(request, "user", None)
    return {
        "is_manager": SimpleLazyObject(lambda: bool(user and can_create(user))),
        "has_preannotations": PREANNOTATIONS.is_on,
        "has_local_accounts": settings.LOCAL_ACCOUNTS,
        "has_password": settings.LOCAL_ACCOUNTS and bool(user and user.is_authenticated and user.has_usable_password()),
        "provider": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
    }


# --- Blueprints and projects' copies -----------------------------------------------------------------------------------


def blueprints(request: Request, model: type[B]) -> QuerySet[B]:
    """All blueprints of a model: project managers see each other's."""
    require_creator(request)
    return model._default_manager.filter(project=None)


def readable(request: Request, model: type[B], pk: int) -> B:
    """A blueprint or project copy that the user may look at."""
    thing = get_object_or_404(model._default_manager.select_related("project", "owner"), pk=pk)
    if (project := thing.its_project) is None:
        if not can_create(request.user):
            raise Http404
        return thing
    require(Right.SEE if thing.open_to_annotators else Right.READ, project.rights_of(request.user))
    return thing


def all_readable(request: Request, model: type[B]) -> QuerySet[B]:
    """All blueprints and project copies that `readable` gives the user."""
    right = Right.SEE if model.open_to_annotators else Right.READ
    readable = Q(project__in=projects_seen_by(request.user, right))
    if can_create(request.user):
        readable |= Q(project=None)
    return model._default_manager.filter(readable)


def require(right: Right, rights: Collection[Right], reason: str = "") -> None:
    """Ask for a right in a project among those that somebody has there. Strangers are not told that it exists; others are told
    the ``reason``, if nobody has the right now."""
    if Right.SEE not in rights:
        raise Http404
    if right not in rights:
        raise PermissionDenied(reason or REFUSALS[right].format(people_with[right]))


def can_edit(user: Person, thing: Blueprint) -> bool:
    if not thing.feature.is_on:
        return False
    if project := thing.its_project:
        return thing.changed_with in project.rights_of(user)
    return user.is_staff or (can_create(user) and thing.owner_id == user.pk)


def editable(request: Request, model: type[B], pk: int) -> B:
    """A blueprint or project copy that the user may change."""
    thing = readable(request, model, pk)
    if not can_edit(request.user, thing):
        reason = thing.its_project.reason_not_to_change() if thing.its_project else ""
        raise PermissionDenied(reason or "You can look at this and duplicate it, but only its owner can change it.")
    return thing


def duplicable(request: Request, model: type[B], pk: int) -> B:
    """A blueprint or project copy that the user may make a new blueprint of."""
    require_creator(request)
    return readable(request, model, pk)


# Functions that return the keys of the projects in which a person has a right: the app of projects adds its own.
projects_seen: list[Callable[[User, Right], Iterable[int]]] = []


def projects_seen_by(user: User, right: Right = Right.SEE) -> set[int]:
    return {pk for keys in projects_seen for pk in keys(user, right)}


# --- Jobs --------------------------------------------------------------------------------------------------------------


def job(request: Request, pk: int) -> Job:
    """A job that the user may watch now, and whose file they may fetch: its kind decides; staff see all."""
    found = get_object_or_404(Job, pk=pk)
    if not request.user.is_staff:
        kind = jobs.KINDS.get(found.kind)
        check = kind.check if kind and kind.check else _check_own
        check(request, found)
    return found


def _check_own(request: Request, job: Job) -> None:
    if job.by_id != request.user.pk:
        raise Http404
    require_creator(request)
