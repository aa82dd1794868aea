"""The rows of new items with their positions in the tree, computed before anything is stored."""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from .. import colors
from ..documents import NewItem

ROOT_UID = "00000000"


class NewBranch(NamedTuple):
    """New items below a parent that was read after the lock; their levels count from 1. ``place`` is the index of the first
    among the children that the parent has, None stands for last."""

    parent: Any
    items: Sequence[NewItem]
    place: int | None = None


def numbered(
    new_items: Sequence[NewItem], parent: Any, child_count: int, position: int, taken: set[str]
) -> list[dict[str, Any]]:
    """The rows of new items below a parent, in tree order, computed in one pass over the items, which come in tree order.

    ``child_count`` children stand before them, ``position`` is the first to use. In the rows, ``above`` is the uid of the parent
    and ``place`` the index among its children. A uid that is taken is drawn again.
    """
    own = {new.uid for new in new_items}
    stored_time = connection.ops.adapt_datetimefield_value
    now = stored_time(timezone.now())
    rows: list[dict[str, Any]] = []
    branch: list[dict[str, Any]] = []
    counts = {parent.uid: child_count}
    top_color = None if parent.is_root else parent.color
    position -= 1

    def close_to(level: int) -> None:
        nonlocal position
        while len(branch) >= level:
            position += 1
            branch.pop()["rght"] = position

    for new in new_items:
        close_to(new.level)
        above, color = (branch[-1]["uid"], branch[-1]["color"]) if branch else (parent.uid, top_color)
        uid = new.uid
        while uid in ("", ROOT_UID) or uid in taken or (uid != new.uid and uid in own):
            uid = uuid.uuid4().hex[:8]
        taken.add(uid)
        place = counts[above]
        counts[above] += 1
        counts[uid] = 0
        position += 1
        row: dict[str, Any] = {
            "above": above,
            "place": place,
            "level": parent.level + new.level,
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
