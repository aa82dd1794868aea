"""The nodes and edges of a graph that an address asks for: from a source or two that are compared, filtered, sorted, in pages."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from django.db.models import BooleanField, Case, Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Sum, Value, When
from django.db.models.expressions import RawSQL
from django.http import QueryDict

from annotation_service.db import among
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import Column, Page
from datasets.item_lists import FilteredList, labels_named
from datasets.models import Item
from datasets.models.item import folded
from ontologies.labels import Label
from ontologies.models import Ontology
from projects.models import Project

from .models import EdgeTotal, Graph, ItemNode, NodeTotal, SurfaceForm
from .models.graph import STANDING
from .voices import ALL, GraphSource, source_named, sources_of

# The place of the item in which a voice of a graph has each node, or edge, for the first time.
FIRST_NODES = """
SELECT COALESCE(f.node_id, f.id) AS node, MIN(i.position) AS position
  FROM graph_itemnode c
  JOIN graph_surfaceform f ON f.id = c.form_id
  JOIN datasets_item i ON i.id = c.item_id
 WHERE f.graph_id = %s AND c.voice = %s GROUP BY 1
"""
_EDGE = "COALESCE(s.node_id, s.id), c.label, COALESCE(o.node_id, o.id)"
_EDGES = """
  FROM graph_itemedge c
  JOIN graph_surfaceform s ON s.id = c.subject_id
  JOIN graph_surfaceform o ON o.id = c.object_id
  JOIN datasets_item i ON i.id = c.item_id
 WHERE s.graph_id = %s
