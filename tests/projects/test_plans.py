"""The pages that list and count, right after much was stored: the plans of PostgreSQL, by the statistics that the service orders.

Its own upkeep is switched off for all tables, as it is on some servers, and comes late on all others.
"""

import json
import math
import time
from contextlib import contextmanager

import pytest
from django.db import connection

from annotation_service.db import execute, write
from projects.models import Project
from tests import factories
from work.models.item_work import refresh

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite joins in the order of its indexes"),
]
ITEMS, ENTITIES, RELATIONS = 10_000, 7, 3
LABELS, RELATION_LABELS = 200, 20
SECONDS = 2
# A statement that takes less is not explained.
WORTH_EXPLAINING = 0.02
# No step of a plan goes through more rows, all its loops together: a few times all marks. Each with each would be 100 million.
MOST_ROWS = 5 * ITEMS * (ENTITIES + RELATIONS)
PAGES = (
    "/",
    "/projects/",
    "/datasets/",
    *(
        f"/datasets/{{dataset}}/{query}"
        for query in ("", "?q=w7", "?q=nowhere", "?has=entities", "?has=none", "?label={label}", "?sort=-entities")
    ),
    "/datasets/{dataset}/statistics/figures/",
    "/ontologies/{ontology}/figures/",
    "/ontologies/{ontology}/find/?only=unused",
    "/ontologies/{ontology}/codebook/",
    "/projects/{project}/",
    "/projects/{project}/figures/",
    "/projects/{project}/people/",
    "/projects/{project}/comments/",
    *(
        f"/projects/{{project}}/items/?{query}"
        for query in (
            "",
            "page=99",
            "label={label}",
            "label={rare}",
            "state=undone",
            "state=done-1",
            "has=disputed",
            "has=marks",
            "person={person}",
            "person={person}&state=done&label={label}",
            "person={person}&has=marks",
            "q=w7&state=done",
            "sort=-marks",
            "sort=-changed",
        )
    ),
)
OWN_PAGES = (
    "/",
    *(
        f"/projects/{{project}}/annotate/items/?{query}"
        for query in (
            "",
            "state=undone",
            "state=done",
            "has=marks",
            "has=suggestions",
            "label={label}",
            "q=w7",
            "sort=-marks",
            "state=undone&sort=-changed",
        )
    ),
    *(f"/projects/{{project}}/annotate/marks/?{query}" for query in ("", "sort=number", "label={label}", "q=w7")),
    "/projects/{project}/annotate/work/",
    "/projects/{project}/annotate/batches/",
)
# A person's work on every second of the items that are given to them: the marks that came with the dataset, accepted.
WORK = (
    """
    INSERT INTO datasets_annotation (item_id, annotator_id, started_at, done_at, changed_at)
    SELECT g.item_id, g.annotator_id, d.updated_at, CASE WHEN g.item_id % 3 = 0 THEN d.updated_at END, d.updated_at
      FROM projects_assignment g JOIN datasets_item i ON i.id = g.item_id JOIN datasets_dataset d ON d.id = i.dataset_id
     WHERE i.position % 2 = 0
    """,
    """
    INSERT INTO datasets_entity
           (annotation_id, label_id, uid, start, "end", words_key, status, origin, created_at, updated_at)
    SELECT o.id, m.label_id, m.uid, m.start, m."end", m.words_key, 'accepted', 'person', o.changed_at, o.changed_at
      FROM datasets_annotation o JOIN datasets_annotation g ON g.item_id = o.item_id AND g.annotator_id IS NULL
      JOIN datasets_entity m ON m.annotation_id = g.id
     WHERE o.annotator_id IS NOT NULL
    """,
)


