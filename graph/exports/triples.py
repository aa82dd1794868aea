"""A graph in RDF: what it says, in Turtle; and the evidence, in TriG and JSON-LD: who says it, when, and where in the texts.

What things are called: a class or property by the uid of its label, a node by the id of its standing form, which is the same in
every copy of a project. All of these stay when somebody renames a label or a node, and the names are in ``rdfs:label``. A node
that has an IRI is called by that; where several nodes have the same one, each keeps its own name and is ``owl:sameAs`` the IRI,
so that nodes and edges are as many in RDF as in all other formats. Items, people and marks have names by their numbers here.

The evidence is about *marks*, which are never taken for the things that they name: a mark has its label in ``ev:markedAs``,
and only nodes are instances of classes. What marks say about the graph is in a named graph for each place where it is said. The
terms are those of PROV (https://www.w3.org/TR/prov-o/) and of Web Annotation (https://www.w3.org/TR/annotation-vocab/); what
they have no word for is ``ev:``.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import Count, TextField
from django.db.models.functions import Cast

from annotation_service.db import among
from annotation_service.json_input import json_array, to_json
from annotation_service.models import User
from datasets.models import Annotation, Layer
from quality.comparison import GIVEN_VOICE
from quality.models import GoldDecision
from quality.voices import GOLD_VOICE

from ..counting import Edge, Folding, Form, GraphItem, ReadMark, read_items
from ..models.graph import NAMESPACES
from ..voices import GOLD, Statement, statements
from .contents import GraphContents, StandingForm

RDF_TYPE = f"{NAMESPACES['rdf']}type"
TEXT, NUMBER, TIME, THING = "", "xsd:integer", "xsd:dateTime", "@id"
_names = {
    TEXT: "rdfs:label rdfs:comment skos:altLabel dcterms:identifier oa:exact ev:layer ev:status ev:uid",
    NUMBER: "oa:start oa:end ev:number ev:firstToken ev:lastToken",
    TIME: "prov:generatedAtTime dcterms:modified",
    THING: "rdfs:subClassOf rdfs:subPropertyOf owl:sameAs prov:wasAttributedTo prov:wasDerivedFrom oa:hasSource oa:hasSelector"
    " ev:item ev:annotation ev:mark ev:markedAs ev:subject ev:object",
}
PROPERTIES = {name: kind for kind, names in _names.items() for name in names.split()}
"""All that is said of things, and what stands there; ``a`` is their type: one of these, or a class."""
TYPES = {
    *("owl:Class", "owl:ObjectProperty", "oa:SpecificResource", "oa:TextPositionSelector", "oa:TextQuoteSelector"),
    *("prov:Agent", "prov:Entity", "prov:Person", "ev:Annotation", "ev:EntityMark", "ev:Item", "ev:Node"),
    *("ev:RelationMark", "ev:Statement"),
}
LAYERS = {GOLD_VOICE: Layer.GOLD.value, GIVEN_VOICE: Layer.GIVEN.value}
QUESTIONS = """
# What the graph says is in a named graph for each place where marks say it, and that is described outside of all graphs. Ask:
#
# How many nodes and edges are there?
#   SELECT (COUNT(?node) AS ?nodes) { ?node a ev:Node }
#   SELECT (COUNT(*) AS ?edges) { SELECT DISTINCT ?s ?p ?o { GRAPH ?said { ?s ?p ?o FILTER (?p != rdf:type) } } }
# Who says that there is an edge, and where?
#   SELECT ?person ?item ?text { GRAPH ?said { ?s ?p ?o } ?said prov:wasAttributedTo ?person ; prov:wasDerivedFrom ?span .
#     ?span oa:hasSource ?item ; oa:hasSelector/oa:exact ?text }

