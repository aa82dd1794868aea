from tests.api.asked_labels import NOTHING_OF_COPY, OWN_CHANGE_OF_COPY
from tests.api.asks import MANAGERS, Ask

REFUSED, MISSING = "401 404 403 404 422 422", "401 404 403 404 404 404"
PROJECT, NODE = ("project",), ("project", "node")
EDGE = (*NODE, "relation_label", "other_node")
NOBODY = "f" * 32


def asked(operation, expected=MANAGERS, args=PROJECT, **fields):
    return Ask(operation, expected, args, **fields)


ASKS = [
    asked("get_graph"),
    asked(
        "change_graph",
        body={"prefix": "new", "namespace": "https://example.org/new/", "was": {"prefix": "kg"}},
        like="graph:edit",
    ),
    asked("change_graph", REFUSED, body={"stem": "klingon"}),
    asked("change_graph", "401 404 403 404 409 409", body={"prefix": "new", "was": {"prefix": "old"}}),
    asked("count_graph"),
    asked("list_nodes"),
    asked("list_nodes", query="?source=all&agreed=2&compare=given&q=e&least=1&state=broken&side=both&limit=1"),
    asked("list_nodes", query="?source=carol&label=PhysicalObject&relation={relation_label}&person=alice&new=1-2"),
    asked("list_nodes", query="?source=given&around={node}&item=1"),
    asked("list_nodes", REFUSED, query="?source=bob"),
    asked("list_nodes", REFUSED, query="?source=all&agreed=many"),
    asked("list_edges"),
    asked("list_edges", query="?source=all&compare=given&label=PhysicalObject&to=PhysicalObject&q=e&limit=1"),
    asked("list_edges", REFUSED, query="?compare=bob"),
    asked("get_node", args=NODE, query="?source=all&compare=given"),
    asked("get_node", args=("project", "further_form")),
    asked("get_node", MISSING, ("project", NOBODY)),
    asked("list_node_places", args=NODE, query="?source=all"),
    asked("list_node_places", MISSING, ("project", NOBODY)),
    asked("list_edge_places", args=EDGE, query="?source=all"),
    asked("list_edge_places", MISSING, (*NODE, "ffffffff", "other_node")),
    asked("list_edge_places", MISSING, (*NODE, "relation_label", NOBODY)),
    asked("change_node", args=NODE, body={"name": "New", "was": {"name": "Left one"}}, like="graph:name_node"),
    asked("change_node", "401 404 403 404 409 409", NODE, body={"name": "New", "was": {"name": "Old"}}),
    asked("change_node", MISSING, ("project", NOBODY), body={"name": "New"}),
    asked("merge_nodes", body={"into": "{node}", "nodes": ["{other_node}"]}, like="graph:merge"),
    asked("merge_nodes", REFUSED, body={"into": "{node}", "nodes": [NOBODY]}),
    asked("split_nodes", body={"forms": ["{further_form}"]}, like="graph:split"),
    asked("split_nodes", REFUSED, body={"forms": ["{node}"]}),
    asked("get_node_suggestions", query="?source=all&label=PhysicalObject&least=1&q=e&after=1"),
    asked("keep_nodes_apart", body={"one": "{node}", "other": "{other_node}"}, like="graph:keep_apart"),
    asked("keep_nodes_apart", REFUSED, body={"one": "{node}", "other": "{further_form}"}),
    asked("list_graph_changes"),
    asked("get_graph_change", args=("project", "version")),
    asked("undo_graph", OWN_CHANGE_OF_COPY, like="graph:undo"),
    asked("redo_graph", NOTHING_OF_COPY),
    asked("revert_graph", args=("project", "version"), like="graph:revert"),
    asked("get_graph_figures", query="?source=all&agreed=2"),
    *(asked("export_graph", query=f"?format={name}&source=all&agreed=2") for name in ("trig", "neo4j", "shacl")),
    asked("export_graph", REFUSED, query="?format=x"),
    asked("export_graph", REFUSED, query="?source=given&agreed=2"),
]
