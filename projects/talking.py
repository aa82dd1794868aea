"""What is said about the items of a project: how much of it there is, and the list of it."""

import unicodedata
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet

from annotation_service.db import among
from annotation_service.models import User
from datasets.models import Item
from work.models import Answer, Comment, Flag
from work.models.comments import CommentQuerySet

STATES = {"waiting": "Waiting for an answer", "open": "Open", "resolved": "Resolved"}
SORTS = {"waiting": "Waiting first", "changed": "Last changed", "item": "Item number"}


def figures(flags: QuerySet[Flag], comments: CommentQuerySet, *, reader: User | None) -> dict[str, Any]:
    """How many flags of each kind there are, and how many comments are open; ``reader`` is None for all who read everybody's.

    An open comment waits where somebody else had the last word: the annotator, for those who read everybody's work, and one of
    these for the annotator.
    """
    kinds = dict(flags.order_by().values_list("kind").annotate(n=Count("pk")))
    waits = Q(resolved_at=None) & (~Q(last_by=reader) if reader else Q(last_by=F("person")))
    counts = comments.aggregate(comments=Count("pk"), resolved=Count("resolved_at"), waiting=Count("pk", filter=waits))
    return {
        "kinds": [(label, kind, kinds[kind]) for kind, label in Flag.Kind.choices if kind in kinds],
        "flags": sum(kinds.values()),
        **counts,
        "open": counts["comments"] - counts["resolved"],
    }


class Said(NamedTuple):
    """A flag, or a comment, as the list looks at it."""

    pk: int
    item: int
    position: int
    person: int
    at: datetime
    kind: str = ""  # of a flag
    last_by: int = 0  # of a comment
    is_open: bool = False


class Talk:
    """What somebody may see of the flags and comments in a project, and what they want to see of it: empty means all, and so does
    what is no choice.

    Everything is read once, as plain values: the databases take ten times as long to put the items in order.
    """

    def __init__(self, flags: QuerySet[Flag], comments: CommentQuerySet, *, reader: User | None) -> None:
        self.flags, self.comments, self.reader = flags, comments, reader
        about = ("pk", "item_id", "item__position", "person_id")
        self.all_flags = [Said(*row) for row in flags.order_by().values_list(*about, "set_at", "kind")]
        rows = comments.order_by().values_list(*about, "last_at", "last_by_id", "resolved_at")
        self.all_comments = [
            Said(pk, item, position, person, at, "", last_by, resolved_at is None)
            for pk, item, position, person, at, last_by, resolved_at in rows
        ]
        keys = {said.person for said in (*self.all_flags, *self.all_comments)}
        self.people = list(User.objects.filter(pk__in=keys).order_by("username"))

    def choose(self, *, query: str, flag: str, state: str, who: str, sort: str) -> None:
        self.query, self.sort = query, sort if sort in SORTS else "waiting"
        self.flag = flag if flag in (*Flag.Kind.values, "any") else ""
        self.state = state if state in STATES else ""
        self.who = next((person.pk for person in self.people if str(person.pk) == who), None)

    @property
    def is_all(self) -> bool:
        return not (self.query or self.flag or self.state or self.who)

    def items(self) -> list[int]:
        """The keys of the items that match, in their order."""
        flags = [said for said in self.all_flags if self._wants_flag(said)]
        comments = [said for said in self.all_comments if self._wants_comment(said)]
        flagged, commented = ({said.item for said in some} for some in (flags, comments))
        found = flagged | commented
        if self.flag:
            found &= flagged
        if self.state:
            found &= commented
        if self.query:
            found &= self._with_words(found, flags, comments)
        return self._sorted(found, flags, comments)

    def entries(self, keys: Collection[int]) -> list[dict[str, Any]]:
        """Items with what is said about each, the open comments before the others."""
        items = Item.objects.in_bulk(keys)
        entries: dict[int, dict[str, Any]] = {
            pk: {"item": items[pk], "excerpt": items[pk].excerpt(self.query, 200), "flags": [], "comments": []}
            for pk in keys
            if pk in items
        }
        for flag in self.flags.filter(item__in=entries).select_related("person").order_by("set_at", "pk"):
            if self._wants_flag(Said(flag.pk, 0, 0, flag.person_id, flag.set_at, kind=flag.kind)):
                entries[flag.item_id]["flags"].append(flag)
        open_first = F("resolved_at").asc(nulls_first=True), "pk"
        for each in self.comments.filter(item__in=entries).with_words().order_by(*open_first):
            said = Said(each.pk, 0, 0, each.person_id, each.last_at, last_by=each.last_by_id, is_open=each.is_open)
            if self._wants_comment(said):
                entries[each.item_id]["comments"].append(each)
        return [entry | {"person": _first_person(entry)} for entry in entries.values()]

    def _wants_flag(self, said: Said) -> bool:
        return self.who in (None, said.person) and self.flag in ("", "any", said.kind)

    def _wants_comment(self, said: Said) -> bool:
        is_in_state = {"": True, "open": said.is_open, "resolved": not said.is_open, "waiting": self._waits(said)}
        return self.who in (None, said.person) and is_in_state[self.state]

    def _waits(self, comment: Said) -> bool:
        """As in `figures`."""
        others = comment.last_by != self.reader.pk if self.reader else comment.last_by == comment.person
        return comment.is_open and others

    def _with_words(self, items: Collection[int], flags: list[Said], comments: list[Said]) -> set[int]:
        """Of these items, those that contain what is searched, or about which it was said in these flags and comments, in any
        case and script."""
        wanted = unicodedata.normalize("NFC", self.query).casefold()
        of_flags, of_comments = (among([said.pk for said in some]) for some in (flags, comments))
        said: list[tuple[QuerySet[Any], tuple[str, ...]]] = [
            (self.flags.filter(pk__in=of_flags), ("item_id", "why")),
            (self.comments.filter(pk__in=of_comments), ("item_id", "text", "words")),
            (Answer.objects.filter(comment__in=of_comments), ("comment__item_id", "text")),
        ]
        found = {
            item
            for rows, columns in said
            for item, *texts in rows.order_by().values_list(*columns)
            if any(wanted in text.casefold() for text in texts)
        }
        in_texts = Item.objects.filter(pk__in=among(list(items))).containing(self.query)
        return found.union(in_texts.values_list("pk", flat=True))

    def _sorted(self, items: set[int], flags: list[Said], comments: list[Said]) -> list[int]:
        """As chosen; the last changed before the others, where nothing else tells them apart."""
        latest: dict[int, datetime] = {}
        positions: dict[int, int] = {}
        for said in (*flags, *comments):
            latest[said.item] = max(said.at, latest.get(said.item, said.at))
            positions[said.item] = said.position
        if self.sort == "item":
            return sorted(items, key=positions.__getitem__)
        waiting = {said.item for said in comments if self._waits(said)}
        opened = {said.item for said in comments if said.is_open}
        order = sorted(sorted(items, key=positions.__getitem__), key=latest.__getitem__, reverse=True)
        if self.sort == "changed":
            return order
        return sorted(order, key=lambda item: (item not in waiting, item not in opened))


def _first_person(entry: dict[str, Any]) -> int | None:
    """Whose work the number of the item leads to."""
    said: list[Comment | Flag] = [*entry["comments"], *entry["flags"]]
    return said[0].person_id if said else None
