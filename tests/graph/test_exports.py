"""Every download of a graph says the same, and that is what the marks say."""

import io
import json
from random import Random

import networkx
import pytest
from django.core.management import call_command
from hypothesis import given, strategies
from hypothesis.extra.django import TestCase as HypothesisCase
from pyshacl import validate
from rdflib import Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS, OWL, PROV, RDF, RDFS, SKOS

from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Layer, Mark, Relation
from datasets.models.broken import judge_of
from datasets.models.judged import broken_in
from graph.exports import GRAPH_FORMATS, file_name, property_graphs, triples, write_graph
from graph.exports.contents import Contents
from graph.models import Graph
from graph.models.graph import digest
from graph.voices import source_named
from projects import bundle
from tests import factories, gold
from tests.graph.conftest import (
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

EV, OA = Namespace(triples.NAMESPACES["ev"]), Namespace(triples.NAMESPACES["oa"])
pytestmark = pytest.mark.django_db


@pytest.fixture
def project(random, alice, carol, dave):
    return random_project(random, by=alice, people=[carol, dave])


def bundled(project):
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
