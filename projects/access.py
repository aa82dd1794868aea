"""Who may see and do what in projects: the rights that the roles of `projects.roles` give."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation_service.access import projects_seen, require
from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User, fold
from datasets.models import Item

from . import roles
from .assignment import given_item
from .models import Membership, Project


def projects(user: User, right: Right = Right.SEE) -> QuerySet[Project]:
    """The projects in which somebody has a right."""
    everything = Project.objects.all()
    if user.is_staff and right in roles.STAFF_RIGHTS:
        return everything
    return everything.filter(membership__user=user, membership__role__in=roles.with_right(right))


projects_seen.append(lambda user, right: projects(user, right).values_list("pk", flat=True))


def project(request: Request, pk: int, right: Right = Right.SEE) -> Project:
    """A project in which the user has a right."""
    # project__pk, not project: the lookup of a key knows that no row has a number beyond 64 bits.
    member = Membership.objects.select_related("project").filter(project__pk=pk, user=request.user).first()
    found = member.project if member else get_object_or_404(Project, pk=pk)
    require(right, roles.rights_of(request.user, member.role if member else None))
    return found


def member(project: Project, pk: int) -> Membership:
    """A member of a project that the caller has got through this module."""
    return get_object_or_404(project.membership_set.select_related("user"), pk=pk)


def own_membership(request: Request, project: Project) -> Membership:
    """The user's own membership of a project that the caller has got through this module."""
    return get_object_or_404(project.membership_set.all(), user=request.user)


def item_given(request: Request, project_pk: int, item_pk: int) -> tuple[Project, Item]:
    """A project in which the user annotates, and one of the items that are given to them."""
    found = project(request, project_pk, Right.ANNOTATE)
    return found, get_object_or_404(found.items_for(request.user), pk=item_pk)


def reads_marks(request: Request, project: Project) -> bool:
    """Whether the user may see what others have marked."""
    return Right.READ in project.rights_of(request.user)


@contextmanager
def annotating(request: Request, project_pk: int, item_pk: int) -> Iterator[Item]:
    """An item that is given to the user, for writing marks: the item is locked, then the right is checked."""
    with write():
        if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
            Item.objects.select_for_update(no_key=True).filter(pk=item_pk).values_list("pk").first()
        if item := given_item(request.user, project_pk, item_pk):
            yield item
            return
        project(request, project_pk, Right.ANNOTATE)  # tells strangers from members
        raise Http404


def annotators_work(request: Request, pk: int, who: str) -> tuple[Project, User]:
    """A project whose marks the user may read, and somebody whose marks in it they want to read: by name or primary key.

    Marks outlive a membership, so former members are found too.
    """
    found = project(request, pk, Right.READ)
    people = User.objects.filter(Q(membership__project=found) | Q(annotation__item__dataset__project=found))
    by_name = people.filter(username_folded=fold(who))
    by_pk = people.filter(pk=whole_number(who) or 0)
    # Somebody's name may be another one's number: the number wins, for that is what links are made of.
    if person := by_pk.first() or by_name.first():
        return found, person
    raise Http404
