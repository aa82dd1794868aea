"""What a document seems to be; people can say otherwise."""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service.inputs import Refused, parse_json
from annotation_service.streams import Elements, blocks, lines

from ..kinds import Kind
from .options import Format

_BYTES = 1_000_000
_ITEMS = 100
# Of so many pieces, some may be blank or broken: to say what is wrong with each takes long.
_PIECES = 1000
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?:[{\]]|\Z)")
_OBJECT = re.compile(r"\s*\{")
_EXTENSIONS = {".txt": Format.TEXT, ".json": Format.JSON, ".jsonl": Format.JSON_LINES, ".ndjson": Format.JSON_LINES}


class Detected(NamedTuple):
    kind: Kind
    format: Format


def detect(source: Path | bytes, name: str = "") -> Detected:
    """The kind and format of a document by its beginning; the file name tells what that does not."""
    data = source[:_BYTES] if isinstance(source, bytes) else _beginning(source)
    text = data.decode("utf-8-sig", "replace")
    format = _format(text, _EXTENSIONS.get(Path(name).suffix.lower()))
    return Detected(Kind.STANDARD if format == Format.TEXT else _kind(data, format), format)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_BYTES)


def _format(text: str, named: Format | None) -> Format:
    if named == Format.TEXT:
        return named
    if _LIST_OF_OBJECTS.match(text):
        return Format.JSON
    if _OBJECT.match(text):
        return (
            Format.JSON_LINES
            if named != Format.JSON or isinstance(_value(text.lstrip().partition("\n")[0]), dict)
            else named
        )
    return named or Format.TEXT


def _value(line: str) -> Any:
    try:
        return parse_json(line)
    except Refused:
        return None


def _kind(data: bytes, format: Format) -> Kind:
    """The kind that has all the fields of the first items."""
    fields = {field for item in islice(_objects(data, format), _ITEMS) for field in _fields(item)}
    if fields & {"relations", "id"}:
        return Kind.PREANNOTATED_RELATION
    return Kind.PREANNOTATED_ENTITY if "entities" in fields else Kind.RICH


def _objects(data: bytes, format: Format) -> Iterator[dict[str, Any]]:
    texts, limit = blocks(BytesIO(data)), settings.MAX_ITEM_JSON_CHARACTERS
    is_list = format == Format.JSON
    values = (
        (e.value for e in Elements(texts, limit)) if is_list else (_value(line.text) for line in lines(texts, limit))
    )
    try:
        yield from (value for value in islice(values, _PIECES) if isinstance(value, dict))
    except Refused:
        return  # the end of the data is not the end of the document


def _fields(item: dict[str, Any]) -> Iterator[str]:
    """Those that kinds differ in."""
    yield from item.keys() & {"entities", "relations"}
    entities = item.get("entities")
    if isinstance(entities, list) and any(isinstance(entity, dict) and "id" in entity for entity in entities):
        yield "id"
