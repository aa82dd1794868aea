"""Checks on text from outside; for JSON see `annotation_service.json_input`.

Every way in (uploads, pasted text, request bodies, the shell) goes through these functions. They refuse what would be stored
differently by different databases, or would exhaust the parser.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import SEEK_END, BytesIO
from typing import IO

from django.conf import settings
from django.core.exceptions import ValidationError

from . import words

MAX_PROBLEMS = 100
_MAX_ACCENTS = 30  # as in the Stream-Safe Text Format of Unicode
_TOO_MANY_ACCENTS = re.compile(rb"[^\0]{%d}" % (_MAX_ACCENTS + 1))
# Bytes that may be in a text in whatever encoding.
_NO_CONTROLS = bytes([*b"\t\n\v\f\r\x1b", *range(32, 256)])
_LINE_END = re.compile(r"\r\n|\n|\r")
# Embeddings, overrides and isolates: they change the order of what stands behind them on the page, too. Marks of direction and
# joiners, which some scripts cannot do without, change nothing beyond their place.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Letters and a symbol by their category, but blank.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
_UNSEEN = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Mc", "Me"}


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


class Refused(ValidationError):
    """Input that is not taken; nothing of it has been stored. Forms and models report it as an error of the field."""

    def __init__(
        self, problems: list[Problem] | str, total: int = 0, *, place: str = "", at_least: bool = False
    ) -> None:
        self.problems = [Problem(place, problems)] if isinstance(problems, str) else problems
        self.total, self.at_least = total or len(self.problems), at_least
        super().__init__(str(self.problems[0]) if self.problems else "refused")

    def __str__(self) -> str:
        return str(self.message)


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

    def add_all(self, refused: Refused) -> None:
        for problem in refused.problems:
            self.add(problem.place, problem.text)

    def raise_if_any(self) -> None:
        if self.total:
            raise Refused(self.first, self.total, at_least=self.at_least)


def check_size(size: int, limit: int) -> None:
    if size > limit:
        raise Refused(f"This is {words.size(size)}; the limit is {words.size(limit)}.")


def decode(data: bytes) -> str:
    """UTF-8, with or without byte order mark, as text; lines end with LF. Raises `Refused` as `blocks`, and for empty input."""
    return check_text("".join(blocks(BytesIO(data))))


def unicode_encoding(beginning: bytes) -> str:
    """UTF-16 or UTF-32, told by its mark or, of UTF-16 without one, by the zeros beside the letters; nothing for others."""
    head = beginning[:1000]
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if min(even, odd) or max(even, odd) <= len(head) // 4:
        return ""
    return "utf-16-le" if odd else "utf-16-be"


def check_text(text: str) -> str:
    """The text itself, if it has content and only characters that every part of the service can keep."""
    if (position := text.find("\0")) >= 0:
        raise Refused("The NUL character is not text. Remove it and try again.", place=place_in(text, position))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused("Half of a surrogate pair is not text.", place=place_in(text, error.start)) from error
    if not text.strip():
        raise Refused("There is nothing in it: the text is empty.")
    return text


def split_lines(text: str) -> list[str]:
    """The lines, blank ones included. Only LF, CRLF and CR end a line."""
    *found, last = _LINE_END.split(text)
    return [*found, last] if last else found


def place_in(text: str, position: int, line: int = 1, column: int = 1) -> str:
    """Where a position is, in words, if the text begins at this line and column of its file."""
    line, column = place_after(text[:position], line, column)
    return f"line {line}, column {column}"


def place_after(text: str, line: int, column: int) -> tuple[int, int]:
    """The line and the column at the end of a text that begins at these."""
    if breaks := text.count("\n") + text.count("\r") - text.count("\r\n"):
        return line + breaks, len(text) - max(text.rfind("\n"), text.rfind("\r"))
    return line, column + len(text)


def normalized(text: str) -> str:
    """In NFC. Raises `Refused` for more accents on one letter than any script has: putting them in order takes the square of
    their number, of a million half an hour."""
    if unicodedata.is_normalized("NFC", text):
        return text
    if _TOO_MANY_ACCENTS.search(bytes(map(unicodedata.combining, text))):
        raise Refused(f"More than {_MAX_ACCENTS} accents stand on one letter.")
    return unicodedata.normalize("NFC", text)


def clean_name(value: str) -> str:
    """A label's name as it is stored: a title without “/”. Raises `Refused` with the rule that it breaks."""
    name = clean_title(value)
    if "/" in name:
        raise Refused("A name cannot contain “/”: it separates the levels of the full name.")
    return name


