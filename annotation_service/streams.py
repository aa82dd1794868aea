"""Text that comes piece by piece from a file: the rules of `annotation_service.inputs`, at any size with little memory."""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from . import words
from .inputs import Refused, check_depth, check_encoding, parse_json, place_after, place_in, why_not_utf_8

BLOCK_BYTES = 1 << 18
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _run(stops: str, *groups: str) -> str:
    """As far as none of the characters comes, other than inside a string or such a group."""
    return rf'[^"{stops}]*+(?:(?:{"|".join((_STRING, *groups))})[^"{stops}]*+)*+'


_BRACKETS = r"\[\]{}"
_GROUP = rf"[\[{{]{_run(_BRACKETS)}[\]}}]"
for _ in range(3):  # groups in groups are gone over at once: twice as fast as bracket by bracket
    _GROUP = rf"[\[{{]{_run(_BRACKETS, _GROUP)}[\]}}]"
_INSIDE = re.compile(_run(_BRACKETS, _GROUP), re.DOTALL)
_BETWEEN = re.compile(_run(_BRACKETS + ",", _GROUP), re.DOTALL)


class Line(NamedTuple):
    """``number`` counts from 1. A line longer than the limit has only its ``length``, and no text."""

    number: int
    text: str
    length: int


class Element(NamedTuple):
    """The text of an element of a JSON list, and where it begins in its file; all counted from 1."""

    number: int
    text: str
    line: int
    column: int


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
    """The elements of a JSON list, cut out of a text that comes in blocks; iterated once.

    Only brackets, quotation marks and commas are looked at: whether an element is JSON shows when it is parsed. Raises `Refused`,
    naming line and column, where the list itself is wrong, and for an element longer than the limit.
    """

    def __init__(self, texts: Iterable[str], limit: int) -> None:
        self.limit = limit
        self._texts = iter(texts)
        self._text = ""
        self._start = self._at = 0  # the beginning of the element, and how far it has been looked through
        self._line = self._column = 1  # of the beginning

    def __iter__(self) -> Iterator[Element]:
        if (char := self._next_char()) != "[":
            what = (
                "A list of items starts with “[”; an item a line is JSON Lines." if char else "There is nothing in it."
            )
            raise Refused(what, place=self._place() if char else "")
        self._at += 1
        number, end = 0, ","
        while end == ",":
            char = self._next_char()
            if char == "]" and not number:
                self._at += 1
                break
            number += 1
            end = self._find_end(number)
            yield Element(number, self._text[self._start : self._at], self._line, self._column)
            self._at += 1
        if self._next_char():
            raise Refused("The list ends before this; nothing may follow it.", place=self._place())

    def _next_char(self) -> str:
        """Go to the next character that is not white space: an element begins there. At the end of the file it is empty."""
        while True:
            self._at = _end_of(_SPACE, self._text, self._at)
            self._line, self._column = place_after(self._text[self._start : self._at], self._line, self._column)
            self._start = self._at
            if self._at < len(self._text) or not self._fill():
                return self._text[self._at : self._at + 1]

    def _find_end(self, number: int) -> str:
        """Go to the comma or bracket behind the element that begins here."""
        depth = 0
        while True:
            self._at = _end_of(_INSIDE if depth else _BETWEEN, self._text, self._at)
            match self._text[self._at : self._at + 1]:
                case "{" | "[":
                    depth += 1
                case "}" | "]" if depth:
                    depth -= 1
                case "," | "]" as end:
                    return end
                case '"' | "":  # the text ends here, perhaps inside a string
                    self._read_on(number)
                    continue
            self._at += 1

    def _read_on(self, number: int) -> None:
        """Have more text, if the element that has begun may and does go on."""
        too_long = len(self._text) - self._start > self.limit
        if not too_long and self._fill():
            return
        begun = self._text[self._start :]
        try:
            (check_depth if too_long else parse_json)(begun, line=self._line, column=self._column)
        except Refused as error:
            raise Refused(error.problems[0].text, place=f"item {number}, {error.problems[0].place}") from error
        if too_long:
            most = words.number(self.limit)
            what = f"An item has at most {most} characters; this one has more. Is a bracket or quotation mark missing?"
            raise Refused(what, place=f"item {number}, {self._place()}")
        raise Refused("The file ends before the list does.", place=self._place(len(begun)))

    def _fill(self) -> bool:
        """Add the next block to what is left of the text; whether there was one."""
        block = next(filter(None, self._texts), "")
        self._text = self._text[self._start :] + block
        self._at -= self._start
        self._start = 0
        return bool(block)

    def _place(self, offset: int = 0) -> str:
        return place_in(self._text[self._start :], offset, self._line, self._column)


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, line: int, *, final: bool = False) -> str:
    try:
        return decoder.decode(data, final)
    except UnicodeDecodeError as error:
        breaks = error.object[: error.start].count(b"\n")
        raise Refused(why_not_utf_8(error), place=f"line {line + breaks}") from error
