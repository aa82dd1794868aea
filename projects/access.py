"""Who may see and do what in projects: the rights that the roles of `projects.roles` give."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation_service.access import projects_seen, require, require_creator
from annotation_service.accounts import sure_addresses
from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User, fold
from datasets.models import Annotation, Item, Layer
from datasets.models.item import ItemQuerySet
from work.models import Batch, Comment, Flag
from work.models.remarks import CommentQuerySet, talked_about

from . import roles
from .assignment.assigned import given_item, given_to, is_given
from .members import InvitationQuerySet, hashed
from .models import Invitation, Membership, Project


def projects(user: User, right: Right = Right.SEE) -> QuerySet[Project]:
    """The projects in which somebody has a right."""
    everything = Project.objects.all() if right in roles.ARCHIVE_RIGHTS else Project.objects.filter(archived_at=None)
    if user.is_staff and right in roles.STAFF_RIGHTS:
        return everything
    found = everything.filter(membership__user=user, membership__role__in=roles.with_right(right))
    if right == Right.READ:  # as in `Project.rights_now`
        managed = everything.filter(membership__user=user, membership__role__in=roles.with_right(Right.MANAGE))
        found = found.filter(Q(is_blind=False) | Q(pk__in=managed.values("pk")))
    return found


projects_seen.append(lambda user, right: projects(user, right).values_list("pk", flat=True))


def project(request: Request, pk: int, right: Right = Right.SEE, instead: Right | None = None) -> Project:
    """A project in which the user has a right, or the one that is enough ``instead``."""
    # project__pk, not project: the lookup of a key knows that no row has a number beyond 64 bits.
    members = Membership.objects.select_related("project").filter(project__pk=pk, project__deleted_at=None)
    member = members.filter(user=request.user).first()
    found = member.project if member else get_object_or_404(Project, pk=pk)
    rights = found.rights_now(roles.rights_of(request.user, member.role if member else None))
    require(instead if instead in rights else right, rights, found.reason_not_to_change())
    return found


def binned(request: Request) -> QuerySet[Project]:
    """The projects in the bin that the user may bring back."""
    found = Project._base_manager.filter(deleted_at__isnull=False)
    if request.user.is_staff:
        return found
    managed = Membership.objects.filter(user=request.user, role__in=roles.with_right(Right.KEEP))
    return found.filter(pk__in=managed.values("project"))


def in_bin(request: Request, pk: int) -> Project:
    return get_object_or_404(binned(request), pk=pk)


def member(project: Project, pk: int) -> Membership:
    """A member of a project that the caller has got through this module."""
    return get_object_or_404(project.membership_set.select_related("user"), pk=pk)


def member_named(project: Project, name: str) -> Membership:
    """The same, by the user name."""
    return get_object_or_404(project.membership_set.select_related("user"), user__username_folded=fold(name))


def people_to_choose(request: Request, project_pk: int | None) -> QuerySet[User]:
    """Whom somebody who makes projects or manages one may add: to a project that they manage, those who are not in it."""
    active = User.objects.filter(is_active=True)
    if project_pk:
        return active.exclude(membership__project=project(request, project_pk, Right.MANAGE))
    if not projects(request.user, Right.MANAGE).exists():
        require_creator(request)
    return active


def invitations(project: Project) -> InvitationQuerySet:
    """Those to a project that the caller has got through this module, the newest first."""
    return Invitation.objects.filter(project=project).select_related("by", "asked_by").order_by("-pk")


def invitation_with(token: str) -> Invitation:
    """What somebody holds in their hands, signed in or not, and whether or not it can be accepted."""
    return get_object_or_404(Invitation.objects.select_related("project", "by"), token_hash=hashed(token))


def invitations_to(person: User) -> QuerySet[Invitation]:
    """Those that somebody can accept, sent to an address that is theirs."""
    own = Invitation.objects.usable().to(sure_addresses(person))
    in_already = Membership.objects.filter(user=person, project=OuterRef("project"))
    return own.exclude(Exists(in_already)).select_related("project", "by").order_by("-pk")


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


def annotations(request: Request, project: Project) -> QuerySet[Annotation]:
    """Those of a project that the caller has got through this module whose marks the user may read: all or, as the workspace
    shows them, their own and, of what is given to them and they have not begun, what came with it."""
    here = Annotation.objects.filter(item__dataset=project.dataset, item__removed_at=None)
    if reads_marks(request, project):
        return here
    own = Annotation.objects.filter(item=OuterRef("item"), annotator=request.user)
    seen = Q(annotator=request.user) | Q(layer=Layer.GIVEN) & ~Exists(own)
    return here.filter(seen, is_given(request.user, "item__"))


@contextmanager
def annotating(request: Request, project_pk: int, item_pk: int) -> Iterator[Item]:
    """An item that is given to the user, for writing marks: the item is locked, then the right is checked."""
    with write():
        _lock_item(item_pk)
        if item := given_item(request.user, project_pk, item_pk):
            yield item
            return
        project(request, project_pk, Right.ANNOTATE)  # tells strangers from members
        raise Http404


def _lock_item(pk: int) -> None:
    if connection.features.has_select_for_update:  # a transaction of SQLite has the database for itself already
        Item.objects.select_for_update(no_key=True).filter(pk=pk).values_list("pk").first()


def batches(request: Request, pk: int) -> tuple[Project, QuerySet[Batch]]:
    """A project in which the user annotates, and what they have had done there on many items at once, the newest first."""
    found = project(request, pk, Right.ANNOTATE)
    own = Batch.objects.filter(dataset__project=found, person=request.user).select_related("dataset", "job")
    return found, own.defer("asked")


def batch(request: Request, pk: int, batch_pk: int) -> Batch:
    return get_object_or_404(batches(request, pk)[1], pk=batch_pk)


def annotators_work(request: Request, pk: int, who: str, right: Right = Right.READ) -> tuple[Project, User]:
    """A project whose marks the user may read, and somebody whose marks in it they want to read: by name or primary key. Whoever
    annotates may read their own.

    Marks outlive a membership, so former members are found too.
    """
    found = project(request, pk)
    person, rights = somebody_of(found, who), found.rights_of(request.user)
    if not (right == Right.READ and person == request.user and Right.LOOK in rights):
        require(right, rights, found.reason_not_to_change())
    if person:
        return found, person
    raise Http404


def somebody_of(project: Project, who: str) -> User | None:
    """A member of a project that the caller has got through this module, or somebody who has left marks, flags or comments in it:
    by name or primary key."""
    here = {"item__dataset__project": project}
    # Each is looked for by itself: joined in one query, the rows of one would be multiplied by those of the others.
    people = User.objects.filter(
        Exists(project.membership_set.filter(user=OuterRef("pk")))
        | Exists(Annotation.objects.filter(annotator=OuterRef("pk"), **here))
        | Exists(Flag.objects.filter(person=OuterRef("pk"), **here))
        | Exists(Comment.objects.filter(person=OuterRef("pk"), **here))
    )
    by_name = people.filter(username_folded=fold(who))
    by_pk = people.filter(pk=whole_number(who) or 0)
    # Somebody's name may be another one's number: the number wins, for that is what links are made of.
    return by_pk.first() or by_name.first()


def item_to_read(request: Request, project_pk: int, item_pk: int) -> tuple[Project, Item]:
    """A project whose marks the user may read, and one of its items."""
    found = project(request, project_pk, Right.READ)
    return found, get_object_or_404(found.all_items(), pk=item_pk)


def items_to_read(request: Request, project: Project, person: User) -> ItemQuerySet:
    """As `items_of`; where everybody gets every item, all. Those who read only their own marks have what is given to them."""
    if not reads_marks(request, project):
        return project.items_for(person)
    return project.all_items() if project.annotators_per_item is None else items_of(project, person)


def items_of(project: Project, person: User) -> ItemQuerySet:
    """The items given to somebody of a project that the caller has got through this module, and those that they have worked on or
    talked about."""
    begun = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, started_at__isnull=False)
    return project.all_items().filter(given_to(person, project.rule) | Exists(begun) | talked_about(person))


# --- Reviews ---------------------------------------------------------------------------------------------------------


def reviewed(request: Request, pk: int) -> Project:
    """A project whose reviews the user may see: those who read everybody's marks, and where names are hidden those who review."""
    return project(request, pk, Right.READ, instead=Right.REVIEW)


