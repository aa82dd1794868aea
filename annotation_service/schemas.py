"""Checking JSON values against the published JSON Schemas.

The schemas are the authority. jsonschema-rs says quickly whether a value is valid; only for one that is not, jsonschema is asked
what is wrong, because it tells more.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
from django.conf import settings

from . import words
from .inputs import MAX_PROBLEMS, Problems

TYPES = {
    "string": "a text",
    "array": "a list",
    "object": "an object",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_FORMS = {
    "minLength": "This must not be empty.",
    "maxLength": "At most {most} characters are allowed; this has {size}.",
    "minItems": "This list must not be empty.",
    "maxItems": "At most {most} entries are allowed; this has {size}.",
    "minimum": "A number of at least {limit} was expected, not {value}.",
    "maximum": "A number of at most {limit} was expected, not {value}.",
}

PUBLISHED: dict[str, Path] = {}
"""The schemas that apps publish, by name."""

_LIMIT = re.compile(r'"\{([A-Z_]+)\}"|\{([A-Z_]+)\}')


def published(path: Path) -> str:
    """A schema as it is published. In its file “{MAX_NAME_CHARACTERS}” stands for the number of that setting."""
    return _LIMIT.sub(lambda match: str(getattr(settings, match[1] or match[2])), path.read_text("utf-8"))


def load(path: Path) -> dict[str, Any]:
    return json.loads(published(path))


def _elements(validator: Any, rule: Any, values: Any, schema: dict[str, Any]) -> Iterator[jsonschema.ValidationError]:
    """What is wrong with the elements of a list, unless it is refused for its length: they may be a million."""
    if not (validator.is_type(values, "array") and len(values) > schema.get("maxItems", math.inf)):
        yield from jsonschema.Draft202012Validator.VALIDATORS["items"](validator, rule, values, schema)


_Explaining = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"items": _elements})


class Checker:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.known = schema.get("properties", {}).keys()
        self.types = {name: field.get("type") for name, field in schema.get("properties", {}).items()}
        self.is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid
        self._slow = _Explaining(schema)

    def problems(self, value: Any, path: str = "$") -> Iterator[tuple[str, str]]:
        """Pairs of JSON path and text, one by one: there may be very many. None if the value is valid."""
        if self.is_valid(value):
            return
        last = None
        for error in self._slow.iter_errors(value):
            steps = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
            problem = path + "".join(steps), _in_words(error)
            if problem != last:  # jsonschema tells each missing field apart, we all at once
                yield problem
            last = problem
        if last is None:  # such as a line end behind what a pattern ends with, which only the quick one refuses
            yield path, "This does not follow the schema."

    def sound_fields(self, value: Any, place: Callable[[str], str], problems: Problems) -> dict[str, Any]:
        """The fields of an object that follow the schema, once what is wrong with the others is among the problems. They can be
        read on, so that all problems are reported at once. A field that the schema does not know is not among them. ``place``
        tells where a JSON path in the object, such as “.name”, is in the document; without a path, where the object is."""
        if self.is_valid(value):
            return value
        if problems.total >= MAX_PROBLEMS:
            problems.add(place(""), "")  # only counted: finding out what is wrong takes much longer
            return {}
        wrong = set()
        for path, text in self.problems(value, ""):
            if problems.total >= MAX_PROBLEMS:  # there may be one for each of a million elements
                problems.at_least = True
                return {}
            problems.add(place(path), text)
            wrong.add(re.split(r"[.[]", path.removeprefix("."))[0])
        sound = self.known - wrong
        return {key: value[key] for key in value if key in sound} if isinstance(value, dict) else {}


def _in_words(error: jsonschema.ValidationError) -> str:
    rule, limit, value = error.validator, error.validator_value, error.instance
    if rule == "required":
        missing = [name for name in limit if name not in value]
        return f"{quoted(missing)} {_is(missing)} missing."
    if rule == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = sorted(set(value) - set(known))
        return f"{quoted(unknown)} {_is(unknown)} not known here; known are {', '.join(known)}."
    if rule == "type":
        wanted = [TYPES[name] for name in ([limit] if isinstance(limit, str) else limit) if name != "null"]
        is_type = jsonschema.Draft202012Validator.TYPE_CHECKER.is_type
        found = next(text for name, text in TYPES.items() if is_type(value, name))
        return f"{' or '.join(wanted).capitalize()} was expected, not {found}."
    if rule == "pattern":
        return f"{error.schema.get('description', 'This form was expected: ' + str(limit))} “{str(value)[:60]}” is not."
    if form := _FORMS.get(rule):
        size = words.number(len(value)) if isinstance(value, str | list) else ""
        return form.format(limit=limit, most=words.number(limit), size=size, value=value)
    return f"{error.message}."


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def quoted(names: list[str]) -> str:
    """The first of them, such as “id”, “text”, and how many there are more."""
    some = ", ".join(f"“{words.cut(name, 60)}”" for name in names[:10])
    return some if len(names) <= 10 else f"{some} and {words.number(len(names) - 10)} more"
