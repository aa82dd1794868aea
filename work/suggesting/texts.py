"""The tokens of many items, read in batches."""

import json
from collections.abc import Iterator

from django.db.models import TextField
from django.db.models.functions import Cast

from datasets.models.item import ItemQuerySet
from datasets.portions import by_tokens


def token_lists(items: ItemQuerySet) -> Iterator[tuple[int, list[str]]]:
    """The keys of items of one dataset with their tokens, by position. Of many items they are parsed at once: one by one takes
    three times as long."""
    rows = items.order_by("position").values_list("pk", Cast("tokens", TextField()))
    for positions in by_tokens(items):
        batch = list(rows.filter(position__range=(positions[0], positions[-1])))
        yield from zip((pk for pk, _ in batch), json.loads(f"[{','.join(tokens for _, tokens in batch)}]"), strict=True)
