"""The people of a project with what they have done: on its page, and as a table of its own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef

from annotation_service.blueprints import Right
from annotation_service.models import User, fold
from annotation_service.paging import Column
from datasets.models import Annotation

from ..assignment.assigned import Assignment, GivenCounts
from ..members import Membership
from ..models import Project
from ..roles import ROLES, Role, with_right

COLUMNS = (
    Column("name", "Name", "folded"),
    Column("role", "Role", "place"),
    Column("joined", "Joined", "joined_at", big_first=True),
    Column("given", "Given", "given", number=True, big_first=True),
    Column("begun", "Begun", "begun", number=True, big_first=True),
    Column("done", "Done", "done", number=True, big_first=True),
    Column("active", "Last activity", "last_active", big_first=True),
)


@dataclass
class Person:
    """A member, or a former one who has left marks, and what they have done in the project."""

    user: User
    membership: Membership | None = None
    given: int = 0
    begun: int = 0
    done: int = 0
    last_active: datetime | None = None

    @property
    def role(self) -> Role | None:
        return ROLES[self.membership.role] if self.membership else None

    @property
    def is_given_items(self) -> bool:
        return bool(self.role and self.role.gets_items)

    @property
    def folded(self) -> str:
        return self.user.username_folded

    @property
    def place(self) -> int:
        """Of the role, among all."""
        return [*ROLES.values()].index(self.role) if self.role else len(ROLES)

    @property
    def joined_at(self) -> datetime | None:
        return self.membership.joined_at if self.membership else None


def people(project: Project) -> tuple[list[Person], list[Person]]:
    """The members, by role and name, and the former members who have begun items."""
    members = {each.user_id: each for each in project.members().select_related("user")}
    work = {row.pop("annotator"): row for row in _work(project)}
    former = User.objects.in_bulk(work.keys() - members.keys())
    given = GivenCounts([project])
    annotating = with_right(Right.ANNOTATE)
    found = [
        Person(each.user, each, given=given.of(project.pk, pk) if each.role in annotating else 0, **work.get(pk, {}))
        for pk, each in members.items()
    ]
    left = [Person(user, **work[pk]) for pk, user in former.items()]
    return ordered(found, "role"), ordered(left, "name")


def ordered(people: list[Person], by: str) -> list[Person]:
    """By a column of `COLUMNS`, with a minus in front of it downwards; those who are alike by name."""
    column = next(each for each in COLUMNS if each.name == by.removeprefix("-"))
    by_name = sorted(people, key=lambda person: person.folded)
    known = [person for person in by_name if getattr(person, column.order) is not None]
    known.sort(key=lambda person: getattr(person, column.order), reverse=by.startswith("-"))
    return known + [person for person in by_name if getattr(person, column.order) is None]


def matching(people: list[Person], text: str) -> list[Person]:
    """Those whose names or whose role contain the text, in any case and script."""
    wanted = fold(text)
    return [
        person
        for person in people
        if wanted in person.folded
        or wanted in fold(person.user.get_full_name())
        or wanted in fold(person.role.label if person.role else "")
    ]


def _work(project: Project) -> Any:
    begun = Annotation.objects.filter(item__dataset__project=project, item__removed_at=None, started_at__isnull=False)
    by_person = begun.exclude(annotator=None).order_by().values("annotator")
    return by_person.annotate(begun=Count("pk"), done=Count("done_at"), last_active=Max("changed_at"))


def unbegun(project: Project, member: Membership) -> int:
    """How many of the items that are given to a member, and not to everybody, they have not begun: these can go to others."""
    dealt = Assignment.objects.filter(item__dataset__project=project, item__removed_at=None, annotator=member.user_id)
    begun = Annotation.objects.filter(item=OuterRef("item"), annotator=member.user_id, started_at__isnull=False)
    return dealt.exclude(Exists(begun)).count()
