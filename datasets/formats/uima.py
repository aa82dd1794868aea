"""UIMA CAS, as INCEpTION and DKPro read and write it: in XML (XMI) and in JSON. The library for it is an optional extra."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings

from annotation_service.apart import MOST_FILE_BYTES, Unreadable, read_apart
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element

from ..tokenising import Span
from . import dataset_format as formats

# How a file begins, and the types of its annotations, by the extension that such files have in a zip archive.
_SIGNS = {
    ".xmi": (r"\s*(?:<[?!][^>]*+>[\s\]>]*+)*+<xmi:XMI\s[^<>]*http:///uima/cas\.ecore", r":(?!NULL|Sofa)(\w+) xmi:id="),
    ".cas.json": (r'\s*\{\s*"%(?:TYPES|FEATURE_STRUCTURES|VIEWS)"\s*:', r'"%TYPE"\s*:\s*"(?:\w+\.)*+(?!Sofa)(\w+)"'),
}
INSTALL = "To {} UIMA CAS takes one more library on the server: pip install 'dkpro-cassis~=0.12.0'"
_DKPRO = "de.tudarmstadt.ukp.dkpro.core.api"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _seen_in(extension: str, start: Beginning) -> str | None:
    if start.data.startswith(b"PK"):
        is_there = any(name.lower().endswith(extension) for name in start.packed_names)
        return "in a zip archive" if is_there else None
    begins, types = _SIGNS[extension]
    return formats.tagged(re.findall(types, start.text)) if re.match(begins, start.text) else None


def _read(extension: str, source: formats.DatasetSource) -> Iterator[Element]:
    if not find_spec("cassis"):
        raise Refused(INSTALL.format("read"))
    with NamedTemporaryFile(buffering=0) as file:
        file.write(source.file.read(MOST_FILE_BYTES + 1))
        try:
            documents = read_apart("datasets.formats.cas_reading:documents", Path(file.name), extension)
            for number, document in enumerate(documents, 1):
                if "why" in document:
                    yield formats.refused_element("document", number, document["why"], name=document["name"])
                else:
                    yield from _elements(source, document, number)
        except Unreadable as error:
            raise Refused(str(error)) from error


def _elements(source: formats.DatasetSource, document: dict[str, Any], number: int) -> Iterator[Element]:
    """A document is an item or, if it is too large for one, each of its sentences."""
    text, title, relations, left_out = (document[key] for key in ("text", "title", "relations", "left_out"))
    tokens, is_large = _side_by_side(document["tokens"], text), len(text) > settings.MAX_ITEM_CHARACTERS
    if not (tokens or is_large):
        tokens = source.cut(text)
    is_large = is_large or len(tokens) > settings.MAX_ITEM_TOKENS
    sentences = _side_by_side(document["sentences"], text) if is_large else []
    marks = sorted(map(tuple, document["entities"]))
    left_out["entities outside of their text"] = len(marks)
    for count, (first, last) in enumerate(sentences or [(0, len(text))], 1):
        # Those that begin in this piece of the text.
        inside, spans = (all[bisect_left(all, (first,)) : bisect_left(all, (last,))] for all in (marks, tokens))
        entities = [formats.FoundEntity(id, label, start - first, end - first) for start, end, id, label in inside]
        place = ", ".join([document["name"] or f"document {number}"] + [f"sentence {count}"] * bool(sentences))
        try:
            value = formats.item_by_characters(
                source,
                text[first:last],
                entities,
                [formats.FoundRelation(*found) for each in entities for found in relations.pop(each.id, ())],
                [(start - first, min(end, last) - first) for start, end in spans],
                external_id=f"{title}#{count}" if title and sentences else title,
            )
            yield formats.element("document", number, value, name=place)
        except Refused as error:
            yield formats.refused_element("document", number, str(error), name=place)
        left_out["entities outside of their text"] -= len(entities)
    left_out["relations that lack an end"] = sum(map(len, relations.values()))
    for what, count in left_out.items():
        source.leave_out(what, count)


def _side_by_side(spans: list[Span], text: str) -> list[Span]:
    """In order, without those that are not in the text, are blank or overlap one before."""
    found = [(0, 0)]
    for start, end in sorted(spans):
        if found[-1][1] <= start < end <= len(text):
            found.append((start, end))
    return [(start, end) for start, end in found if text[start:end].strip()]


def _write(extension: str, export: formats.Export) -> formats.Pieces:
    if not find_spec("cassis"):
        raise Refused(INSTALL.format("write"))
    from cassis import Cas, TypeSystem

    types, is_xmi = TypeSystem(), extension == ".xmi"
    meta_data = types.create_type(f"{_DKPRO}.metadata.type.DocumentMetaData", "uima.tcas.DocumentAnnotation")
    sentence, token = (types.create_type(f"{_DKPRO}.segmentation.type.{name}") for name in ("Sentence", "Token"))
    entity, relation = types.create_type("webanno.custom.Entity"), types.create_type("webanno.custom.Relation")
    for type, feature in (meta_data, "documentTitle"), (entity, "label"), (relation, "label"):
        types.create_feature(type, feature, "uima.cas.String")
    for feature in "Governor", "Dependent":
        types.create_feature(relation, feature, entity)
    if is_xmi:
        yield "TypeSystem.xml", types.to_xml()
    clean = partial(_NOT_XML.sub, "�") if is_xmi else str
    for item in export.by_characters():
        texts = [item.text, item.external_id]
        export.lose("items", "written with “�” for characters that XML does not take", [*map(clean, texts)] != texts)
        export.lose("items", "written without their extra fields", bool(item.extra_fields))
        export.lose_suggestions(item)
        cas = Cas(types, sofa_string=clean(item.text))
        cas.add(meta_data(begin=0, end=len(item.text), documentTitle=clean(item.external_id) or None))
        cas.add_all(sentence(begin=line.start(), end=line.end()) for line in re.finditer(r"\S.*", item.text))
        cas.add_all(token(begin=start, end=end) for start, end in item.spans)
        marks: dict[str, Any] = {}
        for mark in item.entities:
            start, end = item.characters(mark)
            cas.add(marks.setdefault(mark.id, entity(begin=start, end=end, label=clean(mark.label))))
        for each in item.relations:
            ends = {"Governor": marks[each.source], "Dependent": (target := marks[each.target])}
            cas.add(relation(begin=target.begin, end=target.end, label=clean(each.label), **ends))
        yield f"{item.number:05}{extension}", cas.to_xmi() if is_xmi else cas.to_json()


def _format(name: str, label: str, files: tuple[str, ...], extension: str) -> formats.DatasetFormat:
    seen_in, read, write = partial(_seen_in, extension), partial(_read, extension), partial(_write, extension)
    loses = "the tree of labels, extra fields, which marks are suggested"
    return formats.DatasetFormat(
        *(name, label, files, seen_in), loses=loses, read=read, write=write, is_archive=True, is_packed=True
    )


XMI = _format("xmi", "UIMA CAS XMI", (".xmi", ".xml", ".zip"), ".xmi")
CAS_JSON = _format("casjson", "UIMA CAS JSON", (".json", ".zip"), ".cas.json")
