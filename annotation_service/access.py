"""Who may see and do what: every rule in one place.

A view gets its object through a function of this module and never queries an owned model itself. Somebody who may not know
that a thing exists gets 404, somebody who knows it but lacks the right 403.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from .blueprints import Blueprint
from .db import first, write
from .http import Request
from .inputs import whole_number
from .models import PROJECT_MANAGERS, Job, User

if TYPE_CHECKING:
    from datasets.models import Annotation, Item, Upload
    from projects.models import Membership, Project

B = TypeVar("B", bound=Blueprint)
Person = Any  # a User, or an AnonymousUser

MANAGER = "manager"
ANNOTATOR = "annotator"


# --- People ------------------------------------------------------------------------------------------------------------


def can_create(user: Person) -> bool:
    """Staff and project managers make blueprints and projects."""
    if not user.is_authenticated:
        return False
    if not hasattr(user, "_can_create"):
        user._can_create = user.is_staff or user.groups.filter(name=PROJECT_MANAGERS).exists()
    return user._can_create


def require_creator(request: Request) -> None:
    if not can_create(request.user):
        raise PermissionDenied("Only project managers can do this.")


def role(user: Person, project: "Project") -> str:
    """``manager``, ``annotator`` or, for a stranger, the empty string."""
    if user.is_staff:
        return MANAGER
    return project.membership_set.filter(user=user).values_list("role", flat=True).first() or ""


# --- Blueprints and projects' copies -----------------------------------------------------------------------------------


def blueprints(request: Request, model: type[B]) -> QuerySet[B]:
    """All blueprints of a model: project managers see each other's."""
    require_creator(request)
    return model._default_manager.filter(project=None)


def readable(request: Request, model: type[B], pk: int) -> B:
    """A blueprint or project copy that the user may look at."""
    thing = get_object_or_404(model._default_manager.select_related("project", "owner"), pk=pk)
    if thing.project is None:
        if not can_create(request.user):
            raise Http404
        return thing
    part = role(request.user, thing.project)
    if not part:
        raise Http404
    if part == ANNOTATOR and not thing.open_to_annotators:
        raise PermissionDenied("Only the managers of the project can open this.")
    return thing


def can_edit(user: Person, thing: Blueprint) -> bool:
    if thing.project is not None:
        return role(user, thing.project) == MANAGER
    return user.is_staff or (can_create(user) and thing.owner_id == user.pk)


def editable(request: Request, model: type[B], pk: int) -> B:
    """A blueprint or project copy that the user may change."""
    thing = readable(request, model, pk)
    if not can_edit(request.user, thing):
        raise PermissionDenied("You can look at this and duplicate it, but only its owner can change it.")
    return thing


def duplicable(request: Request, model: type[B], pk: int) -> B:
    """A blueprint or project copy that the user may make a new blueprint of."""
    require_creator(request)
    return readable(request, model, pk)


def upload(request: Request, pk: int) -> "Upload":
    """An upload that the user may check, store and discard: for a dataset that they may change, or their own for a new one."""
    found = get_object_or_404(
        apps.get_model("datasets", "Upload").objects.select_related("dataset", "by", "job"), pk=pk
    )
    if found.dataset:
        editable(request, type(found.dataset), found.dataset.pk)
    elif found.by == request.user or request.user.is_staff:
        require_creator(request)
    else:
        raise Http404
    return found


# --- Projects ----------------------------------------------------------------------------------------------------------


def projects(request: Request) -> "QuerySet[Project]":
    """The projects that the user is a member of; staff see all."""
    everything = apps.get_model("projects", "Project").objects.all()
    return everything if request.user.is_staff else everything.filter(membership__user=request.user)


def managed_projects(request: Request) -> "QuerySet[Project]":
    everything = apps.get_model("projects", "Project").objects.all()
    if request.user.is_staff:
        return everything
    return everything.filter(membership__user=request.user, membership__role=MANAGER)


def project(request: Request, pk: int) -> "Project":
    """A project that the user is a member of."""
    found = get_object_or_404(apps.get_model("projects", "Project"), pk=pk)
    if not role(request.user, found):
        raise Http404
    return found


def managed_project(request: Request, pk: int) -> "Project":
    """A project that the user manages."""
    found = project(request, pk)
    if role(request.user, found) != MANAGER:
        raise PermissionDenied("Only the managers of the project can do this.")
    return found


def member(project: "Project", pk: int) -> "Membership":
    """A member of a project that the caller has got through this module."""
    return get_object_or_404(project.membership_set.select_related("user"), pk=pk)


# --- Annotating --------------------------------------------------------------------------------------------------------


def annotated_project(request: Request, pk: int) -> "Project":
    """A project in which the user annotates: members of either role, for staff membership is needed too."""
    # project__pk, not project: the lookup of a key knows that no row has a number beyond 64 bits.
    memberships = apps.get_model("projects", "Membership").objects.select_related("project")
    if membership := memberships.filter(project__pk=pk, user=request.user).first():
        return membership.project
    project(request, pk)  # strangers get 404 here
    raise PermissionDenied("Only members of the project annotate in it.")


def item_given(request: Request, project_pk: int, item_pk: int) -> "tuple[Project, Item]":
    """A project and one of its items that is given to the user."""
    found = annotated_project(request, project_pk)
    return found, get_object_or_404(found.items_for(request.user), pk=item_pk)


_ITEM_GIVEN = """
SELECT i.id, i.dataset_id, i.tokens
  FROM datasets_item i
  JOIN datasets_dataset d ON d.id = i.dataset_id
  JOIN projects_project p ON p.id = d.project_id
  JOIN projects_membership m ON m.project_id = p.id AND m.user_id = %(user)s
 WHERE i.id = %(item)s AND i.removed_at IS NULL AND p.id = %(project)s
   AND (p.annotators_per_item IS NULL
        OR EXISTS (SELECT 1 FROM projects_assignment a WHERE a.item_id = i.id AND a.annotator_id = %(user)s))
"""


@contextmanager
def annotating(request: Request, project_pk: int, item_pk: int) -> "Iterator[Annotation]":
    """The user's annotation of an item, for writing: the item is locked, then the right to write is checked."""
    with write():
        items = apps.get_model("datasets", "Item").objects
        if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
            items.select_for_update(no_key=True).filter(pk=item_pk).values_list("pk").first()
        if max(project_pk, item_pk) < 2**63:
            params = {"user": request.user.pk, "item": item_pk, "project": project_pk}
            if item := first(items.model, _ITEM_GIVEN, params):
                yield item.annotation_by(request.user)
                return
        annotated_project(request, project_pk)  # tells strangers from members
        raise Http404


def annotators_work(request: Request, pk: int, who: str) -> "tuple[Project, Any]":
    """A project that the user manages, and somebody whose marks in it they want to read: by name or primary key.

    Marks outlive a membership, so former members are found too.
    """
    found = managed_project(request, pk)
    people = User.objects.filter(Q(membership__project=found) | Q(annotation__item__dataset__project=found))
    by_name = people.filter(username=who)
    by_pk = people.filter(pk=whole_number(who) or 0)
    # Somebody's name may be another one's number: the number wins, for that is what links are made of.
    if person := by_pk.first() or by_name.first():
        return found, person
    raise Http404


# --- Jobs --------------------------------------------------------------------------------------------------------------


def job(request: Request, pk: int) -> Job:
    """A job that the user started, or that works on an upload of theirs; staff see all."""
    found = get_object_or_404(Job, pk=pk)
    if found.by_id == request.user.pk or request.user.is_staff:
        return found
    if "upload" not in found.target:
        raise Http404
    upload(request, found.target["upload"])
    return found
