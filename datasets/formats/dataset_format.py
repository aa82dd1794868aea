"""What a format of datasets is, what its reader yields, and what its writer gets and tells.

A reader yields an `Element` for each item, whose value is an item of an upload (`original`, `tokens`, `entities`, ...), whatever
the file looks like: `found_item` and `item_by_characters` make it. All checks of items and labels follow by themselves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import FileFormat, FileSource
from annotation_service.inputs import Refused, lines_of
from annotation_service.json_input import to_compact_json
from annotation_service.json_input.lists import Element

from ..kinds import DatasetKind
from ..tokenising import TOKENISERS, Span, offsets_of


def label_of(mark: Any) -> str:
    """What a mark of a file calls its label; nothing if that is wrong."""
    label = mark.get("label") if isinstance(mark, dict) else None
    return label if isinstance(label, str) else ""


# The kinds of marks, with the fields of items that have them.
MARKS = {"entity": "entities", "relation": "relations"}


# --- Reading -------------------------------------------------------------------------------------------------------------------


@dataclass
class DatasetSource(FileSource):
    """A file of items. ``tokeniser`` cuts texts that come without tokens."""

    tokeniser: str = "punkt"

    def lines(self) -> Iterator[tuple[int, str]]:
        """The numbers, from 1, and the texts of its lines, blank ones included. Raises `Refused` for one over the limit."""
        most = settings.MAX_ITEM_JSON_CHARACTERS
        for number, line, length in lines_of(self.blocks(), most):
            if length > most:
                raise Refused(f"A line has at most {words.number(most)} characters.", place=f"line {number}")
            yield number, line

    def cut(self, text: str) -> list[Span]:
        """The places of the tokens of a text, which may have many lines: all of it that is not white space. Raises `Refused` for
        one over the limit, whose tokens could take all memory."""
        if len(text) > (most := settings.MAX_ITEM_CHARACTERS):
            raise Refused(
                f"An item has at most {words.number(most)} characters; this one has {words.number(len(text))}."
            )
        lines = text.split("\n")
        starts = [0, *(position + 1 for position, char in enumerate(text) if char == "\n")]
        spans: list[Span] = []
        for start, line, tokens in zip(starts, lines, TOKENISERS[self.tokeniser].cut(lines), strict=True):
            spans += [(start + first, start + end) for first, end in offsets_of(tokens, line) or ()]
        return spans


class FoundEntity(NamedTuple):
    """An entity of a file. ``start`` and ``end`` are tokens, both inclusive, or characters (code points), ``end`` exclusive."""

    id: str
    label: str
    start: int
    end: int


class FoundRelation(NamedTuple):
    label: str
    source: str
    target: str


def found_item(
    source: FileSource,
    original: str,
    tokens: Sequence[str],
    entities: Iterable[FoundEntity] = (),
    relations: Iterable[FoundRelation] = (),
    **fields: Any,
) -> dict[str, Any]:
    """The value of an item with marks on tokens; ``fields`` are `external_id` and `extra_fields`. What the service has no place
    for is left out and counted: marks that are there twice, relations from a mark to itself or to one that is left out."""
    first: dict[tuple[int, int, str], str] = {}
    became: dict[str, str] = {}
    for entity in entities:
        became[entity.id] = first.setdefault((entity.start, entity.end, entity.label), entity.id)
    source.leave_out("entities that are there twice", len(became) - len(first))
    kept: set[tuple[str, str, str]] = set()
    ends: list[tuple[str, str, str]] = []
    for relation in relations:
        end = relation.label, became.get(relation.source, ""), became.get(relation.target, "")
        if not (end[1] and end[2]):
            source.leave_out("relations that lack an end")
        elif end[1] == end[2]:
            source.leave_out("relations from a mark to itself")
        elif end in kept:
            source.leave_out("relations that are there twice")
        else:
            kept.add(end)
            ends.append(end)
    return {
        "original": original,
        "tokens": list(tokens),
        **{name: value for name, value in fields.items() if value},
        "entities": [{"id": id, "start": s, "end": e, "label": label} for (s, e, label), id in first.items()],
        "relations": [{"source_id": s, "target_id": t, "label": label} for label, s, t in ends],
    }


def item_by_characters(
    source: DatasetSource,
    text: str,
    entities: Iterable[FoundEntity] = (),
    relations: Iterable[FoundRelation] = (),
    tokens: Sequence[Span] = (),
    **fields: Any,
) -> dict[str, Any]:
    """The value of an item with marks on characters. Its ``tokens`` are cut where a mark begins or ends inside them, and those of
    the source's tokeniser come between where they are needed, so that no mark is lost or moved. White space at the ends of a mark
    is not part of it; a mark on nothing else, or outside of the text, is left out and counted."""
    marks: list[FoundEntity] = []
    for entity in entities:
        if not 0 <= entity.start <= entity.end <= len(text):
            source.leave_out("entities outside of their text")
            continue
        inside = text[entity.start : entity.end]
        start = entity.start + len(inside) - len(inside.lstrip())
        end = start + len(inside.strip())
        if start == end:
            source.leave_out("entities without a letter")
        else:
            marks.append(entity._replace(start=start, end=end))
    borders = {mark.start for mark in marks} | {mark.end for mark in marks}
    for given in tokens, _filled(source, text, tokens):
        spans = list(_cut_at(given, borders))
        first_at = {start: index for index, (start, _) in enumerate(spans)}
        last_at = {end: index for index, (_, end) in enumerate(spans)}
        are_marked = spans and all(mark.start in first_at and mark.end in last_at for mark in marks)
        # Their places are not stored, but looked for from the left.
        if are_marked and offsets_of([text[start:end] for start, end in spans], text) == spans:
            break
    on_tokens = [mark._replace(start=first_at[mark.start], end=last_at[mark.end]) for mark in marks]
    return found_item(source, text, [text[start:end] for start, end in spans], on_tokens, relations, **fields)


def _filled(source: DatasetSource, text: str, tokens: Iterable[Span]) -> Iterator[Span]:
    """The places of tokens, and of those of the source's tokeniser: all that is not white space."""
    done = 0
    for start, end in [*tokens, (len(text), len(text))]:
        if text[done:start].strip():
            yield from ((done + first, done + last) for first, last in source.cut(text[done:start]))
        if start < end:
            yield start, end
        done = end


