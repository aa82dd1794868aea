"""The nodes and edges of a graph that an address asks for: from a source or two that are compared, filtered, sorted, in pages."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Sum, Value, When
from django.http import QueryDict

from annotation_service.db import among
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, Page
from annotation_service.words import plural
from datasets.item_lists import FilteredList
from datasets.models.item import folded
from ontologies.labels import Label
from ontologies.models import Ontology
from projects.models import Project

from .models import EdgeTotal, Graph, NodeTotal, SurfaceForm
from .models.graph import STANDING
from .voices import Source, source_named, sources_of

SIZES = (100, 200, 500)
# So many edges are drawn at a time, the most frequent first.
MOST_EDGES = 1500
# So many neighbours of a node are shown.
MOST_NEIGHBOURS = 200
STATES = {"alone": "without relations", "broken": "with marks that break rules"}
SIDES = {"both": "in both", "one": "only in the first", "other": "only in the other"}


class Node(NamedTuple):
    """``marks`` are those of the source, ``other`` of that which it is compared with; ``relations`` counts the ends at it."""

    form: SurfaceForm
    label: Label | None
    marks: int
    other: int
    relations: int
    broken: int
    forms: int
    """How many further forms it has."""

    @property
    def id(self) -> str:
        return self.form.digest

    @property
    def side(self) -> str:
        return side_of(self.marks, self.other)


class NodeEdge(NamedTuple):
    """Between two nodes, given by their keys."""

    subject: int
    label: Label
    object: int
    marks: int
    other: int
    broken: int

    @property
    def side(self) -> str:
        return side_of(self.marks, self.other)


def side_of(one: int, other: int) -> str:
    return "both" if one and other else "one" if one else "other"


@dataclass(frozen=True, kw_only=True)
class NodeList(FilteredList):
    """A value that is none of those that it can have matches no node."""

    names = (
        "source",
        "agreed",
        "compare",
        "label",
        "relation",
        "least",
        "q",
        "person",
        "state",
        "side",
        "around",
        "size",
        "sort",
    )
    all_columns: ClassVar = (
        Column("node", "Node", "words"),
        Column("marks", "Marks", "marks", number=True, big_first=True),
        Column("relations", "Relations", "relations", number=True, big_first=True),
    )
    usual_order: ClassVar = "-marks"

    graph: Graph
    source: str = ""
    agreed: str = ""
    compare: str = ""
    relation: str = ""
    least: str = ""
    person: str = ""
    state: str = ""
    side: str = ""
    around: str = ""
    size: str = ""

    @classmethod
    def of(cls, graph: Graph, data: QueryDict) -> "NodeList":
        return cls.read(data, graph=graph, dataset=graph.dataset)

    @property
    def project(self) -> Project:
        return self.graph.project

    def all_ontologies(self) -> list[Ontology]:
        return list(self.project.ontology_set.all())

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield self.q, f"with “{self.q}”"
        yield self.label, f"“{self.label_name}” and below"
        yield self.relation, f"with the relation “{self.relation_name}”"
        yield self.least, f"marked {plural(whole_number(self.least) or 0, 'time,times')} or more"
        yield self.person, f"marked by {self.person}"
        yield self.state, STATES.get(self.state, self.state)
        yield self.side, SIDES.get(self.side, self.side)
        yield self.around, f"around “{self.centre or self.around}”"

    # --- What is asked for ---

    @cached_property
    def first(self) -> Source:
        """Raises `Refused` for a source that there is not."""
        name = self.source or sources_of(self.project)[0][0]
        return source_named(self.project, name, self._people if name == "all" else 1)

    @cached_property
    def second(self) -> Source | None:
        return (
            source_named(self.project, self.compare, self._people if self.compare == "all" else 1)
            if self.compare
            else None
        )

    @property
    def _people(self) -> int:
        return whole_number(self.agreed[:4]) or 1

    @cached_property
    def voices(self) -> list[int]:
        return [each.voice for each in (self.first, self.second) if each]

    @cached_property
    def labels(self) -> dict[int, Label]:
        """All labels of the project, by their keys."""
        return {label.pk: label for ontology in self.all_ontologies() for label in ontology.labels()}

    @cached_property
    def relation_branch(self) -> list[Label]:
        return replace(self, label=self.relation).branch if self.relation else []

    @property
    def relation_name(self) -> str:
        return self.relation_branch[0].fullname if self.relation_branch else self.relation

    @cached_property
    def centre(self) -> SurfaceForm | None:
        found = self.graph.forms.filter(digest=self.around).select_related("node").first() if self.around else None
        return found and (found.node or found)

    # --- Nodes ---

    def _counted(self, model: type[NodeTotal] | type[EdgeTotal], *by: str) -> QuerySet[Any]:
        """The totals ``here``, of the source, and ``there``, of that which it is compared with, with what is counted of either."""
        sums = [name for name in ("relations", "broken") if hasattr(model, name)]
        rows: Any = model._default_manager.filter(graph=self.graph, voice__in=self.voices).order_by()
        if not self.second:
            there = Value(0, output_field=IntegerField())
            return rows.values(*by, here=F("marks"), there=there, **{f"all_{name}": F(name) for name in sums})
        here, there = (Sum(Case(When(voice=voice, then="marks"), default=0)) for voice in self.voices)
        return rows.values(*by).annotate(here=here, there=there, **{f"all_{name}": Sum(name) for name in sums})

    @property
    def _by_marks(self) -> Any:
        return F("here") + F("there") if self.second else F("marks")

    def nodes(self) -> QuerySet[Any]:
        """Rows of each ``node`` with what is counted of it, in order."""
        found = self._counted(NodeTotal, "node")
        conditions = {
            "label": lambda: Q(node__label__in=among([each.pk for each in self.branch])),
            "least": lambda: Q(here__gte=whole_number(self.least[:9]) or 0),
            "alone": lambda: Q(all_relations=0),
            "broken": lambda: Q(all_broken__gt=0),
            "both": lambda: Q(here__gt=0, there__gt=0),
            "one": lambda: Q(here__gt=0, there=0),
            "other": lambda: Q(here=0, there__gt=0),
        }
        asked = [name for name in ("label", "least") if getattr(self, name)] + [self.state, self.side]
        for name in filter(None, asked):
            found = found.filter(conditions[name]()) if name in conditions else found.none()
        for wanted in self._among():
            found = found.filter(node__in=wanted)
        column, falls = self._sorted_by()
        keys = {"marks": self._by_marks, "relations": F("all_relations"), "node": F("node__search_text")}
        key: Any = keys[column.name]
        return found.order_by(key.desc() if falls else key.asc(), "node")

    def _among(self) -> Iterator[Any]:
        """Sets of nodes in which all are that match."""
        if text := folded(self.q):
            yield self.graph.forms.order_by().filter(search_text__contains=text).values_list(STANDING)
        if self.person:
            voice = source_named(self.project, self.person).voice
            yield NodeTotal.objects.filter(graph=self.graph, voice=voice).values("node")
        if self.relation:
            for_some = {"label__in": among([each.pk for each in self.relation_branch]), "voice__in": self.voices}
            edges = EdgeTotal.objects.filter(graph=self.graph, **for_some)
            yield edges.values("subject").union(edges.values("object"))
        if self.around:
            centre = self.centre
            near = self.neighbours(centre.pk) if centre else []
            yield among([centre.pk, *(end for edge in near for end in (edge.subject, edge.object))]) if centre else []

    def page(self, wanted: str | None) -> Page:
        """Of `Node`, with all that match counted."""
        size = whole_number(self.size[:4]) or SIZES[0]
        rows = self.nodes()
        page = Page.of(rows, wanted, size=size if size in SIZES else SIZES[0], count=self.count())
        page.object_list = self.shown(list(page.object_list))
        return page

    def count(self) -> int:
        return self.nodes().order_by().count()

    def shown(self, rows: Sequence[dict[str, Any]]) -> list[Node]:
        """Rows of `nodes` as people see them."""
        keys = [row["node"] for row in rows]
        forms = SurfaceForm.objects.in_bulk(keys)
        further = self.graph.forms.filter(node__in=among(keys)).order_by().values("node").annotate(count=Count("pk"))
        counts = dict(further.values_list("node", "count"))
        return [
            Node(form := forms[row["node"]], self.labels.get(form.label), *_figures(row), counts.get(form.pk, 0))
            for row in rows
        ]

    # --- Edges ---

    def _edges(self, which: Q) -> QuerySet[Any]:
        found = self._counted(EdgeTotal, "subject", "label", "object").filter(which)
        if self.relation:
            found = found.filter(label__in=among([each.pk for each in self.relation_branch]))
        return found.order_by(self._by_marks.desc(), "subject", "object", "label")

    def _shown_edges(self, which: Q, most: int) -> list[NodeEdge]:
        """The most frequent come first."""
        return [
            NodeEdge(row["subject"], self.labels[row["label"]], row["object"], *_figures(row))
            for row in self._edges(which)[:most]
        ]

    def edges_between(self, nodes: Collection[int]) -> list[NodeEdge]:
        """Those between nodes, given by their keys."""
        ends = among(list(nodes))
        return self._shown_edges(Q(subject__in=ends, object__in=ends), MOST_EDGES)

    def neighbours(self, node: int) -> list[NodeEdge]:
        """The edges of a node."""
        return self._shown_edges(Q(subject=node) | Q(object=node), MOST_NEIGHBOURS)

    def count_edges(self) -> int:
        """All, whatever nodes are asked for."""
        return self._edges(Q()).order_by().count()


def _figures(row: Mapping[str, Any]) -> list[int]:
    return [row[name] for name in ("here", "there", "all_relations", "all_broken") if name in row]
