"""Every download of a graph says the same, and that is what the marks say."""

import io
import json
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import networkx
import pyshacl
import pytest
from django.core.management import call_command
from django.db.models import F, QuerySet
from django.utils import timezone
from hypothesis import HealthCheck, given, settings, strategies
from rdflib import Graph as Triples
from rdflib import Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS, OWL, PROV, RDF, RDFS, SH, SKOS

from annotation_service.db import refresh_statistics
from annotation_service.inputs import Refused
from annotation_service.models import User
from datasets.cleaned import CleanedText
from datasets.models import Annotation, Entity, Item, Relation
from datasets.models.broken import judge_of
from datasets.models.judged import broken_in
from graph.counting import refresh
from graph.exports import GRAPH_FORMATS, file_name, property_graphs, write_graph
from graph.exports.contents import GraphContents
from graph.models import EdgeTotal, SurfaceForm
from graph.models.graph import NAMESPACES, digest
from graph.voices import GraphSource, source_named
from ontologies.models import Ontology, OntologyItem
from projects import bundle
from quality.models import GoldDecision
from tests import factories, gold
from tests.graph.random_graphs import (
    EDGES,
    NODES,
    from_bundle,
    graph_of,
    of_evidence,
    of_graphml,
    of_json,
    of_neo4j,
    random_project,
    rdf,
    sizes,
    tables,
    written,
)
from tests.resource_sets import make
from tests.soak import amount

EV, OA = Namespace(NAMESPACES["ev"]), Namespace(NAMESPACES["oa"])
pytestmark = pytest.mark.django_db


@pytest.fixture
def project(random, alice, carol, dave):
    return random_project(random, by=alice, people=[carol, dave])


def bundled(project):
    # A test commits nothing, so that nothing has counted the rows for the planner.
    refresh_statistics(*(model._meta.db_table for model in (Annotation, Entity, Item, Relation)))
    target = io.BytesIO()
    bundle.write(project, target)
    return target.getvalue()


def check(project, source, agreed=1, same=()):
    """That all formats say what the bundle does."""
    expected = from_bundle(bundled(project), source, agreed, same)
    assert of_json(written(project, source, "json", agreed)) == expected
    assert of_graphml(written(project, source, "graphml", agreed)) == expected
    assert of_neo4j(written(project, source, "neo4j", agreed)) == expected
    trig = rdf(written(project, source, "trig", agreed), "trig")
    assert of_evidence(trig) == sizes(*expected)
    linked = rdf(written(project, source, "jsonld", agreed), "json-ld")
    assert of_evidence(linked) == of_evidence(trig) and len(linked) == len(trig)
    for query in (NODES, EDGES):
        assert {*map(tuple, linked.query(query))} == {*map(tuple, trig.query(query))}
    domain = rdf(written(project, source, "ttl", agreed), "turtle")
    assert {tuple(row) for row in trig.query(EDGES)} == {
        triple for triple in domain if triple[1] in set(domain.subjects(RDF.type, OWL.ObjectProperty))
    }
    classes = {*domain.subjects(RDF.type, OWL.Class), OWL.Thing}
    assert {row[0] for row in trig.query(NODES)} == {
        one for one, type in domain.subject_objects(RDF.type) if type in classes
    }
    return expected


@pytest.mark.parametrize(("source", "agreed"), [("given", 1), ("gold", 1), ("carol", 1), ("all", 1), ("all", 2)])
def test_all_formats_say_what_the_marks_say(project, alice, source, agreed):
    nodes, edges = check(project, source, agreed)
    assert nodes and (edges or agreed > 1)
    graph = graph_of(project)
    one, *others = sorted(nodes)[:4]
    ids = [digest(project.entity_ontology.labels().by_fullname[label].uid, form) for label, form in (one, *others)]
    graph.merge(ids[0], ids[1:], by=alice)
    merged, _ = check(project, source, agreed, [[one, *others]])
    assert len(merged) == len(nodes) - len(others)


def test_the_gold_texts(alice):
    project = gold.project(by=alice)
    nodes, edges = check(project, "given")
    assert len(nodes) > 500 and sum(edges.values()) > 500
    counts = of_json(written(project, "all", "json"))
    assert counts == ({}, {})


def test_many_items(random, alice, carol, dave):
    project = random_project(random, by=alice, people=[carol, dave], items=1100, most=2)
    for source, agreed in (("all", 1), ("all", 2)):
        check(project, source, agreed)


