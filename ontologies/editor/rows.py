"""The rows of the tree on the screen: which are sent, and which of them stand open.

A small ontology is sent whole. Of a large one only the open branches are sent; the others are fetched when they are opened.
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from annotation_service.words import Excerpt, excerpt

if TYPE_CHECKING:
    from ..labels import Found, Labels
    from ..models import Ontology, OntologyItem

SENT_WHOLE = 500
ALL_LEVELS = 1000
_SCREENFUL = 40


@dataclass(slots=True)
class Row:
    uid: str
    name: str
    color: str
    active: bool
    count: int
    """How many items are below it."""
    level: int = 0
    is_open: bool = False
    has_list: bool = False
    """Whether the list of its children follows."""
    ends: range = range(0)
    """As many lists end after this row."""
    is_match: bool = False
    marked: "Excerpt | None" = None
    """The name around the text that was searched for."""
    note: "Excerpt | None" = None
    """Where else the text was found."""

    def __getitem__(self, name: str) -> Any:
        """Where templates look first: without it every value of the hundreds of rows costs them an exception."""
        return getattr(self, name)

    @classmethod
    def of(cls, item: "OntologyItem") -> "Row":
        return cls(item.uid, item.name, item.color, item.active, item.descendant_count, item.level)


def rows(
    ontology: "Ontology",
    branch: "OntologyItem | None" = None,
    *,
    itself: bool = True,
    levels: int = 1,
    opened: Collection[str] = (),
    reveal: "OntologyItem | None" = None,
) -> list[Row]:
    """The rows of the whole tree, or of a branch with or without its own row, in tree order: so many levels of them, the branches
    that were open, and those that lead to an item."""
    root = ontology.root
    below, itself = branch or root, itself and branch is not None
    whole = root.descendant_count <= SENT_WHOLE
    opened = {*opened, *(reveal.get_ancestors().values_list("uid", flat=True) if reveal else ())}
    last = below.level + levels
    top = below.level + (0 if itself else 1)
    items = ontology.items().filter(lft__gte=below.lft + (0 if itself else 1), lft__lt=below.rght)
    if not whole and levels < ALL_LEVELS:
        items = items.filter(Q(level__lte=last) | Q(parent__uid__in=opened))
    found: list[Row] = []
    above: list[Row] = []
    for uid, name, color, active, level, lft, rght in items.values_list(
        "uid", "name", "color", "active", "level", "lft", "rght"
    ):
        while above and above[-1].level >= level:
            above.pop()
        if (above[-1].level + 1 if above else top) != level:
            continue  # was open inside a branch that is closed now
        if above and not above[-1].has_list:
            continue
        count = (rght - lft - 1) // 2
        is_open = bool(count) and (level < last or uid in opened)
        row = Row(uid, name, color, active, count, level, is_open, bool(count) and (whole or is_open))
        above.append(row)
        found.append(row)
    _close_lists(found, top)
    return found


def found_rows(labels: "Labels", found: "Sequence[Found]", text: str) -> list[Row]:
    """The rows of items that were found, and of those above them."""
    text = unicodedata.normalize("NFC", text)
    matches = {each.uid: each for each in found}
    wanted: set[str] = set()
    for uid in matches:
        above: str | None = uid
        while above and above not in wanted:
            wanted.add(above)
            above = labels.by_uid[above].parent_uid if above in labels.by_uid else None  # removed a moment ago
    shown: list[Row] = []
    branch: list[Row] = []
    for label in labels:
        while branch and branch[-1].level >= label.level:
            branch.pop()
        for row in branch:
            row.count += 1
        if label.uid not in wanted:
            continue
        if branch:
            branch[-1].is_open = branch[-1].has_list = True
        row = Row(label.uid, label.name, label.color, label.active, 0, label.level)
        if match := matches.get(label.uid):
            row.is_match = True
            row.marked = excerpt(label.name, text)
            row.note = None if row.marked else _elsewhere(match, text)
        branch.append(row)
        shown.append(row)
    _close_lists(shown, 1)
    return shown


def _elsewhere(match: "Found", text: str) -> Excerpt | None:
    texts = [match.label.description, *match.label.example_terms]
    return next((found for each in texts if (found := excerpt(each, text, before=40, after=41))), None)


def _close_lists(found: list[Row], top: int) -> None:
    for row, following in zip_longest(found, found[1:]):
        row.ends = range(row.level - (following.level if following else top))


def levels_at_first(sizes: list[int]) -> int:
    """As many levels as fit on a screen, at least the first; ``sizes`` counts the items of each level."""
    total = levels = 0
    for size in sizes:
        total += size
        if total > _SCREENFUL:
            break
        levels += 1
    return max(levels, 1)
