"""The documents of a dataset, as it can be uploaded, written piece by piece: memory stays flat at any size. Those with
marks have the given ones or, of the layer of gold, what was decided.

A new format is a function that writes a dataset in pieces, and its entry in `DOWNLOAD_FORMATS`.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.utils.text import slugify

from annotation_service.db import snapshot
from annotation_service.inputs import split_lines
from annotation_service.json_input import json_array, to_json
from ontologies.labels import Label

from .cleaned import CleanedText
from .extra_fields import with_floats
from .kinds import DatasetKind
from .models import Dataset, Entity, Layer, Relation
from .models.item import ItemQuerySet
from .models.marks import NOBODYS
from .portions import by_texts


def json_document(dataset: Dataset, items: ItemQuerySet | None = None, layer: Layer = Layer.GIVEN) -> Iterator[str]:
    """A JSON array, one item a line, of the given or all items of the dataset, with their marks."""
    return json_array(",\n".join(objects) for objects in _objects(dataset, items, layer))


def json_lines_document(
    dataset: Dataset, items: ItemQuerySet | None = None, layer: Layer = Layer.GIVEN
) -> Iterator[str]:
    """The same items, each a line and nothing else."""
    for objects in _objects(dataset, items, layer):
        yield "".join(f"{item}\n" for item in objects)


def text_document(dataset: Dataset, items: ItemQuerySet | None = None) -> Iterator[str]:
    """The originals, one a line."""
    chosen = dataset.items() if items is None else items
    return _lines((original for (original,) in batch) for batch in by_texts(chosen, "original"))


def cleaned_document(dataset: Dataset, items: ItemQuerySet | None = None) -> Iterator[str]:
    """What annotators read, one item a line: a line end inside a token becomes a space."""
    chosen = dataset.items() if items is None else items
    return _lines(
        (" ".join(split_lines(str(CleanedText.unfolded(tokens, folded, len(folded))))) for folded, tokens in batch)
        for batch in by_texts(chosen, "search_text", "tokens")
    )


def _lines(batches: Iterable[Iterable[str]]) -> Iterator[str]:
    """If the first begins with a byte order mark, another one goes before it: readers drop one."""
    mark = "\ufeff"
    for batch in batches:
        text = "".join(f"{line}\n" for line in batch)
        yield mark + text if text.startswith(mark) else text
        mark = ""


@dataclass(frozen=True, slots=True)
class DownloadFormat:
    name: str
    """As in the address."""
    label: str
    note: str
    extension: str
    content_type: str
    document: Callable[..., Iterator[str]]
    kinds: Collection[str] = tuple(DatasetKind)
    has_marks: bool = False
    """Whether there is a place for marks in it; its document is then told of which layer."""

    def file_name(self, dataset: Dataset, part: str = "") -> str:
        return f"{slugify(dataset.name, allow_unicode=True)[:80] or 'dataset'}{part}.{self.extension}"

    def write(self, dataset: Dataset, items: ItemQuerySet, target: IO[bytes], layer: Layer = Layer.GIVEN) -> None:
        """Read everything at one moment: items, their marks and the names of the labels belong together."""
        with snapshot():
            now = Dataset.objects.filter(pk=dataset.pk).first() or dataset
            for piece in self.document(now, items, *([layer] if self.has_marks else [])):
                target.write(piece.encode())


JSON = DownloadFormat("json", "JSON", "one array", "json", "application/json", json_document, has_marks=True)
JSON_LINES = DownloadFormat(
    "json-lines",
    "JSON Lines",
    "one item a line",
    "jsonl",
    "application/jsonl",
    json_lines_document,
    has_marks=True,
)
# Standard datasets only: the items of the others may have line ends in them.
TEXT = DownloadFormat(
    "text",
    "Text",
    "the originals, one a line",
    "txt",
    "text/plain; charset=utf-8",
    text_document,
    {DatasetKind.STANDARD},
)
CLEANED = DownloadFormat(
    "cleaned",
    "Cleaned text",
    "as annotators read it, one item a line",
    "cleaned.txt",
    "text/plain; charset=utf-8",
    cleaned_document,
)
DOWNLOAD_FORMATS = (JSON, JSON_LINES, TEXT, CLEANED)


def _objects(dataset: Dataset, items: ItemQuerySet | None, layer: Layer) -> Iterator[list[str]]:
    """Write items as JSON, a list for each batch. Fields that are JSON in the database are not parsed."""
    kind, which = dataset.kind_with(layer), NOBODYS[layer]
    names = {label.pk: _label(label) for each in dataset.ontologies_of(layer) for label in each.labels()}
    texts = (Cast("tokens", TextField()), Cast("extra_fields", TextField()))
    for batch in by_texts(dataset.items() if items is None else items, "pk", "original", "external_id", *texts):
        keys = [row[0] for row in batch]
        entities = _entities(keys, which, names, with_ids=kind.has_relations) if kind.has_entities else {}
        relations = _relations(keys, which, names) if kind.has_relations else {}
        objects = []
        for pk, original, external_id, tokens, extra_fields in batch:
            parts = [f'"original": {to_json(original)}, "tokens": {tokens}']
            if external_id:
                parts.append(f'"external_id": {to_json(external_id)}')
            if extra_fields != "{}":
                parts.append(f'"extra_fields": {with_floats(extra_fields)}')
            if kind.has_entities:
                parts.append(f'"entities": [{", ".join(entities[pk])}]')
            if kind.has_relations:
                parts.append(f'"relations": [{", ".join(relations[pk])}]')
            objects.append(f"{{{', '.join(parts)}}}")
        yield objects


def _label(label: Label) -> str:
    """As JSON, with the sign of a mark from before: an upload takes it although its label is off."""
    return to_json(label.fullname) + ("" if label.active else ', "active": false')


def _entities(items: list[int], which: Q, names: dict[int, str], *, with_ids: bool) -> dict[int, list[str]]:
    """The entities of some items, as JSON, by the keys of the items."""
    found = defaultdict(list)
    rows = Entity.objects.filter(which, annotation__item__in=items).order_by("pk")
    for item, uid, start, end, label in rows.values_list("annotation__item_id", "uid", "start", "end", "label_id"):
        id = f'"id": {to_json(uid)}, ' if with_ids else ""
        found[item].append(f'{{{id}"start": {start}, "end": {end}, "label": {names[label]}}}')
    return found


def _relations(items: list[int], which: Q, names: dict[int, str]) -> dict[int, list[str]]:
    found = defaultdict(list)
    rows = Relation.objects.filter(which, annotation__item__in=items).order_by("pk")
    ends = ("source__uid", "target__uid")
    for item, source, target, label in rows.values_list("annotation__item_id", *ends, "label_id"):
        ids = f'"source_id": {to_json(source)}, "target_id": {to_json(target)}'
        found[item].append(f'{{{ids}, "label": {names[label]}}}')
    return found
