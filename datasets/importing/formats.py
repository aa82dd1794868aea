"""The registry of upload formats, their reader, and the detection of format and kind, which people can overrule."""

import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import TextChoices

from annotation_service import words
from annotation_service.inputs import Refused, blocks
from annotation_service.json_input import Elements, json_lines, parse_json

from ..kinds import Kind
from .document import PREVIEW_ITEMS, Document, Report, preview_of
from .items import NewItem
from .reading import Cut, read_json, read_text

_BYTES = 1_000_000
_ITEMS = 100
# Pieces to look at, blank and broken ones included: explaining what is wrong with each takes long.
_PIECES = 1000
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?:[{\]]|\Z)")


class Format(TextChoices):
    """The formats that can be uploaded: name, extensions of files, the function that cuts a document into JSON values (none for
    lines of text), and label."""

    TEXT = "text", (".txt",), None, "Text, one item a line"
    JSON = "json", (".json",), Elements, "JSON"
    JSON_LINES = "jsonl", (".jsonl", ".ndjson"), json_lines, "JSON Lines"

    extensions: tuple[str, ...]
    cut: Cut | None

    def __new__(cls, value: str, extensions: tuple[str, ...] = (), cut: Cut | None = None) -> "Format":
        member = str.__new__(cls, value)
        member._value_, member.extensions, member.cut = value, extensions, cut
        return member

    @classmethod
    def of_kind(cls, kind: str) -> "list[Format]":
        """A standard dataset is made from lines of text, the others from everything."""
        return [format for format in cls if format.cut is None or kind != Kind.STANDARD]


class Reader(Document):
    """The items of a document, read as a stream: whatever its size, little of it is in memory.

    Iterated, it yields every `NewItem` in order while ``report`` fills. After the first problem it yields nothing more, but
    reads on to find the others; then, at the end, it raises `Refused` with the first of them.
    """

    def check(self) -> Report:
        """Read everything, and return what was found, problems included."""
        try:
            for _ in self:
                pass
        except Refused:
            pass
        return self.report

    def __iter__(self) -> Iterator[NewItem]:
        report, most, format = self.report, settings.MAX_DATASET_ITEMS, Format(self.options.format)
        try:
            if format not in Format.of_kind(self.options.kind):
                raise Refused(f"A standard dataset is made from lines of text. Choose the kind “{Kind.RICH.label}”.")
            read = partial(read_json, cut=format.cut) if format.cut else read_text
            with self.open() as file:
                for item in read(self, file):
                    if report.items > most:
                        raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.")
                    if len(report.preview) < PREVIEW_ITEMS:
                        report.preview.append(preview_of(item))
                    if report.is_good:
                        yield item
            if report.is_good and not report.items:
                raise Refused(self._nothing_left(format))
        except Refused as error:
            self.add_problems(error)
        report.problems.raise_if_any()

    def _nothing_left(self, format: Format) -> str:
        is_text = format == Format.TEXT
        if not self.report.lines:
            return "There is nothing in it: the text is empty." if is_text else "There is no item in it."
        if is_text:
            return "No line is left after preprocessing. Choose fewer operations, or another text."
        return "The external ids of all items are taken, so nothing is left to store."


class Detected(NamedTuple):
    kind: Kind
    format: Format


def detect(source: Path | bytes, name: str = "") -> Detected:
    """Guess kind and format of a document from its beginning and, where that is ambiguous, from the file name."""
    with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        data = file.read(_BYTES)
    extension = Path(name).suffix.lower()
    named = next((format for format in Format if extension in format.extensions), None)
    format = _format(data.decode("utf-8-sig", "replace"), named)
    return Detected(_kind(data, format.cut) if format.cut else Kind.STANDARD, format)


def _format(text: str, named: Format | None) -> Format:
    if named == Format.TEXT:
        return named
    if _LIST_OF_OBJECTS.match(text):
        return Format.JSON
    if (start := text.lstrip()).startswith("{"):
        is_json = named == Format.JSON and not _is_object(start.partition("\n")[0])
        return Format.JSON if is_json else Format.JSON_LINES
    return named or Format.TEXT


def _is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except Refused:
        return False


def _kind(data: bytes, cut: Cut) -> Kind:
    """The kind that has all the fields of the first items."""
    items = list(islice(_objects(data, cut), _ITEMS))
    fields = {field for item in items for field in item}
    entities = [entity for item in items if isinstance(found := item.get("entities"), list) for entity in found]
    if "relations" in fields or any(isinstance(entity, dict) and "id" in entity for entity in entities):
        return Kind.PREANNOTATED_RELATION
    return Kind.PREANNOTATED_ENTITY if "entities" in fields else Kind.RICH


def _objects(data: bytes, cut: Cut) -> Iterator[dict[str, Any]]:
    pieces = cut(blocks(BytesIO(data)), settings.MAX_ITEM_JSON_CHARACTERS)
    try:
        yield from (piece.value for piece in islice(pieces, _PIECES) if isinstance(piece.value, dict))
    except Refused:
        return  # the data ends before the document does