def _cut_at(spans: Iterable[Span], borders: set[int]) -> Iterator[Span]:
    for start, end in spans:
        for border in range(start + 1, end):
            if border in borders:
                yield start, border
                start = border
        yield start, end


def element(word: str, number: int, value: Any, *, name: str = "") -> Element:
    """What a reader yields of an item: its place is ``name``, else such as “sentence 3” for a ``word`` and a number."""
    return Element(word, number, value, len(to_compact_json(value)), name=name)


def refused_element(word: str, number: int, why: str, *, name: str = "") -> Element:
    """What a reader yields where one item is wrong, and the next can be read."""
    return Element(word, number, None, 1, Refused(why, place=name or f"{word} {number}"), name)


# --- Writing -------------------------------------------------------------------------------------------------------------------


class WrittenEntity(NamedTuple):
    """``start`` and ``end`` are tokens, both inclusive; ``label`` is a full name."""

    id: str
    label: str
    start: int
    end: int
    is_suggested: bool = False


class WrittenRelation(NamedTuple):
    """``source`` and ``target`` are the ids of entities of the same item."""

    label: str
    source: str
    target: str
    is_suggested: bool = False


@dataclass
class WrittenItem:
    """An item as writers get it. ``number`` is its place in the dataset, from 1. Entities are sorted by their first token, the
    longer before the shorter."""

    number: int
    external_id: str
    original: str
    tokens: list[str]
    offsets: list[Span] | None
    extra_fields: dict[str, Any] = field(default_factory=dict)
    entities: list[WrittenEntity] = field(default_factory=list)
    relations: list[WrittenRelation] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        """What characters are counted in: the original or, where its tokens are not in it, the tokens with spaces between."""
        return " ".join(self.tokens) if self.offsets is None else self.original

    @cached_property
    def spans(self) -> list[Span]:
        """The places of the tokens in `text`, in code points, half-open."""
        return self.offsets if self.offsets is not None else offsets_of(self.tokens, self.text) or []

    def characters(self, entity: WrittenEntity) -> Span:
        """The place of an entity in `text`."""
        return self.spans[entity.start][0], self.spans[entity.end][1]

    def covered(self, entity: WrittenEntity) -> str:
        start, end = self.characters(entity)
        return self.text[start:end]