# --- Evidence ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(alice, carol, dave):
    """Two people have marked the same in an item, one of them more."""
    text = {"original": "Fix: Pump  leaks!", "tokens": ["Fix", ":", "Pump", "leaks", "!"], "external_id": "A/1"}
    options = {"kind": "rich", "format": "json", "name": "Texts"}
    of = factories.upload([text], by=alice, options=options).store()
    project = factories.project(by=alice, of=of, annotators=[carol, dave])
    label = {name: factories.item(project.entity_ontology, name) for name in ("State", "Activity")}
    part = factories.item(project.relation_ontology, "hasPart")
    for person in (carol, dave):
        annotation = Annotation.start(project.dataset.items().get(), person)
        annotation.add_entity(uid="one", label=label["State"], start=2, end=3)
        annotation.add_entity(uid="two", label=label["Activity"], start=0, end=0)
        annotation.add_relation(uid="r", label=part, source="one", target="two")
    annotation.add_entity(uid="three", label=label["Activity"], start=4, end=4)
    return project


BEHIND = """SELECT ?name ?number ?id ?start ?end ?text ?first ?last ?created WHERE {
  GRAPH ?said { ?one ?relation ?other } ?relation rdfs:label "hasPart" .
  ?one rdfs:label "pump leaks" . ?other rdfs:label "fix" .
  ?said prov:wasAttributedTo ?person ; ev:mark ?mark ; prov:wasDerivedFrom ?span . ?person rdfs:label ?name .
  ?mark ev:subject ?end_mark ; prov:wasAttributedTo ?person ; prov:generatedAtTime ?created .
  ?end_mark prov:wasDerivedFrom ?span ; ev:firstToken ?first ; ev:lastToken ?last ; ev:annotation/ev:item ?item .
  ?item ev:number ?number ; dcterms:identifier ?id .
  ?span oa:hasSource ?item ; oa:hasSelector [ oa:start ?start ; oa:end ?end ], [ oa:exact ?text ] }"""


@pytest.mark.parametrize(("name", "format"), [("trig", "trig"), ("jsonld", "json-ld")])
def test_it_tells_who_says_something_and_where(told, name, format):
    found = rdf(written(told, "all", name), format).query(BEHIND, initNs=NAMESPACES)
    place = (1, "A/1", 5, 16, "Pump  leaks", 2, 3)
    assert sorted(tuple(each.toPython() for each in row[:-1]) for row in found) == [("carol", *place), ("dave", *place)]
    created = set(Relation.objects.values_list("created_at", flat=True))
    assert {row.created.toPython() for row in found} <= {each.replace(microsecond=0) for each in created}
    assert of_evidence(rdf(written(told, "all", name, agreed=2), format)) == [2, 1, 4, 2]
    assert of_evidence(rdf(written(told, "dave", name), format)) == [3, 1, 3, 1]


def test_gold_is_attributed_to_those_who_decided(told, alice, carol):
    annotation = factories.gold(told.dataset.items().get(), (factories.item(told.entity_ontology, "State"), 2, 2))
    annotation.done_at = timezone.now()
    annotation.save()
    GoldDecision.objects.create(annotation=annotation, kind="choice", by=alice)
    GoldDecision.objects.create(annotation=annotation, kind="choice", by=carol, undone_at=timezone.now())
    found = rdf(written(told, "gold", "trig"), "trig")
    [said] = found.subjects(RDF.type, EV.Statement)
    assert [found.value(person, RDFS.label) for person in found.objects(said, PROV.wasAttributedTo)] == [
        Literal("alice")
    ]
    assert {*found.objects(None, EV.layer)} == {Literal("gold")}


def test_a_place_that_is_not_in_the_original_is_told_by_its_words(told):
    Item.objects.update(offsets=None)
    found = rdf(written(told, "all", "trig"), "trig")
    assert not [*found.subjects(OA.start, None)]
    assert Literal("Pump leaks") in {*found.objects(None, OA.exact)}


def test_a_node_is_called_by_its_iri(told, alice):
    graph = graph_of(told)
    check(told, "all")
    forms = {each.text: each for each in graph.forms.all()}
    iri = "https://www.wikidata.org/entity/Q1?a=b,c;d'(é)#x"
    graph.name_node(forms["fix"].digest, by=alice, iri=iri, name="A “fix”", external_id="x/1")
    check(told, "all")
    domain = rdf(written(told, "all", "ttl"), "turtle")
    assert domain.value(URIRef(iri), RDFS.label) == Literal("A “fix”")
    assert domain.value(URIRef(iri), SKOS.altLabel) == Literal("fix")
    assert domain.value(URIRef(iri), DCTERMS.identifier) == Literal("x/1")
    assert [*domain.triples((None, None, URIRef(iri)))]
    graph.name_node(forms["pump leaks"].digest, by=alice, iri=iri)
    check(told, "all")  # they are two, as everywhere
    domain = rdf(written(told, "all", "ttl"), "turtle")
    assert len({*domain.subjects(OWL.sameAs, URIRef(iri))}) == 2 and not [*domain.triples((URIRef(iri), None, None))]