def item_in_review(request: Request, project_pk: int, item_pk: int) -> tuple[Project, Item]:
    """The same, and one of its items."""
    found = reviewed(request, project_pk)
    return found, get_object_or_404(found.all_items(), pk=item_pk)


def item_to_review(request: Request, project_pk: int, item_pk: int) -> tuple[Project, Item]:
    """One about which the user may decide."""
    found = project(request, project_pk, Right.REVIEW)
    item = get_object_or_404(found.all_items(), pk=item_pk)
    if reason := reason_not_to_review(request.user, found, item):
        raise PermissionDenied(reason)
    return found, item


def begun_by(people: Collection[User]) -> QuerySet[Annotation]:
    """What people have annotated themselves: as a rule, others decide about those items."""
    return Annotation.objects.filter(annotator__in=people, started_at__isnull=False)


def reason_not_to_review(user: User, project: Project, item: Item) -> str:
    """Why somebody who reviews the project may not decide about an item of it, or the empty string."""
    if project.reviews_own or not begun_by([user]).filter(item=item).exists():
        return ""
    return "You annotated this item yourself, so that somebody else decides about it."


@contextmanager
def reviewing(request: Request, project_pk: int, item_pk: int) -> Iterator[tuple[Project, Item]]:
    """An item of a project that the user reviews, for deciding about it: the item is locked, then the right is checked."""
    with write():
        _lock_item(item_pk)
        yield item_to_review(request, project_pk, item_pk)


