"""The people of a project: who is a member in which role, and who is invited, by mail or by a link."""

import hashlib
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, QuerySet, UniqueConstraint
from django.utils import timezone

from annotation_service import limits, words
from annotation_service.accounts import sure_addresses
from annotation_service.blueprints import Right
from annotation_service.db import store, write
from annotation_service.inputs import Refused
from annotation_service.leaving import leavings, switchings
from annotation_service.models import User, fold
from datasets.models import Annotation, Entity, Mark, Relation
from ontologies.models import OntologyKind
from work.models.item_work import delete_annotations

from . import roles
from .assignment.assigned import Assignment
from .assignment.by_hand import GivesByHand
from .roles import ANNOTATOR, MANAGER
from .suggested_marks import SuggestsMarks

AT_ONCE = 500  # annotations in one statement
NEEDS_MANAGER = f"A project needs {roles.ROLES[MANAGER].one}. Make somebody else one first."


def no_shortcuts() -> dict[str, dict[str, str]]:
    return {kind: {} for kind in OntologyKind.values}


class Membership(models.Model):
    SHORTCUT_KEYS = frozenset("1234567890")

    project = models.ForeignKey("projects.Project", on_delete=models.RESTRICT, db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    role = models.CharField(max_length=9, choices=roles.choices)
    joined_at = models.DateTimeField(default=timezone.now)
    # The uids of labels by the keys that apply them, for each kind of ontology.
    shortcuts = models.JSONField(default=no_shortcuts, editable=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["project", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user}, {self.get_role_display().lower()} of {self.project}"

    def set_shortcut(self, kind: str, key: str, label: str) -> None:
        """Let a key apply a label, which no other key applies then; without a label it applies none."""
        if kind not in OntologyKind.values:
            raise Refused(f"Shortcuts are for labels of these kinds: {', '.join(OntologyKind.values)}.")
        if key not in self.SHORTCUT_KEYS:
            raise Refused("A shortcut is one of the keys 1 to 9 and 0.")
        if label and not any(each.items().filter(uid=label) for each in self.project.ontology_set.filter(kind=kind)):
            raise Refused("The project has no such label. Reload the page.")
        with write():
            locked = Membership.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
            if locked is None:
                raise Refused(f"You are not a member of “{self.project}” any more.")
            others = {k: each for k, each in locked.shortcuts[kind].items() if k != key and each != label}
            store(self, shortcuts={**locked.shortcuts, kind: {**others, **({key: label} if label else {})}})


class FormerMember(models.Model):
    """Somebody who has left a project or was removed: since when, and what is theirs again when they return."""

    project = models.ForeignKey("projects.Project", on_delete=models.RESTRICT, db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    left_at = models.DateTimeField(default=timezone.now)
    shortcuts = models.JSONField(default=no_shortcuts, editable=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["project", "user"], name="former_member_once")]

    def __str__(self) -> str:
        return f"{self.user}, formerly of {self.project}"


class HasMembers(GivesByHand, SuggestsMarks):
    """The part of a project that says who works in it."""

    class Meta:
        abstract = True

    def members(self) -> QuerySet[Membership]:
        return Membership.objects.filter(project=self.pk)

    def annotating_members(self) -> QuerySet[User]:
        """Those who may have marks in it."""
        roles_with_marks = [name for name, role in roles.ROLES.items() if Right.ANNOTATE in role.rights]
        here = {"membership__project": self.pk, "membership__role__in": roles_with_marks}
        return User.objects.filter(**here).order_by("username_folded")

    def former_members(self) -> QuerySet[FormerMember]:
        return FormerMember.objects.filter(project=self.pk)

    def people(self) -> QuerySet[User]:
        """Who is or was a member: nobody else has marks in it."""
        return User.objects.filter(
            Q(pk__in=self.members().values("user")) | Q(pk__in=self.former_members().values("user"))
        )

    def rights_of(self, user: Any) -> frozenset[Right]:
        """What somebody may do in the project; nothing at all, for a stranger and for who cannot sign in."""
        if not user.is_active:
            return frozenset()
        return roles.rights_of(user, self.members().filter(user=user).values_list("role", flat=True).first())

    def locked_for(self, person: User | None) -> Self:
        """For what only those do who manage it, which somebody may have stopped doing since they asked for it. ``None`` for
        commands, for who accepts an invitation, and for who leaves."""
        project = self.locked()
        if person and Right.MANAGE not in project.rights_of(User.objects.get(pk=person.pk)):
            raise Refused(f"You do not manage the project “{project}” any more.")
        return project

    def add_members(self, people: Sequence[User], role: str = ANNOTATOR, *, by: User | None = None) -> int:
        """Make people members of the project, all or none. Those who return find everything as they left it. Returns how many
        marks went with items that they get: see `assign_items`."""
        role = roles.clean_role(role)
        with write():
            project = self.locked_for(by)
            members = project.members().filter(user__in=people).order_by("user__username_folded")
            if there := list(members.values_list("user__username", flat=True)):
                are = "is a member" if len(there) == 1 else "are members"
                raise Refused(f"{words.listed(there)} {are} of this project already.")
            project.begin_memberships(people, role)
            return project.assign_items(by=by)

    def remove_member(self, membership: Membership, *, with_marks: bool = False, by: User | None = None) -> None:
        """End a membership. The person's marks stay in the project, or go with them; items not begun go to the others,
        without what batches have put on them."""
        with write():
            project = self.locked_for(by)
            if reason := project.reason_to_keep(membership):
                raise Refused(reason)
            project._still(membership)
            project.end_membership(membership)
            if with_marks:
                project._delete_work(membership.user)
            project.assign_items(by=by)

    def change_role(self, membership: Membership, role: str, *, by: User | None = None) -> None:
        """Give a member another role. What they have begun stays theirs, whatever they may do from now on."""
        role = roles.clean_role(role)
        with write():
            project = self.locked_for(by)
            if Right.MANAGE not in roles.ROLES[role].rights and (reason := project.reason_to_keep(membership)):
                raise Refused(reason)
            project._still(membership)
            store(membership, role=role)
            project.assign_items(by=by)

    def hand_over(self, membership: Membership, to: Membership, role: str) -> None:
        """Make another member a manager in the place of this one, who gets another role, in one step."""
        if membership.pk == to.pk:
            raise Refused("Choose another member to hand the project over to.")
        with write():
            self.change_role(to, MANAGER, by=membership.user)
            self.change_role(membership, role)

    def begin_memberships(self, people: Sequence[User], role: str) -> list[Membership]:
        """The rows of `add_members` alone: the caller has locked the project, and assigns its items."""
        former = self.former_members().filter(user__in=people)
        shortcuts = dict(former.values_list("user_id", "shortcuts"))
        begun = Membership.objects.bulk_create(
            Membership(project_id=self.pk, user=each, role=role, shortcuts=shortcuts.get(each.pk, no_shortcuts()))
            for each in people
        )
        former.delete()
        return begun

    def end_membership(self, membership: Membership) -> None:
        """The rows of `remove_member` alone: the caller has locked the project, and assigns its items."""
        FormerMember.objects.update_or_create(
            project_id=self.pk,
            user=membership.user,
            defaults={"left_at": timezone.now(), "shortcuts": membership.shortcuts},
        )
        membership.delete()

    def reason_to_keep(self, membership: Membership) -> str:
        """Why a member must stay a manager, or the empty string. Who cannot sign in manages nothing."""
        managers = self.members().filter(role__in=roles.with_right(Right.MANAGE))
        others = managers.exclude(pk=membership.pk).filter(user__is_active=True)
        return NEEDS_MANAGER if managers.filter(pk=membership.pk).exists() and not others.exists() else ""

    def count_work(self, person: User) -> dict[str, int]:
        """How many items somebody has begun in the project, and how many marks they have made or decided about there."""
        begun = self._work(person).filter(started_at__isnull=False, item__removed_at=None)
        return {"begun": begun.count(), "marks": _count_decided(begun)}

    def count_unbegun(self, person: User) -> int:
        """How many of the items that are given to somebody, and not to everybody, they have not begun: these can go to others."""
        dealt = Assignment.objects.filter(item__dataset__project=self.pk, item__removed_at=None, annotator=person)
        begun = Annotation.objects.filter(item=OuterRef("item"), annotator=person, started_at__isnull=False)
        return dealt.exclude(Exists(begun)).count()

    def _work(self, person: User) -> QuerySet[Annotation]:
        return Annotation.objects.filter(item__dataset__project=self.pk, annotator=person)

    def _delete_work(self, person: User) -> None:
        """Delete all marks of somebody. What they and others have said about items stays."""
        self.lock_items()
        keys = list(self._work(person).values_list("pk", flat=True))
        for start in range(0, len(keys), AT_ONCE):
            delete_annotations(keys[start : start + AT_ONCE])

    def _still(self, membership: Membership) -> None:
        if not self.members().filter(pk=membership.pk).exists():
            raise Refused(f"{membership.user} is not a member of “{self}” any more.")


def _count_decided(annotations: QuerySet[Annotation]) -> int:
    decided = Q(annotation__in=annotations) & ~Q(status=Mark.Status.SUGGESTED)
    return Entity.objects.filter(decided).count() + Relation.objects.filter(decided).count()


A_MANAGER = roles.ROLES[roles.MANAGER].one


def _expiry() -> Any:
    return timezone.now() + timedelta(days=limits.INVITATION_DAYS)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def by_managers(self) -> Self:
        """Those whose authors may still invite: nobody leaves a way in behind them."""
        manages = Membership.objects.filter(
            project=OuterRef("project"), user=OuterRef("by"), role__in=roles.with_right(Right.MANAGE)
        )
        return self.filter(Q(by__is_staff=True) | Q(Exists(manages)), by__is_active=True)

    def to(self, addresses: Collection[str]) -> Self:
        """Those that were sent to one of these addresses, by its small letters: “straße.de” is another domain than
        “strasse.de”."""
        same = {address.lower() for address in addresses}
        alike = self.filter(address_folded__in={fold(address) for address in same}).values_list("pk", "address")
        return self.filter(pk__in=[pk for pk, address in alike if address.lower() in same])

    def usable(self) -> Self:
        """Those that can be accepted."""
        in_use = self.filter(project__deleted_at=None, project__archived_at=None)
        return in_use.by_managers().filter(state=Invitation.State.OPEN, expires_at__gt=timezone.now())


class Invitation(models.Model):
    """To one project, in one role. A link can be accepted by everybody who has it. One that was sent to an address can be
    accepted once, by an account with that address; whoever else has it may ask whoever manages the project to be let in.

    Whoever is invited is no member yet, and gets no items.
    """

    class State(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        DECLINED = "declined"
        REVOKED = "revoked"

    project = models.ForeignKey("projects.Project", on_delete=models.RESTRICT)
    role = models.CharField(max_length=9, choices=roles.choices)
    address = models.EmailField(blank=True)  # empty for a link
    address_folded = models.CharField(max_length=User.MAX_FOLDED_ADDRESS, blank=True, db_index=True, editable=False)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=_expiry)
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    uses = models.PositiveIntegerField(default=0)
    # Who has it without having its address, and waits to be let in.
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects = InvitationQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.address or 'link'}, to be {self.get_role_display().lower()} of {self.project}"

    @property
    def is_link(self) -> bool:
        return not self.address

    @property
    def has_expired(self) -> bool:
        return self.expires_at <= timezone.now()

    @classmethod
    def make(cls, project: Any, *, role: str, by: User, address: str = "") -> tuple["Invitation", str]:
        """An invitation and its token, which is not stored. It takes the place of an open one to the same address."""
        role = roles.clean_role(role)
        if not address and Right.MANAGE in roles.ROLES[role].rights:
            raise Refused(
                f"A link can be passed on, so it makes nobody {roles.ROLES[role].one}."
                f" Invite {roles.ROLES[role].plural} by mail, or add them by name."
            )
        token = secrets.token_urlsafe(32)
        with write():
            project = project.locked()
            here = cls.objects.filter(project=project)
            if address:
                here.filter(state=cls.State.OPEN).to([address]).update(state=cls.State.REVOKED)
            if here.usable().count() >= limits.MAX_OPEN_INVITATIONS:
                raise Refused(
                    f"{limits.MAX_OPEN_INVITATIONS} invitations wait for an answer. Revoke some of them first."
                )
            invitation = cls.objects.create(
                project=project,
                role=role,
                by=by,
                address=address,
                address_folded=fold(address),
                token_hash=hashed(token),
            )
        return invitation, token

    def is_for(self, person: User) -> bool:
        """Whether somebody can accept it without asking."""
        return self.is_link or self.address.lower() in sure_addresses(person)

    def accept(self, person: User) -> bool:
        """Make somebody a member or, if they have not the address that was invited, have them wait until whoever manages the
        project lets them in. Returns whether they are in."""
        with write():
            project, found = self.project.locked(), self._usable()
            if project.former_members().filter(user=person, left_at__gte=found.created_at).exists():
                raise Refused(
                    f"You have left this project since this invitation was made. Ask {A_MANAGER} to add you again."
                )
            if is_in := found.is_for(person):
                found._let_in(person)
            elif found.asked_by in (None, person):
                store(found, asked_by=person)
            else:
                raise Refused(
                    f"Somebody else has asked with this invitation already. Ask {A_MANAGER} of the project for one of your own."
                )
        return is_in

    def answer(self, person: int, *, lets_in: bool, by: User) -> None:
        """Let in who has asked, or do not: then it stays open for the address that was invited."""
        with write():
            self.project.locked_for(by)
            found = self._usable()
            if found.asked_by is None or found.asked_by_id != person:
                raise Refused("This was answered meanwhile. Reload the page to see who asks now.")
            if lets_in:
                found._let_in(found.asked_by)
            else:
                store(found, asked_by=None)

    def _let_in(self, person: User) -> None:
        self.project.add_members([person], self.role)
        answer = {} if self.is_link else {"state": self.State.ACCEPTED, "asked_by": None}
        store(self, uses=F("uses") + 1, **answer)

    def decline(self) -> None:
        """A link stays open for others."""
        with write():
            self.project.locked()
            found = self._usable()
            if not found.is_link:
                store(found, state=self.State.DECLINED)

    def revoke(self) -> None:
        """Done twice, it is revoked once; who has accepted it stays a member. Waits for those who are accepting it."""
        with write():
            self.project.locked_as_it_is()
            Invitation.objects.filter(pk=self.pk, state=self.State.OPEN).update(state=self.State.REVOKED)

    def _usable(self) -> "Invitation":
        if found := Invitation.objects.usable().filter(pk=self.pk).first():
            return found
        raise Refused(
            f"This invitation was used, has expired or was taken back. Ask {A_MANAGER} of the project for another one."
        )


def leave_projects(person: User, addresses: Collection[str]) -> None:
    """End all memberships of somebody who leaves the service, and forget the invitations that were sent to them."""
    for membership in person.membership_set.select_related("project", "user").order_by("project_id"):
        membership.project.part_with(membership)
    Invitation.objects.all().to(addresses).delete()
    Invitation.objects.filter(asked_by=person).update(asked_by=None)


def assign_anew(person: User) -> None:
    """What somebody has not begun goes to the others when they can no longer sign in, and their share back when they can."""
    getting = person.membership_set.filter(role__in=roles.getting_items())
    here = getting.filter(project__deleted_at=None, project__archived_at=None).select_related("project")
    for membership in here.order_by("project_id"):
        with suppress(Refused):  # in the bin since a moment
            membership.project.locked_as_it_is().assign_items()


leavings.append(leave_projects)
switchings.append(assign_anew)
