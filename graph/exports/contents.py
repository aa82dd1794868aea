"""What is in a graph for a source, read row by row: the nodes and edges, and the items that say so."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.db.models import Exists, OuterRef
from django.db.models.functions import Coalesce

from annotation_service.db import among
from datasets.models import Annotation
from datasets.models.item import ItemQuerySet
from datasets.portions import by_tokens, portions

from ..counting import ITEMS_AT_ONCE, Form
from ..models import EdgeTotal, Graph, NodeTotal
from ..voices import GraphSource

NODES_AT_ONCE = 1000


class StandingForm(NamedTuple):
    """The form that stands for a node."""

    digest: str
    """The id of the node in all files."""
    text: str
    words: str
    label: int
    name: str
    iri: str
    external_id: str

    @property
    def title(self) -> str:
        return self.name or self.words or self.text


class ExportedNode(NamedTuple):
    form: StandingForm
    further: list[str]
    """Its other forms."""
    marks: int


class ExportedEdge(NamedTuple):
    """Between two nodes, given by their ids and IRIs, there is one with a label."""

    subject: str
    subject_iri: str
    label: int
    object: str
    object_iri: str
    marks: int


class GraphContents:
    """Of a graph that is counted. To be read in a `snapshot`."""

    def __init__(self, graph: Graph, source: GraphSource) -> None:
        self.graph, self.source = graph, source
        self.ontologies = list(graph.project.ontology_set.order_by("pk"))
        self.labels = {label.pk: label for each in self.ontologies for label in each.labels()}

    def label(self, pk: int) -> str:
        """The full name; empty for one that was deleted: nobody marks anything with the label of a form any more, which may
        stand for a node of others all the same."""
        return self.labels[pk].fullname if pk in self.labels else ""

    def nodes(self) -> Iterator[ExportedNode]:
        """In the order of their ids."""
        totals = NodeTotal.objects.filter(graph=self.graph, voice=self.source.voice).order_by("node__digest")
        rows = totals.values_list("node", "marks", *(f"node__{name}" for name in StandingForm._fields)).iterator()
        for some in portions(rows, lambda row: 1, most=NODES_AT_ONCE, heaviest=NODES_AT_ONCE):
            further: dict[int, dict[str, None]] = defaultdict(dict)
            forms = self.graph.forms.filter(node__in=among([node for node, *_ in some])).order_by("text")
            for node, text in forms.values_list("node", "text"):
                further[node][text] = None
            for node, marks, *values in some:
                form = StandingForm(*values)
                yield ExportedNode(form, [text for text in further[node] if text != form.text], marks)

    def edges(self) -> Iterator[ExportedEdge]:
        """In the order of the ids of their nodes."""
        totals = EdgeTotal.objects.filter(graph=self.graph, voice=self.source.voice)
        ordered = totals.order_by("subject__digest", "label", "object__digest")
        fields = ("subject__digest", "subject__iri", "label", "object__digest", "object__iri", "marks")
        return (ExportedEdge(*row) for row in ordered.values_list(*fields).iterator())

    def items(self) -> Iterator[ItemQuerySet]:
        """Those in which the source has begun, some at a time."""
        begun = Annotation.objects.filter(self.source.annotations, item=OuterRef("pk"))
        items = self.graph.dataset.items().filter(Exists(begun))
        for positions in by_tokens(items):
            for first in range(0, len(positions), ITEMS_AT_ONCE):
                few = positions[first : first + ITEMS_AT_ONCE]
                yield items.filter(position__range=(few[0], few[-1]))

    def standing(self, forms: Iterable[Form]) -> dict[str, StandingForm]:
        """What stands for the nodes of forms, by the ids of these. What came since all was counted stands for itself."""
        found = {
            form.digest: StandingForm(form.digest, form.text, form.words, form.label, "", "", "") for form in forms
        }
        standing = [Coalesce(f"node__{name}", name) for name in StandingForm._fields]
        rows = self.graph.forms.filter(digest__in=among(list(found))).values_list("digest", *standing)
        return found | {digest: StandingForm(*values) for digest, *values in rows}