"""
_simple = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*)").fullmatch
Facts = Mapping[str, Any]


class Subject(NamedTuple):
    """What is said of one thing: values, or lists of them, by the `PROPERTIES`; facts where it has no name. What is empty is not
    said. With ``said``, a triple of IRIs, it is a named graph that says this."""

    iri: str
    facts: Facts
    said: tuple[str, str, str] | None = None


class Terms:
    """What things are called, as IRIs."""

    def __init__(self, contents: GraphContents) -> None:
        self.contents = contents
        self.prefix, self.namespace = contents.graph.prefix, contents.graph.namespace
        self.labels = {
            label.pk: self.own(f"{'class' if ontology.kind == 'entity' else 'relation'}-{label.uid}")
            for ontology in contents.ontologies
            for label in ontology.labels()
        }

    def own(self, local: str) -> str:
        return f"{self.namespace}{local}"

    def short(self, iri: str) -> str:
        """As Turtle and SPARQL have it."""
        local = iri.removeprefix(self.namespace)
        return f"{self.prefix}:{local}" if len(local) < len(iri) and _simple(local) else f"<{iri}>"

    def label(self, pk: int) -> str:
        """Of one that was deleted nothing is known: see `GraphContents.label`."""
        return self.labels.get(pk, _full("owl:Thing"))

    def node(self, digest: str, iri: str) -> str:
        return iri if iri and iri not in self._shared else self.own(f"node-{digest}")

    @cached_property
    def _shared(self) -> set[str]:
        """The IRIs of more than one node."""
        named = self.contents.graph.forms.filter(node=None).exclude(iri="").values("iri")
        return set(named.annotate(nodes=Count("pk")).filter(nodes__gt=1).values_list("iri", flat=True))


# --- What is said --------------------------------------------------------------------------------------------------------


def _vocabulary(terms: Terms) -> Iterator[Subject]:
    for ontology in terms.contents.ontologies:
        is_entity, labels = ontology.kind == "entity", ontology.labels()
        below = "rdfs:subClassOf" if is_entity else "rdfs:subPropertyOf"
        for label in labels:
            above = terms.labels[labels.by_uid[label.parent_uid].pk] if label.parent_uid else ""
            facts = {"a": "owl:Class" if is_entity else "owl:ObjectProperty", "rdfs:label": label.name}
            yield Subject(terms.labels[label.pk], facts | {below: above, "rdfs:comment": label.description})


def _nodes(terms: Terms, *, with_types: bool) -> Iterator[Subject]:
    for form, further, _ in terms.contents.nodes():
        iri = terms.node(form.digest, form.iri)
        other = [form.text] if form.text != form.title else []
        facts = {"rdfs:label": form.title, "skos:altLabel": [*other, *(each for each in further if each != form.title)]}
        facts |= {"dcterms:identifier": form.external_id, "owl:sameAs": form.iri if form.iri != iri else ""}
        yield Subject(iri, {"a": terms.label(form.label) if with_types else "ev:Node", **facts})


def _evidence(terms: Terms) -> Iterator[Subject]:
    contents, source = terms.contents, terms.contents.source
    yield from _vocabulary(terms)
    yield from _nodes(terms, with_types=False)
    decided = GoldDecision.objects.filter(annotation__item__dataset=contents.graph.dataset, undone_at=None).order_by()
    begun = Annotation.objects.filter(source.annotations, item__dataset=contents.graph.dataset).order_by()
    people: Any = decided.values("by") if source.name == GOLD else begun.values("annotator")
    for pk, name in User.objects.filter(pk__in=people).order_by("pk").values_list("pk", "username"):
        yield Subject(terms.own(f"person-{pk}"), {"a": ["prov:Agent", "prov:Person"], "rdfs:label": name})
    folding = Folding(contents.graph)
    for items in contents.items():
        rows = items.values_list("pk", "position", "external_id", "original", Cast("offsets", TextField()))
        texts = {pk: row for pk, *row in rows}
        deciders: dict[int, set[int]] = defaultdict(set)
        if source.name == GOLD:
            here = decided.filter(annotation__item__in=among(list(texts)))
            for pk, person in here.values_list("annotation__item", "by"):
                deciders[pk].add(person)
        read = read_items(list(texts), source.annotations, with_times=True)
        said = [(item, *statements(source, folding, item)) for item in read]
        forms = contents.standing(
            each.what for _, entities, _ in said for each in entities if isinstance(each.what, Form)
        )
        for item, entities, relations in said:
            if entities:
                told = _Told(terms, item, texts[item.pk], deciders[item.pk])
                yield from told.subjects(entities, relations, forms)


class _Told:
    """What is told of an item; ``row`` is its position and outside id, its original, and the JSON of the offsets."""

    def __init__(self, terms: Terms, item: GraphItem, row: Sequence[Any], deciders: Iterable[int]) -> None:
        position, self.external_id, self.original, offsets = row
        self.terms, self.item, self.deciders, self.number = terms, item, deciders, position + 1
        self.offsets = json.loads(offsets or "null")
        self.iri = terms.own(f"item-{self.number}")

    def subjects(
        self, entities: Iterable[Statement], relations: Iterable[Statement], forms: Mapping[str, StandingForm]
    ) -> Iterator[Subject]:
        yield Subject(self.iri, {"a": "ev:Item", "ev:number": self.number, "dcterms:identifier": self.external_id})
        marks = [mark for each in entities for mark in each.marks]
        for voice in sorted({mark.voice for mark in marks}):
            facts = {"a": "ev:Annotation", "ev:item": self.iri, "ev:layer": LAYERS.get(voice, "own")}
            yield Subject(self._annotation(voice), facts | {"prov:wasAttributedTo": self._people([voice])})
        for start, end in sorted({mark.place for mark in marks}):
            yield self._span(start, end)
        for mark in marks:
            start, end = mark.place
            place = {"ev:firstToken": start, "ev:lastToken": end, "prov:wasDerivedFrom": self._name_of(start, end)}
            yield self._mark(mark, "e", {"a": "ev:EntityMark", **place})
        for mark in (mark for each in relations for mark in each.marks):
            one, other = (self.terms.own(f"mark-e{end}") for end in mark.place)
            yield self._mark(mark, "r", {"a": "ev:RelationMark", "ev:subject": one, "ev:object": other})
        for each in chain(entities, relations):
            yield self._statement(each, forms)

    def _annotation(self, voice: int) -> str:
        return f"{self.iri}-{LAYERS.get(voice, f'by-{voice}')}"

    def _people(self, voices: Sequence[int]) -> list[str]:
        """Of the gold those who decided; what came with the dataset is nobody's."""
        people = self.deciders if GOLD_VOICE in voices else [voice for voice in voices if voice > GIVEN_VOICE]
        return [self.terms.own(f"person-{person}") for person in sorted(people)]

    def _name_of(self, start: int, end: int) -> str:
        return f"{self.iri}-tokens-{start}-{end}"

    def _span(self, start: int, end: int) -> Subject:
        """In code points of the original or, where a token is not in that, by its words alone."""
        selectors, text = list[Facts](), self.item.cleaned.between(start, end)
        if self.offsets is not None:
            first, last = self.offsets[start][0], self.offsets[end][1]
            selectors.append({"a": "oa:TextPositionSelector", "oa:start": first, "oa:end": last})
            text = self.original[first:last]
        selectors.append({"a": "oa:TextQuoteSelector", "oa:exact": text})
        facts = {"a": "oa:SpecificResource", "oa:hasSource": self.iri, "oa:hasSelector": selectors}
        return Subject(self._name_of(start, end), facts)

    def _mark(self, mark: ReadMark, kind: str, facts: Facts) -> Subject:
        said = {"ev:annotation": self._annotation(mark.voice), "ev:uid": mark.uid}
        said["ev:markedAs"] = self.terms.label(mark.label)
        said["ev:status"] = "given" if mark.voice == GIVEN_VOICE else "accepted"
        times = {"prov:generatedAtTime": mark.created_at, "dcterms:modified": mark.updated_at}
        people = {"prov:wasAttributedTo": self._people([mark.voice])}
        return Subject(self.terms.own(f"mark-{kind}{mark.pk}"), {**facts, **said, **times, **people})

    def _statement(self, statement: Statement, forms: Mapping[str, StandingForm]) -> Subject:
        terms, what, marks = self.terms, statement.what, statement.marks
        if isinstance(what, Edge):
            kind, one, other = "r", forms[what.subject.digest], forms[what.object.digest]
            said = terms.node(one.digest, one.iri), terms.label(what.label), terms.node(other.digest, other.iri)
        else:
            kind, form = "e", forms[what.digest]
            said = terms.node(form.digest, form.iri), RDF_TYPE, terms.label(form.label)
        facts = {
            "a": ["prov:Entity", "ev:Statement"],
            "ev:mark": [terms.own(f"mark-{kind}{mark.pk}") for mark in marks],
            "prov:wasDerivedFrom": [self._name_of(*span) for span in dict.fromkeys(statement.spans)],
            "prov:wasAttributedTo": self._people([mark.voice for mark in marks]),
            "prov:generatedAtTime": min(mark.created_at for mark in marks),
            "dcterms:modified": max(mark.updated_at for mark in marks),
        }
        return Subject(terms.own(f"said-{kind}{marks[0].pk}"), facts, said)