def test_the_label_of_a_form_that_stands_for_others_may_be_deleted(told, alice):
    graph = graph_of(told)
    written(told, "all", "json")
    forms = {each.text: each.digest for each in graph.forms.all()}
    graph.merge(forms["pump leaks"], [forms["!"]], by=alice)
    SurfaceForm.objects.filter(digest=forms["pump leaks"]).update(label=0)
    nodes, _ = of_json(written(told, "all", "json"))
    assert nodes == {("", "pump leaks"): 3, ("Activity", "fix"): 2}
    assert of_evidence(rdf(written(told, "all", "trig"), "trig")) == [2, 1, 5, 2]
    assert [*of_neo4j(written(told, "all", "neo4j"))[0].values()] == [*nodes.values()]


def test_prefix_and_namespace_are_those_of_the_graph(told):
    graph_of(told).edit(prefix="my-KG_", namespace="http://example.org/x#")
    for name, format in (("ttl", "turtle"), ("trig", "trig"), ("shacl", "turtle")):
        data = written(told, "all", name)
        assert b"@prefix my-KG_: <http://example.org/x#> ." in data and rdf(data, format)
    assert b"my-KG_:node-" in written(told, "all", "ttl")


# --- Shapes --------------------------------------------------------------------------------------------------------------

ENTITIES = ["PhysicalObject", "PhysicalObject/SensingObject", "PhysicalObject/SensingObject/Thermostat"]
ENTITIES += ["PhysicalObject/DrivingObject", "Activity", "Activity/Replace", "State"]
RELATIONS = ["hasPart", "hasParticipant", "hasParticipant/hasPatient"]


def random_sets(random, own, owner):
    def some(labels, most):
        return random.sample(labels, random.randint(0, most))

    rules = []
    for domain in random.sample(ENTITIES, random.randint(1, 4)):
        rule = {"domain": domain, "excludes": some(ENTITIES, 2)}
        others = [label for label in ENTITIES if label not in rule["excludes"]]  # both would be refused
        rules.append(rule | ({"can_contain": some(others, 3)} if random.random() < 0.7 else {}))
    pairs = random.sample([(relation, domain) for relation in RELATIONS for domain in ENTITIES], random.randint(1, 8))
    led = [{"relation": relation, "domain": domain, "range": some(ENTITIES, 3)} for relation, domain in pairs]
    return [
        make(f"{kind}_constraints", owner=owner, entities=own["entity"], relations=own["relation"], document=document)
        for kind, document in (("entity", rules), ("relation", led))
    ]


def found_by_shapes(project, source, **options):
    """The pairs of entities and the relations that the shapes find in the evidence."""
    evidence = rdf(written(project, source, "trig"), "trig").default_graph
    data, shapes = Triples(), rdf(written(project, source, "shacl"), "turtle")
    for triple in evidence:
        data.add(triple)
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, **options)
    assert options or {*report.objects(None, SH.resultMessage)} <= {*shapes.objects(None, SH.message)}
    return {
        frozenset(
            each.rpartition("mark-")[2]
            for name in (
                SH.focusNode,
                *([SH.value] if (result, SH.sourceConstraintComponent, SPARQL) in report else []),
            )
            for each in report.objects(result, name)
        )
        for result in report.subjects(RDF.type, SH.ValidationResult)
    }


SPARQL = SH.SPARQLConstraintComponent


def found_by_the_service(project, source):
    chosen = source_named(project, source)
    annotations = Annotation.objects.filter(chosen.annotations, item__dataset=project.dataset)
    keys = {
        (annotation, kind, uid): f"{kind}{pk}"
        for model, kind in ((Entity, "e"), (Relation, "r"))
        for annotation, uid, pk in model.objects.values_list("annotation", "uid", "pk")
    }
    items = list(project.dataset.items().values_list("pk", flat=True))
    found = set()
    for row in broken_in(judge_of(project.dataset.pk), items):
        if row.annotation in annotations:
            assert len(row.places) == row.count
            for one, other, *of in row.places:
                marks = [("r", *of)] if of else [("e", one), ("e", other)]
                found.add(frozenset(keys[row.annotation.pk, *mark] for mark in marks))
    return found


