"""The one gate for text and JSON that come from outside.

Every way in (uploads, pasted text, request bodies, the shell) goes through these functions. They refuse what would be stored
differently by different databases, or would exhaust the parser.
"""

import codecs
import json
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from . import words

MAX_DEPTH = 200
MAX_PROBLEMS = 100
_INT_LIMIT = 2**63
_JSON_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Escapes that may stand for what is not text; halves of a proper pair are among them.
_DOUBTFUL_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
# Bytes that may be in a text in whatever encoding.
_NO_CONTROLS = bytes([*b"\t\n\v\f\r\x1b", *range(32, 256)])
_JSON_ERROR_END = re.compile(r"(?: starting)?(?: at|: *)$")
_LINE_END = re.compile(r"\r\n|\n|\r")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r)|([^\r\n]+)\Z")

to_json = json.JSONEncoder(ensure_ascii=False).encode
to_compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def whole_number(text: str, digits: int = 18) -> int | None:
    """The number that an address or a form gives in digits; None for anything else, and for more digits than fit a column."""
    return int(text) if len(text) <= digits and text.isascii() and text.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: ``place`` (line, item, JSON path) and what was expected there."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class Refused(Exception):
    """Input that is not taken; nothing of it has been stored."""

    def __init__(
        self, problems: list[Problem] | str, total: int = 0, *, place: str = "", at_least: bool = False
    ) -> None:
        self.problems = [Problem(place, problems)] if isinstance(problems, str) else problems
        self.total, self.at_least = total or len(self.problems), at_least
        super().__init__(str(self.problems[0]) if self.problems else "refused")


@dataclass(slots=True)
class Problems:
    """Collects problems: keeps the first 100 and counts all. With ``at_least`` there may be more, which nobody looked for."""

    first: list[Problem] = field(default_factory=list)
    total: int = 0
    at_least: bool = False

    def add(self, place: str, text: str) -> None:
        self.total += 1
        if len(self.first) < MAX_PROBLEMS:
            self.first.append(Problem(place, text))

    def raise_if_any(self) -> None:
        if self.total:
            raise Refused(self.first, self.total, at_least=self.at_least)


def read_upload(upload: UploadedFile, limit: int | None = None) -> bytes:
    """The bytes of an uploaded file, if it is within the limit."""
    check_size(upload.size or 0, limit or settings.MAX_FILE_BYTES)
    return upload.read()


