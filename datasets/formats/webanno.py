"""WebAnno TSV 3, which WebAnno and INCEpTION write: sentences of tokens, with a column for each feature of each layer of marks.

Of a layer with several features the label is that called “value” or “label”, else the first that has a value.
"""

import re
from collections.abc import Iterator
from itertools import product, zip_longest
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element

from ..kinds import DatasetKind
from ..tokenising import offsets_of
from .conll import sentences
from .dataset_format import DatasetFormat, DatasetSource, FoundEntity, FoundRelation, found_item, tagged

_FORMAT = "#FORMAT=WebAnno TSV 3"
_row = re.compile(r"([0-9]+-[0-9]+(\.[0-9]+)?)\t[0-9]+-[0-9]+\t([^\t]*)(?:\t.*)?").fullmatch
# The values of a cell, “*” for none, each with the number behind it that tells marks apart, if there is one.
_stack = re.compile(r"(?!_$)((?:\\.|[^|\\]|\\$)+?)(?:\[([0-9_]+)\])?(?:\||$)").findall
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "b": "\b"}


def _plain(text: str) -> str:
    return re.sub(r"\\(->|.)", lambda match: _ESCAPED.get(match[1], match[1]), text)


class _MarkLayer(NamedTuple):
    """``kind`` is SP for spans, RL for relations or CH for chains. The first of the columns tells marks apart, relations by their
    sources, which are of the layer ``base``; the others may have the label. The next layer begins at ``end``."""

    kind: str
    type: str
    base: str
    columns: list[int]
    end: int

    @classmethod
    def of(cls, line: str, first: int) -> "_MarkLayer":
        kind, _, declared = line.removeprefix("#T_").partition("=")
        type, *features = declared.split("|") if "|" in declared else (declared, "")
        # Others are slots, the types that they refer to, which have dots, and the sources of relations.
        names = {at: each.lower() for at, each in enumerate(features, first) if not re.match(r"ROLE_|BT_|.*\.", each)}
        labels, end = sorted(names, key=lambda at: names[at] not in ("value", "label")), first + len(features)
        place = labels[0] if labels and kind != "RL" else end - 1
        return cls(kind, type, features[-1].removeprefix("BT_"), [place, *labels], end)

    def marks(self, cells: list[str]) -> Iterator[tuple[str, str, str]]:
        """The labels of the marks on a row, the layer's name for none, with the value and the number that tell them apart."""
        stacks = [_stack(cells[at]) for at in self.columns]
        # Short stacks are filled up: with a long one beside thousands of these, that takes the square of the row's length.
        if max(map(len, stacks)) * len(stacks) > (most := settings.MAX_ITEM_MARKS):
            raise Refused(f"A layer has at most {words.number(most)} values on a token.", place=f"row {cells[0]}")
        for (place, number), *values in zip_longest(*stacks, fillvalue=("*", "")):
            value = next((value for value, _ in values if value != "*"), "")
            yield _plain(value) or self.type.rpartition(".")[2], place, number


def _read(source: DatasetSource) -> Iterator[Element]:
    layers: list[_MarkLayer] = []
    unfinished: set[str] = set()  # the entities at the end of the sentence before

    def sentence(source: DatasetSource, line: int, lines: list[str]) -> dict[str, Any] | None:
        nonlocal unfinished
        texts, tokens, rows = list[str](), list[str](), list[tuple[str, int, list[str]]]()
        for number, each in enumerate(lines, line):
            width = layers[-1].end if layers else 3
            if each.startswith("#T_") and not rows:
                layers.append(_MarkLayer.of(each, width))
            elif each.startswith("#Text="):
                texts.append(_plain(each.removeprefix("#Text=")))
            elif not each.startswith("#"):
                found, cells = _row(each), each.split("\t")
                if not found or len(cells) < width or (found[2] and not tokens):
                    why = f"Such as “1-2”, “0-4” and a token were expected here, in {width} columns with its marks."
                    raise Refused(why, place=f"line {number}")
                source.leave_out("borders of marks inside of tokens", 1 if found[2] else 0)
                tokens += [] if found[2] else [found[3]]
                rows.append((found[1], len(tokens) - 1, cells))
        # An entity is known by its layer and its number or, as most have none, its row; relations stand on their target.
        entities, relations = dict[str, FoundEntity](), list[FoundRelation]()
        for (row, token, cells), layer in product(rows, layers):
            for label, value, key in layer.marks(cells):
                if layer.kind == "RL":
                    of, _, to = (each if each != "0" else "" for each in key.partition("_"))
                    relations.append(FoundRelation(label, f"{layer.base} {of or value}", f"{layer.base} {to or row}"))
                elif layer.kind == "CH" or len(layer.columns) == 1:
                    source.leave_out("tokens in chains or with slots alone")
                else:
                    id = f"{layer.type} {key or row}"
                    entities[id] = entities.setdefault(id, FoundEntity(id, label, token, token))._replace(end=token)
        begun = {entity.id for entity in entities.values() if entity.start == 0}
        source.leave_out("marks between sentences", len(begun & unfinished))
        unfinished = {entity.id for entity in entities.values() if entity.end == len(tokens) - 1}
        text = "\n".join(texts)
        # Tokens that leave out a part of it could be found there.
        is_whole = "".join(text.split()) == "".join("".join(tokens).split()) and offsets_of(tokens, text)
        original = text if is_whole else " ".join(tokens)
        return found_item(source, original, tokens, entities.values(), relations) if tokens else None

    return sentences(source, sentence)


def _seen_in(start: Beginning) -> str | None:
    layers = re.findall(r"^#T_\w+=(?:[^|\n]*\.)?([^|\n]*)", start.text[:10_000], re.MULTILINE)
    return f"layers {tagged(layers)}" if start.text.startswith(_FORMAT) else None


WEBANNO = DatasetFormat(
    "webanno",
    "WebAnno TSV 3",
    (".tsv", ".webanno"),
    _seen_in,
    loses="chains, slots, features beside the label, marks between sentences, borders of marks inside of tokens",
    read=_read,
    kind_of=lambda start: DatasetKind.PREANNOTATED_RELATION if "\n#T_RL=" in start.text else None,
)