# --- Written -------------------------------------------------------------------------------------------------------------


def prefixes(terms: Terms) -> str:
    named = NAMESPACES | {terms.prefix: terms.namespace}
    return "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in named.items())


def turtle(contents: GraphContents) -> Iterator[str]:
    terms = Terms(contents)
    yield prefixes(terms)
    for subject in chain(_vocabulary(terms), _nodes(terms, with_types=True)):
        yield _in_turtle(terms, subject)
    for edge in contents.edges():
        ends = terms.node(edge.subject, edge.subject_iri), terms.node(edge.object, edge.object_iri)
        yield f"{terms.short(ends[0])} {terms.short(terms.label(edge.label))} {terms.short(ends[1])} .\n"


def trig(contents: GraphContents) -> Iterator[str]:
    terms = Terms(contents)
    yield prefixes(terms) + QUESTIONS
    for subject in _evidence(terms):
        if subject.said:
            yield f"{terms.short(subject.iri)} {{ {' '.join(map(terms.short, subject.said))} }}\n"
        yield _in_turtle(terms, subject)


def json_ld(contents: GraphContents) -> Iterator[str]:
    """The same as TriG, one thing a line. IRIs are written out: a short one could not be told from the IRI that a node has."""
    context: dict[str, Any] = {"@version": 1.1, "@vocab": NAMESPACES["ev"]}
    for name, kind in PROPERTIES.items():
        type = {"@type": kind if kind == THING else _full(kind)} if kind else {}
        context[_local(name)] = {"@id": _full(name), **type}
    yield f'{{"@context": {to_json(context)},\n"@graph": '
    yield from json_array(to_json(_in_json(subject)) for subject in _evidence(Terms(contents)))
    yield "}\n"


