"""CoNLL 2002 and 2003 and their like (IOB, BIOES, BILOU), and what all formats of such blocks of lines have in common."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, dropwhile
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import Beginning, ReadingChoice
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element

from .dataset_format import DatasetFormat, DatasetSource, Export, FoundEntity, Pieces, element, found_item, tagged

_LOOKED_AT = 30_000
_LOSES = "relations, the spaces between tokens, external ids, extra fields"
is_tag = re.compile(r"O|[BIESLU]-.+", re.DOTALL).fullmatch


def _blocks_of(lines: Iterable[tuple[int, str]], most: int) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank ones, with the number of the first. Raises `Refused` for more than ``most`` characters."""
    block: list[str] = []
    first = size = 0
    for number, line in chain(lines, [(0, "")]):
        if line and not line.isspace():
            first, size = (first, size + len(line)) if block else (number, len(line))
            if size > most:
                raise Refused("This sentence is too long. Is a blank line missing behind it?", place=f"line {first}")
            block.append(line)
        elif block:
            yield first, block
            block = []


def first_blocks(start: Beginning) -> tuple[list[list[str]], str]:
    """The blocks of lines that a file begins with, and the words to be put before their number if there may be more."""
    lines, is_whole = start.text[:_LOOKED_AT].split("\n"), len(start.text) <= _LOOKED_AT
    blocks = _blocks_of(enumerate(lines if is_whole else lines[:-1]), _LOOKED_AT)
    return [block for _, block in blocks], "" if is_whole else "at least "


def sentences(source: DatasetSource, read: Callable[..., dict[str, Any] | None]) -> Iterator[Element]:
    """The items of blocks of lines. ``read`` gets the source, the number of the first line and the lines, and may find none."""
    number = 1
    for line, lines in _blocks_of(source.lines(), 10 * settings.MAX_ITEM_CHARACTERS):
        try:
            if (value := read(source, line, lines)) is None:
                continue
            yield element("sentence", number, value, name=f"sentence {number}, line {line}")
        except Refused as refused:
            yield Element("sentence", number, None, 1, refused)
        number += 1


def _fault(rows: list[list[str]]) -> int | None:
    """The first row, from 0, that has no tag or not as many columns as the others."""
    width = max(2, len(rows[0]))
    return next((at for at, row in enumerate(rows) if len(row) != width or not is_tag(row[-1])), None)


def _rows_of(lines: list[str]) -> list[list[str]]:
    """The columns of each token, without what stands before the first: comments, and the line that begins a document."""
    rows = [line.rstrip().split("\t") if "\t" in line else list(filter(None, line.split(" "))) for line in lines]

    def is_before(row: list[str]) -> bool:
        return row[0] == "-DOCSTART-" or (row[0].startswith("#") and _fault([rows[-1], row]) is not None)

    return list(dropwhile(is_before, rows))


def _tag_columns(rows: list[list[str]]) -> list[list[str]]:
    columns = ([row[at] for row in rows] for at in range(1, min(map(len, rows), default=0)))
    return [column for column in columns if all(map(is_tag, column))]


