"""Who may see and do what in projects: the rights that the roles of `projects.roles` give."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation_service.access import tells_projects_seen
from annotation_service.blueprints import Right
from annotation_service.db import first, write
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import Annotation, Item

from .models import Membership, Project
from .roles import with_right

# --- Projects ----------------------------------------------------------------------------------------------------------


def projects(request: Request) -> QuerySet[Project]:
    """The projects that the user is a member of; staff see all."""
    return _seen_by(request.user)


def _seen_by(user: User) -> QuerySet[Project]:
    return Project.objects.all() if user.is_staff else Project.objects.filter(membership__user=user)


@tells_projects_seen
def _keys_seen(user: User) -> QuerySet[Project, int]:
    return _seen_by(user).values_list("pk", flat=True)


def managed_projects(request: Request) -> QuerySet[Project]:
    everything = Project.objects.all()
    if request.user.is_staff:
        return everything
    return everything.filter(membership__user=request.user, membership__role__in=with_right(Right.MANAGE))


def project(request: Request, pk: int) -> Project:
    """A project that the user is a member of."""
    found = get_object_or_404(Project, pk=pk)
    if Right.SEE not in found.rights_of(request.user):
        raise Http404
    return found


def managed_project(request: Request, pk: int) -> Project:
    """A project that the user manages."""
    found = project(request, pk)
    if Right.MANAGE not in found.rights_of(request.user):
        raise PermissionDenied("Only the managers of the project can do this.")
    return found


def member(project: Project, pk: int) -> Membership:
    """A member of a project that the caller has got through this module."""
    return get_object_or_404(project.membership_set.select_related("user"), pk=pk)


# --- Annotating --------------------------------------------------------------------------------------------------------


def annotated_project(request: Request, pk: int) -> Project:
    """A project in which the user annotates. Staff need a membership for that, too."""
    # project__pk, not project: the lookup of a key knows that no row has a number beyond 64 bits.
    memberships = Membership.objects.select_related("project")
    if membership := memberships.filter(project__pk=pk, user=request.user, role__in=with_right(Right.ANNOTATE)).first():
        return membership.project
    project(request, pk)  # strangers get 404 here
    raise PermissionDenied("Only members of the project annotate in it.")


def item_given(request: Request, project_pk: int, item_pk: int) -> tuple[Project, Item]:
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
def annotating(request: Request, project_pk: int, item_pk: int) -> Iterator[Annotation]:
    """The user's annotation of an item, for writing: the item is locked, then the right to write is checked."""
    with write():
        if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
            Item.objects.select_for_update(no_key=True).filter(pk=item_pk).values_list("pk").first()
        if max(project_pk, item_pk) < 2**63:
            params = {"user": request.user.pk, "item": item_pk, "project": project_pk}
            if item := first(Item, _ITEM_GIVEN, params):
                yield Annotation.start(item, request.user)
                return
        annotated_project(request, project_pk)  # tells strangers from members
        raise Http404


def annotators_work(request: Request, pk: int, who: str) -> tuple[Project, User]:
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
