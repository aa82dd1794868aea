"""The downloads of a graph, written piece by piece: memory stays flat at any size.

A new one is a function that gets the `GraphContents` and yields text, and its entry in `GRAPH_FORMATS`.
"""

import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from django.utils.text import slugify

from annotation_service.db import snapshot
from annotation_service.inputs import Refused
from annotation_service.words import cut
from datasets.importing.document import Progress, no_progress
from projects.bundle import write_file
from projects.models import Project
from projects.work_export import folder

from ..counting import refresh, signature_now
from ..models import Graph
from ..voices import GraphSource
from . import property_graphs, shacl, triples
from .contents import GraphContents

Pieces = Callable[[GraphContents], Iterator[str]]
# Who writes waits no longer for others to stop marking.
TRIES = 3


@dataclass(frozen=True, slots=True)
class GraphFormat:
    name: str
    """As in addresses, and as the command takes it."""
    title: str
    note: str
    content_type: str
    pieces: Pieces | Mapping[str, Pieces]
    """What writes it, or each file of a zip archive, by its name."""
    ending: str = ""
    """Of the name of the file, if it is not its own."""

    @property
    def is_rdf(self) -> bool:
        return self.content_type in ("application/trig", "application/ld+json", "text/turtle")

    def write(self, contents: GraphContents, target: IO[bytes]) -> None:
        if not isinstance(self.pieces, Mapping):
            target.writelines(piece.encode() for piece in self.pieces(contents))
            return
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, pieces in self.pieces.items():
                write_file(archive, name, pieces(contents))


NEO4J = {
    "nodes.csv": property_graphs.node_table,
    "relations.csv": property_graphs.relation_table,
    "load.cypher": property_graphs.load_script,
}
_formats = (
    GraphFormat(
        "trig",
        "TriG",
        "RDF, with the evidence for each statement: the marks, who made them when, and where in the texts",
        "application/trig",
        triples.trig,
    ),
    GraphFormat("jsonld", "JSON-LD", "the same as TriG", "application/ld+json", triples.json_ld),
    GraphFormat("ttl", "Turtle", "RDF without evidence: labels, nodes and edges", "text/turtle", triples.turtle),
    GraphFormat(
        "graphml",
        "GraphML",
        "nodes and edges with counts, for Gephi, yEd and NetworkX",
        "application/graphml+xml",
        property_graphs.graphml,
    ),
    GraphFormat(
        "neo4j",
        "Neo4j",
        "nodes and edges with counts, as CSV in an archive, with a script in Cypher",
        "application/zip",
        NEO4J,
        "neo4j.zip",
    ),
    GraphFormat("json", "JSON", "nodes and edges with counts", "application/json", property_graphs.json_graph),
    GraphFormat(
        "shacl", "SHACL", "the constraints as shapes, for TriG and JSON-LD", "text/turtle", shacl.shapes, "shacl.ttl"
    ),
)
GRAPH_FORMATS = {each.name: each for each in _formats}


def graph_format(name: str) -> GraphFormat:
    """Raises `Refused` for another name."""
    if name not in GRAPH_FORMATS:
        known = ", ".join(GRAPH_FORMATS)
        raise Refused(f"“{cut(name, 60)}” is not known. A graph is written as one of these: {known}.", place="format")
    return GRAPH_FORMATS[name]


def write_graph(
    graph: Graph, source: GraphSource, format: str, target: IO[bytes], progress: Progress = no_progress
) -> None:
    """Count what has changed, and write what a source says, as it all is at one moment."""
    chosen = graph_format(format)
    for left in reversed(range(TRIES)):
        refresh(graph, progress)
        with snapshot():
            now = Graph.objects.select_related("dataset__project").get(pk=graph.pk)
            if not left or now.signature == signature_now(now):
                chosen.write(GraphContents(now, source), target)
                return


def file_name(project: Project, source: GraphSource, format: str) -> str:
    whose = f"{source.name}-{source.agreed}" if source.agreed > 1 else source.name.removeprefix("@")
    stem = slugify(project.name, allow_unicode=True)[:80] or "project"
    return f"{stem}-graph-{folder(whose)}.{graph_format(format).ending or format}"
