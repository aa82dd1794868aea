"""The extra fields of an item as people see and edit them: names and values, a line each."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service.inputs import Refused, check_text, parse_json

_to_json = json.JSONEncoder(ensure_ascii=False).encode
_has_large_number = re.compile(r"\d{19}").search


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
        return cls(name, with_floats(_to_json(value)), True)

    @classmethod
    def all_of(cls, extra_fields: Mapping[str, Any]) -> "list[Field]":
        return [cls.of(name, value) for name, value in extra_fields.items()]

    def parsed(self) -> Any:
        if self.is_json:
            return parse_json(self.value)
        text = self.value.replace("\r\n", "\n")
        return check_text(text) if text.strip() else text


def to_json(fields: Iterable[Field]) -> dict[str, Any]:
    """The object that the lines describe. Lines without name and value are left out.

    Raises `Refused`, naming the line.
    """
    filled = (field for field in fields if field.name or field.value.strip())
    values: dict[str, Any] = {}
    for number, field in enumerate(filled, start=1):
        if not field.name.strip():
            raise Refused("The field has no name.", place=f"field {number}")
        if field.name in values:
            raise Refused(f"There are two fields “{field.name[:100]}”.", place=f"field {number}")
        try:
            values[check_text(field.name)] = field.parsed()
        except Refused as error:
            raise Refused(str(error), place=f"field “{field.name[:100]}”") from error
    limit, size = settings.MAX_EXTRA_FIELDS_CHARACTERS, len(_to_json(values))
    if size > limit:
        raise Refused(f"At most {limit:,} characters of JSON are allowed; this has {size:,}.", place="extra fields")
    return values


def with_floats(text: str) -> str:
    """Stored JSON as it can come in again: PostgreSQL writes 1e22 with all its digits, as a whole number that is too large."""
    if not _has_large_number(text):
        return text

    def number(digits: str) -> int | float:
        return value if -(2**63) <= (value := int(digits)) < 2**63 else float(digits)

    return _to_json(json.loads(text, parse_int=number))
