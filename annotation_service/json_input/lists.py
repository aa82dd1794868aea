"""Lists of JSON values, one a line or in a JSON list, read piece by piece: whatever their size, little of them is in memory."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .. import words
from ..inputs import Refused, lines_of, place_after, place_in
from . import MAX_VALUES, Decoder, NotJson, check_extent, count_values, not_json, parse_json

_BRACKETS_AND_COMMAS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)
_NO_SPACE = re.compile(r"[^ \t\n\r]")
# An error that comes from the end of the text is at most so far before it, as in “-Infinit”.
_CUT = 12


class Element(NamedTuple):
    """One JSON value of many, or why it is refused. ``word`` and ``number`` tell its place, “line 7” or “item 5”, unless it has
    a ``name``.

    A blank line has the length 0, and is not refused.
    """

    word: str
    number: int
    value: Any
    length: int
    refused: Refused | None = None
    name: str = ""

    @property
    def place(self) -> str:
        return self.name or f"{self.word} {self.number}"


def json_lines(texts: Iterable[str], limit: int) -> Iterator[Element]:
    """The values of a text that comes in blocks, one a line. Those of lines over the limit are not read."""
    decoder = Decoder()
    for number, text, length in lines_of(texts, limit):
        value = refused = None
        if text and not text.isspace():
            try:
                value = parse_json(text, line=number, decoder=decoder)
            except Refused as error:
                refused = _within(f"line {number}", error)
        elif length <= limit:
            length = 0
        yield Element("line", number, value, length, refused)


def _within(place: str, error: Refused) -> Refused:
    """The refusal of a value as one of the document."""
    problem = error.problems[0]
    return Refused(
        problem.text, place=problem.place if problem.place.startswith(place) else f"{place}, {problem.place}"
    )


class Stream:
    """A text that comes in blocks, of which no more is in memory than what is looked at, up to a limit."""

    def __init__(self, texts: Iterable[str], limit: int) -> None:
        self.limit = limit
        self._blocks = iter(texts)
        self._text = ""
        self._at = 0
        self._known = 0, 1, 1  # a position in the text before this one, its line and its column
        self._decoder = Decoder()

    def _read_on(self) -> bool:
        """Have four times the text that follows here, which may be no longer than the limit; whether there was more."""
        begun = self._text[self._at :]
        parts, missing = [begun], min(3 * len(begun), self.limit - len(begun)) + 1
        while missing > 0 and (block := next(self._blocks, "")):
            parts.append(block)
            missing -= len(block)
        if len(parts) == 1:
            return False
        self._known = 0, *self._line_and_column()
        self._text, self._at = "".join(parts), 0
        return True

    def _line_and_column(self) -> tuple[int, int]:
        position, line, column = self._known
        line, column = place_after(self._text[position : self._at], line, column)
        self._known = self._at, line, column
        return line, column


class Elements(Stream):
    """The elements of a JSON list that comes in blocks, by the rules of `parse_json`; iterated once.

    After an element that is refused the next one follows. Raises `Refused`, naming line and column, where the list itself is
    wrong, and for an element that does not end within the limit.
    """

    _is_dense = False  # whether a value in the text may have too much in it

    def __iter__(self) -> Iterator[Element]:
        if (char := self._next_char()) != "[":
            place = self._place()
            raise Refused(self._instead_of_list(char), place=place if char else "")
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

    def _instead_of_list(self, char: str) -> str:
        """What stands here, where a list should begin."""
        if not char:
            return "There is nothing in it: the text is empty."
        what = "A list was expected, which starts with “[”"
        if char != "{":
            return f"{what}; this is no JSON list but, as it looks, a table (CSV) or plain text."
        _, self._at, failure = self._decode(1)
        if failure or self._next_char() != "{":
            return f"{what}; this is an object. If it is an item, put “[” before it and “]” behind it."
        return (
            f"{what}; these are objects one after the other. Put “[” before the first item, a comma between two items and"
            " “]” behind the last one. A file with an item a line, without commas, is JSON Lines."
        )

    def _element(self, number: int) -> Element:
        """The element that begins here. Go to the comma or bracket behind it."""
        value, end, failure = self._decode(number)
        begun, refused = self._text[self._at : end], None
        line, column = self._line_and_column()
        try:
            check_extent(begun)
            if failure:
                raise NotJson(len(begun), failure)
            self._decoder.check(value, begun)
        except NotJson as error:
            place = place_in(begun, error.position, line, column)
            refused = Refused(error.reason, place=f"item {number}, {place}")
        except Refused as error:
            refused = _within(f"item {number}", error)
        if not failure:
            self._at = end
        if (char := self._next_char()) not in {",", "]"}:
            if not (char or refused):
                raise Refused("The file ends before the list does.", place=self._place())
            refused = refused or Refused("This is not JSON: extra data.", place=f"item {number}, {self._place()}")
            while (behind := _end_of_element(self._text, self._at)) is None:
                if not self._read_on():
                    raise refused
            self._at = behind
        return Element("item", number, None if refused else value, len(begun), refused)

    def _decode(self, number: int) -> tuple[Any, int, str]:
        """The value that begins here, where it ends, and nothing; or None, where it breaks off, and why."""
        while True:
            text, value, failure = self._text, None, ""
            if self._is_dense:
                self._check_many(number)
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

    def _check_many(self, number: int) -> None:
        """Raises `Refused` if there is too much in the value that begins here: it would take all memory before that is known."""
        depth = count = 0
        for match in _BRACKETS_AND_COMMAS.finditer(self._text, self._at):
            mark = match[0]
            if mark[0] == '"':
                continue
            count += 1
            depth += (mark in "[{") - (mark in "]}")
            if count > MAX_VALUES:
                most = words.number(MAX_VALUES)
                why = f"At most {most} values, lists and objects are allowed in an item; this one has more."
                raise Refused(why, place=f"item {number}, {self._place()}")
            if depth <= 0:
                return

    def _next_char(self) -> str:
        """Go to the next character that is not white space; at the end of the file it is empty."""
        while True:
            if found := _NO_SPACE.search(self._text, self._at):
                self._at = found.start()
                return found[0]
            self._at = len(self._text)
            if not self._read_on():
                return ""

    def _read_on(self) -> bool:
        if not super()._read_on():
            return False
        self._is_dense = count_values(self._text) > MAX_VALUES
        return True

    def _place(self) -> str:
        line, column = self._line_and_column()
        return f"line {line}, column {column}"


def _end_of_element(text: str, start: int) -> int | None:
    """Where the next comma or bracket is that is neither in brackets nor in a string."""
    depth = 0
    for match in _BRACKETS_AND_COMMAS.finditer(text, start):
        mark = match[0]
        if mark in "[{":
            depth += 1
        elif not depth and mark in ",]":
            return match.start()
        elif depth and mark in "]}":
            depth -= 1
    return None
