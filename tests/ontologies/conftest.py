import pytest

from tests import factories


@pytest.fixture
def ontology(alice):
    return factories.ontology(owner=alice, name="Maintenance")


@pytest.fixture
def objects(ontology):
    """“PhysicalObject”, the first item."""
    return ontology.items()[0]


@pytest.fixture
def item(ontology):
    """“SensingObject”, with “Thermostat” below."""
    return ontology.items()[1]


@pytest.fixture
def large(alice):
    document = [{"name": f"T{i}", "children": [{"name": f"C{j}"} for j in range(60)]} for i in range(10)]
    return factories.ontology(owner=alice, name="Large", items=document)