"""
FIRST_EDGES = f"SELECT {_EDGE}, MIN(i.position) AS position {_EDGES} AND c.voice = %s GROUP BY 1, 2, 3"
_NEW = f"SELECT node FROM ({FIRST_NODES}) AS firsts WHERE position BETWEEN %s AND %s"
_NEW_EDGES = f"SELECT {_EDGE} {_EDGES} AND c.voice = %s GROUP BY 1, 2, 3 HAVING MIN(i.position) BETWEEN %s AND %s"
_EDGES_OF_ITEM = f"SELECT {_EDGE} {_EDGES} AND c.voice IN (%s, %s) AND i.position = %s"
_IS_ONE_OF = "(graph_edgetotal.subject_id, graph_edgetotal.label, graph_edgetotal.object_id) IN ({})"
SIZES = (100, 200, 500)
# So many edges are drawn at a time, the most frequent first.
MOST_EDGES = 1500
# So many neighbours of a node are shown.
MOST_NEIGHBOURS = 200
STATES = {"alone": "without relations", "broken": "with marks that break rules"}
CONDITIONS = {
    "alone": Q(all_relations=0),
    "broken": Q(all_broken__gt=0),
    "both": Q(here__gt=0, there__gt=0),
    "one": Q(here__gt=0, there=0),
    "other": Q(here=0, there__gt=0),
}
SIDES = {"both": "in both", "one": "only in the first", "other": "only in the other"}


class CountedNode(NamedTuple):
    """``marks`` are those of the source, ``other`` of that which it is compared with; ``relations`` counts the ends at it."""

    form: SurfaceForm
    label: Label | None
    forms: int
    """How many further forms it has."""
    marks: int
    other: int
    relations: int
    broken: int

    @property
    def id(self) -> str:
        return self.form.digest

    @property
    def side(self) -> str:
        return side_of(self.marks, self.other)


class CountedEdge(NamedTuple):
    """Between two nodes, given by the forms that stand for them, with their labels."""

    subject: SurfaceForm
    subject_label: Label | None
    label: Label
    object: SurfaceForm
    object_label: Label | None
    marks: int
    other: int
    broken: int

    @property
    def id(self) -> str:
        return f"{self.subject.digest},{self.label.uid},{self.object.digest}"

    @property
    def side(self) -> str:
        return side_of(self.marks, self.other)


def side_of(one: int, other: int) -> str:
    return "both" if one and other else "one" if one else "other"


@dataclass(frozen=True, kw_only=True)
class NodeList(FilteredList):
    """A value that is none of those that it can have matches no node."""

    names: ClassVar = (
        *("source", "agreed", "compare", "label", "relation", "least", "q", "person", "state"),
        *("side", "around", "item", "new", "view", "to", "size", "sort"),
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
    item: str = ""
    new: str = ""
    view: str = ""
    to: str = ""
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
        yield self.relation, f"with the relation “{self.relation_name}” or one below"
        yield self.least, f"marked at least {self.least} ×"
        yield self.person, f"marked by {self.person.removeprefix('@')}"
        yield self.state, STATES.get(self.state, self.state)
        yield self.second and self.side, SIDES.get(self.side, self.side)
        yield self.around, f"around “{self.centre or self.around}”"
        yield self.item, f"in item {self.item}"
        yield self.new, f"found for the first time in the items {self.new}"
        yield self.to, f"to “{replace(self, label=self.to).label_name}” and below"

    @property
    def source_query(self) -> str:
        """The query string of the same source on other pages."""
        chosen = {"source": self.source, "agreed": self.agreed, "compare": self.compare}
        return f"?{urlencode({name: value for name, value in chosen.items() if value})}" if any(chosen.values()) else ""

    @property
    def fixed(self) -> dict[str, str]:
        """What links ask for, and no field: it stays until all is shown."""
        return {"around": self.around, "item": self.item, "new": self.new, "to": self.to}

    # --- What is asked for ---

    @cached_property
    def sources(self) -> list[tuple[str, str]]:
        """Those that can be asked for: `sources_of`."""
        return sources_of(self.project)

    @cached_property
    def first(self) -> GraphSource:
        """Raises `Refused` for a source that there is not."""
        return self._source(self.source or self.sources[0][0])

    @cached_property
    def second(self) -> GraphSource | None:
        return self._source(self.compare) if self.compare else None

    def _source(self, name: str) -> GraphSource:
        """Of two that are compared, agreement is that of everybody."""
        return source_named(self.project, name, self.agreed or 1 if name == ALL else 1)

    @cached_property
    def voices(self) -> list[int]:
        return [each.voice for each in (self.first, self.second) if each]

    @cached_property
    def labels(self) -> dict[int, Label]:
        """All labels of the project, by their keys."""
        return {label.pk: label for ontology in self.all_ontologies() for label in ontology.labels()}

    @cached_property
    def tops(self) -> dict[int, Label]:
        """For the key of each label of entities the one above it at the top of the tree."""
        labels = self.project.entity_ontology.labels()
        return {label.pk: labels.by_pk[labels.line(label.pk)[-1]] for label in labels}

    def label_with(self, uid: str) -> Label | None:
        return next((label for label in self.labels.values() if label.uid == uid), None)

    def _labels_of(self, kind: str, text: str) -> Any:
        return among(labels_named(text, self.project.ontology_set.filter(kind=kind)))

    @property
    def relation_name(self) -> str:
        return replace(self, label=self.relation).label_name

    @cached_property
    def centre(self) -> SurfaceForm | None:
        found = self.graph.forms.filter(digest=self.around).select_related("node").first() if self.around else None
        return found and (found.node or found)

    # --- Nodes ---

    def _counted(self, model: type[NodeTotal] | type[EdgeTotal], *by: str) -> QuerySet[Any]:
        """The totals ``here``, of the source, and ``there``, of that which it is compared with, with what is counted of both."""
        sums = [name for name in ("relations", "broken") if hasattr(model, name)]
        rows: Any = model._default_manager.filter(graph=self.graph, voice__in=self.voices).order_by()
        if not self.second:
            there = Value(0, output_field=IntegerField())
            return rows.values(*by, here=F("marks"), there=there, **{f"all_{name}": F(name) for name in sums})
        one, other = (Sum(Case(When(voice=voice, then="marks"), default=0)) for voice in self.voices)
        return rows.values(*by).annotate(here=one, there=other, **{f"all_{name}": Sum(name) for name in sums})

    @property
    def _by_marks(self) -> Any:
        return F("here") + F("there") if self.second else F("marks")

    def nodes(self) -> QuerySet[Any]:
        """Rows of each ``node`` with what is counted of it, in order."""
        found = self._counted(NodeTotal, "node")
        if self.label:
            found = found.filter(node__label__in=self._labels_of("entity", self.label))
        found = self._matching(found)
        for wanted in (*self._named(), *self._among()):
            found = found.filter(node__in=wanted)
        column, falls = self._sorted_by()
        keys = {"marks": self._by_marks, "relations": F("all_relations"), "node": F("node__search_text")}
        key: Any = keys[column.name]
        return found.order_by(key.desc() if falls else key.asc(), "node")

    def _matching(self, found: QuerySet[Any]) -> QuerySet[Any]:
        """Those as often as asked for, in the state and on the side that are."""
        if self.least:
            found = found.filter(here__gte=self._least)
        known = CONDITIONS.keys() - ({"alone"} if self.view == "edges" else set())
        for name in filter(None, (self.state, self.side if self.second else "")):
            found = found.filter(CONDITIONS[name]) if name in known else found.none()
        return found

    def _named(self) -> Iterator[Any]:
        """The nodes of which a form, the name or an id has the text."""
        if text := folded(self.q):
            yield self.graph.forms.order_by().filter(search_text__contains=text).values_list(STANDING)

    @property
    def _least(self) -> int:
        if (number := whole_number(self.least[:9])) is None:
            raise Refused("This must be a whole number.", place="at least")
        return number

    @property
    def _new_in(self) -> list[int]:
        """The positions of the first and last item in which it is found for the first time."""
        first, _, last = self.new.partition("-")
        return [(whole_number(number[:9]) or 0) - 1 for number in (first, last or first)]

    @property
    def _position(self) -> int:
        return (whole_number(self.item[:9]) or 0) - 1

    def _near(self) -> Any:
        """The node around which all are, and its neighbours."""
        if self.centre is None:
            return []
        return among(list(ends_of(self.neighbours(self.centre)) | {self.centre.pk}))

    def _among(self) -> Iterator[Any]:
        """Sets of nodes in which all are that match."""
        if self.person:
            voice = source_named(self.project, self.person).voice
            yield NodeTotal.objects.filter(graph=self.graph, voice=voice).values("node")
        if self.relation:
            for_some = {"label__in": self._labels_of("relation", self.relation), "voice__in": self.voices}
            edges = EdgeTotal.objects.filter(graph=self.graph, **for_some)
            yield edges.values("subject").union(edges.values("object"))
        if self.item:
            wanted = Item.objects.filter(dataset=self.dataset, position=self._position).values("pk")
            here = ItemNode.objects.filter(item__in=wanted, voice__in=self.voices)
            yield self.graph.forms.order_by().filter(pk__in=here.values("form")).values_list(STANDING)
        if self.new:
            yield RawSQL(_NEW, [self.graph.pk, self.first.voice, *self._new_in])
        if self.around:
            yield self._near()

    def page(self, wanted: str | None) -> Page:
        """Of `CountedNode` or, if edges are listed, of `CountedEdge`, with all that match counted."""
        size = whole_number(self.size[:4]) or SIZES[0]
        rows = self.edges() if self.view == "edges" else self.nodes()
        page = Page.of(rows, wanted, size=size if size in SIZES else SIZES[0], count=rows.order_by().count())
        show: Any = self.shown_edges if self.view == "edges" else self.shown
        page.object_list = show(list(page.object_list))
        return page

    def shown(self, rows: Sequence[dict[str, Any]]) -> list[CountedNode]:
        """Rows of `nodes` as people see them."""
        keys = [row["node"] for row in rows]
        forms = SurfaceForm.objects.in_bulk(keys)
        further = self.graph.forms.filter(node__in=among(keys)).order_by().values("node").annotate(count=Count("pk"))
        counts = dict(further.values_list("node", "count"))
        return [
            CountedNode(form := forms[row["node"]], self.labels.get(form.label), counts.get(form.pk, 0), *_figures(row))
            for row in rows
        ]

    def nodes_of(self, keys: Collection[int]) -> list[CountedNode]:
        """Nodes, given by their keys, whatever else is asked for."""
        return self.shown(list(self._counted(NodeTotal, "node").filter(node__in=among(list(keys)))))

    # --- Edges ---

    def _edges(self, which: Q) -> QuerySet[Any]:
        found = self._counted(EdgeTotal, "subject", "label", "object").filter(which)
        if self.relation:
            found = found.filter(label__in=self._labels_of("relation", self.relation))
        return found.order_by(self._by_marks.desc(), "subject", "object", "label")

    def edges(self) -> QuerySet[Any]:
        """Those that are asked for, if edges are listed: from nodes with the label to others."""
        found = self._edges(Q())
        for end, text in (("subject", self.label), ("object", self.to)):
            if text:
                found = found.filter(**{f"{end}__label__in": self._labels_of("entity", text)})
        for named in self._named():
            found = found.filter(Q(subject__in=named) | Q(object__in=named))
        if self.around:
            near = self._near()
            found = found.filter(subject__in=near, object__in=near)
        for said in self._said():
            found = found.filter(said)
        return self._matching(found)

    def _said(self) -> Iterator[Any]:
        """Conditions of edges, not of their ends: who has marked them, in which item, and where for the first time."""
        if self.person:
            same = {name: OuterRef(name) for name in ("subject", "label", "object")}
            yield Exists(EdgeTotal.objects.filter(voice=source_named(self.project, self.person).voice, **same))
        asked = []
        if self.item:
            asked.append((_EDGES_OF_ITEM, [self.voices[0], self.voices[-1], self._position]))
        if self.new:
            asked.append((_NEW_EDGES, [self.first.voice, *self._new_in]))
        for sql, values in asked:
            yield RawSQL(_IS_ONE_OF.format(sql), [self.graph.pk, *values], output_field=BooleanField())

    def shown_edges(self, rows: Iterable[Mapping[str, Any]]) -> list[CountedEdge]:
        """Rows of `edges` as people see them."""
        known = [row for row in rows if row["label"] in self.labels]
        forms = SurfaceForm.objects.in_bulk({row[end] for row in known for end in ("subject", "object")})
        return [
            CountedEdge(
                subject := forms[row["subject"]],
                self.labels.get(subject.label),
                self.labels[row["label"]],
                object := forms[row["object"]],
                self.labels.get(object.label),
                *_figures(row),
            )
            for row in known
        ]

    def edges_between(self, nodes: Collection[int]) -> list[CountedEdge]:
        """Those between nodes, given by their keys."""
        ends = among(list(nodes))
        return self.shown_edges(self._edges(Q(subject__in=ends, object__in=ends))[:MOST_EDGES])

    def neighbours(self, node: SurfaceForm) -> list[CountedEdge]:
        """The most frequent edges of a node."""
        return self.shown_edges(self._edges(Q(subject=node) | Q(object=node))[:MOST_NEIGHBOURS])

    def count_edges(self) -> int:
        """All, whatever nodes are asked for."""
        return self._edges(Q()).order_by().count()


def ends_of(edges: Iterable[CountedEdge]) -> set[int]:
    """The keys of the nodes at their ends."""
    return {end.pk for edge in edges for end in (edge.subject, edge.object)}


def _figures(row: Mapping[str, Any]) -> list[int]:
    return [row[name] for name in ("here", "there", "all_relations", "all_broken") if name in row]
