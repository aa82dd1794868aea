"""Texts for spaCy: what `Doc.to_json` gives, JSON Lines of Prodigy, and the training data of spaCy 2.

JSON Lines are written, and a script that makes a DocBin of them: spaCy alone can write one, and is large.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input import to_json

from ..tokenising import Span
from .dataset_format import DatasetFormat, DatasetSource, Export, Pieces, WrittenEntity, WrittenItem, item_by_characters
from .json_fields import (
    LABELS,
    FoundMarks,
    JsonNode,
    has_objects,
    read_objects,
    seen,
    without_overlaps,
)

_SCRIPT = Path(__file__).parent / "to_docbin.txt"
_TRAINING = re.compile(r'\s*\[\s*\[\s*"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*,\s*\{\s*"entities"\s*:', re.DOTALL)


def _seen_in(start: Beginning) -> str | None:
    is_training = bool(_TRAINING.match(start.text))
    return seen(start, _fits, set() if is_training else {"text", "ents", "tokens", "start", "end"}, LABELS)


def _fits(value: dict[str, Any]) -> bool:
    has_places = any(has_objects(value.get(name), "start", "end") for name in ("ents", "spans", "tokens"))
    return has_places and "ner_tags" not in value and isinstance(value.get("text"), str)


def _item(source: DatasetSource, node: JsonNode) -> dict[str, Any] | None:
    marks = FoundMarks()
    if isinstance(node.value, list):
        source.leave_out("labels of whole texts", bool(node[1]["cats"].value))
        for each in node[1]["entities"].each():
            marks.add("", each[2].text, each[0].number, each[1].number)
        return item_by_characters(source, node[0].text, marks.entities)
    if node["answer"].value in ("reject", "ignore"):
        source.leave_out("texts that were rejected or ignored")
        return None
    source.leave_out("labels of whole texts", bool(node["cats"].value))
    for key in dict.fromkeys(map(_key, _spans(node))):
        source.leave_out("spans without a label", not key[2])
        if key[2]:
            marks.add(key, key[2], key[0], key[1])
    for each in node["relations"].each():
        marks.relate(each["label"].text, _key(each["head_span"]), _key(each["child_span"]))
    return item_by_characters(
        source,
        node["text"].text,
        marks.entities,
        marks.relations,
        tokens=list(_tokens(node["text"].text, node["tokens"].each())),
        external_id=node["id"].id,
        extra_fields=node["meta"].value if isinstance(node["meta"].value, dict) else {},
    )


def _key(span: JsonNode) -> tuple[int, int, str]:
    return span["start"].number, span["end"].number, span["label"].id


def _spans(node: JsonNode) -> list[JsonNode]:
    """Those of `doc.ents` and of all groups in `doc.spans`, some of them more than once."""
    groups = node["spans"]
    spans = [groups[name] for name in groups.value] if isinstance(groups.value, dict) else [groups]
    return [each for found in (node["ents"], *spans) for each in found.each()]


def _tokens(text: str, tokens: list[JsonNode]) -> Iterator[Span]:
    """Without those that are white space."""
    before = 0
    for token in tokens:
        start, end = token["start"].number, token["end"].number
        if not before <= start <= end <= len(text):
            raise Refused("it begins before the last one ends, or is outside of the text.", place=token.path)
        before = end
        if text[start:end].strip():
            yield start, end


def _write(export: Export) -> Pieces:
    yield "to_docbin.py", _SCRIPT.read_text("utf-8")
    for item in export.by_characters():
        export.lose_suggestions(item)
        overlapping = len(item.entities) - len(without_overlaps(item.entities))
        export.lose("entities", "in doc.spans alone, not in doc.ents, for they overlap a longer one", overlapping)
        spans = {entity.id: _span(item, entity) for entity in item.entities}
        relations = []
        for each in item.relations:
            head, child = spans[each.source], spans[each.target]
            ends = {"head": head["token_end"], "child": child["token_end"], "head_span": head, "child_span": child}
            relations.append({"label": each.label, **ends})
        tokens = [{"id": at, "text": item.text[s:e], "start": s, "end": e} for at, (s, e) in enumerate(item.spans)]
        value = {"id": item.external_id, "text": item.text, "tokens": tokens, "spans": [*spans.values()]}
        yield "dataset.jsonl", f"{to_json({**value, 'relations': relations, 'meta': item.extra_fields})}\n"


def _span(item: WrittenItem, entity: WrittenEntity) -> dict[str, Any]:
    start, end = item.characters(entity)
    tokens = {"token_start": entity.start, "token_end": entity.end}
    return {"start": start, "end": end, **tokens, "label": entity.label}


SPACY = DatasetFormat(
    "spacy",
    "spaCy",
    (".jsonl", ".json"),
    _seen_in,
    loses="the levels of labels; which marks are suggestions; overlapping entities are in doc.spans alone",
    read=lambda source: read_objects(source, _item),
    write=_write,
    is_archive=True,
    note="JSON Lines, and a script that makes a DocBin of them",
)
