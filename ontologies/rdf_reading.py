"""The labels of a file in RDF. Read in a process of its own, without Django: see `annotation_service.apart`."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.parsers import expat

from rdflib import OWL, RDF, RDFS, SKOS, Graph, Literal, URIRef
from rdflib.plugins.parsers.notation3 import BadSyntax

# The types of labels, and what leads to those above them.
KINDS = {
    "concepts": (SKOS.Concept, SKOS.broader),
    "classes": (OWL.Class, RDFS.subClassOf),
    "object properties": (OWL.ObjectProperty, RDFS.subPropertyOf),
}
_COUNTED = {
    "restrictions": (RDF.type, OWL.Restriction),
    "equivalences": (OWL.equivalentClass, None),
    "individuals": (RDF.type, OWL.NamedIndividual),
    "related concepts": (SKOS.related, None),
    "collections": (RDF.type, SKOS.Collection),
    "hidden names": (SKOS.hiddenLabel, None),
    "examples": (SKOS.example, None),
}
_MOST_LISTED = 40
_NAMES, _DESCRIPTIONS = (SKOS.prefLabel, RDFS.label), (SKOS.definition, SKOS.scopeNote, RDFS.comment)
Above = dict[URIRef, URIRef | None]
"""What each thing stands below, in the order of the file."""


def labels(path: Path, syntax: str, kind: str, language: str) -> Iterator[Any]:
    """Level, names to choose from, description and other names of each thing of a kind, in tree order; then what is left out,
    with counts. ``syntax`` is “xml” or “turtle”. A class that has no name in the language has one in its address; the
    addresses of concepts are often mere numbers."""
    graph = _graph(path.read_bytes(), syntax)
    left_out = Counter({words: len([*graph.triples((None, *meant))]) for words, meant in _COUNTED.items()})
    left_out += Counter({other: len(_typed(graph, other)) for other in KINDS if other != kind})
    for thing, level in _in_order(_above(graph, kind, left_out), graph):
        names, descriptions, terms = (
            sorted(_texts(graph, thing, predicates), key=lambda text: _tongue(text, language))
            for predicates in (_NAMES, _DESCRIPTIONS, [SKOS.altLabel])
        )
        usable = [name for name in names if kind == "concepts" or not all(_tongue(name, language)[1:3])][:1]
        own = [
            str(term) for term in terms if not term.language or any(term.language == each.language for each in usable)
        ]
        further = sum(name.language == each.language for each in usable for name in names) - len(usable)
        left_out["further names"] += further
        left_out["names in other languages"] += len(names) - len(usable) - further + len(terms) - len(own)
        left_out["further descriptions"] += len(descriptions[1:])
        yield [level, [*map(str, usable), _local(thing)], "".join(descriptions[:1]), own]
    yield +left_out


def _local(thing: URIRef) -> str:
    """The last part of an address."""
    return unquote(re.split("[/#:]", thing.rstrip("/#:"))[-1])


def _texts(graph: Graph, thing: URIRef, predicates: Iterable[URIRef]) -> list[Literal]:
    return [text for each in predicates for text in graph.objects(thing, each) if isinstance(text, Literal)]


def _tongue(text: Literal, language: str) -> tuple[bool, ...]:
    """The wanted language comes first, then none, then English."""
    tag = (text.language or "").lower()
    main = tag.partition("-")[0]
    return tag != language, main != language.partition("-")[0], tag != "", main != "en"


# --- The graph ---------------------------------------------------------------------------------------------------------


def _graph(data: bytes, syntax: str) -> Graph:
    """Raises `ValueError` with the line of broken syntax, and for XML that fetches something or whose entities are more than
    some short addresses, as they are in files of Protégé."""
    if data.count(b"<!ENTITY") > 100:
        raise ValueError("This file declares more than 100 entities.")
    try:
        if syntax == "xml":
            parser = expat.ParserCreate()
            parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = _check_doctype, _check_entity
            parser.Parse(data, True)
        return Graph(bind_namespaces="none").parse(data=data, format=syntax, publicID="file:")
    except expat.ExpatError as error:
        raise ValueError(f"Line {error.lineno} is not XML: {expat.ErrorString(error.code)}.") from error
    except BadSyntax as error:
        raise ValueError(f"Line {error.lines + 1} is not Turtle.") from error
    except IndexError as error:
        raise ValueError("This is not Turtle: it ends within a statement.") from error


def _check_doctype(name: str, system: str | None, public: str | None, has_subset: bool) -> None:
    if system or public:
        raise ValueError("This file refers to a DTD in another file, which is not read.")


def _check_entity(name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
    if is_parameter or value is None or len(value) > 200 or {*"&<%"} & {*value}:
        raise ValueError(f"The entity “{name[:40]}” is no address. Others are not read.")


def _typed(graph: Graph, kind: str) -> list[URIRef]:
    return [thing for thing in graph.subjects(RDF.type, KINDS[kind][0]) if isinstance(thing, URIRef)]


def _above(graph: Graph, kind: str, left_out: Counter[str]) -> Above:
    """Nothing stands below itself, and of several things above that with the first notation is taken."""
    links = [*graph.subject_objects(KINDS[kind][1]), *((below, above) for above, below in graph[: SKOS.narrower])]
    gone = {*graph.subjects(OWL.deprecated, Literal(True))}
    left_out["deprecated labels"] = len(gone.intersection(_typed(graph, kind)))
    concepts = graph.subjects(RDF.type, SKOS.Concept)
    left_out["concepts without an address"] = sum(not isinstance(each, URIRef) for each in concepts)
    places: dict[Any, dict[Any, None]] = {}
    for thing in chain(_typed(graph, kind), chain.from_iterable(links)):
        if isinstance(thing, URIRef) and thing not in gone and thing not in (OWL.Thing, RDFS.Resource):
            places.setdefault(thing, {})
    for below, above in links:
        if below != above and below in places and above in places:
            places[below][above] = None
    found: Above = {}
    for thing, several in places.items():
        first, *others = sorted(several, key=lambda above: (_notation(graph, above), above)) or [None]
        found[thing] = first
        for other in others:  # a label has one place
            is_listed = len(left_out) < _MOST_LISTED
            what = f"the place of “{_local(thing)}” below “{_local(other)}”"
            left_out[what if is_listed else "further places of labels"] += 1
    seen: dict[URIRef, URIRef] = {}
    for start in found:
        at: URIRef | None = start
        while at and at not in seen:
            seen[at], last, at = start, at, found[at]
        if at and seen[at] == start and found[last] == at:
            found[last] = None
            left_out["places of labels below themselves"] += 1
    return found


def _in_order(found: Above, graph: Graph) -> Iterator[tuple[URIRef, int]]:
    below: dict[URIRef | None, list[URIRef]] = defaultdict(list)
    for thing in sorted(found, key=lambda thing: _notation(graph, thing))[::-1]:
        below[found[thing]].append(thing)
    ahead = [(thing, 1) for thing in below[None]]
    while ahead:
        thing, level = ahead.pop()
        yield thing, level
        ahead += [(child, level + 1) for child in below[thing]]


def _notation(graph: Graph, thing: URIRef) -> tuple[bool, list[Any]]:
    """To sort by: “0.10” comes after “0.2”, what has none comes last."""
    parts = re.split(r"(\d+)", min(map(str, graph.objects(thing, SKOS.notation)), default=""))
    return parts == [""], [(len(part.lstrip("0")), part) if at % 2 else part for at, part in enumerate(parts)]
