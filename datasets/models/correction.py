"""Corrections of the texts of items: what becomes of all that is put on tokens, and how one is undone."""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import UniqueConstraint
from django.utils import timezone

from annotation_service import words
from annotation_service.db import among, store, write
from annotation_service.edits import Conflict
from annotation_service.inputs import Refused, text_blocks
from annotation_service.models import User

from ..alignment import Alignment
from ..cleaned import CleanedText, key_of
from ..importing.items import NewItem
from ..kinds import DatasetKind
from ..preprocessing import Counts, Preprocessing, SameText, SeenTexts
from ..tokenising import TOKENISERS
from .annotation import Annotation
from .dataset import goes_with_items
from .item import Item
from .judged import Judging
from .marks import MARKS, Entity, Layer, Mark, Rejection, Relation

Place = tuple[Any, ...]
Row = dict[str, Any]
SPAN = ("start", "end")
GOLD = Layer.GOLD.value  # as JSON keeps it


class Follower(NamedTuple):
    """Rows of annotations that move with the text. ``fields`` tell the place of each, and `move` where it is after an alignment;
    of those at the same place that are ``alike`` one stays: what somebody accepted before what they rejected, and both before
    suggestions."""

    model: type[models.Model]
    fields: tuple[str, ...]
    alike: tuple[str, ...]
    move: Callable[[Place, Alignment], Place | None]

    @property
    def name(self) -> str:
        return str(self.model._meta.model_name)

    def place(self, row: Mapping[str, Any]) -> Place:
        return tuple(row[name] for name in self.fields)


def moved_what(what: str, alignment: Alignment) -> str:
    """See `Rejection.what`; empty, if words of it are gone."""
    spans = [alignment.span(int(start), int(end)) for start, end in re.findall(r"(\d+)-(\d+):", what)]
    moved = iter("" if span is None else "{}-{}".format(*span) for span in spans)
    return "" if None in spans else re.sub(r"\d+-\d+(?=:)", lambda _: next(moved), what)


RELATIONS = Follower(Relation, ("source_id", "target_id"), ("label_id",), lambda place, alignment: place)
# The apps above add theirs.
moves_with_text = [
    Follower(Entity, SPAN, ("annotation_id", "label_id"), lambda place, alignment: alignment.span(*place)),
    Follower(
        Rejection,
        ("what",),
        ("annotation_id",),
        lambda place, by: (found,) if (found := moved_what(place[0], by)) else None,
    ),
]


class Line(NamedTuple):
    """Marks whose words change, or that go, for people to read: those of several people that say the same make one."""

    before: str
    after: str
    """Empty if they go."""
    label: int
    status: str
    people: list[int | str]
    """The keys of users; 0 stands for the dataset, and “gold” for what was decided."""


