"""What is in a graph for a source, read row by row: the nodes and edges, and the items that say so."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Sum
from django.db.models.functions import Coalesce

from annotation_service.db import among
from datasets.models import Annotation
from datasets.models.item import ItemQuerySet
from datasets.portions import by_tokens

from ..counting import Form
from ..models import EdgeTotal, Graph, NodeTotal
from ..voices import Source


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
    """Its other forms that are marked, too."""
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

    def __init__(self, graph: Graph, source: Source) -> None:
        self.graph, self.source = graph, source

        self.ontologies = list(graph.project.ontology_set.order_by("pk"))
        self.labels = {label.pk: label for each in self.ontologies for label in each.labels()}

    def label(self, pk: int) -> str:
        """The full name; empty for one that was deleted: nobody marks anything with the label of a form any more, which may
        stand for a node of others all the same."""
        return self.labels[pk].fullname if pk in self.labels else ""

    def nodes(self) -> Iterator[ExportedNode]:
        """In the order of their ids."""
        totals = NodeTotal.objects.filter(graph=self.graph, voice=self.source.voice, marks__gt=0)
        rows = totals.values_list(*_standing("form__"), "form__digest", "form__text", "marks")
        ordered = rows.order_by(_standing("form__")[0], "form__text", "form__digest").iterator()
        for values, forms in groupby(ordered, lambda row: row[: len(StandingForm._fields)]):
            form, all_marks, further = StandingForm(*values), 0, dict[str, None]()
            for *_, digest, text, marks in forms:
                all_marks += marks
                if digest != form.digest and text != form.text:
                    further[text] = None
            yield ExportedNode(form, list(further), all_marks)

    def edges(self) -> Iterator[ExportedEdge]:
        """In the order of the ids of their nodes."""
        ends = [
            Coalesce(f"{end}__node__{name}", f"{end}__{name}")
            for end in ("subject", "object")
            for name in ("digest", "iri")
        ]
        named = dict(zip(("one", "one_iri", "other", "other_iri"), ends, strict=True))
        totals = EdgeTotal.objects.filter(graph=self.graph, voice=self.source.voice, marks__gt=0).annotate(**named)
        counted = totals.values(*named, "label").annotate(count=Sum("marks")).order_by("one", "label", "other")
        rows = counted.values_list("one", "one_iri", "label", "other", "other_iri", "count")
        return (ExportedEdge(*row) for row in rows.iterator())

    def items(self) -> Iterator[ItemQuerySet]:
        """Those in which the source has begun, some at a time."""
        begun = Annotation.objects.filter(self.source.annotations, item=OuterRef("pk"))
        items = self.graph.dataset.items().filter(Exists(begun))
        for positions in by_tokens(items):
            yield items.filter(position__range=(positions[0], positions[-1]))

    def standing(self, forms: Iterable[Form]) -> dict[str, StandingForm]:
        """What stands for the nodes of forms, by the ids of these. What came since all was counted stands for itself."""
        found = {
            form.digest: StandingForm(form.digest, form.text, form.words, form.label, "", "", "") for form in forms
        }
        rows = self.graph.forms.filter(digest__in=among(list(found))).values_list("digest", *_standing())
        return found | {digest: StandingForm(*values) for digest, *values in rows}


def _standing(form: str = "") -> list[Coalesce]:
    return [Coalesce(f"{form}node__{name}", f"{form}{name}") for name in StandingForm._fields]
