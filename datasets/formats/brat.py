"""brat standoff: a text in one file and its marks in another, a line each (https://brat.nlplab.org/standoff.html).

Offsets are code points. CRLF is one character for some programs, and two for others, and some count a byte order mark: each is
counted where marks do not fit otherwise. A type has ASCII letters, digits, “_” and “-”. Its place in the tree of labels is in
`annotation.conf` and, in a comment above it, the name of the label if that is another one.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, pairwise, product
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element

from ..tokenising import Span
from .dataset_format import DatasetFormat, DatasetSource, Export, FoundEntity, FoundRelation, Pieces, item_by_characters

_ENTITY = re.compile(r"(T\S*)\t(\S+) (\d{1,9} \d{1,9}(?:;\d{1,9} \d{1,9})*)(?:\t(.*))?", re.ASCII)
_RELATION = re.compile(r"R\S*\t(\S+) +[^\s:]+:(\S+) +[^\s:]+:(\S+)\s*", re.ASCII)
_NAMED = {"E": "events", "A": "attributes", "M": "attributes", "N": "normalisations", "*": "equivalences", "#": "notes"}
_OTHER = re.compile(r"[EAMN#]\S*\t|\*\t")
_EXPECTED = "“T1→Person 0 5→Alice” or “R1→Knows Arg1:T1 Arg2:T2”, with tabs for the arrows, was expected here."

_SECTION = re.compile(r"\s*\[(.*)\]\s*")
_REAL_NAME = re.compile(r"\s*# name: (.*)")
_TYPE = re.compile(r"([ \t]*)!?(\w[^\s|]*)(.*)")  # no comment, macro, line of hyphens, nor “<OVERLAP>”
_KINDS = {"entities": "entity", "events": "entity", "relations": "relation"}

Types = dict[str, dict[str, str]]
"""The full names of labels, in tree order, by their kind (“entity”, “relation”) and their type."""


def labels_of_conf(text: str) -> Types:
    """Of an `annotation.conf`. The types of events are those of the entities that trigger them."""
    found: Types = {"entity": {}, "relation": {}}
    kind, real_name, size = "", "", 0
    above: list[tuple[int, str]] = []
    for line in text.split("\n"):
        if match := _SECTION.fullmatch(line):
            kind, above = _KINDS.get(match[1], ""), []
        elif match := _REAL_NAME.fullmatch(line):
            real_name = match[1]
        elif kind and (match := _TYPE.match(line)) and "-transitive" not in match[3]:  # equivalences are no marks
            indent, type = len(match[1]), match[2]
            while above and above[-1][0] >= indent:
                above.pop()
            fullname = "/".join([*(name for _, name in above[-1:]), real_name or type])
            above.append((indent, fullname))
            found[kind].setdefault(type, fullname)
            real_name, size = "", size + len(fullname)
            if size > settings.MAX_ONTOLOGY_BYTES:
                raise Refused("The full names of these types are too long for an ontology.")
    return found


def _letters(text: str, places: list[Span]) -> str:
    """Without white space, which programs write differently between places."""
    return "".join("".join(text[start:end] for start, end in places).split())


def read_document(source: DatasetSource, text: str, types: Types, **fields: Any) -> dict[str, Any]:
    """The value of an item: a text with the marks of its .ann file, which is the source. Raises `Refused`, naming the line."""
    found: dict[str, tuple[int, str, list[Span], str | None]] = {}
    relations: list[FoundRelation] = []
    for number, line in source.lines():
        if max(len(found), len(relations)) > settings.MAX_ITEM_MARKS:
            raise Refused(f"An item has at most {words.number(settings.MAX_ITEM_MARKS)} entities or relations.")
        if match := _ENTITY.fullmatch(line):
            places = [(int(start), int(end)) for start, end in map(str.split, match[3].split(";"))]
            if any(before > at for before, at in pairwise(chain.from_iterable(places))):
                # Before their texts are put together: thousands of fragments may each be all of the text.
                source.leave_out("discontinuous entities")
                continue
            source.leave_out("entities that have the id of another one", match[1] in found)
            found[match[1]] = number, types["entity"].get(match[2], match[2]), places, match[4]
        elif match := _RELATION.fullmatch(line):
            relations.append(FoundRelation(types["relation"].get(match[1], match[1]), match[2], match[3]))
        elif _OTHER.match(line):
            source.leave_out(_NAMED[line[0]])
        elif line.strip():
            raise Refused(_EXPECTED, place=f"line {number}")
    checked = [(line, places, "".join(told.split())) for line, _, places, told in found.values() if told is not None]
    wrong = 0
    for mark, line_end in product(("", "\ufeff"), ("\n", "\r\n")):
        counted = mark + text.replace("\n", line_end)
        misfit = next((line for line, places, told in checked if told != _letters(counted, places)), 0)
        if not misfit:
            break
        wrong = max(wrong, misfit)
    else:
        raise Refused("The .txt file has something else at this place. Was it changed?", place=f"line {wrong}")
    not_in_text = [*range(len(mark)), *(match.start() for match in re.finditer("\r", counted))]
    entities: list[FoundEntity] = []
    for id, (_, label, places, _) in found.items():
        # What goes over the end of a line has a fragment on each.
        if not any(counted[end:start].strip() for (_, end), (start, _) in pairwise(places)):
            start, end = (at - bisect_left(not_in_text, at) for at in (places[0][0], places[-1][1]))
            entities.append(FoundEntity(id, label, start, end))
        else:
            source.leave_out("discontinuous entities")
    if sum(len(mark.label) for marks in (entities, relations) for mark in marks) > settings.MAX_ITEM_JSON_CHARACTERS:
        raise Refused("The full names of the labels of its marks are too long.")
    return item_by_characters(source, text, entities, relations, **fields)


def _read(source: DatasetSource) -> Iterator[Element]:
    yield from ()  # so that it is refused where items are read, not where its beginning is looked at
    raise Refused("These are marks without their text. Put the .ann file and its .txt file into a zip archive.")


def _seen_in(start: Beginning) -> str | None:
    lines = [line for line in start.lines[:1000] if line.strip()]
    entities = [match for line in lines if (match := _ENTITY.fullmatch(line))]
    others = [line for line in lines if _RELATION.fullmatch(line) or _OTHER.match(line)]
    if not entities or len(entities) + len(others) < len(lines):
        return None
    return f"marks without their text, labels {words.listed(dict.fromkeys(match[2] for match in entities))}"


_NO_TYPE = re.compile(r"[^A-Za-z0-9_-]|^-")  # a line of hyphens alone is a separator
_FILE_NAME = re.compile(r"(?!readme|licen[cs]e)[a-z0-9][a-z0-9._-]{0,99}", re.IGNORECASE)
_LINE = re.compile(r"[^\n]+")
_ANY = "\tArg1:<ANY>, Arg2:<ANY>"
_SECTIONS = {  # the second has leave for entities to overlap
    "entity": ("[entities]\n", "", "bgColor"),
    "relation": (f"[relations]\n<OVERLAP>{_ANY}, <OVL-TYPE>:<ANY>\n", _ANY, "color"),
}


def _write(export: Export) -> Pieces:
    types = _types_of(export)
    taken: set[str] = set()
    for item in export.by_characters():
        name = item.external_id if _FILE_NAME.fullmatch(item.external_id) else f"{item.number:05}"
        while name.lower() in taken:  # where case does not matter
            name += "_"
        taken.add(name.lower())
        export.lose("items", "given the name of a file as external id", name != item.external_id)
        text = item.text.replace("\r", " ")  # a reader makes one character of CRLF
        yield f"{name}.txt", "\ufeff" * text.startswith("\ufeff") + text  # and no character of the first mark
        yield f"{name}.ann", ""  # which brat wants even without marks
        ids = {entity.id: f"T{number}" for number, entity in enumerate(item.entities, 1)}
        for entity in item.entities:
            start, end = item.characters(entity)
            fragments = [match.span() for match in _LINE.finditer(text, start, end)] or [(start, start)]
            places = ";".join(f"{start} {end}" for start, end in fragments)
            covered = " ".join(text[start:end] for start, end in fragments)
            yield f"{name}.ann", f"{ids[entity.id]}\t{types['entity', entity.label]} {places}\t{covered}\n"
        for number, relation in enumerate(item.relations, 1):
            ends = f"Arg1:{ids[relation.source]} Arg2:{ids[relation.target]}"
            yield f"{name}.ann", f"R{number}\t{types['relation', relation.label]} {ends}\n"
        export.lose_suggestions(item)
        export.lose("items", "written without extra fields", bool(item.extra_fields))
    drawing = ["[drawing]\n"]
    for kind, (section, arguments, drawn) in _SECTIONS.items():
        yield "annotation.conf", section
        for label in export.labels.get(kind, ()):
            *_, name = label.fullname.split("/")
            type, indent = types[kind, label.fullname], "\t" * (label.level - 1)
            yield "annotation.conf", f"{indent}# name: {name}\n" * (name != type) + f"{indent}{type}{arguments}\n"
            drawing.append(f"{type}\t{drawn}:{label.color}\n")
    yield "annotation.conf", "[events]\n[attributes]\n"
    yield "visual.conf", "[labels]\n"
    for (_, fullname), type in types.items():
        yield "visual.conf", f"{type} | {re.sub('[|<>]', ' ', fullname)}\n"
    yield from (("visual.conf", line) for line in drawing)


def _types_of(export: Export) -> dict[tuple[str, str], str]:
    """The types of labels, by their kind and full name: another one for each, for brat draws both kinds by their names."""
    types: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for kind, labels in export.labels.items():
        for label in labels:
            type = _NO_TYPE.sub("_", label.fullname.rpartition("/")[2])
            while type in taken:
                type += f"_{len(types)}"
            taken.add(type)
            types[kind, label.fullname] = type
    return types


_LOST = "tokens, extra fields, external ids that cannot name a file, and which marks are suggested"
BRAT = DatasetFormat(
    "brat", "brat standoff", (".ann",), _seen_in, loses=_LOST, read=_read, write=_write, is_archive=True
)
