"""A text with its marks drawn on it, ready for ``datasets/_marked.html``: boxes inside each other, with names below the words."""

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from annotation_service.json_input import to_json
from ontologies.labels import Label

from .cleaned import CleanedText


class Box(NamedTuple):
    """A mark, or the part of one that fits into the box around it."""

    label: Label
    goes_on: bool
    comes_from: bool
    is_broken: bool


class Piece(NamedTuple):
    """A stretch of text, with the boxes that open before it and those that close behind it, innermost first."""

    opens: list[Box]
    text: str
    closes: list[Box]


def draw(
    item: Mapping[str, Any], *, labels: Mapping[int, Label], most: int = 20_000, broken: Collection[str] = ()
) -> dict[str, Any]:
    """An item has ``original``, ``tokens`` and ``offsets``, ``entities`` with ``uid``, ``label``, ``start`` and ``end`` (tokens,
    inclusive), and ``relations`` with ``uid``, ``label``, ``source`` and ``target`` (uids of entities). Labels are found by their
    primary keys; a mark whose label is gone is left out. Only the first ``most`` tokens are drawn. Those with uids in ``broken``
    are outlined.

    If there are relations, ``sheet`` is the JSON that a script draws their arcs from.
    """
    text = CleanedText.of(item["original"], item["tokens"], item["offsets"])
    entities = [entity for entity in item["entities"] if entity["label"] in labels]
    shown = [
        (entity["start"], entity["end"], labels[entity["label"]], entity["uid"] in broken)
        for entity in entities
        if entity["start"] < most
    ]
    ends = {e["uid"]: (text.between(e["start"], e["end"]), labels[e["label"]]) for e in entities}
    relations = [r for r in item["relations"] if r["label"] in labels and r["source"] in ends and r["target"] in ends]
    used = {mark["label"]: labels[mark["label"]] for mark in (*entities, *relations)}
    named = [[pk, {"name": o.name, "color": o.color, "active": o.active}] for pk, o in used.items()]
    sheet = {"item": text._asdict(), "entities": entities, "relations": relations, "labels": named, "broken": [*broken]}
    left_out = max(0, len(text.tokens) - most)
    return {
        "pieces": _pieces(text.tokens[:most], text.gaps[:most], shown),
        "arcs": [(*ends[r["source"]], labels[r["label"]], *ends[r["target"]]) for r in relations],
        "tokens_left_out": left_out,
        "marks_left_out": len(entities) - len(shown),
        "is_original": str(text) == item["original"],
        "sheet": to_json(sheet) if relations and not left_out else "",
    }


def _pieces(words: Sequence[str], gaps: Sequence[str], marks: list[tuple[int, int, Label, bool]]) -> list[Piece]:
    """A mark that crosses the end of the box it begins in is cut there, and goes on behind it."""
    waiting = [(start, -end, number, False) for number, (start, end, *_) in enumerate(marks)]
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
            opens.append(Box(marks[number][2], end < -minus_end, comes_from, marks[number][3]))
            open_boxes.append((end, opens[-1]))
        closes: list[Box] = []
        while open_boxes and (open_boxes[-1][0] == index or index == len(words) - 1):
            closes.append(open_boxes.pop()[1])
        pieces.append(Piece(opens, word, closes))
    return pieces
