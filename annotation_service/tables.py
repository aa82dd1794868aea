"""Tables that people have: text (CSV, TSV) in whatever dialect, and workbooks (XLSX). For our own see `csv_tables`."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import IO, Any, NamedTuple

from django.conf import settings

from . import csv_tables, words
from .apart import Unreadable, read_apart
from .file_formats import Beginning, FileSource, ReadingChoice
from .inputs import Refused

MOST_COLUMNS = 1000
FIRST_ROWS, FIRST_CHARACTERS = 100, 30_000

Row = tuple[int, list[str]]
"""Its number in its sheet, or that of its first line; and its cells."""


class Dialect(NamedTuple):
    """``quote`` is None where quotation marks are a part of the texts."""

    delimiter: str
    in_words: str
    quote: str | None = '"'


# In this order where several would do: a comma stands in many texts.
_DIALECTS = [
    *(Dialect("\t", "tabs"), Dialect(";", "semicolons"), Dialect("|", "vertical bars"), Dialect(",", "commas")),
    Dialect("\t", "tabs, without quotation marks", None),
]


def dialect_of(text: str, delimiters: str = "\t;|,") -> Dialect:
    """That in which most rows of a text have the same number of cells, and more than one: “5 columns separated by tabs”."""
    best, most = Dialect("\t", "1 column"), 0.0
    for dialect in (each for each in _DIALECTS if each.delimiter in delimiters):
        counts = Counter(len(row) for row in sample(text, dialect) if row)
        columns, count = counts.most_common(1)[0] if counts else (0, 0)
        if columns > 1 and (share := count / counts.total()) > most:
            best, most = dialect._replace(in_words=f"{columns} columns separated by {dialect.in_words}"), share
    return best


def sample(text: str, dialect: Dialect) -> list[list[str]]:
    """The first rows, without one that is cut at the end. A blank one is empty; one that is wrong has one cell."""
    lines = csv_tables.lines_within([text[:FIRST_CHARACTERS]], FIRST_CHARACTERS)
    rows = csv_tables.read_rows(lines, dialect.delimiter, FIRST_CHARACTERS, dialect.quote)
    found = [[""] if why else row for _, row, why in islice(rows, FIRST_ROWS)]
    return found[:-1] if len(text) > FIRST_CHARACTERS and len(found) > 1 else found


def rows_of(source: FileSource, format: str) -> Iterator[Row]:
    """The rows of a “csv”, “tsv” or “xlsx” that are not blank; of a workbook those of the chosen ``sheet``, else of the first.
    Raises `Refused`, naming the row, for what cannot be read."""
    word, rows = "line", _text_rows(source.blocks(), "\t" if format == "tsv" else "\t;|,")
    if format == "xlsx":
        batches = _of_workbook(source.file, "rows", source.chosen.get("sheet", ""))
        word, rows = "row", enumerate(chain.from_iterable(batches), 1)
    for number, row in rows:
        if len(row) > MOST_COLUMNS:
            raise Refused(f"A table has at most {words.number(MOST_COLUMNS)} columns.", place=f"{word} {number}")
        if any(map(str.strip, row)):
            yield number, row


def _text_rows(texts: Iterator[str], delimiters: str) -> Iterator[Row]:
    start = next(texts, "")
    dialect, limit = dialect_of(start, delimiters), 2 * settings.MAX_ITEM_JSON_CHARACTERS  # quotation marks are doubled
    lines = csv_tables.lines_within(chain([start], texts), limit)
    for number, row, why in csv_tables.read_rows(lines, dialect.delimiter, limit, dialect.quote):
        if why:
            raise Refused(why, place=f"line {number}")
        yield number, list(map(csv_tables.undefused, row))


def _of_workbook(file: IO[bytes], function: str, *arguments: str) -> Iterator[Any]:
    """What a function of `sheets` yields of a file, which need not be on disk."""
    with NamedTemporaryFile(suffix=".xlsx") as copy:
        file.seek(0)
        copyfileobj(file, copy)
        copy.flush()
        try:
            yield from read_apart(f"annotation_service.sheets:{function}", Path(copy.name), *arguments)
        except Unreadable as error:
            raise Refused(str(error)) from error


def some_of(rows: Iterator[Row], most: int) -> Iterator[Row]:
    """The next rows, fewer if they are long."""
    size = 0
    for row in islice(rows, most):
        yield row
        size += sum(map(len, row[1]))
        if size > 1_000_000:
            return


class TableBeginning:
    """What the first rows of a table tell: its headings, each once, and the rows below them. Whether there is a header is
    ``chosen``, or told by headings that are ``known`` and by the look of the first row."""

    def __init__(self, first: list[Row], chosen: Mapping[str, str], known: Callable[[str], object]) -> None:
        names = [cell.strip() for cell in first[0][1]] if first else []
        is_headed = any(map(known, names)) or _are_headings(names, [row for _, row in first[1:]])
        self.has_header = chosen.get("header", "yes" if is_headed else "no") == "yes"
        self.rows = first[self.has_header :]
        headings: dict[str, int] = {}
        for number, name in enumerate(names, 1):
            heading = (self.has_header and name) or f"Column {number}"
            while heading in headings:
                heading = f"{heading} ({number})"
            headings[heading] = number
        self.headings = list(headings)

    def values(self, column: int) -> list[str]:
        return [row[column] for _, row in self.rows if column < len(row) and row[column].strip()]


def _are_headings(names: list[str], below: list[list[str]]) -> bool:
    """Whether the cells of a row are short names, each once, that are no values of other rows."""
    filled = list(filter(None, names))
    return (
        bool(below)
        and 2 * len(filled) >= len(names)
        and len({*filled}) == len(filled)
        and all(len(name) <= 40 and len(name.split()) <= 5 and any(map(str.isalpha, name)) for name in filled)
        and not any(name and name == cell.strip() for row in below for name, cell in zip(names, row, strict=False))
    )


def beginning_of(start: Beginning, format: str, known: Callable[[str], object]) -> TableBeginning:
    """As far as it can be read."""
    first: list[Row] = []
    with _opened(start, format) as file, suppress(Refused):
        first.extend(some_of(rows_of(FileSource(file), format), FIRST_ROWS))
    return TableBeginning(first, {}, known)


def choices_of(start: Beginning, table: TableBeginning, format: str) -> list[ReadingChoice]:
    """What can be chosen of any table: its sheet, if there are several, and whether it has a header."""
    names: list[str] = []
    with _opened(start, format) as file, suppress(Refused):
        names.extend(_of_workbook(file, "names") if format == "xlsx" else ())
    sheet = [ReadingChoice("sheet", "Sheet", {name: name for name in names}, names[0])] if len(names) > 1 else []
    first_row = {"yes": "names the columns", "no": "has values, as all others"}
    return [*sheet, ReadingChoice("header", "First row", first_row, "yes" if table.has_header else "no")]


def _opened(start: Beginning, format: str) -> IO[bytes]:
    if format != "xlsx":
        return BytesIO("\n".join(start.lines).encode("utf-8", "replace"))
    return start.opened()
