"""Projects with random marks, graphs written to files, and what readers of these files find there."""

import csv
import io
import json
import zipfile
from collections import Counter

import networkx
from django.utils import timezone
from rdflib import Dataset, Graph
from rdflib.namespace import RDF

from datasets.cleaned import key_of
from datasets.models import Annotation, Entity, Layer, Mark, Relation
from graph import models
from graph.exports import write_graph
from graph.voices import source_named
from ontologies.models import OntologyItem
from tests import factories

WORDS = [
    "pump",
    "Pump",
    "PUMP  seal",
    "seal",
    "Straße",
    "STRASSE",
    "oil\tleak",
    "Ölpumpe",
    "🚀",
    "مضخة",
    "“x”",
    "\\n",
    "e\u0301",
]


def texts(random, number):
    """Items of the upload format: tokens with any white space between them."""
    for _ in range(number):
        tokens = [random.choice(WORDS) for _ in range(random.randint(3, 8))]
        original = "".join(token + random.choice(["", " ", "  ", "\n", "\u00a0"]) for token in tokens)
        yield {"original": original, "tokens": tokens}


def random_project(random, *, by, people, items=6, most=6, own=None, **fields):
    """With marks that came with the dataset, marks of people, some of whom agree, and gold."""
    own = own or {kind: factories.ontology(owner=by, kind=kind) for kind in ("entity", "relation")}
    options = {"kind": "preannotated_relation", "format": "json", "name": "Texts"}
    options |= {f"{kind}_ontology": ontology.pk for kind, ontology in own.items()}
    unmarked = [{**text, "entities": [], "relations": []} for text in texts(random, items)]
    of = factories.upload(unmarked, by=by, options=options).store()
    project = factories.project(by=by, of=of, annotators=people, **fields)
    Annotation.objects.filter(item__dataset=project.dataset).delete()
    mark(random, project, people, most)
    return project


def mark(random, project, people, most):
    labels = {
        kind: list(OntologyItem.objects.filter(ontology__project=project, ontology__kind=kind, level__gt=0))
        for kind in ("entity", "relation")
    }
    now, whose = timezone.now(), [(Layer.GIVEN, None), (Layer.GOLD, None), *((Layer.OWN, each) for each in people)]
    annotations = [
        Annotation(
            item=item,
            layer=layer,
            annotator=person,
            started_at=now if layer == Layer.OWN else None,
            done_at=now if layer == Layer.GOLD and random.random() < 0.8 else None,
            revision=1,
        )
        for item in project.dataset.items()
        for layer, person in whose
    ]
    annotations = Annotation.objects.bulk_create(annotations)
    entities, relations = [], []
    for annotation in annotations:
        origin = Mark.Origin.GIVEN if annotation.layer == Layer.GIVEN else Mark.Origin.PERSON
        places = set()
        for _ in range(random.randint(1, most)):
            start = random.randrange(min(4, annotation.item.token_count))
            end = min(start + random.choice([0, 0, 1, 2]), annotation.item.token_count - 1)
            places.add((start, end, random.choice(labels["entity"])))
        for number, (start, end, label) in enumerate(sorted(places, key=lambda place: (*place[:2], place[2].pk))):
            status = random.choice(["accepted"] * 5 + ["suggested"])
            fields = {"annotation": annotation, "origin": origin, "status": status}
            key = key_of(annotation.item.tokens[start : end + 1])
            entities.append(Entity(uid=f"e{number}", start=start, end=end, label=label, words_key=key, **fields))
    Entity.objects.bulk_create(entities)
    for annotation in annotations:
        own = list(annotation.entity_set.filter(status="accepted").order_by("pk"))
        ends = {(*random.sample(own, 2), random.choice(labels["relation"])) for _ in range(most - 1) if len(own) > 1}
        ordered = sorted(ends, key=lambda each: [end.pk for end in each])
        relations += [
            Relation(
                annotation=annotation,
                uid=f"r{number}",
                source=one,
                target=other,
                label=label,
                origin=Mark.Origin.GIVEN if annotation.layer == Layer.GIVEN else Mark.Origin.PERSON,
            )
            for number, (one, other, label) in enumerate(ordered)
        ]
    Relation.objects.bulk_create(relations)


def graph_of(project):
    return models.Graph.of(type(project).objects.get(pk=project.pk))


def written(project, source, format, agreed=1):
    target = io.BytesIO()
    write_graph(graph_of(project), source_named(project, source, agreed), format, target)
    return target.getvalue()


# --- What files say: how often each node is marked, by its label and form, and each edge between two ---------------------

