"""JSON that comes from outside, and JSON as it is written."""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from . import words
from .inputs import Refused, lines_of, place_after, place_in

MAX_DEPTH = 200
_INT_LIMIT = 2**63
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_BRACKETS_AND_COMMAS = re.compile(_BRACKETS.pattern + "|,", re.DOTALL)
_NO_SPACE = re.compile(r"[^ \t\n\r]")
# Escapes that may stand for what is not text; halves of a proper pair are among them.
_DOUBTFUL_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_ERROR_END = re.compile(r"(?: starting)?(?: at|: *)$")
# An error that comes from the end of the text is at most so far before it, as in “-Infinit”.
_CUT = 12

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
    check_depth(text, max_depth, line, column)
    decoder = decoder or Decoder()
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
            parse_constant=lambda written: self._refuse(written, f"{written} is not a JSON number."),
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
    return f"This is not JSON: {_ERROR_END.sub('', f'{error.msg[0].lower()}{error.msg[1:]}')}."


def check_depth(text: str, limit: int = MAX_DEPTH, line: int = 1, column: int = 1) -> None:
    """Raises `Refused` where JSON, which need not be complete, has more brackets inside each other."""
    if text.count("[") + text.count("{") <= limit:
        return
    depth = 0
    for match in _BRACKETS.finditer(text):
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


def _walk(value: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """A value and all inside it, each with its JSON path."""
    yield path, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _walk(child, f"{path}.{key}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _walk(child, f"{path}[{index}]")


class Piece(NamedTuple):
    """One JSON value of many, or why it is refused. ``word`` and ``number`` tell its place: “line 7”, “item 5”.

    A blank line has the length 0, and is not refused.
    """

    word: str
    number: int
    value: Any
    length: int
    refused: Refused | None = None

    @property
    def place(self) -> str:
        return f"{self.word} {self.number}"


def json_lines(texts: Iterable[str], limit: int) -> Iterator[Piece]:
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
        yield Piece("line", number, value, length, refused)


def _within(place: str, error: Refused) -> Refused:
    """The refusal of a value as one of the document."""
    problem = error.problems[0]
    return Refused(
        problem.text, place=problem.place if problem.place.startswith(place) else f"{place}, {problem.place}"
    )


class Elements:
    """The elements of a JSON list that comes in blocks, by the rules of `parse_json`; iterated once.

    After an element that is refused the next one follows. Raises `Refused`, naming line and column, where the list itself is
    wrong, and for an element that does not end within the limit.
    """

    def __init__(self, texts: Iterable[str], limit: int) -> None:
        self.limit = limit
        self._blocks = iter(texts)
        self._text = ""
        self._at = 0
        self._known = 0, 1, 1  # a position in the text before that one, its line and its column
        self._decoder = Decoder()

    def __iter__(self) -> Iterator[Piece]:
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

    def _element(self, number: int) -> Piece:
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
        return Piece("item", number, None if refused else value, len(begun), refused)

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
            if found := _NO_SPACE.search(self._text, self._at):
                self._at = found.start()
                return found[0]
            self._at = len(self._text)
            if not self._read_on():
                return ""

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
    for match in _BRACKETS_AND_COMMAS.finditer(text, start):
        mark = match[0]
        if mark in "[{":
            depth += 1
        elif not depth and mark in ",]":
            return match.start()
        elif depth and mark in "]}":
            depth -= 1
    return None
