"""JSON of Label Studio: tasks with annotations and predictions, or as JSON_MIN, whose regions are spans of characters.

Since 2021 Label Studio counts code points, before it counted UTF-16 units: a task is counted in the first of these in which most
of its regions have the text that they are said to have. A relation without a label becomes “related”.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from annotation_service.file_formats import Beginning, ReadingChoice
from annotation_service.json_input import json_array, to_json

from ..tokenising import Span
from .dataset_format import DatasetFormat, DatasetSource, Export, Pieces, WrittenItem, item_by_characters
from .json_fields import FoundMarks, JsonNode, has_objects, read_objects, seen

_OF_MINIMUM = {"annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
_IDS = {"id", "external_id"}
_REGIONS = {"choices": "choices", "textarea": "typed texts", "taxonomy": "choices from a taxonomy", "rating": "ratings"}
_REGIONS |= {"hypertextlabels": "regions of HTML pages", "paragraphlabels": "regions of dialogues"}


def _fits(task: dict[str, Any]) -> bool:
    if isinstance(task.get("data"), dict):
        has_work = any(isinstance(task.get(name), list) for name in ("annotations", "completions", "predictions"))
        return has_work or (task.keys() <= {"id", "data", "meta"} and bool(_texts(task["data"])))
    return any(map(_is_minimum, task.values()))


def _is_minimum(regions: Any) -> bool:
    """Whether a field of a task in JSON_MIN has regions in it."""
    return has_objects(regions, "start", "end", "labels")


def _settings(start: Beginning) -> list[ReadingChoice]:
    texts = {name: text for task in start.objects for name, text in _texts(_data(task)).items()}
    choices = {name: name for name in texts}
    return [ReadingChoice("text_field", "Text", choices, _text_field(texts))] if len(texts) > 1 else []


def _data(task: dict[str, Any]) -> dict[str, Any]:
    if isinstance(task.get("data"), dict):
        return task["data"]
    return {name: value for name, value in task.items() if name not in _OF_MINIMUM and not _is_minimum(value)}


def _texts(data: dict[str, Any]) -> dict[str, str]:
    return {name: text for name, text in data.items() if isinstance(text, str) and name not in _IDS}


def _text_field(texts: dict[str, str], regions: Sequence[JsonNode] = ()) -> str:
    """The one that regions are said to be in, else “text”, else the longest."""
    usual = (name for name in (*(each["to_name"].id for each in regions), "text") if name in texts)
    return next(usual, "") or max(texts, key=lambda name: len(texts[name]), default="text")


def _item(source: DatasetSource, task: JsonNode) -> dict[str, Any]:
    is_full, is_suggested = isinstance(task["data"].value, dict), False
    data = JsonNode(_data(task.value), "data" if is_full else "")
    if is_full:
        work = [each for name in ("annotations", "completions") for each in task[name].each()]
        made = [each for each in work if each["was_cancelled"].value is not True]
        guessed = [each for each in task["predictions"].each() if isinstance(each.value, dict)]
        source.leave_out("annotations of tasks that have several", len(made[1:]))
        source.leave_out("predictions of tasks that have annotations or others", len(guessed if made else guessed[1:]))
        regions = [region for each in (made or guessed)[:1] for region in each["result"].each()]
        is_suggested = bool(guessed) and not made
    else:
        regions = [each for name in task.value if _is_minimum(task.value[name]) for each in task[name].each()]
    text_field = source.chosen.get("text_field") or _text_field(_texts(data.value), regions)
    text = data[text_field].text
    if any(each["to_name"].id == text_field for each in regions):
        here = [each for each in regions if each["to_name"].id in ("", text_field)]
        source.leave_out("regions of other texts", len(regions) - len(here))
        regions = here
    marks = _marks(source, text, regions)
    external_id = data["external_id"].id or data["id"].id or task["id"].id
    extra = data.others({*_IDS, text_field})
    value = item_by_characters(
        source, text, marks.entities, marks.relations, external_id=external_id, extra_fields=extra
    )
    return value | ({"suggested": True} if is_suggested else {})


def _marks(source: DatasetSource, text: str, regions: Sequence[JsonNode]) -> FoundMarks:
    counts: list[Sequence[int]] = [range(len(text) + 1)]
    if max(text, default="") > "\uffff":
        counts.append([at for at, char in enumerate(text) for _ in range(1 + (char > "\uffff"))] + [len(text)])
    marks, labelled = FoundMarks(), list[tuple[JsonNode, JsonNode]]()
    for region in regions:
        kind = region["type"].id or "labels"
        if kind == "labels":
            labelled.append((region, region if region["value"].value is None else region["value"]))
        elif kind != "relation":
            source.leave_out(_REGIONS.get(kind, "regions of other types"))
    ways = [[_span(text, count, value) for _, value in labelled] for count in counts]
    spans = max(ways, key=lambda spans: sum(isinstance(span, tuple) for span in spans))
    for (region, value), span in zip(labelled, spans, strict=True):
        labels = [each.text for each in value["labels"].each()]
        source.leave_out("regions without a label", not labels)
        if isinstance(span, str):
            source.leave_out(span)
            continue
        for label in labels:
            marks.add(region["id"].id, label, *span)
    for region in regions:
        if region["type"].value == "relation":
            ends = region["from_id"].id, region["to_id"].id
            turns = {"left": [ends[::-1]], "bi": [ends, ends[::-1]]}.get(region["direction"].id, [ends])
            for label, turn in product([each.text for each in region["labels"].each()] or ["related"], turns):
                marks.relate(label, *turn)
    return marks


def _span(text: str, count: Sequence[int], value: JsonNode) -> Span | str:
    """The place of a region; why it has none, if it is not there or has another text than it is said to have."""
    start, end, said = value["start"].number, value["end"].number, value["text"].id
    if not 0 <= start <= end < len(count):
        return "entities outside of their text"
    span = count[start], count[end]
    longest = 2 * len(said) + 100  # to compare the whole text with a word takes long, if many regions ask for it
    is_there = not said or (end - start <= longest and _letters(text[slice(*span)]) == _letters(said))
    return span if is_there else "entities whose text is not at their place"


def _letters(text: str) -> str:
    """Without white space and escaped line ends, of which Label Studio had its own ways."""
    return re.sub(r"\s|\\n", "", text)


def _tasks(export: Export) -> Iterator[dict[str, Any]]:
    for item in export.by_characters():
        suggested = {entity.id: entity.is_suggested for entity in item.entities}
        mixed = [r for r in item.relations if len({suggested[r.source], suggested[r.target], r.is_suggested}) > 1]
        export.lose("relations", "left out: of the relation and its ends, some are suggestions", len(mixed))
        data = {"text": item.text, "external_id": item.external_id, "extra_fields": item.extra_fields}
        task: dict[str, Any] = {"data": data, "annotations": []}
        for name, is_suggested in ("annotations", False), ("predictions", True):
            if regions := list(_regions(item, is_suggested)):
                task[name] = [{"result": regions}]
        yield task


def _regions(item: WrittenItem, is_suggested: bool) -> Iterator[dict[str, Any]]:
    entities = {entity.id: entity for entity in item.entities if entity.is_suggested == is_suggested}
    for entity in entities.values():
        start, end = item.characters(entity)
        value = {"start": start, "end": end, "text": item.covered(entity), "labels": [entity.label]}
        yield {"id": entity.id, "from_name": "label", "to_name": "text", "type": "labels", "value": value}
    for each in item.relations:
        if each.is_suggested == is_suggested and {each.source, each.target} <= entities.keys():
            ends = {"from_id": each.source, "to_id": each.target, "direction": "right"}
            yield {"type": "relation", **ends, "labels": [each.label]}


def _write(export: Export) -> Pieces:
    return (("dataset.json", piece) for piece in json_array(map(to_json, _tasks(export))))


LABEL_STUDIO = DatasetFormat(
    "labelstudio",
    "Label Studio JSON",
    (".json",),
    lambda start: seen(start, _fits, {"data", "annotations"}, r'"labels"\s*:\s*\[\s*"([^"\\]+)"'),
    loses="tokens and the levels of labels; suggestions for texts that somebody has annotated do not come back",
    settings=_settings,
    read=lambda source: read_objects(source, _item),
    write=_write,
    content_type="application/json",
    note="tasks with annotations, or with predictions where marks are suggestions",
)