# rdflib looks up what has a type in all graphs, for each graph anew: so types are filtered.
NODES, EDGES = (
    f"SELECT DISTINCT {what} {{ GRAPH ?said {{ ?s ?p ?o FILTER (?p {sign} <{RDF.type}>) }} }}"
    for what, sign in (("?s", "="), ("?s ?p ?o", "!="))
)


def of_json(data):
    found = json.loads(data)
    names = {node["id"]: (node["label"], node["form"]) for node in found["nodes"]}
    nodes = {names[node["id"]]: node["count"] for node in found["nodes"]}
    edges = {(names[e["source"]], e["label"], names[e["target"]]): e["count"] for e in found["edges"]}
    assert len(nodes) == len(found["nodes"]) and len(edges) == len(found["edges"])
    return nodes, edges


def of_graphml(data):
    found = networkx.read_graphml(io.BytesIO(data))
    names = {node: (values["label"], values["form"]) for node, values in found.nodes(data=True)}
    nodes = {names[node]: values["count"] for node, values in found.nodes(data=True)}
    edges = {
        (names[one], values["label"], names[other]): values["count"] for one, other, values in found.edges(data=True)
    }
    assert len(edges) == found.number_of_edges() and found.is_directed()
    return nodes, edges


def tables(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["nodes.csv", "relations.csv", "load.cypher"]
        for name in ("nodes.csv", "relations.csv"):
            yield list(csv.DictReader(io.StringIO(archive.read(name).decode(), newline="")))


def of_neo4j(data):
    nodes, relations = tables(data)
    names = {row["id:ID"]: (row["label"], row["form"]) for row in nodes}
    edges = {
        (names[row[":START_ID"]], row["label"], names[row[":END_ID"]]): int(row["count:long"]) for row in relations
    }
    assert len(names) == len(nodes) and len(edges) == len(relations)
    return {names[row["id:ID"]]: int(row["count:long"]) for row in nodes}, edges


def rdf(data, format):
    found = Dataset() if format in ("trig", "json-ld") else Graph()
    return found.parse(data=data, format=format)


def of_evidence(found):
    """How many nodes, edges, and marks of entities and relations."""
    kinds = (
        f"SELECT ?mark {{ ?mark a <urn:annotation-service:evidence:{kind}Mark> }}" for kind in ("Entity", "Relation")
    )
    nodes = found.query("SELECT ?node { ?node a <urn:annotation-service:evidence:Node> }")
    assert {*map(tuple, nodes)} == {*map(tuple, found.query(NODES))}
    return [len(found.query(query)) for query in (NODES, EDGES, *kinds)]


def sizes(nodes, edges):
    return [len(nodes), len(edges), sum(nodes.values()), sum(edges.values())]


# --- The same, found anew in the bundle ----------------------------------------------------------------------------------


def from_bundle(data, source, agreed=1, same=()):
    """``same`` are groups of nodes, given by label and form, that the first one stands for."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        items, annotations, gold = (json.loads(archive.read(f"{n}.json")) for n in ("dataset", "annotations", "gold"))
    stands = {one: group[0] for group in same for one in group}
    voices = []  # item, whose, entities and relations
    if source == "given":
        voices = [(number, None, item["entities"], item["relations"]) for number, item in enumerate(items, 1)]
    elif source == "gold":
        voices = [(e["item_id"], None, e["entities"], e["relations"]) for e in gold if e["done_at"]]
    else:
        voices = [
            (e["item_id"], e["annotator"], e["entities"], e["relations"])
            for e in annotations
            if e["started_at"] and source in ("all", e["annotator"])
        ]
    said = {}
    for number, person, entities, relations in voices:
        item, places = items[number - 1], {}
        for each in entities:
            if each.get("status", "accepted") == "accepted":
                place = places[each["id"]] = number, each["start"], each["end"], each["label"]
                form = each["label"], words(item, each["start"], each["end"])
                said.setdefault(place, (stands.get(form, form), set()))[1].add(person)
        for each in relations:
            ends = [places.get(each[end]) for end in ("source_id", "target_id")]
            if each.get("status", "accepted") == "accepted" and all(ends):
                edge = said[ends[0]][0], each["label"], said[ends[1]][0]
                said.setdefault((*ends, each["label"]), (edge, set()))[1].add(person)
    nodes, edges = Counter(), Counter()
    for what, people in said.values():
        if len(people) >= agreed:
            (edges if len(what) == 3 else nodes)[what] += len(people)
    return dict(nodes), dict(edges)


def words(item, start, end):
    at, places = 0, []
    for token in item["tokens"]:
        at = item["original"].index(token, at)
        places.append((at, at + len(token)))
        at += len(token)
    return " ".join(item["original"][places[start][0] : places[end][1]].casefold().split())
