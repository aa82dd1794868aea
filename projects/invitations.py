"""Invitations to projects: by mail to one person, or by a link that a manager sends themselves."""

import hashlib
import secrets
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from annotation_service import limits
from annotation_service.blueprints import Right
from annotation_service.db import store, write
from annotation_service.inputs import Refused
from annotation_service.leaving import leavings, switchings
from annotation_service.models import User, fold

from . import roles
from .members import Membership

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
    """To one project, in one role. One that was sent to an address can be accepted once, a link by everybody who has it.

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

    def accept(self, person: User) -> None:
        """Make somebody a member."""
        with write():
            project = self.project.locked()
            found = self._usable()
            if project.former_members().filter(user=person, left_at__gte=found.created_at).exists():
                raise Refused(
                    f"You have left this project since this invitation was made. Ask {A_MANAGER} to add you again."
                )
            project.add_members([person], found.role)
            answer = {} if found.is_link else {"state": self.State.ACCEPTED}
            store(found, uses=F("uses") + 1, **answer)

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


def assign_anew(person: User) -> None:
    """What somebody has not begun goes to the others when they can no longer sign in, and their share back when they can."""
    getting = person.membership_set.filter(role__in=roles.getting_items())
    here = getting.filter(project__deleted_at=None, project__archived_at=None).select_related("project")
    for membership in here.order_by("project_id"):
        with suppress(Refused):  # in the bin since a moment
            membership.project.locked_as_it_is().assign_items()


leavings.append(leave_projects)
switchings.append(assign_anew)
