"""Figures of a graph: whether items still bring new nodes and edges, what is connected most, and relations between branches."""

from collections import Counter, defaultdict
from typing import NamedTuple

from django.db import connection
from django.db.models import Sum

from annotation_service.db import among
from ontologies.labels import Label

from .models import EdgeTotal
from .node_list import FIRST_EDGES, FIRST_NODES, CountedNode, NodeList

HUNDRED = 100
MOST_CONNECTED = 20
# So many rows of the table of growth: of more items, each stands for more hundreds.
MOST_STEPS = 50
_STEP_COUNTS = "SELECT position / %s, COUNT(*) FROM ({firsts}) AS firsts GROUP BY 1"


class GrowthStep(NamedTuple):
    """Some items, by the numbers of the first and last, with what is found there for the first time, and until there."""

    first: int
    last: int
    nodes: int
    edges: int
    all_nodes: int
    all_edges: int
    share: int
    """Of the most new nodes of any step, in percent."""


def growth(shown: NodeList) -> list[GrowthStep]:
    """Of the source, with each hundred items or, of many, with several hundreds."""
    last = shown.graph.dataset.items().order_by("-position").values_list("position", flat=True).first()
    if last is None:
        return []
    step = HUNDRED * (1 + last // (HUNDRED * MOST_STEPS))
    nodes, edges = (_steps(shown, sql, step) for sql in (FIRST_NODES, FIRST_EDGES))
    most, found = max(nodes.values(), default=0) or 1, list[GrowthStep]()
    all_nodes = all_edges = 0
    for number in range(last // step + 1):
        all_nodes, all_edges = all_nodes + nodes[number], all_edges + edges[number]
        first = number * step + 1
        share = round(100 * nodes[number] / most)
        until = min(first + step - 1, last + 1)
        found.append(GrowthStep(first, until, nodes[number], edges[number], all_nodes, all_edges, share))
    return found


def _steps(shown: NodeList, sql: str, step: int) -> Counter[int]:
    params = [step, shown.graph.pk, shown.first.voice]
    with connection.cursor() as cursor:
        cursor.execute(_STEP_COUNTS.format(firsts=sql), params)
        return Counter(dict(cursor.fetchall()))


def most_connected(shown: NodeList) -> list[tuple[CountedNode, int]]:
    """The nodes with the most relations, each with the number of others that it is related to."""
    rows = list(shown.nodes().filter(all_relations__gt=0).order_by("-all_relations", "node")[:MOST_CONNECTED])
    ends: dict[int, set[int]] = defaultdict(set)
    edges = EdgeTotal.objects.filter(voice=shown.first.voice)
    keys = among([row["node"] for row in rows])
    for one, other in (("subject", "object"), ("object", "subject")):
        pairs = edges.filter(**{f"{one}__in": keys}).order_by().values_list(one, other).distinct()
        for node, far in pairs:
            ends[node].add(far)
    return [(node, len(ends[node.form.pk] - {node.form.pk})) for node in shown.shown(rows)]


def branch_matrix(shown: NodeList) -> list[tuple[Label, list[tuple[Label, int, int]]]]:
    """How many relations lead from the branches in the rows to those in the columns: of each row its branch, and of each column,
    in the same order, its branch, the number and its share of the greatest, in percent."""
    edges = EdgeTotal.objects.filter(graph=shown.graph, voice=shown.first.voice).order_by()
    counted = edges.values_list("subject__label", "object__label").annotate(marks=Sum("marks"))
    tops = shown.tops
    cells = Counter[tuple[int, int]]()
    for subject, object, marks in counted:
        if subject in tops and object in tops:
            cells[tops[subject].pk, tops[object].pk] += marks
    used = [top for pk, top in tops.items() if pk == top.pk and any(pk in cell for cell in cells)]
    most = max(cells.values(), default=1)
    return [
        (one, [(other, number, round(100 * number / most)) for other in used for number in [cells[one.pk, other.pk]]])
        for one in used
    ]