def items():
    for n in range(ITEMS):
        tokens = [f"w{(n * 12 + k) % 977}" for k in range(12)]
        yield {
            "original": " ".join(tokens),
            "tokens": tokens,
            "entities": [
                {"id": f"e{k}", "start": k, "end": k, "label": f"Label {(n + k * k) % (LABELS - 1)}"}
                for k in range(ENTITIES)
            ],
            "relations": [
                {"source_id": f"e{k}", "target_id": f"e{k + 1}", "label": f"Relation {(n + k) % RELATION_LABELS}"}
                for k in range(RELATIONS)
            ],
        }


@pytest.fixture
def without_upkeep():
    """Switches autovacuum off for each table, and forgets what earlier tests let it know."""
    tables = connection.introspection.django_table_names(only_existing=True)
    for table in tables:
        execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = off)')
        execute(f'ANALYZE "{table}"')
    yield
    execute("TRUNCATE datasets_item CASCADE")  # to delete so many rows one by one takes longer than the test
    for table in tables:
        execute(f'ALTER TABLE "{table}" RESET (autovacuum_enabled)')


@contextmanager
def timed():
    """The SELECTs that are worth explaining, each with the seconds that it took."""
    slow = []

    def time_it(execute, sql, params, many, context):
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            took = time.perf_counter() - started
            if took > WORTH_EXPLAINING and sql.lstrip().startswith(("SELECT", "WITH")):
                slow.append((took, sql, params))

    with connection.execute_wrapper(time_it):
        yield slow


def most_rows(sql, params):
    """Of all steps of the plan of a statement, the one that goes through most rows, all its loops together."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)
        [(found,)] = cursor.fetchall()
    plans = [(json.loads(found) if isinstance(found, str) else found)[0]["Plan"]]
    for plan in plans:
        plans += plan.get("Plans", ())
    rows = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")
    return max((plan["Actual Loops"] * sum(plan.get(name, 0) for name in rows), plan["Node Type"]) for plan in plans)


def troubles(client, paths, words):
    """What is wrong with pages: too slow, three times, or a plan that loops over everything."""
    for path in paths:
        path = path.format(**words)
        for _ in range(3):  # the machine may have had something else to do
            started = time.perf_counter()
            with timed() as slow:
                answer = client.get(path, headers={"HX-Request": ""})
            took = time.perf_counter() - started
            assert answer.status_code == 200, (path, answer.status_code)
            if took <= SECONDS:
                break
        else:
            yield f"{path}: {took:.1f} s"
        for _, sql, params in slow:
            rows, step = most_rows(sql, params)
            if rows > MOST_ROWS:
                yield f"{path}: {rows:,} rows in a {step} of {sql}"


def test_lists_are_quick_right_after_an_upload(without_upkeep, alice, as_alice, carol, dave, bob, as_carol):
    entities = [{"name": f"Label {n}"} for n in range(LABELS)]
    relations = [{"name": f"Relation {n}"} for n in range(RELATION_LABELS)]
    blueprints = {
        "entity_ontology": factories.ontology(owner=alice, items=entities),
        "relation_ontology": factories.ontology(owner=alice, kind="relation", items=relations),
    }
    options = {"kind": "preannotated_relation", "format": "json", "name": "Texts"}
    options |= {name: ontology.pk for name, ontology in blueprints.items()}
    dataset = factories.upload(list(items()), by=alice, options=options, name="texts.json").store()
    project = Project.create(
        name="Large", by=alice, dataset=dataset, annotators=[carol, dave, bob], annotators_per_item=2, **blueprints
    )
    with write():
        for statement in WORK:
            execute(statement)
    refresh(project.dataset.pk, math.inf)  # as the worker does
    labels = project.entity_ontology.labels()
    words = {"project": project.pk, "dataset": dataset.pk, "ontology": project.entity_ontology.pk, "person": carol.pk}
    words |= {"label": labels[0].uid, "rare": labels[-1].uid}
    execute(f"SET statement_timeout = '{10 * SECONDS}s'")
    try:
        wrong = [*troubles(as_alice, PAGES, words), *troubles(as_carol, OWN_PAGES, words)]
    finally:
        execute("RESET statement_timeout")
    assert not wrong, "\n".join(wrong)
