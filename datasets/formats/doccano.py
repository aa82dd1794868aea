"""JSON Lines of doccano: spans of characters as lists or, with relations, as objects."""

from itertools import count
from typing import Any

from annotation_service.json_input import to_json

from .dataset_format import DatasetFormat, DatasetSource, Export, Pieces, item_by_characters
from .json_fields import LABELS, FoundMarks, JsonNode, has_objects, read_objects, seen

_SPANS = ("entities", "label", "labels")
_FIELDS = {"text", "data", *_SPANS, "relations", "id", "external_id"}


def _fits(value: dict[str, Any]) -> bool:
    """An export of doccano has comments also where nothing is marked."""
    marks = next((value[name] for name in _SPANS if isinstance(value.get(name), list)), None)
    is_list = bool(marks) and all(
        isinstance(each, list) and [*map(type, each)] == [int, int, str] for each in marks or ()
    )
    is_empty = marks == [] and isinstance(value.get("Comments"), list)
    is_marked = is_list or is_empty or has_objects(marks, "start_offset", "end_offset")
    return is_marked and isinstance(value.get("text", value.get("data")), str)


def _item(source: DatasetSource, node: JsonNode) -> dict[str, Any]:
    text, marks = node["data" if node["text"].value is None else "text"].text, FoundMarks()
    for mark in (each for name in _SPANS for each in node[name].each()):
        if isinstance(mark.value, list):
            marks.add("", mark[2].text, mark[0].number, mark[1].number)
        elif isinstance(mark.value, str):
            source.leave_out("labels of whole texts")
        else:
            marks.add(mark["id"].id, mark["label"].text, mark["start_offset"].number, mark["end_offset"].number)
    for each in node["relations"].each():
        marks.relate(each["type"].text, each["from_id"].id, each["to_id"].id)
    external_id = node["external_id"].id or node["id"].id
    extra = node.others(_FIELDS if node["Comments"].value else {*_FIELDS, "Comments"})
    return item_by_characters(
        source, text, marks.entities, marks.relations, external_id=external_id, extra_fields=extra
    )


def _write(export: Export) -> Pieces:
    """doccano numbers texts itself, so that an external id has a field of its own; spans have numbers that no other text uses."""
    numbers = count()
    for item in export.by_characters():
        export.lose_suggestions(item)
        ids = {entity.id: next(numbers) for entity in item.entities}
        value: dict[str, Any] = {"external_id": item.external_id, "text": item.text, "entities": [], "relations": []}
        for entity in item.entities:
            start, end = item.characters(entity)
            place = {"start_offset": start, "end_offset": end}
            value["entities"].append({"id": ids[entity.id], "label": entity.label, **place})
        for index, each in enumerate(item.relations):
            ends = {"from_id": ids[each.source], "to_id": ids[each.target]}
            value["relations"].append({"id": index, **ends, "type": each.label})
        yield "dataset.jsonl", f"{to_json({**value, 'Comments': [], 'extra_fields': item.extra_fields})}\n"


DOCCANO = DatasetFormat(
    "doccano",
    "doccano JSONL",
    (".jsonl", ".json"),
    lambda start: seen(start, _fits, {"start_offset", "end_offset"}, LABELS),
    loses="tokens and the levels of labels; which marks are suggestions",
    read=lambda source: read_objects(source, _item),
    write=_write,
    content_type="application/jsonl",
    note="spans of characters and relations",
)
