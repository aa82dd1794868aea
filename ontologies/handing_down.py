"""Setting a field of items, and with it that of the items below them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from annotation_service.inputs import Refused

from . import colors

Setting = tuple[int, str, Any, Any]
"""The primary key and the uid of an item, and the value of a field before and after."""


def handed_down(items: QuerySet[Any], wanted: Mapping[str, Any], field: str, *, branch: bool = True) -> list[Setting]:
    """The wanted values, by uid, and among the items in tree order those for what is below: a colour in variations."""
    missing = set(wanted)
    places: Counter[int | None] = Counter()
    new: dict[int | None, Any] = {}
    values: list[Setting] = []
    for pk, uid, parent_id, before in items.values_list("pk", "uid", "parent_id", field):
        place = places[parent_id]
        places[parent_id] += 1
        if uid in missing:
            missing.discard(uid)
            new[pk] = wanted[uid]
        elif branch and parent_id in new:
            new[pk] = colors.child_of(new[parent_id], place) if field == "color" else new[parent_id]
        else:
            continue
        values.append((pk, uid, before, new[pk]))
    if missing:
        raise Refused("Some of the items are not there any more. Reload the page.")
    return values
