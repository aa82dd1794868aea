"""JSON that comes from outside, and JSON as it is written. Documents of any size are read by `lists` and `trees`."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .. import words
from ..inputs import Refused, place_in

MAX_DEPTH = 200
# Objects, lists and what is in them, of one value: a few characters of JSON become an object of 240 bytes.
MAX_VALUES = 300_000
_INT_LIMIT = 2**63
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# Escapes that may stand for what is not text; halves of a proper pair are among them.
_DOUBTFUL_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_ERROR_END = re.compile(r"(?: starting)?(?: at|: *)$")
_EXPECTED = {
    "Expecting property name enclosed in double quotes": "the name of a field in double quotes was expected here.",
    "Expecting value": "a value was expected here: a text in double quotes, a number, a list or an object.",
    "Expecting ',' delimiter": "a comma or a closing bracket was expected here. Is a comma missing before this?",
    "Expecting ':' delimiter": "a colon was expected here, between the name of a field and its value.",
}
_LOOK_BACK = 200  # so far before an error its cause is looked for

to_json = json.JSONEncoder(ensure_ascii=False).encode
to_compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_array(values: Iterable[str]) -> Iterator[str]:
    """An array of values that are JSON already, piece by piece."""
    before = "["
    for value in values:
        yield f"{before}\n{value}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def parse_json(
    text: str, max_depth: int = MAX_DEPTH, *, line: int = 1, column: int = 1, decoder: "Decoder | None" = None
) -> Any:
    """JSON as Python values. ``line`` and ``column`` say where the text begins in its file. A ``decoder`` may be used again.

    Raises `Refused`, naming line and column or the JSON path, for broken JSON, nesting beyond the limit, duplicate keys,
    `NaN` and `Infinity`, integers beyond 64 bits, NUL and halves of surrogate pairs.
    """
    try:
        return (decoder or Decoder()).read(text, max_depth)
    except NotJson as error:
        raise Refused(error.reason, place=place_in(text, error.position, line, column)) from error


class NotJson(Exception):
    """Why a text is no JSON that is taken, and where in it."""

    def __init__(self, position: int, reason: str) -> None:
        self.position, self.reason = position, reason
        super().__init__(reason)


class Decoder(json.JSONDecoder):
    """Remembers what may be in JSON and not in a value, for `check` to refuse it when its end is known."""

    def __init__(self) -> None:
        super().__init__(
            object_pairs_hook=self._object,
            parse_float=self._float,
            parse_int=self._integer,
            parse_constant=lambda written: self._refuse(written, f"{written} is not a JSON number."),
        )

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        self._twice: tuple[dict[str, Any], str] | None = None
        self._number: tuple[str, str] | None = None
        return super().raw_decode(s, idx)

    def read(self, text: str, max_depth: int = MAX_DEPTH) -> Any:
        """The value. Raises `NotJson`, or `Refused` with a JSON path."""
        check_extent(text, max_depth)
        try:
            value = self.decode(text)
        except json.JSONDecodeError as error:
            raise NotJson(error.pos, not_json(error)) from error
        self.check(value, text)
        return value

    def check(self, value: Any, text: str) -> None:
        """Raises `NotJson` or `Refused` for what was found in a text that was decoded to this value."""
        if self._number:
            written, why = self._number
            raise NotJson(text.find(written), why)
        if self._twice:
            holder, key = self._twice
            path = next((path for path, child in _walk(value) if child is holder), "$")
            raise Refused(f"The key “{key}” stands twice in this object.", place=path)
        if _DOUBTFUL_ESCAPE.search(text) and ("\\u0000" in (written := to_json(value)) or _NO_TEXT.search(written)):
            for path, child in _walk(value):
                strings = [child] if isinstance(child, str) else child if isinstance(child, dict) else ()
                if any(_NO_TEXT.search(string) for string in strings):
                    raise Refused("NUL and halves of surrogate pairs are not text.", place=path)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs) and not self._twice:
            seen: set[str] = set()
            self._twice = value, next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        return value

    def _integer(self, written: str) -> int:
        if len(written) > 20 or not -_INT_LIMIT <= (value := int(written)) < _INT_LIMIT:
            return self._refuse(written, "This whole number does not fit into 64 bits.")
        return value

    def _float(self, written: str) -> float:
        value = float(written)
        return self._refuse(written, "This number is too large.") if math.isinf(value) else value

    def _refuse(self, written: str, why: str) -> int:
        self._number = self._number or (written, why)
        return 0


def not_json(error: json.JSONDecodeError) -> str:
    """What the parser says, without the place: that is told in our own way."""
    if error.doc.startswith("\ufeff", error.pos):
        return "A byte order mark may only stand at the beginning of a file."
    found, expected = error.doc[error.pos : error.pos + 1], _EXPECTED.get(error.msg)
    before = error.doc[max(0, error.pos - _LOOK_BACK) : error.pos].rstrip()
    if expected and found and found in "]}" and before.endswith(","):
        return f"This is not JSON: there is a comma before this “{found}”, but nothing behind it. Remove the comma."
    if expected:
        return f"This is not JSON: {expected}"
    return f"This is not JSON: {_ERROR_END.sub('', f'{error.msg[0].lower()}{error.msg[1:]}')}."


def check_extent(text: str, max_depth: int = MAX_DEPTH) -> None:
    """Raises `NotJson` where JSON, which need not be complete, has more brackets inside each other, or more values."""
    if len(text) <= max_depth:
        return
    depth = 0
    for match in _BRACKETS.finditer(text) if text.count("[") + text.count("{") > max_depth else ():
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth > max_depth:
                reason = f"This is nested too deep: {max_depth} brackets inside each other are allowed."
                raise NotJson(match.start(), reason)
        elif mark in "]}":
            depth -= 1
    if count_values(text) > MAX_VALUES and count_values(_STRING.sub("", text)) > MAX_VALUES:
        raise NotJson(
            0, f"At most {words.number(MAX_VALUES)} values, lists and objects are allowed here; this has more."
        )


def count_values(text: str) -> int:
    """How many values there are in JSON at most."""
    return sum(map(text.count, ",[{")) if len(text) > MAX_VALUES else 0


def _walk(value: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """A value and all inside it, each with its JSON path."""
    yield path, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _walk(child, f"{path}.{key}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _walk(child, f"{path}[{index}]")
