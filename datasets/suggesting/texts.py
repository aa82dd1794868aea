"""The tokens of many items, read in batches."""

import json
from collections.abc import Iterator

from django.db.models import TextField
from django.db.models.functions import Cast

from ..models.item import ItemQuerySet

_AT_ONCE = 1000


def token_lists(items: ItemQuerySet) -> Iterator[tuple[int, list[str]]]:
    """The keys of items of one dataset with their tokens, by position. Of many items they are parsed at once: one by one takes
    three times as long."""
    rows = items.order_by("position").values_list("position", "pk", Cast("tokens", TextField()))
    last = -1
    while batch := list(rows.filter(position__gt=last)[:_AT_ONCE]):
        last = batch[-1][0]
        tokens = json.loads(f"[{','.join(row[2] for row in batch)}]")
        yield from zip((row[1] for row in batch), tokens, strict=True)
