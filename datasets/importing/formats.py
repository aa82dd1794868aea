"""The registry of upload formats, and the detection of format and kind, which people can overrule."""

import re
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import TextChoices

from annotation_service.inputs import Refused, blocks
from annotation_service.json_input import parse_json
from annotation_service.json_input.lists import Element, Elements, json_lines

from ..kinds import DatasetKind

_BYTES = 1_000_000
_ITEMS = 100
# Pieces to look at, blank and broken ones included: explaining what is wrong with each takes long.
_PIECES = 1000
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?:[{\]]|\Z)")

Cut = Callable[[Iterator[str], int], Iterable[Element]]
"""Cuts a text that comes in blocks into pieces. Of those longer than the limit the value does not matter."""


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
        return [format for format in cls if format.cut is None or kind != DatasetKind.STANDARD]


class Detected(NamedTuple):
    kind: DatasetKind
    format: Format


def detect(source: Path | bytes, name: str = "") -> Detected:
    """Guess kind and format of a document from its beginning and, where that is ambiguous, from the file name."""
    with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        data = file.read(_BYTES)
    extension = Path(name).suffix.lower()
    named = next((format for format in Format if extension in format.extensions), None)
    format = _format(data.decode("utf-8-sig", "replace"), named)
    return Detected(_kind(data, format.cut) if format.cut else DatasetKind.STANDARD, format)


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


def _kind(data: bytes, cut: Cut) -> DatasetKind:
    """The kind that has all the fields of the first items."""
    items = list(islice(_objects(data, cut), _ITEMS))
    fields = {field for item in items for field in item}
    entities = [entity for item in items if isinstance(found := item.get("entities"), list) for entity in found]
    if "relations" in fields or any(isinstance(entity, dict) and "id" in entity for entity in entities):
        return DatasetKind.PREANNOTATED_RELATION
    return DatasetKind.PREANNOTATED_ENTITY if "entities" in fields else DatasetKind.RICH


def labels_in(data: bytes, format: Format) -> dict[str, list[str]]:
    """The labels that the beginning of a document names, by the kind of their ontology, each once."""
    found: dict[str, dict[str, None]] = {"entity": {}, "relation": {}}
    for item in _objects(data, format.cut) if format.cut else ():
        for kind, marks in (("entity", item.get("entities")), ("relation", item.get("relations"))):
            names = [mark.get("label") for mark in marks if isinstance(mark, dict)] if isinstance(marks, list) else []
            found[kind] |= dict.fromkeys(name for name in names if isinstance(name, str))
    return {kind: list(names) for kind, names in found.items()}


def _objects(data: bytes, cut: Cut) -> Iterator[dict[str, Any]]:
    pieces = cut(blocks(BytesIO(data)), settings.MAX_ITEM_JSON_CHARACTERS)
    try:
        yield from (piece.value for piece in islice(pieces, _PIECES) if isinstance(piece.value, dict))
    except Refused:
        return  # the data ends before the document does
