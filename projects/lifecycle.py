"""The life cycle of a project: archived and restored, put into the bin and taken out of it, deleted for good."""

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.utils import timezone

from annotation_service.access import people_with
from annotation_service.blueprints import Blueprint, Existing, Right, purge_at_once
from annotation_service.db import store, write
from annotation_service.inputs import Refused
from datasets.models import Dataset
from datasets.models.item import BIN
from ontologies.models import Ontology
from resources.models import RESOURCE_SETS

from .members import HasMembers, Membership
from .roles import ARCHIVE_RIGHTS

# What a project has copies of, what is used after what uses it.
COPIED: tuple[type[Blueprint], ...] = (Ontology, *RESOURCE_SETS, Dataset)
# What is deleted together with projects: models, each with the field that points to them. The modules that have them add theirs.
goes_with_projects: list[tuple[type[models.Model], str]] = []


class HasLifeCycle(HasMembers):
    """The part of a project that knows whether people may work in it.

    An archived one is read by everybody and changed by nobody. One in the bin has a ``deleted_at``, as its copies have:
    `Existing` finds neither for anybody. The copies of one that is deleted for good leave it, and go in steps.
    """

    archived_at = models.DateTimeField(null=True, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = Existing()

    class Meta:
        abstract = True

    @property
    def gone_at(self) -> datetime | None:
        """When a project in the bin is deleted for good."""
        return self.deleted_at + BIN if self.deleted_at else None

    @property
    def days_left(self) -> int:
        """So many days it can be brought back, the last one included."""
        return max(0, (self.gone_at - timezone.now()).days + 1) if self.gone_at else 0

    def reason_not_to_change(self) -> str:
        """Why nobody may change anything in it, or the empty string."""
        if self.archived_at is None:
            return ""
        keepers = people_with[Right.KEEP]
        return f"The project “{self}” is archived: it can be read, but not changed. Its {keepers} can restore it."

    def rights_of(self, user: Any) -> frozenset[Right]:
        return self.rights_now(super().rights_of(user))

    def rights_now(self, rights: frozenset[Right]) -> frozenset[Right]:
        """What is left of the rights of a role."""
        if self.deleted_at:
            return frozenset()
        return rights & ARCHIVE_RIGHTS if self.archived_at else rights

    def locked_as_it_is(self) -> Self:
        """For what may be done in an archived project, too."""
        return super().locked()

    def locked(self) -> Self:
        """As every other write wants it: refused if it is archived."""
        project = self.locked_as_it_is()
        if reason := project.reason_not_to_change():
            raise Refused(reason)
        return project

    def archive(self) -> None:
        """Let nobody change anything any more. Waits for those who are saving marks."""
        with write():
            project = self.locked()
            project.lock_items()
            store(self, archived_at=timezone.now())

    def restore(self) -> None:
        """Let people work in an archived project again, each with the rights that they had."""
        with write():
            project = self.locked_as_it_is()
            store(self, archived_at=None)
            project.assign_items()  # people may have left the service meanwhile

    def put_into_bin(self) -> None:
        """Take it away from everybody, at once, with everything that it has."""
        with write():
            self.locked_as_it_is()
            now = timezone.now()
            for model in COPIED:
                model._default_manager.filter(project=self.pk).update(deleted_at=now)
            store(self, deleted_at=now)

    def take_out_of_bin(self) -> None:
        """Give it back to everybody, as it was."""
        with write():
            self._lock_in_bin()
            for model in COPIED:
                model._base_manager.filter(project=self.pk).update(deleted_at=None)
            store(self, deleted_at=None)
            self.assign_items()  # people may have left the service meanwhile

    def part_with(self, membership: Membership) -> None:
        """End the membership of somebody who leaves the service, in an archived project and in the bin, too: there the items are
        assigned anew when it comes back."""
        with write():
            project = type(self)._base_manager.select_for_update(no_key=True).filter(pk=self.pk).first()
            if project is None:
                return
            if reason := project.reason_to_keep(membership):
                where = " in the bin" if project.deleted_at else " in the archive" if project.archived_at else ""
                raise Refused(f"In “{project}”{where}: {reason}")
            project.end_membership(membership)
            if not project.deleted_at and not project.archived_at:
                project.assign_items()

    def erase_from_bin(self, *, deleted_until: datetime | None = None) -> None:
        """Delete it for good, unless somebody has taken it out of the bin meanwhile."""
        with write():
            self._lock_in_bin(deleted_until)
            self.erase()

    def _lock_in_bin(self, deleted_until: datetime | None = None) -> None:
        binned = type(self)._base_manager.select_for_update(no_key=True)
        if not binned.filter(pk=self.pk, deleted_at__lte=deleted_until or timezone.now()).exists():
            raise Refused(f"“{self}” is no longer in the bin.")

    def erase(self) -> None:
        """Delete it for good, from the bin or from where it is, with its copies, marks and assignments."""
        with write():
            if not type(self)._base_manager.select_for_update(no_key=True).filter(pk=self.pk).exists():
                raise Refused(f"“{self}” was deleted meanwhile.")
            for copied in COPIED:
                copied.mark_deleted(copied._base_manager.filter(project=self.pk))
            type(self)._base_manager.filter(pk=self.pk)._raw_delete(self._state.db)
            purge_at_once()
            for model, field in goes_with_projects:  # after items: whoever locks both locks items first
                model._base_manager.filter(**{field: self.pk})._raw_delete(self._state.db)
