"""The roles that members of a project have: each a set of rights in that project."""

from dataclasses import dataclass

from django.http import HttpRequest

from annotation_service import words
from annotation_service.access import people_with
from annotation_service.blueprints import Right
from annotation_service.inputs import Refused
from annotation_service.models import User

MANAGER = "manager"
ANNOTATOR = "annotator"
REVIEWER = "reviewer"
OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class Role:
    label: str
    rights: frozenset[Right]
    explanation: str
    article: str = "a"
    # Whether items are assigned to such members, where each item goes to some people only.
    gets_items: bool = False

    def __str__(self) -> str:
        return self.label.lower()

    @property
    def plural(self) -> str:
        return f"{self}s"

    @property
    def one(self) -> str:
        """As in “you are an annotator”."""
        return f"{self.article} {self}"


ROLES = {
    MANAGER: Role("Manager", frozenset(Right), "changes the project and everything in it, people included"),
    ANNOTATOR: Role(
        "Annotator",
        frozenset({Right.SEE, Right.ANNOTATE, Right.LOOK}),
        "annotates the items given to them, and sees only their own marks",
        article="an",
        gets_items=True,
    ),
    REVIEWER: Role(
        "Reviewer",
        frozenset({Right.SEE, Right.READ, Right.REVIEW}),
        "reads everybody’s marks and flags, and answers comments; does not annotate",
    ),
    OBSERVER: Role(
        "Observer", frozenset({Right.SEE, Right.READ}), "reads everything and changes nothing", article="an"
    ),
}
# Staff who are no members look after projects, but have no items to annotate.
STAFF_RIGHTS = frozenset({Right.SEE, Right.READ, Right.REVIEW, Right.MANAGE, Right.KEEP})
# What is left of anybody's rights in an archived project.
ARCHIVE_RIGHTS = frozenset({Right.SEE, Right.LOOK, Right.READ, Right.KEEP})


def choices() -> list[tuple[str, str]]:
    return [(name, role.label) for name, role in ROLES.items()]


def clean_role(name: str) -> str:
    if name not in ROLES:
        raise Refused(f"A role is one of these: {', '.join(ROLES)}.")
    return name


def getting_items() -> list[str]:
    """The names of the roles whose members get items."""
    return [name for name, role in ROLES.items() if role.gets_items]


def with_right(right: Right) -> list[str]:
    """The names of the roles that have a right."""
    return [name for name, role in ROLES.items() if right in role.rights]


def in_prose(request: HttpRequest) -> dict[str, object]:
    """What pages call people with a role, and those with a right."""
    return {"roles": ROLES, "people_with": people_with}


def rights_of(user: User, name: str | None) -> frozenset[Right]:
    """What somebody may do in a project where they have a role, or none."""
    rights = ROLES[name].rights if name else frozenset()
    return rights | STAFF_RIGHTS if user.is_staff else rights


people_with.update({right: words.listed(ROLES[name].plural for name in with_right(right)) for right in Right})
