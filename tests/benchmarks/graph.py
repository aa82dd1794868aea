"""The graph of a large project: counting it, its first view, filters, neighbours, merging, and its files."""

import math
import random
import time
from collections.abc import Iterator
from functools import cache, partial
from itertools import accumulate

from annotation_service.db import execute, write
from graph.models import Graph, NodeTotal
from projects.models import Project
from quality.review import refresh_disputes

from . import data
from .figures import (
    LONGEST_WAIT,
    PATIENCE,
    RUNS,
    WHILE_OTHERS_WORK,
    Figure,
    benchmark,
    felt,
    milliseconds,
    p50_p95,
    seconds,
)
from .marks import Annotator, saving_while
from .quality import ENTITIES, ITEMS, begun_project
from .service import Browser, Service

WORDS, MARKS, PAIRS = 60, 12, 5
VOCABULARY = 6_000
VIEW, NEAR, MORE_MEMORY, MERGED = felt(None, 300), felt(None, 100), felt(100), 1000
# Of each two marks that follow each other, in the order of their uids.
_RELATIONS = """
INSERT INTO datasets_relation
       (annotation_id, label_id, uid, source_id, target_id, status, origin, created_at, updated_at)
SELECT s.annotation_id, %(relation)s + (s.start + i.position) %% 3, 'relation-{n}', s.id, t.id, 'accepted', 'person',
       s.created_at, s.created_at
  FROM datasets_entity s
  JOIN datasets_entity t ON t.annotation_id = s.annotation_id AND t.uid = 'mark-{m}'
  JOIN datasets_annotation a ON a.id = s.annotation_id
  JOIN datasets_item i ON i.id = a.item_id
  JOIN datasets_dataset d ON d.id = i.dataset_id
 WHERE d.project_id = %(project)s AND s.uid = 'mark-{n}'
"""
FILTERS = {
    "the next page": "page=2",
    "500 nodes": "size=500",
    "agreed by two": "agreed=2",
    "a branch": "label={label}",
    "a relation": "relation={relation}",
    "fifty marks or more": "least=50",
    "a text": "q=wor",
    "a person": "person=rater3",
    "without relations": "state=alone",
    "two people": "source=rater4&compare=rater5",
    "in the order of words": "sort=node",
    "edges": "view=edges",
    "around a node": "around={node}",
}


@cache
@write()
def fill() -> Project:
    """A million marks, of which three people have made those in each item; words are as frequent as in texts."""
    rng = random.Random(1)
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    words = [f"word{rank:x}" for rank in range(VOCABULARY)]
    texts = "\n".join(" ".join(rng.choices(words, cum_weights=weights, k=WORDS)) for _ in range(ITEMS))
    project, params = begun_project("Graph", texts)
    for n in range(MARKS):
        # Labels that come of the words: as in good work, most words have the same everywhere.
        execute(ENTITIES.replace("(i.position / 10 + {n}", "(LENGTH(i.search_text) %% 3 + {n}").format(n=n), params)
    for n in range(0, 2 * PAIRS, 2):
        execute(_RELATIONS.format(n=n, m=n + 1), params)
    return project


@benchmark("graph")
def graph(service: Service) -> Iterator[Figure]:
    """Of a project in which 50 people have made a million marks on 20,000 items."""
    project = fill()
    refresh_disputes(project, math.inf)  # or the worker counts beside all that is measured
    service.start()
    browser, place = Browser(service, data.MANAGER), f"/projects/{project.pk}/graph/"
    browser.get(place)
    before = service.memory("status", "RssAnon")

    def count() -> None:
        browser.follow(browser.submit(f"{place}count/", expected=302))

    elsewhere = data.project(200, name="Saved meanwhile")
    times, took = saving_while([Annotator(service, elsewhere, name) for name in data.ANNOTATORS], count)
    yield Figure(f"graph of {ITEMS:,} items, 1,000,000 marks: to count it", took, "s")
    yield Figure("  memory that it takes", service.memory("status", "RssAnon") - before, "MB", MORE_MEMORY)
    yield Figure("  ten saves a second meanwhile, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)
    yield Figure("  the longest", 1000 * max(times), "ms", LONGEST_WAIT)
    yield Figure("  again, when nothing has changed", seconds(count), "s")
    of = Graph.of(project)
    most = NodeTotal.objects.filter(graph=of, voice=-101).order_by("-marks").select_related("node")
    yield Figure("  nodes", most.count())
    yield Figure("  first view, p50 / p95", milliseconds(RUNS, partial(browser.get, place)), "ms", VIEW)
    named = {
        "label": project.entity_ontology.labels()[0].uid,
        "relation": project.relation_ontology.labels()[0].uid,
        "node": most[100].node.digest,
    }
    for what, query in FILTERS.items():
        address = f"{place}?{query.format(**named)}"
        yield Figure(f"  {what}, p50 / p95", milliseconds(RUNS, partial(browser.get, address)), "ms", VIEW)
    for what, number in (("of the most frequent node", 0), ("of a rarer one", 100)):
        near = f"{place}nodes/{most[number].node.digest}/neighbours/"
        yield Figure(f"  neighbours {what}, p50 / p95", milliseconds(RUNS, partial(browser.get, near)), "ms", NEAR)
    evidence = f"{place}?at={most[0].node.digest}"
    yield Figure(
        "  with the evidence of a node, p50 / p95", milliseconds(RUNS, partial(browser.get, evidence)), "ms", VIEW
    )
    for page in ("suggestions/", "figures/"):
        yield Figure(f"  {page}", seconds(partial(browser.get, f"{place}{page}")), "s", PATIENCE)
    ids = list(most.values_list("node__digest", flat=True))
    for what, budget, some in (
        ("", PATIENCE, random.Random(1).sample(ids, MERGED)),
        (", the most frequent", None, ids[:MERGED]),
    ):
        merge = partial(of.merge, some[0], some[1:], by=data.manager())
        yield Figure(f"  {MERGED:,} nodes{what} become one", seconds(merge), "s", budget)
        yield Figure("  undone", seconds(partial(of.undo, by=data.manager())), "s", budget)
    for format in ("json", "graphml", "neo4j", "ttl", "trig", "jsonld"):
        # Without what is mapped of the database's file.
        before = peak = service.memory("status", "RssAnon")
        started = time.perf_counter()
        job = browser.submit(f"{place}export/", expected=302, format=format, source="all")
        while b"hx-trigger" in browser.ask(f"{job}progress/")[0]:
            peak = max(peak, service.memory("status", "RssAnon"))
            time.sleep(0.1)
        yield Figure(f"  all of it as {format}, by a job", time.perf_counter() - started, "s")
        yield Figure("    memory", peak - before, "MB", MORE_MEMORY)
