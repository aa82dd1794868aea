"""UIMA documents in plain values, read by the library cassis in a process of its own: see `annotation_service.apart`."""

import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

_ANNOTATION = "uima.tcas.Annotation"
_WORDS = re.compile(r"\.(segmentation|lexmorph|syntax|metadata|textspan)\.|\b(Lemma|Stem|POS|Morpheme|Paragraph|Div)$")
# Features that may hold the label of a mark, and the ends of a relation, in small letters.
_LABELS = "value", "label", "category", "relationtype", "type", "dependencytype", "identifier"
_SOURCES, _TARGETS = {"governor", "source", "arg1"}, {"dependent", "target", "arg2"}


def documents(path: Path, extension: str) -> Iterator[dict[str, Any]]:
    """Of each text in a file, or in those of a zip archive with this extension: the `name` of its file in the archive, `text`,
    `title`, `tokens` and `sentences` (start, end), `entities` (start, end, id, label), the `relations` of each source (label,
    source, target), and counts of what is `left_out`; places are code points. Of a file that is wrong: `name` and `why`."""
    from cassis.cas import Utf16CodepointOffsetConverter

    # By itself it takes what is no place in UTF-16, such as the middle of an emoji, for a place in code points.
    Utf16CodepointOffsetConverter.external_to_python = lambda self, at: (self._external_to_python or {}).get(at, -1)
    archive = zipfile.ZipFile(path) if zipfile.is_zipfile(path) else None
    is_read = re.compile(rf"(?!__MACOSX/).*{re.escape(extension)}", re.IGNORECASE | re.DOTALL).fullmatch
    for name in filter(is_read, archive.namelist()) if archive else [""]:
        try:
            data = archive.read(name) if archive else path.read_bytes()
            cas = _json_cas(data) if extension.endswith("json") else _xmi_cas(data)
            for view in [view for view in cas.views if view.sofa.sofaString] or cas.views[:1]:
                yield {"name": name, **_document(view, cas.typesystem)}
        except MemoryError:
            raise
        except Exception as error:  # as the library meets damaged files
            damaged = f"It is damaged, or is something else ({type(error).__name__}: {error})."[:300]
            yield {"name": name, "why": str(error) if type(error) is ValueError else damaged}


def _json_cas(data: bytes) -> Any:
    from cassis import load_cas_from_json

    for name in {feature for features in json.loads(data)["%TYPES"].values() for feature in features}:
        if not re.fullmatch(r"%?\w+", name):  # the library writes it into Python code that it runs
            raise ValueError(f"A feature of a type cannot be called “{name[:100]}” here. Rename it.")
    return load_cas_from_json(BytesIO(data))


def _xmi_cas(data: bytes) -> Any:
    """The types are made of what is used, as texts but for the ends of relations: many files come without a type system."""
    from cassis import TypeSystem, load_cas_from_xmi

    declared = re.match(rb"<\?xml\s[^>]*encoding=[\"']((?:iso-8859|windows)-[0-9]+)[\"']", data, re.IGNORECASE)
    is_utf_16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
    text = data.decode(declared[1].decode() if declared else "utf-16" if is_utf_16 else "utf-8-sig")
    if re.search("<!DOCTYPE|<!ENTITY|\0", text):
        raise ValueError("XML with a document type, with entities or with NUL is not taken. Write it without these.")
    # Without its declaration it cannot be read in another encoding than it was checked in.
    xml = re.sub(r"\A\s*<\?xml\s.*?\?>", "", text, flags=re.DOTALL).encode()
    types, root = TypeSystem(), ElementTree.fromstring(xml)
    annotations = {each.get("{http://www.omg.org/XMI}id") for each in root if "begin" in each.attrib}
    for each in root:
        # {http:///webanno/custom.ecore}Span stands for webanno.custom.Span
        name = each.tag[9:].replace("/", ".").replace("ecore}", "").removeprefix("uima.noNamespace.")
        if not types.contains_type(name, True):
            types.create_type(name, _ANNOTATION if "begin" in each.attrib else "uima.cas.TOP")
        type = types.get_type(name, True)
        for feature in {*each.attrib, *(child.tag for child in each)}:
            if not feature.startswith("{") and not name.startswith("uima.cas.") and not type.get_feature(feature):
                is_end = feature.lower() in _SOURCES | _TARGETS and each.get(feature) in annotations
                texts = "uima.cas.String" if feature in each.attrib else "uima.cas.StringArray"
                types.create_feature(type, feature, _ANNOTATION if is_end else texts)
    return load_cas_from_xmi(BytesIO(xml), types)


def _document(view: Any, types: Any) -> dict[str, Any]:
    text, title, left_out, labels = view.sofa.sofaString or "", "", Counter[str](), []
    found: dict[str, list[Any]] = {"tokens": [], "sentences": [], "entities": []}
    relations = defaultdict[str, list[Any]](list)
    for each in [each for each in view.get_all_fs() if types.is_instance_of(each.type, _ANNOTATION)]:
        kind, features = each.type.name.rpartition(".")[2], each.type.all_features
        if kind in {"DocumentMetaData", "DocumentAnnotation"}:
            title = title or each.get("documentTitle") or each.get("documentId") or ""
        elif kind in {"Token", "Sentence"}:
            found[f"{kind.lower()}s"].append((each.begin, each.end))
        elif _WORDS.search(each.type.name):
            left_out["annotations of grammar and layout"] += 1
        else:
            texts = {one.name.lower().rstrip("_"): each.get(one.name) for one in features}
            texts = {name: text for name, text in texts.items() if isinstance(text, str) and text.strip()}
            labels.append(next((texts.pop(name) for name in _LABELS if name in texts), kind))
            left_out["texts besides the label"] += len(texts)
            ends = [one.name for one in features if types.is_instance_of(one.rangeType, _ANNOTATION)]
            if len(ends) == 2:
                ends.sort(key=lambda name: (name.lower() not in _SOURCES, name.lower() in _TARGETS))
                source, target = (str(getattr(each.get(end), "xmiID", "")) for end in ends)
                relations[source].append((labels[-1], source, target))
            else:
                found["entities"].append((each.begin, each.end, str(each.xmiID), labels[-1]))
    if re.search("[\0\ud800-\udfff]", "".join([text, title, *labels])):
        raise ValueError("NUL and halves of surrogate pairs are not text.")
    return {"text": text, "title": title, **found, "relations": relations, "left_out": left_out}