@pytest.mark.soak
@pytest.mark.parametrize("number", range(amount(5, 100)))
def test_shapes_find_what_the_service_finds(number, alice, carol, dave):
    random = Random(number)
    own = {kind: factories.ontology(owner=alice, kind=kind) for kind in ("entity", "relation")}
    project = random_project(
        random, by=alice, people=[carol, dave], items=3, own=own, resources=random_sets(random, own, alice)
    )
    sources = {source: found_by_the_service(project, source) for source in ("given", "gold", "all", "carol")}
    for source, expected in sources.items():
        assert found_by_shapes(project, source) == expected
    assert any(sources.values()) or number > 4  # of some sets nothing is broken


def test_the_shapes_of_the_gold_texts(alice):
    """Their rules are valid SHACL, and find what they find in the service."""
    project = gold.project(by=alice, items=gold.read("items")[:40])
    Relation.objects.update(label=factories.item(project.relation_ontology, "hasPart"))
    found = found_by_shapes(project, "given", meta_shacl=True)
    assert found and found == found_by_the_service(project, "given")


def test_without_rules_there_are_no_shapes(told):
    assert not [*rdf(written(told, "all", "shacl"), "turtle").subjects(RDF.type, SH.NodeShape)]


# --- Odd texts -----------------------------------------------------------------------------------------------------------

