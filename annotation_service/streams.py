"""Text that comes piece by piece from a file: the rules of `annotation_service.inputs`, at any size with little memory."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from . import words
from .inputs import (
    MAX_DEPTH,
    Decoder,
    Refused,
    check_depth,
    check_encoding,
    not_json,
    place_after,
    place_in,
    why_not_utf_8,
)

BLOCK_BYTES = 1 << 16
_SPACE = re.compile(r"[ \t\n\r]*")
# Strings, and what ends an element of a list or stands in brackets inside it.
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)
# An error that comes from the end of the text is at most so far before it, as in “-Infinit”.
_CUT = 12


class Line(NamedTuple):
    """``number`` counts from 1. A line longer than the limit has only its ``length``, and no text."""

    number: int
    text: str
    length: int


class Element(NamedTuple):
    """An element of a JSON list: its value, or why it is refused. ``number`` counts from 1, ``length`` is that of its JSON."""

    number: int
    value: Any
    length: int
    refused: Refused | None = None


def blocks(file: IO[bytes]) -> Iterator[str]:
    """The text of a file in UTF-8, with or without byte order mark; lines end with LF, whatever they ended with.

    Raises `Refused`, naming the line, for other encodings and NUL.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line, column = 1, 1
    is_first = True
    while data := file.read(BLOCK_BYTES):
        while data.endswith(b"\r") and (more := file.read(1)):  # perhaps half of a CRLF
            data += more
        if is_first:
            check_encoding(data)
        is_first = False
        text = _decoded(decoder, data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), line)
        if (position := text.find("\0")) >= 0:
            place = place_in(text, position, line, column)
            raise Refused("The NUL character is not text. Remove it and try again.", place=place)
        line, column = place_after(text, line, column)
        yield text
    _decoded(decoder, b"", line, final=True)


def lines(texts: Iterable[str], limit: int) -> Iterator[Line]:
    """The lines of a text that comes in blocks, blank ones included. A line over the limit is never held as a whole."""
    number = 1
    begun: list[str] = []  # of the last line, whose end has not come yet
    length = 0
    for text in texts:
        *whole, last = text.split("\n")
        for line in whole:
            line_length = length + len(line)
            if length:
                line = "".join((*begun, line)) if line_length <= limit else ""
                begun, length = [], 0
            yield Line(number, line if line_length <= limit else "", line_length)
            number += 1
        length += len(last)
        begun = [*begun, last] if length <= limit else []
    if length:
        yield Line(number, "".join(begun), length)


class Elements:
    """The elements of a JSON list that comes in blocks, by the rules of `parse_json`; iterated once.

    After an element that is refused the next one follows. Raises `Refused`, naming line and column, where the list itself is
    wrong, and for an element that does not end within the limit.
    """

    def __init__(self, texts: Iterable[str], limit: int) -> None:
        self.limit = limit
        self._blocks = filter(None, texts)
        self._text = ""
        self._at = 0
        self._known = 0, 1, 1  # a position in the text before that one, its line and its column
        self._decoder = Decoder()

    def __iter__(self) -> Iterator[Element]:
        if (char := self._next_char()) != "[":
            what = (
                "A list of items starts with “[”; an item a line is JSON Lines." if char else "There is nothing in it."
            )
            raise Refused(what, place=self._place() if char else "")
        self._at += 1
        number, end = 0, self._next_char()
        while end == "," or (end != "]" and not number):
            self._at += bool(number)
            number += 1
            self._next_char()
            yield self._element(number)
            end = self._next_char()
        self._at += 1
        if self._next_char():
            raise Refused("The list ends before this; nothing may follow it.", place=self._place())

    def _element(self, number: int) -> Element:
        """The element that begins here. Go to the comma or bracket behind it."""
        value, end, failure = self._decode()
        begun, refused = self._text[self._at : end], None
        line, column = self._line_and_column()
        try:
            check_depth(begun, MAX_DEPTH, line, column)
            if failure:
                raise Refused(failure, place=place_in(begun, len(begun), line, column))
            self._decoder.check(value, begun, line, column)
        except Refused as error:
            refused = error
        if not failure:
            self._at = end
        if (char := self._next_char()) not in {",", "]"}:
            if not (char or refused):
                raise Refused("The file ends before the list does.", place=self._place())
            refused = refused or Refused("This is not JSON: extra data.", place=self._place())
            while (behind := _end_of_element(self._text, self._at)) is None:
                if not self._read_on():
                    problem = refused.problems[0]
                    raise Refused(problem.text, place=f"item {number}, {problem.place}") from refused
            self._at = behind
        return Element(number, None if refused else value, len(begun), refused)

    def _decode(self) -> tuple[Any, int, str]:
        """The value that begins here, where it ends, and nothing; or None, where it breaks off, and why."""
        while True:
            text, value, failure = self._text, None, ""
            try:
                value, end = self._decoder.raw_decode(text, self._at)
                is_cut = end > len(text) - _CUT
            except json.JSONDecodeError as error:
                end, failure = error.pos, not_json(error)
                is_cut = end > len(text) - _CUT or error.msg.startswith("Unterminated string")
            except RecursionError:
                return None, len(text), "nested too deep"
            if not (is_cut and self._read_on()):
                break
        if is_cut and failure and len(text) - self._at > self.limit:
            most = words.number(self.limit)
            failure = (
                f"An item has at most {most} characters; this one has more. Is a bracket or quotation mark missing?"
            )
        return value, end, failure

    def _next_char(self) -> str:
        """Go to the next character that is not white space; at the end of the file it is empty."""
        while True:
            self._at = _end_of(_SPACE, self._text, self._at)
            if self._at < len(self._text) or not self._read_on():
                return self._text[self._at : self._at + 1]

    def _read_on(self) -> bool:
        """Have four times the text that follows here, which may be no longer than the limit; whether there was more."""
        line, column = self._line_and_column()
        begun = self._text[self._at :]
        parts, missing = [begun], min(3 * len(begun), self.limit - len(begun)) + 1
        while missing > 0 and (block := next(self._blocks, "")):
            parts.append(block)
            missing -= len(block)
        if len(parts) == 1:
            return False
        self._text, self._at, self._known = "".join(parts), 0, (0, line, column)
        return True

    def _line_and_column(self) -> tuple[int, int]:
        position, line, column = self._known
        line, column = place_after(self._text[position : self._at], line, column)
        self._known = self._at, line, column
        return line, column

    def _place(self) -> str:
        line, column = self._line_and_column()
        return f"line {line}, column {column}"


def _end_of_element(text: str, start: int) -> int | None:
    """Where the next comma or bracket is that is neither in brackets nor in a string."""
    depth = 0
    for match in _MARKS.finditer(text, start):
        mark = match[0]
        if mark in "[{":
            depth += 1
        elif not depth and mark in ",]":
            return match.start()
        elif depth and mark in "]}":
            depth -= 1
    return None


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, line: int, *, final: bool = False) -> str:
    try:
        return decoder.decode(data, final)
    except UnicodeDecodeError as error:
        breaks = error.object[: error.start].count(b"\n")
        raise Refused(why_not_utf_8(error), place=f"line {line + breaks}") from error
