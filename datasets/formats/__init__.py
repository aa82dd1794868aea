"""The registry of the formats that datasets come in: a module for each, with what recognises, reads and writes it.

They are asked in this order what a file is, the general ones last.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import islice

from django.conf import settings

from annotation_service import file_formats
from annotation_service.file_formats import Beginning, Recognised
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element

from ..kinds import DatasetKind
from . import own
from .archives import ARCHIVE
from .brat import BRAT
from .conll import CONLL, CONLL_LAYERS
from .conllu import CONLL_U
from .dataset_format import MARKS, DatasetFormat, DatasetSource, label_of
from .doccano import DOCCANO
from .hugging_face import HUGGING_FACE
from .item_tables import CSV, TSV, XLSX
from .label_studio import LABEL_STUDIO
from .spacy_docs import SPACY
from .uima import CAS_JSON, XMI
from .webanno import WEBANNO

file_formats.FORMATS += [
    *(XMI, CAS_JSON, XLSX, ARCHIVE, BRAT),  # UIMA's before archives, which read file after file, each in a process
    *(DOCCANO, LABEL_STUDIO, SPACY, HUGGING_FACE),
    *(WEBANNO, CONLL_U, CONLL, CONLL_LAYERS, CSV, TSV),
    *own.OWN,
]

_LOOKED_AT = 1000  # items, blank and broken ones included


def readable() -> list[DatasetFormat]:
    """The formats that can come in."""
    return [
        each for each in file_formats.FORMATS if isinstance(each, DatasetFormat) and (each.read or each is own.TEXT)
    ]


def elements_of(format: DatasetFormat, source: DatasetSource) -> Iterator[Element]:
    """What a format reads in a file. One of another format than was chosen may well be packed in a zip archive."""
    is_packed = source.file.read(4) == b"PK\3\4" and not format.is_packed
    source.file.seek(0)
    if read := (ARCHIVE if is_packed else format).read:
        yield from read(source)


def format_named(name: str) -> DatasetFormat:
    found = file_formats.named(name, DatasetFormat)
    assert isinstance(found, DatasetFormat)
    return found


@dataclass
class Detected:
    """What a file is, and its format, if a dataset can be made of it."""

    start: Beginning
    recognised: Recognised
    format: DatasetFormat | None

    @cached_property
    def kind(self) -> DatasetKind:
        """The kind of dataset that has a place for all that is in it. Only if it is asked for, because a packed file is read."""
        return kind_of(self.start, self.format) if self.format else DatasetKind.STANDARD

    def __str__(self) -> str:
        other = "" if self.format else getattr(self.recognised.format, "noun", "")
        return f"{self.recognised}{f' It makes {other}, not a dataset.' if other else ''}"


def detect(start: Beginning) -> Detected:
    recognised = file_formats.recognise(start, DatasetFormat)
    return Detected(start, recognised, recognised.format if isinstance(recognised.format, DatasetFormat) else None)


def kind_of(start: Beginning, format: DatasetFormat) -> DatasetKind:
    """The kind that has a place for all marks of the first items."""
    if format.kind_of and (kind := format.kind_of(start)):
        return kind
    marks = labels_in(start, format)
    if marks["relation"]:
        return DatasetKind.PREANNOTATED_RELATION
    return DatasetKind.PREANNOTATED_ENTITY if marks["entity"] else DatasetKind.RICH


def labels_in(start: Beginning, format: DatasetFormat) -> dict[str, list[str]]:
    """The labels that the beginning of a file names, or the first items of a packed one, by the kind of their ontology."""
    with start.opened() if format.is_packed else BytesIO(start.data) as file:
        return labels_of(islice(elements_of(format, DatasetSource(file, start.name, start.encoding)), _LOOKED_AT))


def labels_of(elements: Iterable[Element]) -> dict[str, list[str]]:
    """The same of what a format has read, up to what an ontology may have. What ends in the middle has the labels before that."""
    found: dict[str, dict[str, None]] = {"entity": {}, "relation": {}}
    with suppress(Refused):
        for piece in elements:
            for kind, field in MARKS.items():
                marks = piece.value.get(field) if isinstance(piece.value, dict) else ()
                found[kind] |= dict.fromkeys(filter(None, map(label_of, marks if isinstance(marks, list) else ())))
            if any(len(names) > settings.MAX_ONTOLOGY_ITEMS for names in found.values()):
                break
    return {kind: list(names) for kind, names in found.items()}
