"""A graph for programs that know nodes and edges with properties: JSON, GraphML, and CSV for Neo4j."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from annotation_service.csv_tables import written
from annotation_service.json_input import json_array, to_json

from .contents import ExportedNode, GraphContents


def _properties(contents: GraphContents, node: ExportedNode) -> dict[str, Any]:
    """In the order of `NODE_FIELDS`."""
    form = node.form
    said = {"id": form.digest, "form": form.text, "name": form.name, "label": contents.label(form.label)}
    return said | {"count": node.marks, "iri": form.iri, "external_id": form.external_id}


def json_graph(contents: GraphContents) -> Iterator[str]:
    yield '{"nodes": '
    yield from json_array(to_json(_properties(contents, node) | {"forms": node.further}) for node in contents.nodes())
    yield ', "edges": '
    for_json = (
        {"source": edge.subject, "target": edge.object, "label": contents.label(edge.label), "count": edge.marks}
        for edge in contents.edges()
    )
    yield from json_array(map(to_json, for_json))
    yield "}\n"


# --- GraphML -------------------------------------------------------------------------------------------------------------

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a document in XML 1.0 cannot have, not even escaped."""
_ESCAPES = {"\r": "&#13;"}  # or else it is another line end for readers
_KEYS = {
    "node": {"form": "string", "name": "string", "label": "string", "count": "long", "iri": "string"}
    | {"external_id": "string", "forms": "string"},
    "edge": {"label": "string", "count": "long"},
}


def graphml(contents: GraphContents) -> Iterator[str]:
    """Further forms of a node stand in one text, as a JSON list: GraphML has no lists. Edges have ids, so that readers keep apart
    those between the same two nodes."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for what, keys in _KEYS.items():
        for name, type in keys.items():
            yield f'<key id="{what}_{name}" for="{what}" attr.name="{name}" attr.type="{type}"/>\n'
    yield '<graph edgedefault="directed">\n'
    for node in contents.nodes():
        values = _properties(contents, node) | {"forms": to_json(node.further) if node.further else ""}
        yield f'<node id="{values.pop("id")}">{_data("node", values)}</node>\n'
    for number, edge in enumerate(contents.edges(), 1):
        data = _data("edge", {"label": contents.label(edge.label), "count": edge.marks})
        yield f'<edge id="e{number}" source="{edge.subject}" target="{edge.object}">{data}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _data(what: str, values: dict[str, Any]) -> str:
    said = ((name, _NO_XML.sub("", str(value))) for name, value in values.items() if value != "")
    return "".join(f'<data key="{what}_{name}">{escape(text, _ESCAPES)}</data>' for name, text in said)


# --- Neo4j ---------------------------------------------------------------------------------------------------------------

NODE_FIELDS = ("id:ID", "form", "name", "label", "count:long", "iri", "external_id", ":LABEL")
EDGE_FIELDS = (":START_ID", ":END_ID", ":TYPE", "count:long", "label")
CYPHER = r"""// Two ways into Neo4j, and both make the same graph.
//
// A database that is empty, in one go:
//   neo4j-admin database import full --nodes=nodes.csv --relationships=relations.csv neo4j
//
// A database that runs, Neo4j 5.26 or later: put both files into its import folder, and
//   cypher-shell --file load.cypher
// To do it again adds what is new, and brings counts up to date. If a text has a backslash before a quotation mark, set
// db.import.csv.legacy_quote_escaping=false before: the files are plain RFC 4180.

CREATE CONSTRAINT node_id IF NOT EXISTS FOR (n:Node) REQUIRE n.id IS UNIQUE;

LOAD CSV WITH HEADERS FROM 'file:///nodes.csv' AS row
CALL (row) {
  MERGE (n:Node {id: row.`id:ID`})
  SET n:$(split(row.`:LABEL`, ';')), n.form = row.form, n.name = row.name, n.label = row.label,
      n.count = toInteger(row.`count:long`), n.iri = row.iri, n.external_id = row.external_id
} IN TRANSACTIONS OF 1000 ROWS;

LOAD CSV WITH HEADERS FROM 'file:///relations.csv' AS row
CALL (row) {
  MATCH (a:Node {id: row.`:START_ID`}), (b:Node {id: row.`:END_ID`})
  MERGE (a)-[r:$(row.`:TYPE`)]->(b)
  SET r.count = toInteger(row.`count:long`), r.label = row.label
} IN TRANSACTIONS OF 1000 ROWS;
"""


def node_table(contents: GraphContents) -> Iterator[str]:
    """Each node is a `Node` in Neo4j and has its label beside it, in which “;” would end a label."""
    rows = (_properties(contents, node) for node in contents.nodes())
    return _table(
        NODE_FIELDS,
        ([*row.values(), ";".join(["Node", *filter(None, [row["label"].replace(";", ",")])])] for row in rows),
    )


def relation_table(contents: GraphContents) -> Iterator[str]:
    edges = ((edge, contents.label(edge.label)) for edge in contents.edges())
    return _table(EDGE_FIELDS, ([edge.subject, edge.object, name, edge.marks, name] for edge, name in edges))


def load_script(_: GraphContents) -> Iterator[str]:
    yield CYPHER


def _table(fields: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    return written(fields, (dict(zip(fields, row, strict=True)) for row in rows), for_spreadsheets=False)
