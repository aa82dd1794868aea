"""The items in which something alike may stand, and their tokens."""

import json
from collections.abc import Sequence

from django.db.models import Exists, OuterRef, TextField
from django.db.models.functions import Cast

from annotation_service.db import among
from annotation_service.models import User
from datasets.models import Annotation, Item
from datasets.models.item import ItemQuerySet

from .asked import Asked

# By so many of the longest tokens items are found; what is found is looked at token by token.
_TOKENS, _CHARACTERS = 3, 200


def candidates(asked: Asked, items: ItemQuerySet, person: User) -> list[tuple[int, int]]:
    """The keys and positions of the items, in their order, whose text has the tokens of all forms and which the person has not
    done."""
    pieces = {token.casefold()[:_CHARACTERS] for form in asked.forms for token in form.tokens}
    for piece in sorted(pieces, key=len, reverse=True)[:_TOKENS]:
        items = items.filter(search_text__contains=piece)
    done = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, done_at__isnull=False)
    return list(items.filter(~Exists(done)).order_by("position").values_list("pk", "position"))


def tokens_of(asked: Asked, items: Sequence[int]) -> dict[int, list[str]]:
    """The tokens of those items in which the forms occur. They are parsed at once: one by one takes three times as long."""
    rows = list(
        Item.objects.filter(pk__in=among(items)).order_by("position").values_list("pk", Cast("tokens", TextField()))
    )
    texts = json.loads(f"[{','.join(tokens for _, tokens in rows)}]")
    found = {pk: tokens for (pk, _), tokens in zip(rows, texts, strict=True)}
    if asked.is_apart:
        return found
    return {pk: tokens for pk, tokens in found.items() if next(asked.occurrences(tokens), None)}
