"""The roles that members of a project have: each a set of rights in that project."""

from dataclasses import dataclass

from annotation_service.blueprints import Right
from annotation_service.models import User

MANAGER = "manager"
ANNOTATOR = "annotator"


@dataclass(frozen=True, slots=True)
class Role:
    label: str
    rights: frozenset[Right]
    # Whether items are assigned to such members, where each item goes to some people only.
    gets_items: bool = False


ROLES = {
    MANAGER: Role("Manager", frozenset(Right)),
    ANNOTATOR: Role("Annotator", frozenset({Right.SEE, Right.ANNOTATE}), gets_items=True),
}
# Staff who are no members look after projects, but have no items to annotate.
STAFF_RIGHTS = frozenset({Right.SEE, Right.READ, Right.MANAGE})


def choices() -> list[tuple[str, str]]:
    return [(name, role.label) for name, role in ROLES.items()]


def getting_items() -> list[str]:
    """The names of the roles whose members get items."""
    return [name for name, role in ROLES.items() if role.gets_items]


def with_right(right: Right) -> list[str]:
    """The names of the roles that have a right."""
    return [name for name, role in ROLES.items() if right in role.rights]


def rights_of(user: User, name: str | None) -> frozenset[Right]:
    """What somebody may do in a project where they have a role, or none."""
    rights = ROLES[name].rights if name else frozenset()
    return rights | STAFF_RIGHTS if user.is_staff else rights