# --- What is said about items ------------------------------------------------------------------------------------------


def flags(request: Request, project: Project) -> QuerySet[Flag]:
    """The flags in a project that the user may see: all, or their own."""
    return _said(request, project, Flag.objects.all())


def comments(request: Request, project: Project) -> CommentQuerySet:
    """The comments in a project that the user may see, and may answer: all, or those on their own work."""
    return _said(request, project, Comment.objects.all())


def _said(request: Request, project: Project, rows: Any) -> Any:
    here = rows.filter(item__dataset__project=project.pk, item__removed_at=None)
    if reads_marks(request, project):
        return here
    return here.filter(is_given(request.user, "item__"), person=request.user)


def comment(request: Request, project_pk: int, pk: int) -> Comment:
    """A comment that the user may answer: on their own work, or on anybody's if they review it."""
    found = project(request, project_pk)
    about = get_object_or_404(comments(request, found), pk=pk)
    rights = found.rights_of(request.user)
    if about.person_id != request.user.pk or Right.ANNOTATE not in rights:
        require(Right.REVIEW, rights, found.reason_not_to_change())
    return about


@contextmanager
def changing_comment(request: Request, project_pk: int, pk: int) -> Iterator[Comment]:
    """As `comment`, for changing it: its item is locked, then the right is checked."""
    with write():
        for item in Comment.objects.filter(pk=pk).values_list("item", flat=True):
            _lock_item(item)
        yield comment(request, project_pk, pk)


@contextmanager
def commenting_on(request: Request, project_pk: int, who: str, item_pk: int) -> Iterator[tuple[Item, User]]:
    """An item and the person whose marks on it the user reviews, for a comment: the item is locked, then the right is
    checked."""
    with write():
        _lock_item(item_pk)
        found, person = annotators_work(request, project_pk, who, Right.REVIEW)
        require(Right.READ, found.rights_of(request.user))
        yield get_object_or_404(items_to_read(request, found, person), pk=item_pk), person
