"""Ontologies as vocabularies of the Semantic Web: SKOS is read and written, OWL is read."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.apart import Unreadable, read_apart
from annotation_service.file_formats import Beginning, FileSource, ReadingChoice
from annotation_service.inputs import BLOCK_BYTES, Problems, Refused, clean_description, clean_name
from annotation_service.json_input import to_json

from .documents import NewLabel, clean_example_terms, too_deep, too_many

_XML = re.compile(r"\s*<(?:[?!]|(?:\w+:)?(?:RDF|Ontology)\b)")
_RDF_XML = re.compile(r"<(?:\w+:)?RDF\b")
_TURTLE = re.compile(r"(?:\s|#.*\n)*+(?:@?prefix\s+[\w.-]*:\s*<|@?base\s*<|<[^<>\s]+>\s+(?:a|<[^<>\s]+>)\s)", re.I)
_LANGUAGES = [re.compile(rf"{before}([A-Za-z]{{2,8}}(?:-[A-Za-z0-9]{{1,8}})*+)\b") for before in ('"@', "xml:lang=.")]


def seen_in_skos(start: Beginning) -> str | None:
    return _in_words(start, Concept="concept,concepts") if _is_skos(start.text) else None


def seen_in_owl(start: Beginning) -> str | None:
    if _is_skos(start.text) or not _is_rdf(start.text):
        return None
    return _in_words(start, Class="class,classes", ObjectProperty="object property,object properties")


def _is_skos(text: str) -> bool:
    if "/skos/core#" not in text or not _is_rdf(text):
        return False
    return _count("Concept", text) + _count("broader", text) + _count("narrower", text) > _count("Class", text)


def _is_rdf(text: str) -> bool:
    return bool(_RDF_XML.search(text) or _is_owl_xml(text)) if _XML.match(text) else bool(_TURTLE.match(text))


def _is_owl_xml(text: str) -> bool:
    return "<Ontology" in text and "http://www.w3.org/2002/07/owl#" in text and not _RDF_XML.search(text)


def _count(name: str, text: str) -> int:
    """How many things are of a type: no closing tag is, each address is one, and what is between brackets has none."""
    found = Counter(re.findall(rf""":{name}\b(?!\s*>)(?:\s+rdf:\w+=["']([^"']*))?""", text))
    without = found.pop("", 0) + len(re.findall(rf"""#{name}["'>]""", text))
    return len(found) + without - len(re.findall(rf"\[\s*(?:a|rdf:type)\s+[\w-]*:{name}\b", text))


def _in_words(start: Beginning, **types: str) -> str:
    counts = [(_count(name, start.text), forms) for name, forms in types.items()]
    languages = [f"labels in {words.listed(_languages(start))}"] if _languages(start) else []
    return ", ".join([words.plural(number, forms) for number, forms in counts if number] + languages)


def _languages(start: Beginning) -> list[str]:
    """The most frequent ones come first."""
    found = Counter(tag.lower() for language in _LANGUAGES for tag in language.findall(start.text))
    return [tag for tag, _ in found.most_common(50)]


def language_choices(start: Beginning) -> list[ReadingChoice]:
    if not (found := _languages(start)):
        return []
    note = "Where a label has no name in it, that without a language is taken, or another."
    return [
        ReadingChoice("language", "Language", {tag: tag for tag in found}, "en" if "en" in found else found[0], note)
    ]


# --- Reading -----------------------------------------------------------------------------------------------------------

_SLASH = "∕"  # the division slash


def read_vocabulary(source: FileSource, kind: str, what: str) -> list[NewLabel]:
    """The labels of a file; ``what`` is a kind of things in RDF."""
    found: list[NewLabel] = []
    taken: list[set[str]] = []
    problems = Problems()
    for value in _read_apart(source, what):
        if isinstance(value, dict):
            for why, number in value.items():
                source.leave_out(why, number)
            continue
        level, names, description, terms = value
        if level > settings.MAX_LEVELS or len(found) >= settings.MAX_ONTOLOGY_ITEMS:
            raise Refused(too_deep() if level > settings.MAX_LEVELS else too_many())
        del taken[level:]
        taken += [set()] * (level - len(taken))
        fitting = [term for term in terms if len(term) <= settings.MAX_EXAMPLE_TERM_CHARACTERS and kind == "entity"]
        fitting = fitting[: settings.MAX_EXAMPLE_TERMS]
        source.leave_out("alternative names", len(terms) - len(fitting))
        source.leave_out("ends of descriptions", len(description) > settings.MAX_DESCRIPTION_CHARACTERS)
        try:
            name = _free_name(names[0], names[-1], taken[level - 1], len(found), source)
            description = clean_description(words.cut(description, settings.MAX_DESCRIPTION_CHARACTERS))
            found.append(NewLabel(level, name, description, clean_example_terms(fitting)))
        except Refused as refused:
            problems.add(f"“{words.cut(names[-1], 60)}”", refused.problems[0].text)
    problems.raise_if_any()
    if not found:
        raise Refused(f"There are no {what} in it, of which labels could be made.")
    return found


def _read_apart(source: FileSource, what: str) -> Iterator[Any]:
    """XML says itself in which encoding it is; Turtle is written anew in UTF-8."""
    source.file.seek(0)
    head = Beginning(source.file.read(BLOCK_BYTES), encoding=source.encoding).text
    source.file.seek(0)
    if _is_owl_xml(head):
        raise Refused("This is OWL/XML. Save it as RDF/XML or as Turtle, which Protégé can, too.")
    with NamedTemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as copy:
        if is_xml := bool(_XML.match(head)):
            shutil.copyfileobj(source.file, copy)
        else:
            copy.writelines(text.encode() for text in source.blocks())
        copy.flush()
        arguments = ["xml" if is_xml else "turtle", what, source.chosen.get("language", "en").lower()]
        try:
            yield from read_apart("ontologies.rdf_reading:labels", Path(copy.name), *arguments)
        except Unreadable as error:
            raise Refused(str(error)) from error


def _free_name(name: str, local: str, taken: set[str], number: int, source: FileSource) -> str:
    """The name or, where a sibling has it, that with the name of its address or with a number; on one line and without “/”."""
    most = settings.MAX_NAME_CHARACTERS
    source.leave_out(f"signs “/” in names, which are “{_SLASH}” now", name.count("/"))
    source.leave_out("ends of names", len(name) > most)
    name, local = (" ".join(re.split(r"[\n\r\t]+\s*", text.strip())).replace("/", _SLASH) for text in (name, local))
    name = words.cut(name, most)
    numbered = (f"{name[: most - 10]} ({each})" for each in count(number + 1))
    for each in chain([name, f"{name} ({local})"], numbered):
        if len(each) <= most and (clean := clean_name(each)) not in taken:
            taken.add(clean)
            return clean
    raise AssertionError("numbers do not end")


# --- Writing -----------------------------------------------------------------------------------------------------------


def skos_turtle(ontology: Any) -> str:
    """A concept scheme. The notation of a concept tells its place among its siblings: “0.2” is the third below the first."""
    labels, scheme = ontology.labels(), f"<urn:annotation-service:ontology:{ontology.pk}>"
    parts = [
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix label: <urn:annotation-service:label:> .\n"
    ]
    parts.append(f"\n{scheme} a skos:ConceptScheme ;\n  skos:prefLabel {to_json(ontology.name)} .\n")
    notations: dict[str, str] = {}
    for uid, children in labels.children.items():  # a label comes before those below it
        above = f"{notations[uid]}." if uid else ""
        notations |= {child.uid: f"{above}{place}" for place, child in enumerate(children)}
    for label in labels:
        above = f"skos:broader label:{label.parent_uid}" if label.parent_uid else f"skos:topConceptOf {scheme}"
        values = [("narrower", f"label:{child.uid}") for child in labels.children.get(label.uid, ())]
        values += [("prefLabel", to_json(label.name)), *(("altLabel", to_json(term)) for term in label.example_terms)]
        values += [("definition", to_json(label.description))] if label.description else []
        lines = "".join(f" ;\n  skos:{name} {value}" for name, value in values)
        parts.append(
            f"\nlabel:{label.uid} a skos:Concept ;\n  skos:inScheme {scheme} ;\n  {above} ;\n"
            f'  skos:notation "{notations[label.uid]}"{lines} .\n'
        )
    return "".join(parts)
