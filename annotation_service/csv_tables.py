"""Tables as text (CSV): the first line names the columns, which are separated by commas, semicolons or tabs.

A spreadsheet takes a text that begins with one of some signs for a formula, which may send away what stands in other cells. All
tables are written with an apostrophe before such a text, which is taken off where they are read. It also stands before one that
begins with apostrophes and then such a sign, so that every text comes back as it was.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

from django.conf import settings

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
    lines = lines_within(texts, limit)
    before, head = next(((number, line) for number, line in enumerate(lines) if line.strip()), (0, ""))
    delimiter = max(DELIMITERS, key=lambda each: len(set(fields).intersection(_names(head, each))))
    names = _names(head, delimiter)
    _check_names(names, fields, f"line {before + 1}")
    for number, row, refused in read_rows(lines, delimiter, limit):
        if row and len(row) != len(names):
            refused = f"{words.plural(len(names), 'value was,values were')} expected, not {words.number(len(row))}."
        if refused or any(value.strip() for value in row):
            value = None if refused else dict(zip(names, map(undefused, row), strict=True))
            number += before + 1
            yield Element("line", number, value, 0, Refused(refused, place=f"line {number}") if refused else None)


def read_rows(
    lines: Iterable[str], delimiter: str, limit: int, quote: str | None = '"'
) -> Iterator[tuple[int, list[str], str]]:
    """All rows, blank ones too: the number of the first line, the cells, and why it is refused. Raises `Refused` for one over
    the limit."""
    csv.field_size_limit(settings.MAX_ITEM_JSON_CHARACTERS)  # of the process
    size = 0

    def counted() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            if size > limit + 1:
                raise Refused(f"A row has at most {words.number(limit)} characters.", place=f"line {number}")
            yield line

    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    table = csv.reader(counted(), delimiter=delimiter, quotechar=quote, quoting=quoting, strict=True)
    while True:
        number, row, why, size = table.line_num + 1, list[str](), "", 0
        try:
            row = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            why = next((text for known, text in _REASONS.items() if known in str(error)), f"This is not CSV: {error}.")
        yield number, row, why


def written(
    fields: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str = ",", *, for_spreadsheets: bool = True
) -> Iterator[str]:
    """A table, a line at a time; other programs than spreadsheets take no text for a formula."""
    lines = SimpleNamespace(write=str)  # to write a line returns it
    table = csv.DictWriter(lines, fields, delimiter=delimiter, lineterminator="\r\n")  # also quotes texts with either
    yield table.writeheader()
    for row in rows:
        yield table.writerow({name: _defused(value) for name, value in row.items()} if for_spreadsheets else row)


def _defused(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and _begins_formula(value) else value


def undefused(text: str) -> str:
    return text[1:] if text.startswith("'") and _begins_formula(text) else text


def lines_within(texts: Iterable[str], limit: int) -> Iterator[str]:
    """The lines of a text that comes in blocks. Raises `Refused` for one over the limit."""
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
