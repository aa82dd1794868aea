"""The rows of new items with their positions in the tree, computed before anything is stored."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from . import colors
from .formats import NewItem

ROOT_UID = "00000000"


class Ground(NamedTuple):
    """What new items grow from."""

    uid: str
    level: int
    color: str | None
    child_count: int


def numbered(new_items: Sequence[NewItem], ground: Ground, position: int, taken: set[str]) -> list[dict[str, Any]]:
    """The rows to be inserted, in tree order, from a position on, computed in one pass over the items, which come in tree
    order. ``above`` is the uid of the parent, ``place`` the index among its children. A uid that is taken is drawn again."""
    from .models.item import new_uid

    own = {new.uid for new in new_items}
    stored_time = connection.ops.adapt_datetimefield_value
    now = stored_time(timezone.now())
    rows: list[dict[str, Any]] = []
    branch: list[dict[str, Any]] = []
    child_count = {ground.uid: ground.child_count}
    position -= 1

    def close_to(level: int) -> None:
        nonlocal position
        while len(branch) >= level:
            position += 1
            branch.pop()["rght"] = position

    for new in new_items:
        close_to(new.level)
        above_uid, color = (branch[-1]["uid"], branch[-1]["color"]) if branch else (ground.uid, ground.color)
        uid = new.uid
        while uid in ("", ROOT_UID) or uid in taken or (uid != new.uid and uid in own):
            uid = new_uid()
        taken.add(uid)
        place = child_count[above_uid]
        child_count[above_uid] = place + 1
        child_count[uid] = 0
        position += 1
        row: dict[str, Any] = {
            "above": above_uid,
            "place": place,
            "level": ground.level + new.level,
            "lft": position,
            "rght": 0,
            "uid": uid,
            "name": new.name,
            "description": new.description,
            "example_terms": new.example_terms,
            "color": new.color or (colors.child_of(color, place) if color else colors.top_level(place)),
            "active": new.active,
            "created_at": stored_time(new.created_at) if new.created_at else now,
            "updated_at": stored_time(new.updated_at) if new.updated_at else now,
        }
        rows.append(row)
        branch.append(row)
    close_to(1)
    return rows
