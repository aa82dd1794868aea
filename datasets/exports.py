"""The documents of a dataset, written piece by piece: memory stays flat at any size.

Those of the service itself can be uploaded as they are, and have the given marks or, of the layer of gold, what was decided; a
new one is a function that writes a dataset in pieces, and its entry in `DOWNLOAD_FORMATS`. The formats of other programs, which
are in the registry `datasets.formats`, are written with the marks of any `Whose`.
"""

import json
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import IO, NamedTuple

from django.db.models import Exists, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone
from django.utils.text import slugify

from annotation_service.db import snapshot
from annotation_service.file_formats import FORMATS
from annotation_service.inputs import split_lines
from annotation_service.json_input import json_array, to_json
from ontologies.documents import write_time
from ontologies.labels import Label

from .cleaned import CleanedText
from .extra_fields import with_floats
from .formats import format_named
from .formats.dataset_format import DatasetFormat, Export, WrittenEntity, WrittenItem, WrittenLabel, WrittenRelation
from .kinds import DatasetKind
from .models import Annotation, Dataset, Entity, Layer, Mark, Relation
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


# --- In the formats of other programs ------------------------------------------------------------------------------------------


class Whose(NamedTuple):
    """Whose marks are written: those of a layer and, where that is people's own, of a person, with suggestions if wanted."""

    layer: Layer = Layer.GIVEN
    person: int | None = None
    with_suggested: bool = False

    def marks(self) -> Q:
        if self.layer != Layer.OWN:
            return NOBODYS[self.layer]
        statuses = [Mark.Status.ACCEPTED, *([Mark.Status.SUGGESTED] if self.with_suggested else [])]
        return Q(annotation__layer=Layer.OWN, annotation__annotator=self.person, status__in=statuses)

    def items(self, dataset: Dataset, *, done: bool) -> ItemQuerySet:
        """Those of a dataset that have a place for these marks: of a person what they have begun or, if wanted, are done with."""
        if self.layer == Layer.GOLD:
            return dataset.decided_items()
        if self.layer == Layer.GIVEN:
            return dataset.items()
        theirs = Annotation.objects.filter(annotator=self.person, item=OuterRef("pk"), started_at__isnull=False)
        return dataset.items().filter(Exists(theirs.filter(done_at__isnull=False) if done else theirs))


def formats_out() -> list[DatasetFormat]:
    """The formats of other programs that datasets are written in."""
    found = [each for each in FORMATS if isinstance(each, DatasetFormat) and each.write]
    return sorted(found, key=lambda each: each.title.casefold())


def export_of(dataset: Dataset, items: ItemQuerySet, voice: Whose) -> Export:
    """What a format is given to write. To be used within a `snapshot`."""
    ontologies = dataset.ontologies_of(voice.layer if voice.layer == Layer.GIVEN else Layer.GOLD)
    labels = {
        each.kind: [
            WrittenLabel(label.fullname, label.level, label.color, label.description) for label in each.labels()
        ]
        for each in ontologies
    }
    names = {label.pk: label.fullname for each in ontologies for label in each.labels()}
    return Export(dataset.name, _written_items(items, voice, names, labels.keys()), labels)


def _written_items(
    items: ItemQuerySet, voice: Whose, names: Mapping[int, str], kinds: Collection[str]
) -> Iterator[WrittenItem]:
    """With the marks of the kinds that there are ontologies for. What came with a dataset is nobody's suggestion."""
    which, suggested = voice.marks(), Mark.Status.SUGGESTED if voice.with_suggested else None
    texts = [Cast(name, TextField()) for name in ("tokens", "extra_fields")]
    offsets = Coalesce(Cast("offsets", TextField()), Value("null"), output_field=TextField())
    number = 0
    for batch in by_texts(items, "pk", "external_id", "original", *texts, offsets):
        here = {"annotation__item__in": [row[0] for row in batch]}
        written: dict[int, WrittenItem] = {}
        for pk, external_id, original, tokens, fields, places in batch:
            number += 1
            spans = json.loads(places)
            written[pk] = WrittenItem(
                number,
                external_id,
                original,
                json.loads(tokens),
                spans and [(start, end) for start, end in spans],
                json.loads(with_floats(fields)),
            )
        entities = Entity.objects.filter(which, **here).order_by("start", "-end", "pk")
        if "entity" not in kinds:
            entities = entities.none()
        for item, uid, label, start, end, status in entities.values_list(
            "annotation__item_id", "uid", "label_id", "start", "end", "status"
        ):
            written[item].entities.append(WrittenEntity(uid, names[label], start, end, status == suggested))
        relations = Relation.objects.filter(which, **here).order_by("pk")
        if "relation" not in kinds:
            relations = relations.none()
        for item, label, source, target, status in relations.values_list(
            "annotation__item_id", "label_id", "source__uid", "target__uid", "status"
        ):
            written[item].relations.append(WrittenRelation(names[label], source, target, status == suggested))
        yield from written.values()


def write_dataset(dataset: Dataset, format: str, target: IO[bytes]) -> list[str]:
    """Write a dataset with the marks that came with it; returns what was lost."""
    with snapshot():
        written = export_of(dataset, dataset.items(), Whose())
        write_export(format_named(format), written, target)
    return written.losses()


def write_export(format: DatasetFormat, export: Export, target: IO[bytes]) -> None:
    """Write a file or, of a format with many, a zip archive with what was lost in its manifest."""
    if format.is_archive:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            write_member(archive, format, export)
            write_manifest(archive, format, {"": export})
    else:
        assert format.write
        for _, piece in format.write(export):
            target.write(piece.encode())


def write_member(archive: zipfile.ZipFile, format: DatasetFormat, export: Export, folder: str = "") -> None:
    """Write the files of an export into an archive: in a folder or, if it is one file, named so."""
    assert format.write
    for name, pieces in groupby(format.write(export), itemgetter(0)):
        if folder:
            name = f"{folder}/{name}" if format.is_archive else f"{folder}{format.extensions[0]}"
        entry = zipfile.ZipInfo(name, timezone.localtime().timetuple()[:6])
        entry.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(entry, "w", force_zip64=True) as file:
            for _, piece in pieces:
                file.write(piece.encode())


def write_manifest(archive: zipfile.ZipFile, format: DatasetFormat, exports: Mapping[str, Export]) -> None:
    """What is in an archive, by the name of whose marks they are, and what the format could not carry."""
    manifest = {
        "format": format.name,
        "created_at": write_time(timezone.now()),
        "contents": [
            {"marks_of": name or None, **export.total, "losses": export.losses()} for name, export in exports.items()
        ],
    }
    archive.writestr("manifest.json", json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")


def count_losses(format: DatasetFormat, export: Export) -> list[str]:
    """What a file would lose, found by writing it to nowhere."""
    assert format.write
    for _ in format.write(export):
        pass
    return export.losses()


def export_name(format: DatasetFormat, title: str) -> str:
    extension = ".zip" if format.is_archive else format.extensions[0]
    return f"{slugify(title, allow_unicode=True)[:80] or 'dataset'}{'-' + format.name if format.is_archive else ''}{extension}"
