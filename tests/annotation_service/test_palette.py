"""What the command palette finds: for whom, in which order, and how much."""

from operator import itemgetter

import pytest

from ontologies import views
from tests import factories
from tests.queries import queries_of
from tests.resource_sets import make


def found(client, text):
    """By kinds; the palette has an order of its own for these."""
    hits = [(hit["kind"], hit["title"]) for hit in client.get("/find/", {"q": text}).json()["hits"]]
    return sorted(hits, key=itemgetter(0))


@pytest.fixture
def project(as_alice, as_carol, labels):
    make("entity_constraints", owner=as_alice.user, name="Pump rules", **labels)
    factories.ontology(
        owner=as_alice.user, name="Pump labels", items=[{"name": "Pump", "children": [{"name": "PumpWheel"}]}]
    )
    return factories.project(by=as_alice.user, name="Pump repairs", annotators=[as_carol.user])


def test_everything_that_a_manager_may_look_at_is_found(as_alice, as_bob, project):
    blueprints = {
        ("Labels", "Pump"),
        ("Labels", "PumpWheel"),
        ("Labels", "PhysicalObject"),  # an example of it is “pump”
        ("Ontologies", "Pump labels"),
        ("Constraints", "Pump rules"),
    }
    assert set(found(as_bob, "pump")) == blueprints  # project managers see each other's blueprints, not their projects
    assert set(found(as_alice, "PUMP")) == blueprints | {("Projects", "Pump repairs")}
    assert found(as_bob, "Work") == [("Datasets", "Work orders")]
    assert found(as_alice, "Work") == 2 * [("Datasets", "Work orders")]


def test_annotators_find_their_projects_and_their_labels(as_carol, as_dave, project):
    assert found(as_carol, "pump") == [("Labels", "PhysicalObject"), ("Projects", "Pump repairs")]
    assert found(as_carol, "work") == []
    assert found(as_dave, "pump") == []


def test_what_fits_best_stands_first_whatever_its_ontology(as_alice, alice):
    for name in ("MotorPump", "Pump", "Warm"):
        factories.ontology(owner=alice, name=name, items=[{"name": name, "description": "A pump."}])
    assert [title for kind, title in found(as_alice, "pump") if kind == "Labels"] == ["Pump", "MotorPump", "Warm"]


def test_a_hit_leads_to_the_label_in_its_ontology(as_alice, alice):
    ontology = factories.ontology(owner=alice)
    [hit] = as_alice.get("/find/", {"q": "thermostat"}).json()["hits"]
    assert hit["url"] == f"/ontologies/{ontology.pk}/?item={factories.item(ontology, 'Thermostat').uid}"
    assert (hit["title"], hit["note"]) == ("Thermostat", "PhysicalObject/SensingObject · entity labels")


def test_few_ontologies_are_read_whether_something_is_found_or_not(as_alice, alice, monkeypatch):
    def read(limit, number):
        monkeypatch.setattr(views, limit, number)
        for name in ("Pump", "Fan", "Hose"):
            factories.ontology(owner=alice, name=name, items=[{"name": name}])
        queries = queries_of(found, as_alice, "nothing like it")
        monkeypatch.undo()
        return sum("ontologies_ontologyitem" in query for query in queries)

    assert read("MOST_ONTOLOGIES", 2) == read("MOST_LABELS", 2) == 2


def test_hits_and_queries_are_few_however_much_there_is(as_alice, alice):
    def fill(count):
        for number in range(count):
            factories.ontology(owner=alice, name=f"Pumps {number}", items=[{"name": f"Pump {n}"} for n in range(20)])
            make(
                "entity_constraints",
                owner=alice,
                name=f"Pump rules {number}",
                entities=factories.ontology(owner=alice),
                relations=None,
            )
        found(as_alice, "pump")
        return len(queries_of(found, as_alice, "pump")), len(found(as_alice, "pump"))

    few, _ = fill(1)
    assert fill(9) == (few, 10 + 6 + 6)
    assert found(as_alice, "") == found(as_alice, " ") == []
    assert not any(kind == "Labels" for kind, _ in found(as_alice, "p"))
