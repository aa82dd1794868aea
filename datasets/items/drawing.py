"""A text with its marks drawn on it, ready for ``datasets/_marked.html``: boxes inside each other, with names below the words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from annotation_service.json_input import to_json
from ontologies.labels import Label


class Box(NamedTuple):
    """A mark, or the part of one that fits into the box around it."""

    label: Label
    goes_on: bool
    comes_from: bool


class Piece(NamedTuple):
    """A stretch of text, with the boxes that open before it and those that close behind it, innermost first."""

    opens: list[Box]
    text: str
    closes: list[Box]


class Arc(NamedTuple):
    label: Label
    source: str
    source_label: Label
    target: str
    target_label: Label


@dataclass(slots=True)
class Drawing:
    pieces: list[Piece] = field(default_factory=list)
    arcs: list[Arc] = field(default_factory=list)
    tokens_left_out: int = 0
    marks_left_out: int = 0
    sheet: str = ""
    """If there are arcs: what a script needs to draw them over the text, as JSON."""


def draw(item: Mapping[str, Any], *, labels: Mapping[int, Label], most: int = 20_000) -> Drawing:
    """An item has ``original``, ``tokens`` and ``offsets``, ``entities`` with ``uid``, ``label``, ``start`` and ``end`` (tokens,
    inclusive), and ``relations`` with ``uid``, ``label``, ``source`` and ``target`` (uids of entities). Labels are found by their
    primary keys; a mark whose label is gone is left out. Only the first ``most`` tokens are drawn.

    Without offsets the tokens stand in the place of the text, with spaces between them.
    """
    original, tokens, offsets = item["original"], item["tokens"], item["offsets"]
    entities = [entity for entity in item["entities"] if entity["label"] in labels]
    shown = [(entity["start"], entity["end"], labels[entity["label"]]) for entity in entities if entity["start"] < most]
    drawing = Drawing(tokens_left_out=max(0, len(tokens) - most), marks_left_out=len(entities) - len(shown))
    words, gaps = _words_and_gaps(original, tokens[:most], offsets)
    drawing.pieces = _pieces(words, gaps, shown)
    if not drawing.tokens_left_out and offsets:
        drawing.pieces.append(Piece([], original[offsets[-1][1] :], []))
    ends = {entity["uid"]: (span_text(item, entity), labels[entity["label"]]) for entity in entities}
    relations = [r for r in item["relations"] if r["label"] in labels and r["source"] in ends and r["target"] in ends]
    drawing.arcs = [Arc(labels[r["label"]], *ends[r["source"]], *ends[r["target"]]) for r in relations]
    if relations and not drawing.tokens_left_out:
        used = {mark["label"]: labels[mark["label"]] for mark in (*entities, *relations)}
        sheet = {
            "item": {"original": original, "tokens": tokens, "offsets": offsets},
            "entities": entities,
            "relations": relations,
            "labels": [[pk, {"name": o.name, "color": o.color, "active": o.active}] for pk, o in used.items()],
        }
        drawing.sheet = to_json(sheet)
    return drawing


def _words_and_gaps(
    original: str, tokens: Sequence[str], offsets: Sequence[Sequence[int]] | None
) -> tuple[list[str], list[str]]:
    """The tokens as they stand in the text, and what stands before each."""
    if offsets is None:
        return list(tokens), ["", *[" "] * (len(tokens) - 1)]
    places = offsets[: len(tokens)]
    words = [original[start:end] for start, end in places]
    ends = [0, *(end for _, end in places)]
    return words, [original[before:start] for before, (start, _) in zip(ends, places, strict=False)]


def _pieces(words: list[str], gaps: list[str], marks: list[tuple[int, int, Label]]) -> list[Piece]:
    """A mark that crosses the end of the box it begins in is cut there, and goes on behind it."""
    waiting = [(start, -end, number, False) for number, (start, end, _) in enumerate(marks)]
    heapify(waiting)
    pieces: list[Piece] = []
    open_boxes: list[tuple[int, Box]] = []
    for index, (word, gap) in enumerate(zip(words, gaps, strict=True)):
        if gap:
            pieces.append(Piece([], gap, []))
        opens: list[Box] = []
        while waiting and waiting[0][0] == index:
            _, minus_end, number, comes_from = heappop(waiting)
            end = min(-minus_end, open_boxes[-1][0] if open_boxes else -minus_end)
            if end < -minus_end:
                heappush(waiting, (end + 1, minus_end, number, True))
            opens.append(Box(marks[number][2], end < -minus_end, comes_from))
            open_boxes.append((end, opens[-1]))
        closes: list[Box] = []
        while open_boxes and (open_boxes[-1][0] == index or index == len(words) - 1):
            closes.append(open_boxes.pop()[1])
        pieces.append(Piece(opens, word, closes))
    return pieces


def span_text(item: Mapping[str, Any], entity: Mapping[str, Any]) -> str:
    """The words of an entity."""
    start, end, offsets = entity["start"], entity["end"], item["offsets"]
    if offsets:
        return item["original"][offsets[start][0] : offsets[end][1]]
    return " ".join(item["tokens"][start : end + 1])
