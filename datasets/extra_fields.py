"""The extra fields of an item as people see and edit them: names and values, a line each."""

import json
import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Refused, check_text
from annotation_service.json_input import parse_json, to_json

_has_large_number = re.compile(r"\d{19}").search
_line_end = re.compile(r"\r\n|\r|\n")


class Field(NamedTuple):
    name: str
    value: str
    """The text itself or, of anything else, its JSON."""
    is_json: bool

    @classmethod
    def of(cls, name: str, value: Any) -> "Field":
        # What a form would change on its way through a browser is shown as JSON, too.
        if isinstance(value, str) and "\r" not in value:
            return cls(name, value, False)
        return cls(name, with_floats(to_json(value)), True)

    @classmethod
    def all_of(cls, extra_fields: Mapping[str, Any]) -> "list[Field]":
        return [cls.of(name, value) for name, value in extra_fields.items()]

    @property
    def exact_name(self) -> str:
        """As JSON: a form would lose the line ends in it."""
        return to_json(self.name)

    @property
    def shown_name(self) -> str:
        return _line_end.sub("↵", self.name)

    def parsed(self) -> Any:
        if self.is_json:
            return parse_json(self.value)
        text = self.value.replace("\r\n", "\n")
        return check_text(text) if text.strip() else text


def read_lines(text: str) -> list[Field]:
    """What the form sends, however many lines there are: a list of name, value and type, which is “text” or “json”."""
    try:
        fields = [Field(name, value, kind == "json") for name, value, kind in json.loads(text)]
        "".join(field.name + field.value for field in fields).encode()  # only strings, and no halves of surrogate pairs
    except (ValueError, TypeError, RecursionError) as error:
        raise Refused("The fields cannot be read. Reload the page and try again.") from error
    return fields


def to_object(fields: Iterable[Field], known: Container[str] = ()) -> dict[str, Any]:
    """The object that the lines describe. Lines without name and value are left out.

    A name has content, but those that are ``known`` may stay as an upload brought them. Raises `Refused`, naming the line.
    """
    filled = (field for field in fields if field.name or field.value.strip() or field.name in known)
    values: dict[str, Any] = {}
    for number, field in enumerate(filled, start=1):
        is_known = field.name in known
        if not field.name.strip() and not is_known:
            raise Refused("The field has no name.", place=f"field {number}")
        if field.name in values:
            raise Refused(f"There are two fields “{field.name[:100]}”.", place=f"field {number}")
        try:
            values[field.name if is_known else check_text(field.name)] = field.parsed()
        except Refused as error:
            raise Refused(str(error), place=f"field “{field.name[:100]}”") from error
    if reason := too_large(values):
        raise Refused(reason, place="extra fields")
    return values


def too_large(values: Mapping[str, Any]) -> str:
    """Why extra fields are not taken, or the empty string. They are measured as they are stored: there 1e15 has 18 characters."""
    limit, size = settings.MAX_EXTRA_FIELDS_CHARACTERS, len(to_json(values))
    text = f"At most {words.number(limit)} characters of JSON are allowed; this has {words.number(size)}."
    return text if size > limit else ""


def with_floats(text: str) -> str:
    """Stored JSON as it can come in again: PostgreSQL writes 1e22 with all its digits, as a whole number that is too large."""
    if not _has_large_number(text):
        return text

    def number(digits: str) -> int | float:
        return value if -(2**63) <= (value := int(digits)) < 2**63 else float(digits)

    return to_json(json.loads(text, parse_int=number))


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1, but 1e3 is 1000."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)