class MarksLost(Refused):
    """A text that would cost marks which nobody has agreed to lose."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"{words.plural(count, 'mark,marks')} would be lost.")


class RowMove(NamedTuple):
    row: Row
    """As it is before."""
    place: Place | None
    """Where it will be, None if it goes."""
    is_back: bool
    """Whether it comes back from before."""


class Moves:
    """What becomes of all that is put on the tokens of an item with another text. Of a correction that is ``undone`` all is put
    back that nobody has changed since.

    ``lines`` has the marks whose words change first; ``moved`` counts those that keep theirs, and ``back`` those that come back.
    """

    def __init__(self, item: Item, new: NewItem, undone: "TextCorrection | None" = None) -> None:
        self.item, self.new, self.alignment = item, new, Alignment.of(item.tokens, new.tokens)
        self.kept = undone.kept if undone else {}
        self.outcomes: dict[str, list[RowMove]] = {}
        # Which of the entities stands for each that stays.
        self.became: dict[int, int] = {}
        for follower in (*moves_with_text, RELATIONS):
            self.outcomes[follower.name] = self._foresee(follower)
        self.moved = 0
        self.back = sum(mark.is_back and mark.place is not None for kind in MARKS for mark in self.outcomes[kind])
        self.lines = self._lines()

    def _foresee(self, follower: Follower) -> list[RowMove]:
        rows = follower.model._default_manager.filter(annotation__item=self.item)
        now = {row["id"]: row for row in rows.values()}
        kept = {row["id"]: (row, after) for row, after in self.kept.get(follower.name, ())}
        gone = _possible(follower, [row for row, after in kept.values() if after is None], now.values())
        became, first, outcomes = dict[int, int](), dict[Place, int](), list[RowMove]()
        for row in sorted([*now.values(), *gone], key=lambda row: (row.get("status", ""), row["id"])):
            pk = row["id"]
            place: Place | None = follower.place(row)
            before, after = kept.get(pk, (row, None))
            if after is not None and follower.place(row) == tuple(after):
                place = follower.place(before)
            elif pk in now:
                place = follower.move(follower.place(row), self.alignment)
            if place and follower is RELATIONS:
                source, target = (self.became.get(end) for end in place)
                place = (source, target) if source and target and source != target else None
            if place:
                became[pk] = first.setdefault((*place, *(row[name] for name in follower.alike or ["id"])), pk)
            outcomes.append(RowMove(row, place if became.get(pk) == pk else None, pk not in now))
        if follower.model is Entity:
            self.became = became
        return outcomes

    def _lines(self) -> list[Line]:
        old_text, new_text = self.item.cleaned, CleanedText.of(self.new.original, self.new.tokens, self.new.offsets)
        annotations = Annotation.objects.filter(item=self.item).values_list("pk", "annotator", "layer")
        people = {pk: person or (GOLD if layer == Layer.GOLD else 0) for pk, person, layer in annotations}
        places = {mark.row["id"]: mark.place for mark in self.outcomes["entity"]}
        told, lines = dict[int, str](), dict[tuple[str, str, int, str], list[int | str]]()
        for kind in ("entity", "relation"):
            for row, place, is_back in self.outcomes[kind]:
                pk, after = row["id"], ""
                if is_back:
                    continue
                if kind == "relation":
                    said, is_same = f"{told[row['source_id']]} → {told[row['target_id']]}", place is not None
                else:
                    start, end = row["start"], row["end"]
                    said = told[pk] = old_text.between(start, end)
                    place = places.get(self.became.get(pk, 0))
                    after = new_text.between(*place) if place else ""
                    is_same = place is not None and self._words_at(place) == self.item.tokens[start : end + 1]
                    self.moved += is_same and row["status"] != Mark.Status.REJECTED
                if not is_same and row["status"] != Mark.Status.REJECTED:
                    line = said, after, row["label_id"], row["status"]
                    lines.setdefault(line, []).append(people[row["annotation_id"]])
        return sorted((Line(*line, who) for line, who in lines.items()), key=lambda line: not line.after)

    @property
    def lost(self) -> int:
        return sum(len(line.people) for line in self.lines if not line.after)

    def _words_at(self, place: Place) -> list[str]:
        return self.new.tokens[place[0] : place[1] + 1]

    def store(self) -> dict[str, list[Any]]:
        """In a transaction, with the item locked. Returns all rows of before, each with the place that it has now: those that go
        as they were, of the others what tells their place."""
        kept: dict[str, list[Any]] = {}
        for follower in (*moves_with_text, RELATIONS):
            old, new = list[int](), list[models.Model]()
            rows = kept[follower.name] = []
            for row, place, is_back in self.outcomes[follower.name]:
                after = row | dict(zip(follower.fields, place, strict=True)) if place else {}
                if after.get("start") is not None:
                    after["words_key"] = key_of(self._words_at((after["start"], after["end"])))
                if is_back or after != row:
                    old.append(row["id"])
                    new += [follower.model(**after)] if after else []
                if not is_back:
                    names = ("id", *follower.fields) if place else row
                    rows.append([{name: _plain(row[name]) for name in names}, place])
            # Not updated one by one: two may change places.
            changed = follower.model._base_manager.filter(pk__in=among(old))
            changed._raw_delete(changed.db)
            follower.model._default_manager.bulk_create(new, batch_size=1000)
        return kept


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _possible(follower: Follower, rows: list[Row], now: Collection[Row]) -> list[Row]:
    """Those of some rows that can come back: all that they point to is there, and nothing has their uid."""
    for field in follower.model._meta.concrete_fields:
        if field.related_model and field.attname not in follower.fields:
            keys = {row[field.attname] for row in rows} - {None}
            others: Any = field.related_model
            there = others._base_manager.filter(pk__in=among(keys)).values_list("pk", flat=True)
            rows = [row for row in rows if row[field.attname] in {None, *there}]
    uids = {(row["annotation_id"], row["uid"]) for row in now if follower.alike and "uid" in row}
    return [row for row in rows if (row["annotation_id"], row.get("uid")) not in uids]


# --- Texts ---------------------------------------------------------------------------------------------------------------


def cut_anew(item: Item, text: str, tokeniser: str = "") -> NewItem:
    """Another text for an item, cut into tokens as its dataset was. One that came with its tokens is cut by a ``tokeniser``.
    Raises `Refused`."""
    dataset, text = item.dataset, "".join(text_blocks(text))
    if dataset.kind == DatasetKind.STANDARD and "\n" in (text := text.strip("\n")):
        raise Refused("An item of this dataset is one line of text: take out the line breaks.")
    if len(text) > (most := settings.MAX_ITEM_CHARACTERS):
        raise Refused(f"An item has at most {words.number(most)} characters; this has {words.number(len(text))}.")
    chosen = dataset.preprocessing or {"tokeniser": tokeniser or tokeniser_of(item)}
    prepared = list(Preprocessing(**{**chosen, "remove_duplicates": ""}).prepare([(1, text)], Counts()))
    if not prepared:
        raise Refused("Nothing is left of this text after the clean-up of the dataset.")
    if (count := len(prepared[0].tokens)) > (most := settings.MAX_ITEM_TOKENS):
        raise Refused(f"An item has at most {words.number(most)} tokens; this has {words.number(count)}.")
    return NewItem("", *prepared[0][:3])


def tokeniser_of(item: Item) -> str:
    """The one that cuts the item as it is cut or, if none does, the one that is recommended."""
    found = [name for name, each in TOKENISERS.items() if each.cut([item.original])[0] == item.tokens]
    return [*found, *(name for name, each in TOKENISERS.items() if each.is_recommended)][0]


def _check_duplicate(item: Item, new: NewItem) -> None:
    """Refuse a text that another item has, if the dataset was made without such."""
    preprocessing = Preprocessing(**item.dataset.preprocessing)
    if same := preprocessing.remove_duplicates:
        alike = item.dataset.items().filter(search_text=_folded(new)).exclude(pk=item.pk)
        for position, original in alike.values_list("position", "original"):
            found = SeenTexts([preprocessing.clean(original)]).add(preprocessing.clean(new.original))
            if found in (SameText.IDENTICAL, same):
                number = words.number(position + 1)
                raise Refused(f"Item {number} has this text already, and the dataset was made without duplicates.")


def _folded(new: NewItem) -> str:
    return new.cleaned(" ".join(new.tokens)).casefold()


class TextCorrection(models.Model):
    """The text of an item as it was before a correction, which led to this ``version`` of it."""

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False, related_name="corrections")
    version = models.PositiveIntegerField()
    original = models.TextField()
    tokens = models.JSONField()
    offsets = models.JSONField(null=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(default=timezone.now)
    is_undo = models.BooleanField(default=False)
    # The `Line`s of `Moves` and its counts.
    marks = models.JSONField(default=dict)
    # What `Moves.store` returned.
    kept = models.JSONField(default=dict, editable=False)

    class Meta:
        ordering = ["item", "-version"]
        constraints = [UniqueConstraint(fields=["item", "version"], name="correction_version")]

    def __str__(self) -> str:
        return f"item {self.item_id}, version {self.version}"

    @classmethod
    def make(
        cls, item: Item, new: NewItem, *, by: User, was_version: int, agreed: int | None = None
    ) -> "TextCorrection":
        """Give an item another text, and move all that is put on its tokens. Raises `Conflict` with its text of now, if that is
        not the one that the author saw; for ``agreed`` see `put`."""
        with write():
            locked = item.locked_to_change()
            if locked.text_version != was_version:
                raise Conflict({"text": locked.original})
            return cls.put(locked, new, by=by, agreed=agreed)

    def undo(self, *, by: User) -> "TextCorrection":
        """Give the item the text of before, with the marks as they were; those that were made since move to it."""
        before = NewItem("", self.original, self.tokens, self.offsets)
        with write():
            item = self.item.locked_to_change()
            newest = item.corrections.select_related("by").get(version=item.text_version)
            if newest != self:
                when = f"{newest.at:%d %B %Y, %H:%M} UTC"
                raise Refused(f"{newest.by} changed the text again on {when}: only that can be undone.")
            if self.is_undo:
                raise Refused("This took back a correction. Correct the text again instead.")
            return self.put(item, before, by=by, undone=self)

    @classmethod
    def put(
        cls,
        item: Item,
        new: NewItem,
        *,
        by: User,
        undone: "TextCorrection | None" = None,
        agreed: int | None = None,
    ) -> "TextCorrection":
        """The same in the transaction of the caller, who has locked the item and its dataset. Raises `MarksLost`, and has stored
        nothing, if somebody has ``agreed`` to another number of them."""
        if (new.original, new.tokens) == (item.original, item.tokens):
            raise Refused("This is the text that the item has.")
        _check_duplicate(item, new)
        moves, dataset, count = Moves(item, new, undone), item.dataset, len(new.tokens)
        if agreed is not None and moves.lost not in (0, agreed):
            raise MarksLost(moves.lost)
        correction = cls.objects.create(
            item=item,
            version=item.text_version + 1,
            original=item.original,
            tokens=item.tokens,
            offsets=item.offsets,
            by=by,
            is_undo=undone is not None,
            marks={"lines": moves.lines, "moved": moves.moved, "back": moves.back},
            kept=moves.store(),
        )
        dataset.touch(token_count=dataset.token_count + count - item.token_count)
        text = {"original": new.original, "tokens": new.tokens, "offsets": new.offsets, "search_text": _folded(new)}
        store(item, **text, token_count=count, text_version=correction.version)
        # Whoever has the item open is told.
        Annotation.count_up(Annotation.objects.filter(item=item))
        Judging([item.pk]).store([item.pk])
        return correction


goes_with_items.append((TextCorrection, "item"))
