"""How often the nodes and edges of a graph are marked: in each item, and added up. `graph.counting` keeps them.

All are counted for each *voice*: that of a person, given by the key, of the gold or of what came with the dataset, or what at
least so many people agree about, see `at_least`.
"""

from django.db import models
from django.db.models import Index, Q, UniqueConstraint

from quality.comparison import GIVEN_VOICE
from quality.voices import GOLD_VOICE

from .graph import Graph, SurfaceForm

__all__ = ["GIVEN_VOICE", "GOLD_VOICE", "at_least"]


def at_least(people: int) -> int:
    """The voice of so many people who have the same mark: those with the same label on the same words, or of relations between
    such."""
    return -100 - people


class CountedItem(models.Model):
    """An item as it was when its marks were counted. Its key is no foreign key: what is deleted is still to be taken off the
    totals."""

    item = models.BigIntegerField(primary_key=True)
    graph = models.ForeignKey(Graph, on_delete=models.RESTRICT)
    # Of what was counted: another one, as soon as marks, their text or the folding of words are others.
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


class _Node(_Count):
    form = models.ForeignKey(SurfaceForm, on_delete=models.RESTRICT, db_constraint=False, db_index=False)
    # Ends of relations that these marks are.
    relations = models.IntegerField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.form_id}: {self.marks}"


class _Edge(_Count):
    """``label`` is the key of a relation label."""

    subject = models.ForeignKey(
        SurfaceForm, on_delete=models.RESTRICT, db_constraint=False, db_index=False, related_name="+"
    )
    label = models.BigIntegerField()
    object = models.ForeignKey(
        SurfaceForm, on_delete=models.RESTRICT, db_constraint=False, db_index=False, related_name="+"
    )

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.subject_id} {self.label} {self.object_id}: {self.marks}"


class ItemNode(_Node):
    item = models.ForeignKey(CountedItem, on_delete=models.RESTRICT)

    class Meta:
        indexes = [Index(fields=["form", "voice", "item"], name="node_in_item")]


class ItemEdge(_Edge):
    item = models.ForeignKey(CountedItem, on_delete=models.RESTRICT)

    class Meta:
        indexes = [
            Index(fields=["subject", "object", "voice", "label", "item"], name="edge_in_item"),
        ]


class NodeTotal(_Node):
    graph = models.ForeignKey(Graph, on_delete=models.RESTRICT, db_index=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["form", "voice"], name="node_total_once")]
        indexes = [
            Index(fields=["graph", "voice"], name="nodes_of_voice"),
            Index(fields=["graph"], condition=Q(marks=0), name="nodes_of_nobody"),
        ]


class EdgeTotal(_Edge):
    graph = models.ForeignKey(Graph, on_delete=models.RESTRICT, db_index=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["subject", "object", "label", "voice"], name="edge_total_once")]
        indexes = [
            Index(fields=["graph", "voice"], name="edges_of_voice"),
            Index(fields=["object", "voice"], name="edges_to"),
            Index(fields=["graph"], condition=Q(marks=0), name="edges_of_nobody"),
        ]