def clean_title(value: str) -> str:
    """The name of an ontology, a dataset, a project as it is stored: NFC-normalised, stripped, not too long."""
    name = normalized(value).strip()
    if not name:
        raise Refused("A name is needed.")
    if len(name) > settings.MAX_NAME_CHARACTERS:
        raise Refused(f"A name has at most {settings.MAX_NAME_CHARACTERS} characters; this one has {len(name)}.")
    if not name.isprintable():  # which is quick to find out
        if any(unicodedata.category(c) in {"Cc", "Cs"} for c in name):
            raise Refused("A name cannot contain control characters.")
        if match := _REORDERING.search(name):
            char = f"U+{ord(match[0]):04X}"
            raise Refused(f"A name cannot contain {char}, which turns the direction of the text around it.")
    if not any(map(can_be_seen, name)):
        raise Refused("There is nothing to see in this name. A name needs at least one letter, digit or sign.")
    return name


def can_be_seen(char: str) -> bool:
    """Whether a character shows by itself: no space, nothing without width, no accent that waits for a letter."""
    return char not in _BLANK and unicodedata.category(char) not in _UNSEEN


def clean_description(value: str) -> str:
    return clean_prose(value, settings.MAX_DESCRIPTION_CHARACTERS)


def clean_prose(value: str, limit: int) -> str:
    """A longer text as it is stored: NFC-normalised, stripped, lines ended by LF."""
    text = normalized(value.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if text:
        check_text(text)
    if len(text) > limit:
        raise Refused(f"This has {words.number(len(text))} characters; at most {words.number(limit)} are allowed.")
    return text


# --- Text that comes piece by piece from a file --------------------------------------------------------------------------

BLOCK_BYTES = 1 << 16
# What is read from 20 MB can take 200 MB: of a larger document nothing is kept before all of it is known to be right.
CHECKED_FIRST = 2_000_000


def text_blocks(source: str | IO[bytes]) -> Iterator[str]:
    """The text from its beginning; lines end with LF. Raises `Refused` as `blocks` and `check_text`."""
    if isinstance(source, str):
        source = check_text(source).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        yield from (source[start : start + BLOCK_BYTES] for start in range(0, len(source), BLOCK_BYTES))
    else:
        source.seek(0)
        yield from blocks(source)


def size_of(source: str | IO[bytes]) -> int:
    """In characters or bytes."""
    return len(source) if isinstance(source, str) else source.seek(0, SEEK_END)


# The encodings that a text may be in, by what Python calls them; without a choice it is Unicode.
ENCODINGS = {
    "": "Unicode (UTF-8, UTF-16)",
    "cp1252": "Windows-1252, Western Europe",
    "latin-1": "Latin-1, Western Europe",
    "cp1250": "Windows-1250, Central Europe",
    "cp1251": "Windows-1251, Cyrillic",
}


class WrongEncoding(Refused):
    """A text that may be right in another encoding."""


def blocks(file: IO[bytes], encoding: str = "") -> Iterator[str]:
    """The text of a file in one of the `ENCODINGS`, with or without byte order mark; lines end with LF, whatever they ended with.

    Raises `WrongEncoding`, naming the line, for what is no text in it, and `Refused` for NUL.
    """
    read = file.read(BLOCK_BYTES)
    name = encoding or unicode_encoding(read) or "utf-8-sig"
    if encoding:  # a byte order mark would be three letters of another one
        read = read.removeprefix(codecs.BOM_UTF8)
    decoder = codecs.getincrementaldecoder(name)()
    line, column, half, is_over = 1, 1, "", False
    while not is_over:
        is_over = not read
        try:
            text = half + decoder.decode(read, final=is_over)
        except UnicodeDecodeError as error:
            before = half + error.object[: error.start].decode(name, "replace")
            line, _ = place_after(before, line, column)
            label = (ENCODINGS[encoding] if encoding else name.upper().removesuffix("-SIG")).partition(",")[0]
            why = f"Byte {error.object[error.start]:#04x} is not {label}. Choose another encoding, or save it as UTF-8."
            if error.object.translate(None, _NO_CONTROLS) and "utf-8" in name:
                raise Refused("This is not a text file.", place=f"line {line}") from error
            raise WrongEncoding(why, place=f"line {line}") from error
        half = ""
        if text.endswith("\r") and not is_over:  # perhaps half of a CRLF
            text, half = text[:-1], "\r"
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if (position := text.find("\0")) >= 0:
            place = place_in(text, position, line, column)
            raise Refused("The NUL character is not text. Remove it and try again.", place=place)
        line, column = place_after(text, line, column)
        if text:
            yield text
        read = b"" if is_over else file.read(BLOCK_BYTES)


def lines_of(texts: Iterable[str], limit: int) -> Iterator[tuple[int, str, int]]:
    """The lines of a text that comes in blocks, blank ones included: number from 1, text, length. A line over the limit is never
    held as a whole, and has no text."""
    number, begun, length = 1, "", 0
    for text in texts:
        *whole, last = text.split("\n")
        for line in whole:
            length += len(line)
            yield number, begun + line if length <= limit else "", length
            number, begun, length = number + 1, "", 0
        length += len(last)
        begun = begun + last if length <= limit else ""
    if length:
        yield number, begun, length