ODD = strategies.text(
    strategies.one_of(
        strategies.sampled_from(
            "\"'\\\n\r\t;,<>&{}^|`\x01\x08\x0b\x1f\x7f\x85\u2028\u200f\ufeff\ufffe\uffff\U0010ffff🚀مa"
        ),
        strategies.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    max_size=12,
)


@pytest.fixture
def odd(told):
    written(told, "carol", "json")
    return told


@settings(suppress_health_check=list(HealthCheck))
@given(token=ODD.filter(str.split), name=ODD, outside=ODD, user=ODD.filter(bool), item=ODD, label=ODD.filter(bool))
def test_every_text_comes_back_as_it_was(odd, carol, token, name, outside, user, item, label):
    tokens, original = ["Fix", ":", token, "leaks", "!"], f"Fix: {token} leaks!"
    offsets = [
        [0, 3],
        [3, 4],
        [5, 5 + len(token)],
        [6 + len(token), 11 + len(token)],
        [11 + len(token), 12 + len(token)],
    ]
    cleaned = str(CleanedText.of(original, tokens, offsets))
    texts = {"tokens": tokens, "original": original, "offsets": offsets, "search_text": cleaned.casefold()}
    Item.objects.update(text_version=F("text_version") + 1, external_id=item, **texts)
    OntologyItem.objects.filter(name__in=["State"]).update(description=label)
    Ontology.objects.update(version=F("version") + 1)
    QuerySet(User).filter(pk=carol.pk).update(username=user)
    graph = graph_of(odd)
    refresh(graph)
    source = GraphSource(user, carol.pk)
    form = EdgeTotal.objects.filter(voice=source.voice).get().subject
    type(form).objects.filter(pk=form.pk).update(name=name, external_id=outside)
    write = partial(written_of, graph, source)

    node = next(each for each in json.loads(write("json"))["nodes"] if each["id"] == form.digest)
    told = {"form": form.text, "name": name, "external_id": outside}
    assert {name: node[name] for name in told} == told
    row = next(each for each in next(tables(write("neo4j"))) if each["id:ID"] == form.digest)
    assert {name: row[name] for name in told} == told
    shown = networkx.read_graphml(io.BytesIO(write("graphml"))).nodes[form.digest]
    for field, text in told.items():
        assert shown.get(field, "") == property_graphs._NO_XML.sub("", text)
    iri = URIRef(f"https://example.org/graph/node-{form.digest}")
    for kind, format in (("ttl", "turtle"), ("trig", "trig"), ("jsonld", "json-ld")):
        found = rdf(write(kind), format)
        assert found.value(iri, RDFS.label) == Literal(name or form.text)
        assert found.value(iri, DCTERMS.identifier) == (Literal(outside) if outside else None)
        assert Literal(label) in {*found.objects(None, RDFS.comment)}
        if kind != "ttl":
            assert Literal(user) in {*found.objects(None, RDFS.label)}
            assert Literal(f"{token} leaks") in {*found.objects(None, OA.exact)}
            assert {*found.objects(None, DCTERMS.identifier)} == {Literal(each) for each in (outside, item) if each}


def written_of(graph, source, format):
    target = io.BytesIO()
    write_graph(graph, source, format, target)
    return target.getvalue()


# --- Streams -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in GRAPH_FORMATS if name not in ("neo4j", "shacl")])
def test_pieces_come_before_all_is_read(project, name, monkeypatch):
    """Of nodes and edges row by row, and of items some at a time."""
    monkeypatch.setattr("datasets.portions.MOST_ITEMS", 2)
    written(project, "all", "json")
    read = Counter()

    def counted(method):
        def each(self):
            for one in method(self):
                read[method.__name__] += 1
                yield one

        return each

    for method in ("nodes", "edges", "items"):
        monkeypatch.setattr(GraphContents, method, counted(getattr(GraphContents, method)))
    pieces = GRAPH_FORMATS[name].pieces(GraphContents(graph_of(project), source_named(project, "all")))
    seen = [Counter(read) for _ in pieces]
    for method, total in read.items():
        assert total > 2 and len({each[method] for each in seen}) > total / 2, method


def test_what_is_marked_while_it_is_counted_is_counted_again(told, monkeypatch):
    refreshed = []

    def refresh_and_mark(graph, progress):
        refresh(graph, progress)
        if not refreshed:
            annotation = Annotation.objects.filter(annotator__username="carol").get()
            state = factories.item(told.entity_ontology, "State")
            annotation.add_entity(uid="late", label=state, start=1, end=1)
            annotation.revision += 1
            annotation.save()
        refreshed.append(1)

    monkeypatch.setattr("graph.exports.refresh", refresh_and_mark)
    nodes, _ = of_json(written(told, "carol", "json"))
    assert ("State", ":") in nodes and len(refreshed) == 2


# --- The command ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPH_FORMATS)
def test_the_command_writes_each_format(told, tmp_path, name):
    path = tmp_path / "file"
    call_command(
        "export", "graph", str(told.pk), "--source", "all", "--agreed", "2", "--format", name, "--output", str(path)
    )
    if name != "neo4j":  # times are in the archive
        assert path.read_bytes() == written(told, "all", name, agreed=2)
    else:
        assert of_neo4j(path.read_bytes()) == of_neo4j(written(told, "all", name, agreed=2))


def test_it_begins_with_what_there_is_in_json(told, tmp_path):
    call_command("export", "graph", str(told.pk), output=tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == written(told, "all", "json")


@pytest.mark.parametrize(("source", "told_to"), [("all", ""), ("gold", "There are no marks of this source: Gold.\n")])
def test_the_command_says_what_has_no_marks(told, capsys, tmp_path, source, told_to):
    call_command("export", "graph", str(told.pk), source=source, output=tmp_path / "file")
    assert capsys.readouterr().err == told_to


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["graph", "{pk}", "--source", "nobody"],
            "source: “nobody” has begun no item. Say gold, given, all or a user name.",
        ),
        (["graph", "{pk}", "--source", "carol", "--agreed", "2"], "agreed: Agreement is that of everybody"),
        (
            ["graph", "{pk}", "--source", "all", "--agreed", "0"],
            "agreed: This must be a number of people, from 1 to 999.",
        ),
        (
            ["graph", "{pk}", "--format", "conll"],
            "--format: What is written of graph is one of these: trig, jsonld, ttl,",
        ),
        (["graph", "{pk}", "--whose", "@carol"], "--whose: This is for the work in a project"),
        (["graph", "{pk}", "--done"], "--done: This is for the work in a project"),
        (["project", "{pk}", "--source", "all"], "--source: This is for the graph of a project."),
        (["gold", "{pk}", "--agreed", "2"], "--agreed: This is for the graph of a project."),
        (["graph", "0"], "There is no project with the id 0."),
    ],
)
def test_the_command_refuses(told, capsys, tmp_path, words, why):
    with pytest.raises(SystemExit):
        call_command("export", *(word.format(pk=told.pk) for word in words), "--output", str(tmp_path / "file"))
    assert why in capsys.readouterr().err and not [*tmp_path.glob("file*")]


def test_formats_are_listed_and_named(told, capsys):
    call_command("formats")
    listed = capsys.readouterr().out
    table = Path("README.md").read_text().split("| graphs | what is in it |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    formats = sorted(GRAPH_FORMATS.values(), key=lambda each: each.title)
    assert table.splitlines() == [f"| {each.title} | `{each.name}` | out | {each.note} |" for each in formats]
    assert all(f"{each.name:<14}graphs    out         {each.title}" in listed for each in formats)
    names = [file_name(told, source_named(told, *chosen), "shacl") for chosen in (("all", 2), ("carol",))]
    assert names == ["pumps-graph-all-2.shacl.ttl", "pumps-graph-carol.shacl.ttl"]
    with pytest.raises(Refused, match="A graph is written as one of these: trig"):
        write_graph(graph_of(told), source_named(told, "all"), "x", io.BytesIO())
