"""Tables with an item in each row: those of other programs, with a role for each column; and our own, in which every field of an
item has a column of its name, as JSON if it is a list or an object."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from django.conf import settings

from annotation_service import csv_tables, tables, words
from annotation_service.file_formats import Beginning, ReadingChoice
from annotation_service.inputs import Refused
from annotation_service.json_input import parse_json, to_compact_json
from annotation_service.json_input.lists import Element
from annotation_service.tables import TableBeginning, rows_of

from ..extra_fields import with_floats
from ..tokenising import TOKENISERS
from .dataset_format import DatasetFormat, DatasetSource, Export, Pieces, WrittenItem, refused_element

_JSON = ("tokens", "entities", "relations", "extra_fields")
ROLES = {
    "text": "the text",
    "id": "the external id",
    "label": "labels of the whole text, with “;” or “|” between them",
    "extra": "an extra field",
    "none": "nothing",
    **{field: f"the {field.replace('_', ' ')} (JSON)" for field in _JSON},
}
_USUAL = {
    "text": "text sentence content body document original comment description message",
    "id": "id external_id uuid key",
    "label": "label labels category class tag",
    **{field: field for field in _JSON},
}
_WRITTEN = {"external_id": "id", "text": "text", **{field: field for field in _JSON}}
_ROLE_OF = {heading: role for role, headings in _USUAL.items() for heading in headings.split()}


def _seen_in(format: str, start: Beginning) -> str | None:
    if format == "xlsx":
        return "" if re.search(rb"xl/(workbook|worksheets/[^/]{1,99})\.xml", start.data) else None
    text = start.text.strip("\n")
    dialect = tables.dialect_of(text)
    rows = tables.sample(text, dialect)
    filled = [row for row in rows if row]
    (columns, count), *_ = Counter(map(len, filled)).most_common(1) or [(0, 0)]
    table = TableBeginning(list(enumerate(filled)), {}, _role_of)
    if (format == "tsv") != (dialect.delimiter == "\t") or columns < 2 or 2 * count <= len(filled) or start.is_json:
        return None
    behind = [cell for row in filled for cell in row[1:]]
    is_table = (
        table.has_header
        and len(filled) == len(rows)  # of CoNLL some are blank
        and count >= 0.9 * len(rows)
        and not any(map(str.isdigit, "".join(table.headings)))  # as in brat's
        and sum(cell.startswith(" ") for cell in behind) * 2 < len(behind)  # as behind a comma in prose
        and any(" " in cell.strip() for cell in chain.from_iterable(filled[1:]))
    )
    if not (is_table or start.extension in (".csv", ".tsv", ".tab")):
        return None
    least = "at least " if len(rows) == tables.FIRST_ROWS or len(text) > tables.FIRST_CHARACTERS else ""
    names = f": {words.listed(table.headings)}" if table.has_header else ", without headings"
    return f"{dialect.in_words}{names}; {least}{words.plural(len(filled) - table.has_header, 'row,rows')}"


def _settings(format: str, start: Beginning) -> list[ReadingChoice]:
    table = tables.beginning_of(start, format, _role_of)
    choices = tables.choices_of(start, table, format)
    for at, (heading, role) in enumerate(zip(table.headings, _usual_roles(table), strict=True)):
        example = f"such as “{words.cut(table.values(at)[0], 60)}”" if table.values(at) else "empty in the first rows"
        choices.append(ReadingChoice(f"column{at + 1}", words.cut(heading, 60), ROLES, role, example))
    return choices


def _role_of(heading: str) -> str | None:
    return _ROLE_OF.get(re.sub(r"\W+", "_", heading.strip().casefold()))


def _usual_roles(table: TableBeginning) -> list[str]:
    """The role of each column by its heading, if its values are so; the text is else the one with the longest."""
    if table.headings == list(_WRITTEN):
        return list(_WRITTEN.values())
    roles: list[str] = []
    columns = [table.values(at) for at in range(len(table.headings))]
    for heading, values in zip(table.headings, columns, strict=True):
        role, kinds = _role_of(heading) or "extra", len({*values})
        # Labels are chosen by hand: with them a dataset needs an ontology, and most such columns only sort the texts.
        is_so = {"text": True, "id": kinds == len(values), "label": False}
        fits = is_so.get(role, {value[0] for value in values} in ({"["}, {"{"}))
        roles.append(role if fits and role not in roles else "extra")
    if "text" not in roles and roles:
        roles[max(range(len(roles)), key=lambda at: sum(map(len, columns[at])))] = "text"
    return roles


def _read(format: str, source: DatasetSource) -> Iterator[Element]:
    rows = rows_of(source, format)
    table = TableBeginning(list(tables.some_of(rows, tables.FIRST_ROWS)), source.chosen, _role_of)
    roles = [source.chosen.get(f"column{number}", role) for number, role in enumerate(_usual_roles(table), 1)]
    if not roles:
        return
    if roles.count("text") != 1:
        raise Refused("Choose one column that has the texts.")
    word, most = "row" if format == "xlsx" else "line", settings.MAX_ITEM_CHARACTERS
    overhead = sum(map(len, table.headings)) + 6 * len(roles)
    at = len(roles) if "tokens" in roles else roles.index("text")
    rows = chain(table.rows, rows)
    for batch in iter(lambda: list(tables.some_of(rows, 200)), []):  # tokenisers take many lines faster than one
        cut = _tokens(source, [row[at] if at < len(row) and len(row[at]) <= most else "" for _, row in batch])
        for (number, row), tokens in zip(batch, cut, strict=True):
            try:
                value = _value(table.headings, roles, row, tokens)
            except Refused as refused:
                yield refused_element(word, number, str(refused))
            else:  # nothing in it has more JSON than this, which is told in a tenth of the time
                length = 6 * (overhead + sum(map(len, row)))
                is_long = length > settings.MAX_ITEM_JSON_CHARACTERS
                yield Element(word, number, value, len(to_compact_json(value)) if is_long else length)


def _tokens(source: DatasetSource, texts: Sequence[str]) -> Iterator[list[str]]:
    lines = [text.split("\n") for text in texts]
    tokens = iter(TOKENISERS[source.tokeniser].cut(list(chain.from_iterable(lines))))
    return (list(chain.from_iterable(islice(tokens, len(each)))) for each in lines)


def _value(headings: Sequence[str], roles: Sequence[str], row: Sequence[str], tokens: Sequence[str]) -> dict[str, Any]:
    if len(row) != len(headings):
        raise Refused(f"{words.plural(len(headings), 'cell was,cells were')} expected, not {words.number(len(row))}.")
    value: dict[str, Any] = {"tokens": tokens}
    labels: list[str] = []
    extra_fields: dict[str, str] = {}
    for heading, role, cell in zip(headings, roles, row, strict=True):
        if role == "text":
            value["original"] = cell
            if not cell.strip() and "tokens" not in roles:
                raise Refused(f"The column “{words.cut(heading, 60)}” is empty.")
            if len(cell) > (most := settings.MAX_ITEM_CHARACTERS):
                many = words.number(len(cell))
                raise Refused(f"An item has at most {words.number(most)} characters; this one has {many}.")
        elif not cell.strip():
            continue
        elif role == "id":
            value["external_id"] = cell
        elif role == "label":
            labels += map(str.strip, re.split("[;|]", cell))
        elif role == "extra":
            extra_fields[heading] = cell
        elif role in _JSON:
            try:
                value[role] = parse_json(cell)
            except Refused as refused:
                raise Refused(f"The column “{words.cut(heading, 60)}”, {refused}") from refused
    if extra_fields and isinstance(given := value.setdefault("extra_fields", {}), dict):
        given |= extra_fields
    if "label" in roles and isinstance(marks := value.setdefault("entities", []), list):
        names = enumerate(filter(None, dict.fromkeys(labels)), 1)
        last = len(found) - 1 if isinstance(found := value["tokens"], list) else 0
        marks += [{"id": f"label{n}", "start": 0, "end": last, "label": name} for n, name in names]
        value.setdefault("relations", [])
    return value


def _write(name: str, export: Export) -> Pieces:
    rows = map(partial(_row, export), export)
    for line in csv_tables.written(list(_WRITTEN), rows, "\t" if name == "tsv" else ","):
        yield f"items.{name}", line


def _row(export: Export, item: WrittenItem) -> dict[str, str]:
    export.lose("items", "written with other line ends", "\r" in item.original)
    export.lose_suggestions(item)
    entities = [{"id": id, "start": start, "end": end, "label": label} for id, label, start, end, _ in item.entities]
    relations = [{"source_id": s, "target_id": t, "label": label} for label, s, t, _ in item.relations]
    as_json = [with_floats(to_compact_json(each)) for each in (item.tokens, entities, relations, item.extra_fields)]
    return dict(zip(_WRITTEN, (item.external_id, item.original, *as_json), strict=True))


def _format(name: str, label: str, *extensions: str, **written: Any) -> DatasetFormat:
    settings, read = partial(_settings, name), partial(_read, name)
    seen_in = partial(_seen_in, name)
    return DatasetFormat(
        name, label, extensions, seen_in, is_general=True, article="a ", settings=settings, read=read, **written
    )


_WRITTEN_SO = {"note": "a row for each item, with all that is known of it", "loses": "which marks are suggested"}
_CSV, _TSV = "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8"
CSV = _format("csv", "CSV table", ".csv", write=partial(_write, "csv"), content_type=_CSV, **_WRITTEN_SO)
TSV = _format("tsv", "TSV table", ".tsv", ".tab", write=partial(_write, "tsv"), content_type=_TSV, **_WRITTEN_SO)
XLSX = _format("xlsx", "workbook (XLSX)", ".xlsx", is_packed=True)