class WrittenLabel(NamedTuple):
    """A label of an ontology, in tree order; ``level`` is 1 at the top."""

    fullname: str
    level: int
    color: str
    description: str


@dataclass
class Export:
    """What is written, and what was lost on the way: filled while a writer goes through the ``items``, which it can do once.

    ``labels`` are those of the ontologies, by their kind. ``lost`` counts what the format has no place for, in words such as
    “nested and left out”, by “entities”, “relations” or “items”; ``total`` counts all of them.
    """

    title: str
    items: Iterable[WrittenItem]
    labels: dict[str, list[WrittenLabel]] = field(default_factory=dict)
    lost: dict[str, dict[str, int]] = field(default_factory=lambda: {"items": {}, "entities": {}, "relations": {}})
    total: dict[str, int] = field(default_factory=lambda: {"items": 0, "entities": 0, "relations": 0})

    def __iter__(self) -> Iterator[WrittenItem]:
        for item in self.items:
            self.total["items"] += 1
            self.total["entities"] += len(item.entities)
            self.total["relations"] += len(item.relations)
            yield item

    def lose(self, what: str, why: str, count: int = 1) -> None:
        if count:
            self.lost[what][why] = self.lost[what].get(why, 0) + count

    def lose_suggestions(self, item: WrittenItem) -> None:
        """Count the marks of an item for a format that cannot tell suggestions from what people have made."""
        why = "suggested and written like the others"
        self.lose("entities", why, sum(mark.is_suggested for mark in item.entities))
        self.lose("relations", why, sum(mark.is_suggested for mark in item.relations))

    def by_characters(self) -> Iterator[WrittenItem]:
        """The items for a format that counts characters; those are counted whose tokens are not in their original."""
        for item in self:
            if item.offsets is None:
                self.lose("items", "written as their tokens, which are not in the original")
            yield item

    def losses(self) -> list[str]:
        """A sentence for each kind of loss, such as “362 of 3,397 entities are nested and left out”."""
        return [
            f"{words.number(count)} of {words.plural(self.total[what], _FORMS[what])} {'is' if count == 1 else 'are'} {why}"
            for what, reasons in self.lost.items()
            for why, count in reasons.items()
        ]


_FORMS = {"items": "item,items", "entities": "entity,entities", "relations": "relation,relations"}

Pieces = Iterator[tuple[str, str]]
"""Pieces of text, each with the name of the file that it belongs to; those of one file follow each other."""


@dataclass(frozen=True)
class DatasetFormat(FileFormat):
    """``read`` yields the items of a file; ``write`` those of a dataset as text. One with many files is packed as a zip archive.
    ``takes`` are the kinds of datasets that can be made of it, all but the plain text ones by default."""

    noun: ClassVar[str] = "a dataset"

    is_archive: bool = field(default=False, kw_only=True)
    """Whether there are many files in a download."""
    is_packed: bool = field(default=False, kw_only=True)
    """Whether what is uploaded is a zip archive as a rule."""
    content_type: str = field(default="text/plain; charset=utf-8", kw_only=True)
    note: str = field(default="", kw_only=True)
    """What a download is, in a few words."""
    kind_of: Callable[[Any], DatasetKind | None] | None = field(default=None, kw_only=True)
    """The kind of dataset that a file begins like, where its first items do not tell; given a `Beginning`."""


def tagged(entities: Iterable[Any]) -> str:
    """Labels as they are told about a file: “PER, LOC”, the first ten."""
    names = list(dict.fromkeys(words.cut(name, 60) for name in entities))
    return ", ".join(names[:10]) + (f" and {words.number(len(names) - 10)} more" if len(names) > 10 else "")
