"""How often the nodes and edges of a graph are marked: in each item, by the forms that are marked, and added up, by their nodes.
`graph.counting` keeps it all.

All are counted for each *voice*: that of a person, given by the key, of the gold or of what came with the dataset, or what at
least so many people agree about, see `at_least`.
"""

from collections.abc import Collection

from django.db import models
from django.db.models import Index, Q, UniqueConstraint

from annotation_service.db import execute, keys

_ADD_NODES = """
INSERT INTO graph_nodetotal (graph_id, node_id, voice, marks, relations, broken)
SELECT f.graph_id, COALESCE(f.node_id, f.id), c.voice, {sign} * SUM(c.marks), {sign} * SUM(c.relations),
       {sign} * SUM(c.broken)
  FROM graph_itemnode c JOIN graph_surfaceform f ON f.id = c.form_id
 WHERE {nodes} GROUP BY 1, 2, 3
    ON CONFLICT (node_id, voice) DO UPDATE SET marks = graph_nodetotal.marks + excluded.marks,
       relations = graph_nodetotal.relations + excluded.relations, broken = graph_nodetotal.broken + excluded.broken
"""
_ADD_EDGES = """
INSERT INTO graph_edgetotal (graph_id, subject_id, label, object_id, voice, marks, broken)
SELECT s.graph_id, COALESCE(s.node_id, s.id), c.label, COALESCE(o.node_id, o.id), c.voice, {sign} * SUM(c.marks),
       {sign} * SUM(c.broken)
  FROM graph_itemedge c
  JOIN graph_surfaceform s ON s.id = c.subject_id
  JOIN graph_surfaceform o ON o.id = c.object_id
 WHERE {edges} GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (subject_id, object_id, label, voice) DO UPDATE SET marks = graph_edgetotal.marks + excluded.marks,
       broken = graph_edgetotal.broken + excluded.broken
"""


def at_least(people: int) -> int:
    """The voice of so many people who have the same mark: those with the same label on the same words, or of relations between
    such."""
    return -100 - people


def add_up(items: Collection[int], sign: int = 1) -> None:
    """Add the counts of items to the totals, or with -1 take them off."""
    of_items = f"c.item_id IN ({keys(items)})"
    for statement in (_ADD_NODES, _ADD_EDGES):
        execute(statement.format(sign=sign, nodes=of_items, edges=of_items))


def drop_zeros(graph: int) -> None:
    for table in ("graph_nodetotal", "graph_edgetotal"):
        # Written out, as the condition of an index is.
        execute(f"DELETE FROM {table} WHERE graph_id = %(graph)s AND marks = 0", {"graph": graph})


def add_up_nodes(nodes: Collection[int], forms: Collection[int]) -> None:
    """Add the totals of nodes up anew, given by the forms that stand for them, to which other ``forms`` belong now."""
    named, of_them = keys(nodes), keys(forms)
    execute(f"DELETE FROM graph_nodetotal WHERE node_id IN ({named})")
    execute(f"DELETE FROM graph_edgetotal WHERE subject_id IN ({named}) OR object_id IN ({named})")
    of_nodes = f"(f.id IN ({named}) OR f.node_id IN ({named}))"
    of_ends = f"(c.subject_id IN ({of_them}) OR c.object_id IN ({of_them}))"
    for statement in (_ADD_NODES, _ADD_EDGES):
        execute(statement.format(sign=1, nodes=of_nodes, edges=of_ends))


class CountedItem(models.Model):
    """An item as it was when its marks were counted. Its key is no foreign key: what is deleted is still to be taken off the
    totals."""

    item = models.BigIntegerField(primary_key=True)
    graph = models.ForeignKey("graph.Graph", on_delete=models.RESTRICT)
    # Of what was counted: another one, as soon as marks, their text, the rules or the folding of words are others.
    signature = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"item {self.item}"


class _Count(models.Model):
    """How many marks of a voice there are. In totals it may be less than nothing on the way."""

    voice = models.BigIntegerField()
    marks = models.IntegerField()
    # How many of these break rules.
    broken = models.IntegerField()

    class Meta:
        abstract = True


def _form(related_name: str = "+") -> "models.ForeignKey[models.Model]":
    # Two million of them: a constraint would have each looked up.
    return models.ForeignKey(
        "graph.SurfaceForm", models.RESTRICT, db_constraint=False, db_index=False, related_name=related_name
    )


class _Edge(_Count):
    """``label`` is the key of a relation label."""

    subject = _form()
    label = models.BigIntegerField()
    object = _form()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.subject_id} {self.label} {self.object_id}: {self.marks}"


class ItemNode(_Count):
    item = models.ForeignKey(CountedItem, on_delete=models.RESTRICT)
    form = _form()
    # Ends of relations that these marks are.
    relations = models.IntegerField()

    class Meta:
        indexes = [Index(fields=["form", "voice", "item"], name="form_in_item")]

    def __str__(self) -> str:
        return f"{self.form_id} in item {self.item_id}: {self.marks}"


class ItemEdge(_Edge):
    """The ends are forms."""

    item = models.ForeignKey(CountedItem, on_delete=models.RESTRICT)

    class Meta:
        indexes = [
            Index(fields=["subject", "object", "voice", "label", "item"], name="edge_in_item"),
            Index(fields=["object"], name="edge_to_form"),
        ]


class NodeTotal(_Count):
    graph = models.ForeignKey("graph.Graph", on_delete=models.RESTRICT, db_index=False)
    node = _form("totals")
    relations = models.IntegerField()

    class Meta:
        constraints = [UniqueConstraint(fields=["node", "voice"], name="node_total_once")]
        # With all that is asked of most rows, as in that of edges: to count what has a relation takes 70 ms, and 190 without it.
        indexes = [
            Index(fields=["graph", "voice", "marks", "node", "relations"], name="nodes_of_voice"),
            Index(fields=["graph"], condition=Q(marks=0), name="nodes_of_nobody"),
        ]

    def __str__(self) -> str:
        return f"{self.node_id}: {self.marks}"


class EdgeTotal(_Edge):
    """The ends are nodes."""

    graph = models.ForeignKey("graph.Graph", on_delete=models.RESTRICT, db_index=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["subject", "object", "label", "voice"], name="edge_total_once")]
        indexes = [
            Index(fields=["graph", "voice", "marks", "label", "subject", "object"], name="edges_of_voice"),
            Index(fields=["object", "voice"], name="edges_to_node"),
            Index(fields=["graph"], condition=Q(marks=0), name="edges_of_nobody"),
        ]
