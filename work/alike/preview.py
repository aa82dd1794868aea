"""What would happen: how many places there are, what forbids some, and places in their context."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from annotation_service.models import User
from datasets.models import Dataset, Item
from datasets.models.broken import judge_of
from datasets.models.item import ItemQuerySet

from .asked import Asked, candidates, texts_of
from .places import Finder, Place, states_of

ON_A_PAGE = 50
CONTEXT = 60  # characters on each side
_AT_ONCE = 1000


class Preview(NamedTuple):
    """``relations`` is how many go with the entities that are removed. The ``page`` has the places that are forbidden, too;
    ``more`` is the key of its last place, if there are more behind it."""

    places: int
    items: int
    relations: int
    forbidden: Counter[str]
    page: list[Place]
    more: str | None
    candidates: int


def preview(asked: Asked, dataset: Dataset, items: ItemQuerySet, person: User) -> Preview:
    """All places counted, and the first page of them."""
    keys = [pk for pk, _ in candidates(asked, items, person)]
    page: list[Place] = []
    forbidden: Counter[str] = Counter()
    count = 0
    there: set[int] = set()
    relations: set[int] = set()
    for place in _places(asked, dataset, keys, person):
        if len(page) < ON_A_PAGE:
            page.append(place)
        if place.against:
            forbidden[place.against] += 1
            continue
        count += 1
        there.add(place.item)
        relations.update(place.relations)
    more = page[-1].key if count + forbidden.total() > len(page) else None
    return Preview(count, len(there), len(relations), forbidden, page, more, len(keys))


def next_page(
    asked: Asked, dataset: Dataset, items: ItemQuerySet, person: User, after: str
) -> tuple[list[Place], str | None]:
    """The places after one, and the key of the last if there are more behind it."""
    item_of_after = _item_of(after)
    item = Item.with_removed.filter(dataset=dataset, pk=item_of_after).first()
    behind = items.filter(position__gte=item.position) if item else items.none()
    keys = [pk for pk, _ in candidates(asked, behind, person)]
    found: list[Place] = []
    for place in _places(asked, dataset, keys, person):
        if place.key == after:
            found.clear()
        else:
            found.append(place)
        if len(found) > ON_A_PAGE and place.item != item_of_after:
            break
    page = found[:ON_A_PAGE]
    return page, page[-1].key if len(found) > len(page) else None


def _places(asked: Asked, dataset: Dataset, items: Sequence[int], person: User) -> Iterator[Place]:
    finder = Finder(asked, judge_of(dataset.pk))
    for first in range(0, len(items), _AT_ONCE):
        texts = texts_of(asked, items[first : first + _AT_ONCE])
        with_relations = not asked.is_entity or asked.takes_relations_along
        states = states_of(list(texts), person.pk, with_relations=with_relations)
        for item, text in texts.items():
            yield from finder.places(item, text, states[item])


def in_context(places: Sequence[Place], items: Mapping[int, Item]) -> list[dict[str, Any]]:
    """Places as people see them: the words with what stands around them."""
    return [
        {
            "key": place.key,
            "item": place.item,
            "number": items[place.item].number,
            "is_suggested": place.is_suggested,
            "against": place.against,
            "parts": _parts(items[place.item], place),
        }
        for place in places
        if place.item in items and items[place.item].text_version == place.version
    ]


def _parts(item: Item, place: Place) -> list[tuple[str, str]]:
    cleaned, roles = item.cleaned, ("source", "target") if len(place.spans) == 2 else ("mark",)
    role_of = {n: role for (start, end), role in zip(place.spans, roles, strict=True) for n in range(start, end + 1)}
    first, last = min(role_of), max(role_of)
    before = cleaned.between(0, first - 1) if first else ""
    after = cleaned.between(last + 1, len(item.tokens) - 1) if last + 1 < len(item.tokens) else ""
    parts = [(_cut_before(before), ""), (cleaned.gaps[first], "")]
    for role, tokens in groupby(range(first, last + 1), lambda n: role_of.get(n, "")):
        at, *_, until = [*tokens] * 2
        parts += [(cleaned.gaps[at] if at > first else "", ""), (cleaned.between(at, until), role)]
    parts += [(cleaned.gaps[last + 1] if after else "", ""), (_cut_after(after), "")]
    joined = (("".join(text for text, _ in some), role) for role, some in groupby(parts, itemgetter(1)))
    return [(text, role) for text, role in joined if text]


def _cut_before(text: str) -> str:
    return text if len(text) <= CONTEXT else f"…{text[-CONTEXT:]}"


def _cut_after(text: str) -> str:
    return text if len(text) <= CONTEXT else f"{text[:CONTEXT]}…"


def _item_of(key: str) -> int:
    number = key.partition(":")[0]
    return int(number) if number.isdecimal() and len(number) < 19 else 0
