"""The roles that members of a project have: each a set of rights in that project."""

from dataclasses import dataclass

from annotation_service.blueprints import Right

MANAGER = "manager"
ANNOTATOR = "annotator"


@dataclass(frozen=True, slots=True)
class Role:
    label: str
    rights: frozenset[Right]


ROLES = {
    MANAGER: Role("Manager", frozenset(Right)),
    ANNOTATOR: Role("Annotator", frozenset({Right.SEE, Right.ANNOTATE})),
}
# Staff who are no members look after projects, but have no items to annotate.
STAFF_RIGHTS = frozenset({Right.SEE, Right.READ, Right.MANAGE})


def choices() -> list[tuple[str, str]]:
    return [(name, role.label) for name, role in ROLES.items()]


def with_right(right: Right) -> list[str]:
    """The names of the roles that have a right."""
    return [name for name, role in ROLES.items() if right in role.rights]
