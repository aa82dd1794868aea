"""The formats of files in which people have ontologies: how such a file is recognised, read, and written."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from itertools import zip_longest
from typing import Any, ClassVar

from annotation_service import csv_tables, file_formats, words
from annotation_service.file_formats import Beginning, FileFormat, FileSource, ReadingChoice, recognise
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element
from annotation_service.tables import rows_of

from .documents import NewLabel, indented_text, read_ontology, write_time
from .pasted_lists import (
    MOST_HEADINGS,
    ROLES,
    Known,
    TableRow,
    headings_of,
    read_pasted,
    read_rows,
    read_table,
    role_of,
    usual_columns,
    written_terms,
)
from .vocabularies import language_choices, read_vocabulary, seen_in_owl, seen_in_skos, skos_turtle


@dataclass(frozen=True)
class OntologyFormat(FileFormat):
    """``read`` returns the labels of a file, in tree order, for an entity or a relation ontology; ``write`` is the text of a
    download."""

    noun: ClassVar[str] = "an ontology"

    read: Callable[[FileSource, str], list[NewLabel]] = field(kw_only=True)
    write: Callable[[Any], str] | None = field(default=None, kw_only=True)
    content_type: str = field(default="text/plain; charset=utf-8", kw_only=True)


def format_of(start: Beginning) -> tuple[OntologyFormat, str]:
    """The format of a file, and what it is in a sentence. Raises `Refused` with that for one that no ontology can be made of."""
    if not start.data.strip():
        raise Refused("There is nothing in it: the file is empty.")
    recognised = recognise(start, OntologyFormat)
    if isinstance(recognised.format, OntologyFormat):
        return recognised.format, str(recognised)
    text = str(recognised)
    if recognised.format:
        text += f" It makes {recognised.format.noun}: upload it under Datasets › New dataset."
    raise Refused(text)


def left_out(source: FileSource) -> str:
    """What was not read, as a sentence behind a space; nothing if that is all."""
    parts = [f"{what} ({words.number(number)})" for what, number in source.left_out.items()]
    return f" Left out: {words.listed(parts, 40)}." if parts else ""


# --- Tables ------------------------------------------------------------------------------------------------------------


def _seen_in_text(start: Beginning, tab: str) -> str | None:
    """The columns of a table, as it looks or as the name of its file says, if tabs are or are not between them."""
    first = start.text.strip().partition("\n")[0][:MOST_HEADINGS]
    headings = headings_of(start.text) or (csv_tables.headings(first, role_of) if start.extension == ".csv" else [])
    is_table = len(headings) > 1 or any(map(role_of, headings))
    return f"the columns {words.listed(headings, 10)}" if is_table and tab == "\t" * ("\t" in first) else None


def _seen_in_workbook(start: Beginning) -> str | None:
    return "" if start.data.startswith(b"PK") and b"xl/" in start.data else None


def _column_choices(start: Beginning, format: str) -> list[ReadingChoice]:
    """None for a workbook that does not begin and end here."""
    try:
        _, columns, headings = _opened(FileSource(BytesIO(start.data), start.name, start.encoding), "entity", format)
    except Refused:
        return []
    choices = {"": "none"} | {each: each for each in headings if each}
    offered = [(name, role.title) for name, role in ROLES.items() if role.is_offered]
    return [ReadingChoice(f"column_{name}", title, choices, columns[name]) for name, title in offered]


def _opened(source: FileSource, kind: str, format: str) -> tuple[Iterator[Element], dict[str, str], list[str]]:
    """The rows of a table as objects of texts by heading, the headings of the roles, and all headings."""
    rows = rows_of(source, format)
    line, cells = next(rows, (1, []))
    headings = list(map(str.strip, cells))
    if not headings or any(number > 1 for each, number in Counter(headings).items() if each):
        raise Refused("A column is named twice." if headings else "The table is empty.", place=f"line {line}")
    columns = {role: source.chosen.get(f"column_{role}", each) for role, each in usual_columns(headings).items()}
    columns |= {} if kind == "entity" else {"example_terms": ""}
    return (_record(*row, headings) for row in rows), columns, headings


def _record(line: int, cells: list[str], headings: list[str]) -> Element:
    value, more = dict(zip_longest(headings, cells[: len(headings)], fillvalue="")), cells[len(headings) :]
    why = Refused("There are more values than columns.", place=f"line {line}") if any(map(str.strip, more)) else None
    return Element("line", line, None if why else value, 0, why)


def _read_table(source: FileSource, kind: str, format: str) -> list[NewLabel]:
    records, columns, _ = _opened(source, kind, format)
    return read_table(records, columns, {})


_BLANK: dict[str, Any] = {"description": "", "example_terms": []}


def read_update(source: FileSource, kind: str, format: FileFormat, places: Known) -> list[TableRow]:
    """The rows of a table that is to change labels: what is blank in a column will be blank."""
    if format.name not in ("csv", "tsv", "xlsx"):
        raise Refused(f"This is {format.label}. A table is needed here, such as a download as CSV.")
    records, columns, _ = _opened(source, kind, format.name)
    blank = {role: value for role, value in _BLANK.items() if columns[role]}
    return [replace(row, details=blank | row.details) for row in read_rows(records, columns, places)]


def _csv(ontology: Any) -> str:
    """An apostrophe keeps spreadsheets from taking an id for a number."""
    fields = ["id", "path", "description", "example_terms", "color", "active", "created_at", "updated_at"]
    path: list[str] = []
    rows: list[dict[str, Any]] = []
    for item in ontology.items():
        path[item.level - 1 :] = [item.name]
        uid = f"'{item.uid}" if re.fullmatch(r"\d+(e\d+)?", item.uid) else item.uid
        texts = [uid, "/".join(path), item.description, written_terms(item.example_terms), item.color]
        times = map(write_time, (item.created_at, item.updated_at))
        rows.append(dict(zip(fields, [*texts, "yes" if item.active else "no", *times], strict=True)))
    return "".join(csv_tables.written(fields, rows))


# --- All of them -------------------------------------------------------------------------------------------------------


def _seen_in_json(start: Beginning) -> str | None:
    return words.plural(start.text.count('"name"'), "name,names") if start.is_json else None


def _seen_in_lines(start: Beginning) -> str | None:
    text = start.text.strip()
    is_other = text[:1] in ("", *"[{<") or "\0" in text
    return None if is_other else words.plural(text.count("\n") + 1, "line,lines")


def _table(name: str, label: str, seen_in: Callable[[Beginning], str | None], **options: Any) -> OntologyFormat:
    settings, read = partial(_column_choices, format=name), partial(_read_table, format=name)
    return OntologyFormat(
        name, label, (f".{name}",), seen_in, is_general=True, article="a ", settings=settings, read=read, **options
    )


ONTOLOGY_FORMATS = [
    OntologyFormat(
        *("skos", "SKOS", (".ttl", ".rdf"), seen_in_skos),
        loses="colours, ids, times and what is switched off",
        settings=language_choices,
        read=partial(read_vocabulary, what="concepts"),
        write=skos_turtle,
        content_type="text/turtle; charset=utf-8",
    ),
    OntologyFormat(
        *("owl", "OWL", (".owl", ".ttl", ".rdf"), seen_in_owl),
        loses="all but the names, places and comments of classes or properties",
        settings=language_choices,
        read=lambda source, kind: read_vocabulary(source, kind, "classes" if kind == "entity" else "object properties"),
    ),
    _table("xlsx", "workbook (XLSX)", _seen_in_workbook),
    _table("tsv", "table (TSV)", partial(_seen_in_text, tab="\t")),
    _table("csv", "table (CSV)", partial(_seen_in_text, tab=""), write=_csv, content_type="text/csv; charset=utf-8"),
    OntologyFormat(
        *("json", "JSON", (".json",), _seen_in_json),
        is_general=True,
        read=lambda source, kind: read_ontology("".join(source.blocks()) if source.encoding else source.file, kind),
        write=lambda ontology: ontology.as_json(),
        content_type="application/json",
    ),
    OntologyFormat(
        *("text", "list of names", (".txt",), _seen_in_lines),
        article="a ",
        is_general=True,
        loses="all but names and their places",
        read=lambda source, kind: read_pasted("".join(source.blocks()), kind),
        write=lambda ontology: indented_text(ontology.items()),
    ),
]
file_formats.FORMATS += ONTOLOGY_FORMATS
DOWNLOADS = [format for format in ONTOLOGY_FORMATS if format.write]