def _in_turtle(terms: Terms, subject: Subject) -> str:
    return f"{terms.short(subject.iri)} {_facts_in_turtle(terms, subject.facts)} .\n"


def _facts_in_turtle(terms: Terms, facts: Facts, separator: str = " ;\n  ") -> str:
    said = (f"{name} {', '.join(_in_short(terms, name, each) for each in values)}" for name, values in _listed(facts))
    return separator.join(said)


def _in_short(terms: Terms, name: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"[ {_facts_in_turtle(terms, value, ' ; ')} ]"
    kind = PROPERTIES.get(name, THING)
    if kind == THING:
        return value if name == "a" and value in TYPES else terms.short(value)
    # JSON writes texts and numbers as Turtle reads them.
    return f"{to_json(value)}^^{TIME}" if kind == TIME else to_json(value)


def _in_json(subject: Subject) -> dict[str, Any]:
    written = {"@id": subject.iri, **_facts_in_json(subject.facts)}
    if subject.said:
        about, predicate, object = subject.said
        triple = {"@type": object} if predicate == RDF_TYPE else {predicate: {"@id": object}}
        written["@graph"] = [{"@id": about, **triple}]
    return written


def _facts_in_json(facts: Facts) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for name, values in _listed(facts):
        if name == "a":
            written["@type"] = [_full(each) if each in TYPES else each for each in values]
        else:
            shown = [_facts_in_json(each) if isinstance(each, dict) else each for each in values]
            written[_local(name)] = shown[0] if len(shown) == 1 else shown
    return written


def _listed(facts: Facts) -> Iterator[tuple[str, list[Any]]]:
    for name, value in facts.items():
        if values := [each for each in (value if isinstance(value, list) else [value]) if each != ""]:
            yield name, values


def _full(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{NAMESPACES[prefix]}{local}"


def _local(name: str) -> str:
    return name.partition(":")[2]