def spans_of(tags: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Labels with their first and last tokens. A tag that continues nothing begins an entity, whatever its prefix."""
    start, label, is_over = 0, "", False
    for index, tag in enumerate(chain(tags, ["O"])):
        if is_over or tag[0] not in "IEL" or tag[2:] != label:
            if label:
                yield label, start, index - 1
            start, label = index, tag[2:]
        is_over = tag[0] in "ELSU"


def _sentence(numbered: list[bool], source: DatasetSource, line: int, lines: list[str]) -> dict[str, Any] | None:
    """``numbered`` is filled by the first sentence with several tokens: whether the file numbers these in its first column."""
    if not (rows := _rows_of(lines)):
        return None
    if (fault := _fault(rows)) is not None:
        why = f"A token and a tag (O, or B- or I- and a label) were expected, in {max(2, len(rows[0]))} columns."
        raise Refused(why, place=f"line {line + len(lines) - len(rows) + fault}")
    is_numbered = len(rows[0]) > 2 and all(row[0] == str(number) for number, row in enumerate(rows, 1))
    if len(rows) > 1 and not numbered:
        numbered.append(is_numbered)
    tokens, layers = [row[(numbered or [is_numbered])[0]] for row in rows], _tag_columns(rows)
    spans = chain.from_iterable(map(spans_of, layers if source.chosen.get("layers") == "all" else layers[-1:]))
    entities = (FoundEntity(f"e{number}", *span) for number, span in enumerate(spans, 1))
    return found_item(source, " ".join(tokens), tokens, entities)


def _seen_in(start: Beginning) -> str | None:
    blocks, at_least = first_blocks(start)
    found = [rows for lines in blocks if (rows := _rows_of(lines))]
    right = [rows for rows in found if _fault(rows) is None]
    labels = [row[-1][2:] for rows in right for row in rows if row[-1] != "O"]
    # Lines of prose may end with “I-95”.
    is_likely = any(len(rows) > 1 for rows in right) and (len(found) > 1 or any(label[0].isalpha() for label in labels))
    if not is_likely or 2 * len(right) < len(found):
        return None
    count = words.plural(len(found), "sentence,sentences")
    return f"{len(right[0][0])} columns, {at_least}{count}{', tags ' if labels else ''}{tagged(labels)}"


def _settings(start: Beginning) -> list[ReadingChoice]:
    right = [rows for lines in first_blocks(start)[0] if (rows := _rows_of(lines)) and _fault(rows) is None]
    count = len(_tag_columns(list(chain.from_iterable(right))))
    choices = {"last": "The last column", "all": f"All {count} columns with tags"}
    return [ReadingChoice("layers", "Tags", choices, "last")] if count > 1 else []


def _write(export: Export, layers: int, why: str) -> Pieces:
    """An entity stands in the first layer that is free there. The first layer is the last column, where readers look for it."""
    for item in export.by_characters():
        columns, free = [["O"] * len(item.tokens) for _ in range(layers)], [0] * layers
        for entity in item.entities:
            layer = next((at for at in range(layers) if free[at] <= entity.start), None)
            if layer is None:
                export.lose("entities", why)
                continue
            free[layer] = entity.end + 1
            export.lose("entities", "suggested and written like the others", int(entity.is_suggested))
            inside = [f"I-{entity.label}"] * (entity.end - entity.start)
            columns[layer][entity.start : free[layer]] = [f"B-{entity.label}", *inside]
        export.lose("relations", "left out: there is no place for relations", len(item.relations))
        export.lose("items", "written without external id", bool(item.external_id))
        export.lose("items", "written without extra fields", bool(item.extra_fields))
        export.lose("items", "written without the spaces between their tokens", " ".join(item.tokens) != item.text)
        tokens = [re.sub(r"[\t\n\r]", " ", token) for token in item.tokens]
        export.lose("items", "written with spaces for TABs and line ends inside of tokens", int(tokens != item.tokens))
        rows = zip(tokens, *reversed(columns), strict=True)
        yield "dataset.conll", "".join("\t".join(row) + "\n" for row in rows) + "\n"


CONLL = DatasetFormat(
    "conll",
    "CoNLL",
    (".conll", ".iob", ".bio", ".bioes", ".iob2"),
    _seen_in,
    loses=f"nested entities, {_LOSES}, and which marks are suggested",
    read=lambda source: sentences(source, partial(_sentence, [])),
    write=partial(_write, layers=1, why="nested or overlapping and left out"),
    note="tokens with tags (IOB2)",
    settings=_settings,
)
CONLL_LAYERS = DatasetFormat(
    "conll-layers",
    "CoNLL with layers",
    (".conll",),
    lambda start: None,
    loses=f"{_LOSES}, which marks are suggested, and what is nested more than five deep",
    write=partial(_write, layers=5, why="nested more than five deep and left out"),
    note="tokens with a column of tags for each layer of nested entities",
)
