"""The labels that are kept in memory are always those of the database."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from ontologies.models import Ontology
from tests import factories


@pytest.fixture
def ontology(alice):
    return factories.ontology(owner=alice)


def item(ontology, name):
    return ontology.items().select_related("ontology", "parent").get(name=name)


def names(ontology):
    """As a page reads them that has just been asked for."""
    return [label.fullname for label in Ontology.objects.get(pk=ontology.pk).labels()]


STATE = ["PhysicalObject", "PhysicalObject/SensingObject", "PhysicalObject/SensingObject/Thermostat"]
REST = ["PhysicalObject/DrivingObject", "Activity", "Activity/Replace", "State"]


def test_a_new_name_above_reaches_all_full_names_below(ontology, alice):
    assert names(ontology) == STATE + REST
    item(ontology, "PhysicalObject").rename("Thing", by=alice)
    assert names(ontology) == [name.replace("PhysicalObject", "Thing") for name in STATE + REST]
    ontology.undo(by=alice)
    assert names(ontology) == STATE + REST


def test_items_come_go_and_move(ontology, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    names(ontology)
    ontology.add_item("Pump", parent=item(ontology, "DrivingObject"), by=alice)
    item(ontology, "SensingObject").move(to=item(ontology, "State"), by=alice)
    moved = ["State/SensingObject", "State/SensingObject/Thermostat"]
    assert names(ontology) == ["PhysicalObject", REST[0], f"{REST[0]}/Pump", *REST[1:], *moved]
    ontology.undo(by=alice)
    ontology.undo(by=alice)
    assert names(ontology) == STATE + REST


def test_what_was_rolled_back_is_forgotten(ontology, alice):
    """The version that it had is given away again, perhaps more than once before somebody asks."""
    with transaction.atomic():
        item(ontology, "State").rename("Never", by=alice)
        assert names(ontology)[-1] == "Never"
        transaction.set_rollback(True)
    item(ontology, "Activity").rename("Action", by=alice)
    item(ontology, "Replace").describe("New", by=alice)
    assert names(ontology) == [*STATE, REST[0], "Action", "Action/Replace", "State"]


def test_after_many_changes(ontology, alice):
    names(ontology)
    for number in range(30):
        item(ontology, "State").describe(f"Description {number}", by=alice)
    ontology.refresh_from_db()
    assert ontology.labels().all[-1].description == "Description 29"
    assert [found.label.name for found in ontology.find("description 29")] == ["State"]


def test_after_a_change_few_rows_are_read(alice):
    """As many queries for any size, and of items that have not changed nothing but, at most, their places."""
    queries = []
    for size in (10, 300):
        ontology = factories.ontology(owner=alice, items=[{"name": f"Label {n}"} for n in range(size)])
        ontology.labels()
        ontology.add_item("New", by=alice)
        item(ontology, "Label 5").describe("Changed", by=alice)
        with CaptureQueriesContext(connection) as captured:
            ontology.labels()
            ontology.labels()
        queries.append([query["sql"] for query in captured])
        assert len(ontology.labels().all) == size + 1
    assert len(queries[0]) == len(queries[1])
    assert all("LIMIT" in sql or "IN (" in sql for sql in queries[1] if "description" in sql)
