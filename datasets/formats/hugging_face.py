"""Data sets for Hugging Face: tokens with tags, and a data set card."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from annotation_service import words
from annotation_service.inputs import Refused
from annotation_service.json_input import parse_json, to_json

from .conll import is_tag, spans_of
from .dataset_format import DatasetFormat, DatasetSource, Export, Pieces, found_item
from .json_fields import FoundMarks, JsonNode, read_objects, seen, without_overlaps

_CARD = Path(__file__).parent / "data_card.txt"
_SIZES = [(1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
_FIELDS = {"id", "text", "tokens", "ner_tags", "spans", "relations", "extra_fields"}


def _fits(value: dict[str, Any]) -> bool:
    return all(isinstance(value.get(name), list) for name in ("tokens", "ner_tags"))


def _item(source: DatasetSource, node: JsonNode) -> dict[str, Any]:
    tokens, marks = [each.text for each in node["tokens"].each()], FoundMarks()
    for index, each in enumerate(node["spans"].each()):
        marks.add(index, each["label"].text, each["start"].number, each["end"].number - 1)
    for index, tagged in enumerate([] if marks.entities else _tagged(node["ner_tags"], len(tokens))):
        marks.add(index, *tagged)
    for each in node["relations"].each():
        marks.relate(each["label"].text, each["head"].number, each["tail"].number)
    if isinstance(extra := node["extra_fields"].value, str):  # values of different types cannot be in one column
        with suppress(Refused):
            node = JsonNode(node.value | {"extra_fields": parse_json(extra or "{}")})
    return found_item(
        source,
        node["text"].id or " ".join(tokens),
        tokens,
        marks.entities,
        marks.relations,
        external_id=node["id"].id,
        extra_fields=node.others(_FIELDS),
    )


def _tagged(tags: JsonNode, count: int) -> Iterator[tuple[str, int, int]]:
    """The label, the first and the last token of what is tagged by IOB or BIOES, or by labels alone."""
    if any(type(each.value) is int for each in tags.each()):
        why = "these are numbers; write the names of the tags, which features[…].feature.names has in Python."
        raise Refused(why, place=tags.path)
    names = [each.text for each in tags.each()]
    if len(names) != count:
        why = f"{words.plural(count, 'tag')} were expected, one for each token; there are {words.number(len(names))}."
        raise Refused(why, place=tags.path)
    return spans_of(name if is_tag(name) else f"I-{name}" for name in names)


def _write(export: Export) -> Pieces:
    for item in export.by_characters():
        export.lose_suggestions(item)
        tags, outer = ["O"] * len(item.tokens), without_overlaps(item.entities)
        lost = len(item.entities) - len(outer)
        export.lose("entities", "in the column “spans” alone, not in “ner_tags”, for they overlap a longer one", lost)
        for label, start, end in ((entity.label, entity.start, entity.end) for entity in outer):
            tags[start : end + 1] = [f"B-{label}", *[f"I-{label}"] * (end - start)]
        spans = []
        for entity in item.entities:
            start, end = item.characters(entity)
            place = {"start": entity.start, "end": entity.end + 1, "start_char": start, "end_char": end}
            spans.append({"label": entity.label, **place})
        at = {entity.id: index for index, entity in enumerate(item.entities)}
        relations = [{"head": at[r.source], "tail": at[r.target], "label": r.label} for r in item.relations]
        value = {"id": item.external_id, "text": item.text, "tokens": item.tokens, "ner_tags": tags}
        extra = {"extra_fields": to_json(item.extra_fields) if item.extra_fields else ""}
        yield "data/train.jsonl", f"{to_json({**value, 'spans': spans, 'relations': relations, **extra})}\n"
    size = next((name for most, name in _SIZES if export.total["items"] < most), "1M<n<10M")
    title, losses = " ".join(export.title.split()), "\n".join(f"{loss}." for loss in export.losses())
    card = _CARD.read_text("utf-8")
    yield "README.md", card.format(title=title, title_json=to_json(title), size=size, losses=losses)
    for kind, labels in export.labels.items():
        yield "README.md", f"\n## {kind.capitalize()} labels\n\n"
        yield from (("README.md", f"- `{label.fullname}`\n") for label in labels)


HUGGING_FACE = DatasetFormat(
    "hf",
    "Hugging Face",
    (".jsonl", ".json"),
    lambda start: seen(start, _fits, {"tokens", "ner_tags"}, r'"[BISEU]-([^"\\]+)"'),
    loses="the levels of labels; which marks are suggestions; overlapping entities are in spans alone, not in ner_tags",
    read=lambda source: read_objects(source, _item),
    write=_write,
    is_archive=True,
    note="JSON Lines with tags, and a data set card",
)
