"""A tree in JSON, object by object: a list of objects which have lists of objects below them."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .. import words
from ..inputs import Refused, place_after, place_in
from . import NotJson, check_extent
from .lists import Stream

# Possessive, so that nothing is tried twice: 20 MB take 0.3 s at most.
_TO_BRACE = re.compile(r'[^"{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}]*+)*+[{}]', re.DOTALL)

_LIST = re.compile(r"\s*\[(.*)", re.DOTALL)


class Node(NamedTuple):
    """An object of the tree, in whose ``value`` the objects below it are empty. ``number`` counts from 0 in the order of the
    document; ``above`` is the number of the object whose list it is in, and -1 at the top, as is the number of the whole list."""

    number: int
    above: int
    level: int
    value: Any


class _Open:
    """An object, or the whole list, whose end has not been read: its text so far, with “{}” for each object inside it."""

    __slots__ = ("last", "level", "number", "parts", "places", "size")

    def __init__(self, number: int, level: int) -> None:
        self.number, self.level = number, level  # the level of what is in no list of the tree is -1
        self.parts: list[str] = []
        self.places: list[tuple[int, int]] = []  # the lines and columns of the document where the parts begin
        self.size = 0
        self.last: int | None = None  # the index of the last object in the list that is open

    def add(self, part: str, place: tuple[int, int]) -> None:
        self.size += len(part)
        self.parts.append(part)
        self.places.append(place)

    def refused(self, error: NotJson) -> Refused:
        """The refusal of a mistake in its text, with the line and the column of the document."""
        position, last = error.position, len(self.parts) - 1
        for index, (part, place) in enumerate(zip(self.parts, self.places, strict=True)):
            if position < len(part) or index == last:
                return Refused(error.reason, place=place_in(part, position, *place))
            position -= len(part)
        return Refused(error.reason)


class JsonTree(Stream):
    """The objects of a tree, each after those in its list ``key``, and in the end the whole list; iterated once.

    By the rules of `parse_json`. Raises `Refused`, naming line and column or the JSON path, for what is wrong, for more than
    ``most`` objects and for an object that has more than ``limit`` characters without those below it.
    """

    def __init__(self, texts: Iterable[str], key: str, *, limit: int, most: int, what: str) -> None:
        super().__init__(texts, limit)
        self.most, self.what = most, what
        self._list = re.compile(rf'.*"{key}"\s*:\s*\[(.*)', re.DOTALL)
        self._begun = 0
        # Of each object in the tree: the number of the one above, and the place in its list.
        self._above: list[int] = []
        self._index: list[int] = []

    def place(self, number: int, path: str = "") -> str:
        """Where an object is that has begun, or a JSON path in it: “item 2.1, $.name” is in the first object below the second.
        The whole list is “$”."""
        if number < 0:
            return f"${path}"
        steps: list[str] = []
        while number >= 0:
            steps.append(str(self._index[number] + 1))
            number = self._above[number]
        return f"item {'.'.join(reversed(steps))}" + (f", ${path}" if path else "")

    def __iter__(self) -> Iterator[Node]:
        opened = [_Open(-1, 0)]
        while end := self._end_of_part():
            part, place = self._text[self._at : end - 1], self._line_and_column()
            brace, self._at = self._text[end - 1], end
            top = opened[-1]
            if brace == "{":
                new = self._begin(top, part)
                behind = place_after(part, *place)
                top.add("," if part.strip() == "," else part, place)
                top.add("{}", behind)
                new.add("{", behind)
                opened.append(new)
            else:
                top.add(f"{part}}}", place)
                value = self._decode(opened)  # a brace too many at the end is refused
                opened.pop()
                if top.level > 0:
                    yield Node(top.number, self._above[top.number], top.level, value)
            if top.size > self.limit:
                raise self._too_long(top)
        rest = self._text[self._at :]
        if not (rest.strip() or self._begun):
            raise Refused("There is nothing in it: the text is empty.")
        opened[-1].add(rest, self._line_and_column())
        yield Node(-1, -1, 0, self._decode(opened))

    def _end_of_part(self) -> int:
        """The end of the part that begins here and goes to the next brace; 0 if none follows."""
        while not (found := _TO_BRACE.match(self._text, self._at)):
            if len(self._text) - self._at > self.limit:
                rest = _Open(-1, 0)
                rest.add(self._text[self._at :], self._line_and_column())
                raise self._too_long(rest)
            if not self._read_on():
                return 0
        return found.end()

    def _begin(self, top: _Open, part: str) -> _Open:
        """The object that begins behind a part of another one, or of the whole list."""
        self._begun += 1
        if self._begun > self.most:
            raise Refused(f"{self.what} has at most {words.number(self.most)} items; this has more.", place="$")
        top.last = self._index_behind(top, part)
        if top.last is None:
            return _Open(top.number, -1)
        self._above.append(top.number)
        self._index.append(top.last)
        return _Open(len(self._above) - 1, top.level + 1)

    def _index_behind(self, top: _Open, part: str) -> int | None:
        """The place of the object behind a part in the list of the tree; None if it is in no such list."""
        if top.last is not None:
            before, last = f"0{part}", top.last
        elif top.level >= 0 and (found := (self._list if top.level else _LIST).match(part)):
            before, last = found[1], 0
        else:
            return None
        if (stripped := before.strip()) in {"", "0,"}:  # nothing else is in a tree that is right
            return last + len(stripped) // 2
        try:
            return last + len(json.loads(f"[{before}0]")) - 1
        except (ValueError, RecursionError):
            return None

    def _decode(self, opened: list[_Open]) -> Any:
        """The value of the last one. Raises `Refused` with the first mistake in all that are open: a missing quotation mark turns
        texts into what is between them."""
        top = opened[-1]
        try:
            return self._decoder.read("".join(top.parts))
        except Refused as error:
            problem = error.problems[0]
            raise Refused(problem.text, place=self.place(top.number, problem.place[1:])) from error
        except NotJson as last:
            for each in opened[:-1]:
                text = "".join(each.parts).rstrip()
                try:
                    self._decoder.read(text)
                except NotJson as error:
                    if error.position < len(text):
                        raise each.refused(error) from error
            raise top.refused(last) from last

    def _too_long(self, item: _Open) -> Refused:
        try:
            check_extent("".join(item.parts))
        except NotJson as error:
            return item.refused(error)
        most = words.number(self.limit)
        why = f"An item has at most {most} characters without those below it; this one has more."
        why += " Is a bracket or quotation mark missing?"
        return item.refused(NotJson(0, why))
