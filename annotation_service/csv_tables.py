"""Tables as text (CSV): the first line names the columns, which are separated by commas, semicolons or tabs.

A spreadsheet takes a text that begins with one of some signs for a formula, which may send away what stands in other cells. All
tables are written with an apostrophe before such a text, which is taken off where they are read. It also stands before one that
begins with apostrophes and then such a sign, so that every text comes back as it was.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from . import words
from .inputs import Refused, lines_of
from .json_input.lists import Element
from .schemas import quoted

DELIMITERS = ",;\t"
_begins_formula = re.compile(r"'*[=+\-@\t\r]").match
_REASONS = {
    "unexpected end": "A quotation mark opens here that is never closed.",
    "field limit": "A quotation mark opens here that is closed much later, or never.",
    "expected after": "After a closing quotation mark the next column was expected. One inside a value is written twice.",
}


def headings(line: str, known: Callable[[str], object]) -> list[str]:
    """The columns that a line names, separated by what gives most of those that are known."""
    return max(
        (_names(line, each) for each in DELIMITERS), key=lambda names: (sum(map(bool, map(known, names))), len(names))
    )


def records(texts: Iterable[str], fields: Sequence[str], limit: int) -> Iterator[Element]:
    """The rows of a text that comes in blocks, as objects of texts by field; a row has the number of the line in which it begins,
    and a blank one is left out.

    Raises `Refused` if the first line does not name the fields, in any order, and nothing else; and for a line over the limit.
    """
    lines = _lines(texts, limit)
    before, head = next(((number, line) for number, line in enumerate(lines) if line.strip()), (0, ""))
    delimiter = max(DELIMITERS, key=lambda each: len(set(fields).intersection(_names(head, each))))
    names = _names(head, delimiter)
    _check_names(names, fields, f"line {before + 1}")
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number, row, refused = before + rows.line_num + 2, list[str](), None
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            refused = next(
                (text for known, text in _REASONS.items() if known in str(error)), f"This is not CSV: {error}."
            )
        if row and len(row) != len(names):
            refused = f"{words.plural(len(names), 'value was,values were')} expected, not {words.number(len(row))}."
        if refused or any(value.strip() for value in row):
            value = None if refused else dict(zip(names, map(_undefused, row), strict=True))
            yield Element("line", number, value, 0, Refused(refused, place=f"line {number}") if refused else None)


def written(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A table, a line at a time."""
    lines = SimpleNamespace(write=str)  # to write a line returns it
    table = csv.DictWriter(lines, fields, lineterminator="\r\n")  # also quotes texts with either
    yield table.writeheader()
    for row in rows:
        yield table.writerow({name: _defused(value) for name, value in row.items()})


def _defused(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and _begins_formula(value) else value


def _undefused(text: str) -> str:
    return text[1:] if text.startswith("'") and _begins_formula(text) else text


def _lines(texts: Iterable[str], limit: int) -> Iterator[str]:
    for number, text, length in lines_of(texts, limit):
        if length > limit:
            raise Refused(f"A line has at most {words.number(limit)} characters.", place=f"line {number}")
        yield f"{text}\n"


def _names(head: str, delimiter: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([head], delimiter=delimiter))]


def _check_names(names: Sequence[str], fields: Sequence[str], place: str) -> None:
    if not set(names).intersection(fields):
        raise Refused(f"The first line of a table names its columns: {', '.join(fields)}.", place=place)
    if missing := [field for field in fields if field not in names]:
        raise Refused(f"The column {quoted(missing)} is missing.", place=place)
    if unknown := [name for name in names if name not in fields]:
        raise Refused(f"The column {quoted(unknown)} is not known here; known are {', '.join(fields)}.", place=place)
    if len(names) > len(fields):
        raise Refused("A column is named twice.", place=place)
