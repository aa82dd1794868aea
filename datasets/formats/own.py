"""The formats of the service itself: lines of text, and JSON as its schemas describe it."""

import re
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input import parse_json
from annotation_service.json_input.lists import Elements, json_lines
from annotation_service.schemas import quoted

from ..kinds import DatasetKind
from .dataset_format import DatasetFormat

_OBJECT = re.compile(r"""\s*{\s*(?:["'}]|\Z)""")
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?:[{\]]|\Z)")
_SHARE_OF_CONTROLS = 0.02
_controls = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]").findall


def _text_in(start: Beginning) -> str | None:
    """Almost anything is text, but not what has a NUL or many other control characters in it."""
    found = _controls(start.text)
    if "\0" in found or len(found) > max(3, len(start.text) * _SHARE_OF_CONTROLS):
        return None
    return words.plural(sum(bool(line.strip()) for line in start.text.split("\n")), "line,lines")


def _json_in(start: Beginning) -> str | None:
    if start.extension == ".txt" or not start.text.strip():
        return None
    if _LIST_OF_OBJECTS.match(start.text):
        return _fields(start)
    if start.text.lstrip().startswith("{"):
        is_object = _is_object(start.text.lstrip().partition("\n")[0])
        return _fields(start) if start.extension == ".json" and not is_object else None
    return "" if start.extension == ".json" else None


def _json_lines_in(start: Beginning) -> str | None:
    if start.extension in JSON_LINES.extensions or (start.extension != ".txt" and _OBJECT.match(start.text)):
        return _fields(start)
    return None


def _is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except Refused:
        return False


def _fields(start: Beginning) -> str:
    names = list(dict.fromkeys(name for each in start.objects for name in each))
    return f"objects with {quoted(names)}" if names else ""


def _kind(start: Beginning) -> DatasetKind:
    """The kind that has all the fields of the first items."""
    fields = {field for item in start.objects for field in item}
    entities = [entity for item in start.objects if isinstance(found := item.get("entities"), list) for entity in found]
    if "relations" in fields or any(isinstance(entity, dict) and "id" in entity for entity in entities):
        return DatasetKind.PREANNOTATED_RELATION
    return DatasetKind.PREANNOTATED_ENTITY if "entities" in fields else DatasetKind.RICH


def _standard(start: Beginning) -> DatasetKind:
    return DatasetKind.STANDARD


def _by(cut: Any) -> Any:
    return lambda source: cut(source.blocks(), settings.MAX_ITEM_JSON_CHARACTERS)


@dataclass(frozen=True)
class OwnFormat(DatasetFormat):
    """One that `datasets.importing` and `datasets.exports` read and write in ways of their own."""

    ways = ("in", "out")  # type: ignore[assignment]


TEXT = OwnFormat(
    "text",
    "text, one item a line",
    (".txt",),
    _text_in,
    is_general=True,
    kind_of=_standard,
    loses="all but the texts themselves",
)
JSON = OwnFormat("json", "JSON", (".json",), _json_in, is_general=True, read=_by(Elements), kind_of=_kind)
JSON_LINES = OwnFormat(
    "jsonl", "JSON Lines", (".jsonl", ".ndjson"), _json_lines_in, is_general=True, read=_by(json_lines), kind_of=_kind
)
OWN = (JSON, JSON_LINES, TEXT)
