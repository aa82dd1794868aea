"""What corrections change, as people read it: before one is stored, and in the history of an item."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from annotation_service import words
from annotation_service.models import User
from ontologies.labels import Label

from .alignment import DIFFERENT_WORDS, common
from .models import Item, TextCorrection
from .models.correction import GOLD, Line

SHOWN_LINES, SHOWN_TOKENS, SHOWN_CORRECTIONS = 100, 300, 50
CONTEXT = 8  # tokens that are shown beside a difference


class ChangedToken(NamedTuple):
    text: str
    what: str
    """The class of a token in a list: empty, gone or changed."""


class ShownLine(NamedTuple):
    line: Line
    label: Label | None
    people: str


def tokens_between(old: Sequence[str], new: Sequence[str]) -> list[ChangedToken]:
    """The tokens of a text after a correction, with those that it took away, as far as they stand near a difference."""
    found, i, j = list[ChangedToken](), 0, 0
    for next_i, next_j in (*common(old, new, DIFFERENT_WORDS), (len(old), len(new))):
        found += [ChangedToken(token, "gone") for token in old[i:next_i]]
        found += [ChangedToken(token, "changed") for token in new[j:next_j]]
        found += [ChangedToken(token, "") for token in new[next_j : next_j + 1]]
        i, j = next_i + 1, next_j + 1
    places = [at for at, token in enumerate(found) if token.what]
    near = {at + by for at in places for by in range(-CONTEXT, CONTEXT + 1)} or set(range(len(found)))
    shown = [
        token if at in near else ChangedToken("…", "")
        for at, token in enumerate(found)
        if at in near or at - 1 in near or not at
    ]
    return shown[:SHOWN_TOKENS]


def moves_in_words(item: Item, lines: Iterable[Sequence[Any]], moved: int, back: int = 0) -> dict[str, Any]:
    """The context of ``datasets/_moves.html``."""
    found = [Line(*line) for line in lines]
    shown, labels = found[:SHOWN_LINES], item.dataset.labels()
    people = User.objects.in_bulk({pk for each in shown for pk in each.people if pk != GOLD})
    names = {GOLD: "the gold", **{pk: user.get_username() for pk, user in people.items()}}
    return {
        "lines": [
            ShownLine(each, labels.get(each.label), words.listed(names.get(pk, "the dataset") for pk in each.people))
            for each in shown
        ],
        "more": len(found) - len(shown),
        "changed": sum(len(each.people) for each in found if each.after),
        "lost": sum(len(each.people) for each in found if not each.after),
        "moved": moved,
        "back": back,
    }


def history_of(item: Item) -> Iterator[dict[str, Any]]:
    """The corrections of its text, the newest first."""
    after = item.tokens
    corrections = TextCorrection.objects.filter(item=item).select_related("by").defer("kept", "offsets")
    for correction in corrections[:SHOWN_CORRECTIONS]:
        yield {
            "correction": correction,
            "tokens": tokens_between(correction.tokens, after),
            "is_newest": correction.version == item.text_version,
            **moves_in_words(item, **correction.marks),
        }
        after = correction.tokens