def read_file(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file on this machine, if it is within the limit."""
    try:
        check_size(path.stat().st_size, limit or settings.MAX_FILE_BYTES)
        return path.read_bytes()
    except OSError as error:
        raise Refused(f"The file cannot be read: {error.strerror or error}.", place=str(path)) from error


def check_size(size: int, limit: int) -> None:
    if size > limit:
        raise Refused(f"This is {words.size(size)}; the limit is {words.size(limit)}.")


def decode(data: bytes) -> str:
    """UTF-8, with or without byte order mark, as text.

    Raises `Refused`, naming the line, for other encodings, NUL and empty input.
    """
    check_encoding(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = place_after(data[: error.start].decode("utf-8", "replace"), 1, 1)[0]
        raise Refused(why_not_utf_8(error), place=f"line {line}") from error
    return check_text(text)


def check_encoding(beginning: bytes) -> None:
    """Refuse other encodings of Unicode, by their marks or, in UTF-16 without one, by the zeros beside the letters."""
    head = beginning[:1000]
    zeros = sorted((head[::2].count(0), head[1::2].count(0)))
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "UTF-32"
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (zeros[0] == 0 and zeros[1] > len(head) // 4):
        encoding = "UTF-16"
    else:
        return
    raise Refused(f"The file is {encoding}. Save it as UTF-8 and try again.", place="line 1")


def why_not_utf_8(error: UnicodeDecodeError) -> str:
    if error.object.translate(None, _NO_CONTROLS):
        return "This is not a text file."
    return f"Byte {error.object[error.start]:#04x} is not UTF-8. Save the file as UTF-8 and try again."


def check_text(text: str) -> str:
    """The text itself, if it has content and only characters that every part of the service can keep."""
    if (position := text.find("\0")) >= 0:
        raise Refused("The NUL character is not text. Remove it and try again.", place=place_in(text, position))
    if match := _SURROGATE.search(text):
        raise Refused("Half of a surrogate pair is not text.", place=place_in(text, match.start()))
    if not text.strip():
        raise Refused("There is nothing in it: the text is empty.")
    return text


def lines(text: str) -> Iterator[str]:
    """The lines, lazily, blank ones included. Only LF, CRLF and CR end a line."""
    return (match[1] or match[2] or "" for match in _LINE.finditer(text))


def place_in(text: str, position: int, line: int = 1, column: int = 1) -> str:
    """Where a position is, in words, if the text begins at this line and column of its file."""
    line, column = place_after(text[:position], line, column)
    return f"line {line}, column {column}"


def place_after(text: str, line: int, column: int) -> tuple[int, int]:
    """The line and the column at the end of a text that begins at these."""
    if breaks := text.count("\n") + text.count("\r") - text.count("\r\n"):
        return line + breaks, len(text) - max(text.rfind("\n"), text.rfind("\r"))
    return line, column + len(text)


def parse_json(text: str, max_depth: int = MAX_DEPTH, *, line: int = 1, column: int = 1) -> Any:
    """JSON as Python values. ``line`` and ``column`` say where the text begins in its file.

    Raises `Refused`, naming line and column or the JSON path, for broken JSON, nesting beyond the limit, duplicate keys,
    `NaN` and `Infinity`, integers beyond 64 bits, NUL and halves of surrogate pairs.
    """
    check_depth(text, max_depth, line, column)
    if text.startswith("\ufeff"):
        raise Refused(
            "A byte order mark may only stand at the beginning of a file.", place=f"line {line}, column {column}"
        )
    decoder = Decoder()
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise Refused(not_json(error), place=place_in(text, error.pos, line, column)) from error
    decoder.check(value, text, line, column)
    return value


class Decoder(json.JSONDecoder):
    """Remembers what may be in JSON and not in a value, for `check` to refuse it when its end is known."""

    def __init__(self) -> None:
        super().__init__(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._float,
            parse_constant=self._constant,
        )

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        self._twice: tuple[dict[str, Any], str] | None = None
        self._number: tuple[str, str] | None = None
        return super().raw_decode(s, idx)

    def check(self, value: Any, text: str, line: int, column: int) -> None:
        """Raises `Refused` for what was found in a text that was decoded to this value."""
        if self._number:
            written, why = self._number
            raise Refused(why, place=place_in(text, text.find(written), line, column))
        if self._twice:
            holder, key = self._twice
            raise Refused(f"The key “{key}” stands twice in this object.", place=_path_of(value, holder))
        if _DOUBTFUL_ESCAPE.search(text) and not _is_text(to_json(value)):
            for path, string in _strings(value):
                if "\0" in string or _SURROGATE.search(string):
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

    def _constant(self, written: str) -> int:
        return self._refuse(written, f"{written} is not a JSON number.")

    def _refuse(self, written: str, why: str) -> int:
        self._number = self._number or (written, why)
        return 0


def not_json(error: json.JSONDecodeError) -> str:
    """What the parser says, without the place: that is told in our own way."""
    return f"This is not JSON: {_JSON_ERROR_END.sub('', f'{error.msg[0].lower()}{error.msg[1:]}')}."


def check_depth(text: str, limit: int = MAX_DEPTH, line: int = 1, column: int = 1) -> None:
    """Raises `Refused` where JSON, which need not be complete, has more brackets inside each other."""
    if text.count("[") + text.count("{") <= limit:
        return
    depth = 0
    for match in _JSON_MARKS.finditer(text):
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth > limit:
                raise Refused(
                    f"This is nested too deep: {limit} brackets inside each other are allowed.",
                    place=place_in(text, match.start(), line, column),
                )
        elif mark in "]}":
            depth -= 1


def clean_name(value: str) -> str:
    """A label's name as it is stored: a title without “/”. Raises `Refused` with the rule that it breaks."""
    name = clean_title(value)
    if "/" in name:
        raise Refused("A name cannot contain “/”: it separates the levels of the full name.")
    return name


def clean_title(value: str) -> str:
    """The name of an ontology, a dataset, a project as it is stored: NFC-normalised, stripped, not too long."""
    name = unicodedata.normalize("NFC", value).strip()
    if not name:
        raise Refused("A name is needed.")
    if len(name) > settings.MAX_NAME_CHARACTERS:
        raise Refused(f"A name has at most {settings.MAX_NAME_CHARACTERS} characters; this one has {len(name)}.")
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in name):
        raise Refused("A name cannot contain control characters.")
    return name


def clean_description(value: str) -> str:
    return clean_prose(value, settings.MAX_DESCRIPTION_CHARACTERS)


def validate_description(value: str) -> None:
    """The same rule for a model's field, which must not depend on the environment: it would need a migration in each."""
    try:
        clean_description(value)
    except Refused as error:
        raise ValidationError(str(error)) from error


def clean_prose(value: str, limit: int) -> str:
    """A longer text as it is stored: NFC-normalised, stripped, lines ended by LF."""
    text = unicodedata.normalize("NFC", _LINE_END.sub("\n", value)).strip()
    if text:
        check_text(text)
    if len(text) > limit:
        raise Refused(f"This has {words.number(len(text))} characters; at most {words.number(limit)} are allowed.")
    return text


def _children(path: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{path}.{key}", child) for key, child in value.items()]
    if isinstance(value, list):
        return [(f"{path}[{index}]", child) for index, child in enumerate(value)]
    return []


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    stack = [("$", value)]
    while stack:
        path, value = stack.pop()
        yield path, value
        stack += reversed(_children(path, value))


def _path_of(value: Any, wanted: Any) -> str:
    return next((path for path, child in _walk(value) if child is wanted), "$")


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    for path, child in _walk(value):
        if isinstance(child, str):
            yield path, child
        elif isinstance(child, dict):
            yield from ((path, key) for key in child)


def _is_text(written: str) -> bool:
    """Whether JSON that is written without needless escapes stands for text only."""
    return "\\u0000" not in written and not _SURROGATE.search(written)
