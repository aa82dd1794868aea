"""The graph of a project: its nodes and edges with what is behind them, what people make of them, figures, and files."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db.models import F, Min
from django.http import Http404, QueryDict

from annotation_service.blueprints import Right
from annotation_service.db import among
from annotation_service.models import Job
from datasets.models import Item
from graph.access import graph_of, nodes_of
from graph.counting import refresh_quickly
from graph.exports import graph_format
from graph.figures import branch_matrix, growth, most_connected
from graph.jobs import export_or_start, start_counting
from graph.likeness import suggestions
from graph.models import SurfaceForm
from graph.node_evidence import NodeEvidence
from graph.node_list import CountedEdge, CountedNode, NodeList
from graph.voices import sources_of
from ontologies.labels import Label

from .blueprint_operations import changed, register_history, seen_by
from .models import Scope
from .operations import ApiSection, Call, Rows, attributes
from .rule_operations import show_ref
from .work_operations import OF_PROJECT

GRAPH = f"{OF_PROJECT}/graph"
NODE, EDGE = f"{GRAPH}/nodes/<str:node>", f"{GRAPH}/edges/<str:node>/<str:label>/<str:object>"
# Parameters of queries.
SOURCE, COMPARED = "source agreed", "source agreed compare"
OF_BOTH = f"{COMPARED} label relation least q state side"
graphs = ApiSection("Graphs", changes=Scope.ANNOTATE)


# --- The graph ---------------------------------------------------------------------------------------------------------


def _shown(call: Call, project: int, **more: str) -> NodeList:
    """What is asked of a graph, which is counted first if that is quick, as its page does."""
    graph = graph_of(call, project)
    if call.asked.get("cursor") is None:
        refresh_quickly(graph)
    asked = QueryDict(mutable=True)
    asked.update({name: str(value) for name, value in call.asked.items() if value is not None} | more)
    return NodeList.of(graph, asked)


@graphs.get(GRAPH, "Graph")
def get_graph(call: Call, project: int) -> Any:
    """How the graph of a project is made of its marks, whose marks there are, and when they were counted."""
    graph = graph_of(call, project)
    is_counted = refresh_quickly(graph)
    sources = [{"source": name, "title": title} for name, title in sources_of(graph.project)]
    told = attributes(graph, "stem prefix namespace version counted_at")
    return {**told, "is_counted": is_counted, "sources": sources}


@graphs.patch(GRAPH, "GraphChange", "Graph", scope=Scope.MANAGE, pages="graph:edit")
def change_graph(call: Call, project: int) -> Any:
    """Fold words in another way, or give files another namespace. What is left out stays.

    With another language everything is counted anew: nodes that were merged rest until words are folded again as they are now.
    """
    graph_of(call, project, Right.MANAGE).edit(was=seen_by(call), **call.sent)
    return get_graph(call, project)


@graphs.post(f"{GRAPH}/count", answer="Job", pages="graph:count")
def count_graph(call: Call, project: int) -> Job:
    """Count what has changed. Of little that happens by itself, when somebody looks."""
    return start_counting(graph_of(call, project), by=call.user)


# --- Nodes and edges ---------------------------------------------------------------------------------------------------


def show_nodes(shown: NodeList, nodes: Sequence[CountedNode]) -> Iterator[dict[str, Any]]:
    further: dict[int | None, list[SurfaceForm]] = defaultdict(list)
    for form in shown.graph.forms.filter(node__in=among([node.form.pk for node in nodes])).order_by("text", "pk"):
        further[form.node_id].append(form)
    for node in nodes:
        yield {
            **attributes(node, "id marks other relations broken"),
            **attributes(node.form, "name iri external_id"),
            "form": node.form.text,
            "words": node.form.words or node.form.text,
            "label": node.label and show_ref(node.label),
            "forms": [{"id": each.digest, "form": each.text} for each in further[node.form.pk]],
        }


def show_edges(edges: Sequence[CountedEdge]) -> Iterator[dict[str, Any]]:
    for edge in edges:
        yield {
            "subject": _show_end(edge.subject, edge.subject_label),
            "label": show_ref(edge.label),
            "object": _show_end(edge.object, edge.object_label),
            **attributes(edge, "marks other broken"),
        }


def _show_end(form: SurfaceForm, label: Label | None) -> dict[str, Any]:
    return {"id": form.digest, "words": str(form), "label": label and show_ref(label)}


@graphs.list(f"{GRAPH}/nodes", "Node", query=f"{OF_BOTH} person around item new")
def list_nodes(call: Call, project: int) -> Rows:
    """List the nodes that a source has marked, in no order that means something: “least” finds the frequent ones.

    A node has the words, the label and the id of the form that stands for it; those of further forms name it, too.
    """
    shown = _shown(call, project)
    return Rows(shown.nodes(), lambda rows: show_nodes(shown, shown.shown(rows)), "node")


@graphs.list(f"{GRAPH}/edges", "Edge", query=f"{OF_BOTH} to")
def list_edges(call: Call, project: int) -> Rows:
    """List the edges that a source has marked, between nodes: each stands for all relations with its label between them."""
    shown = _shown(call, project, view="edges")
    # Rows of two sources are grouped: the first of them is a key as good as any.
    rows = shown.edges().annotate(key=Min("pk") if shown.second else F("pk"))
    return Rows(rows, lambda some: show_edges(shown.shown_edges(some)), "key")


@graphs.get(NODE, "NodeDetails", query=COMPARED)
def get_node(call: Call, project: int, node: str) -> Any:
    """A node, named by the id of any of its forms: these and all sources with their marks, and its most frequent edges."""
    shown = _shown(call, project)
    [form] = nodes_of(shown.graph, node)
    unmarked = {"node": form.pk, "here": 0, "there": 0, "all_relations": 0, "all_broken": 0}
    found = next(show_nodes(shown, shown.shown([shown.nodes().filter(node=form.pk).first() or unmarked])))
    evidence = NodeEvidence(shown, form)
    return {
        **found,
        "forms": [{"id": each.digest, "form": each.text, "marks": each.marks} for each, *_ in evidence.forms()],
        "sources": [
            {"source": name, "agreed": agreed or 1, "marks": marks} for name, agreed, marks in sorted(evidence.voices())
        ],
        "edges": list(show_edges(shown.neighbours(form))),
    }


# --- Places ------------------------------------------------------------------------------------------------------------


def _places_of(evidence: NodeEvidence) -> Rows:
    def show(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
        places = groupby(evidence.places(items), key=attrgetter("item"))
        for item, found in places:
            some = list(found)
            yield {
                "item_id": item.pk,
                "number": item.number,
                "external_id": item.external_id or None,
                "people": some[0].people,
                "places": [
                    {
                        "spans": each.spans,
                        "text": "".join(piece.text for piece in each.pieces),
                        # The ids of marks are unique with those who have made them.
                        "marks": [{"by": name, "id": uid} for name, uid, _ in each.marks],
                    }
                    for each in some
                ],
            }

    return Rows(evidence.items(), show, "position")


@graphs.list(f"{NODE}/places", "GraphPlaces", query=COMPARED)
def list_node_places(call: Call, project: int, node: str) -> Rows:
    """Where a node is marked, item by item: each place with everybody who has marked it, whatever source is asked for."""
    shown = _shown(call, project)
    [form] = nodes_of(shown.graph, node)
    return _places_of(NodeEvidence(shown, form))


@graphs.list(f"{EDGE}/places", "GraphPlaces", query=COMPARED)
def list_edge_places(call: Call, project: int, node: str, label: str, object: str) -> Rows:
    """The same of an edge: that with this label, given by its uid, from the first node to the second."""
    shown = _shown(call, project)
    ends = nodes_of(shown.graph, node, object)
    if found := shown.label_with(label):
        return _places_of(NodeEvidence(shown, ends[0], found, ends[-1]))
    raise Http404("There is no such label.")


# --- What people do with nodes -----------------------------------------------------------------------------------------


@graphs.patch(NODE, "NodeChange", "Changed", pages="graph:name_node")
def change_node(call: Call, project: int, node: str) -> Any:
    """Name a node, or say what it is elsewhere. An empty text takes away what was there."""
    graph = graph_of(call, project, Right.REVIEW)
    [head] = nodes_of(graph, node)
    graph.name_node(head.digest, by=call.user, was=seen_by(call), **call.sent)
    return changed(graph)


@graphs.post(f"{GRAPH}/merges", "NodeMerge", "Changed", pages="graph:merge")
def merge_nodes(call: Call, project: int) -> Any:
    """Make one node of several: “into” stands for it. Marks stay as they are."""
    graph = graph_of(call, project, Right.REVIEW)
    graph.merge(call.sent["into"], call.sent["nodes"], by=call.user)
    return changed(graph)


@graphs.post(f"{GRAPH}/splits", "NodeSplit", "Changed", pages="graph:split")
def split_nodes(call: Call, project: int) -> Any:
    """Take further forms out of their nodes: each is one of its own again."""
    graph = graph_of(call, project, Right.REVIEW)
    graph.split(call.sent["forms"], by=call.user)
    return changed(graph)


@graphs.get(f"{GRAPH}/suggestions", "NodeSuggestions", query=f"{SOURCE} label least q after")
def get_node_suggestions(call: Call, project: int) -> Any:
    """Pairs of nodes that may be the same, by the likeness of their words: some at a time, until “next” is null."""
    shown = _shown(call, project)
    pairs, following = suggestions(shown, call.asked["after"] or 0)
    nodes = show_nodes(shown, [node for pair in pairs for node in pair[:2]])
    told = [{"node": next(nodes), "other": next(nodes), "likeness": round(pair.likeness, 3)} for pair in pairs]
    return {"pairs": told, "next": following}


@graphs.post(f"{GRAPH}/suggestions/apart", "NodePair", "Changed", pages="graph:keep_apart")
def keep_nodes_apart(call: Call, project: int) -> Any:
    """Decide that two nodes are not the same: that is not suggested any more."""
    graph = graph_of(call, project, Right.REVIEW)
    graph.keep_apart(**call.sent, by=call.user)
    return changed(graph)


register_history(graphs, GRAPH, "graph", "graph", graph_of, lambda call, project: graph_of(call, project, Right.REVIEW))


# --- Figures and files -------------------------------------------------------------------------------------------------


@graphs.get(f"{GRAPH}/figures", "GraphFigures", query=SOURCE)
def get_graph_figures(call: Call, project: int) -> Any:
    """Whether items still bring new nodes and edges, what is connected most, and how many relations lead between branches."""
    shown = _shown(call, project)
    connected = most_connected(shown)
    nodes = show_nodes(shown, [node for node, _ in connected])
    return {
        "growth": [attributes(each, "first last nodes edges all_nodes all_edges") for each in growth(shown)],
        "connected": [{"node": node, "neighbours": count} for node, (_, count) in zip(nodes, connected, strict=True)],
        "branches": [
            {"subject": show_ref(one), "object": show_ref(other), "marks": marks}
            for one, cells in branch_matrix(shown)
            for other, marks, _ in cells
            if marks
        ],
    }


@graphs.post(
    f"{GRAPH}/exports", scope=Scope.READ, query=f"format {SOURCE}", sends_file=True, long=True, pages="graph:export"
)
def export_graph(call: Call, project: int) -> Any:
    """Write what a source says as a file: trig, jsonld, ttl, graphml, neo4j, json or shacl; of much, by a job."""
    graph = graph_of(call, project)
    format, source = graph_format(call.asked["format"] or "json").name, call.asked["source"]
    source = source or sources_of(graph.project)[0][0]
    return export_or_start(call, graph, format=format, source=source, agreed=call.asked["agreed"] or 1)
