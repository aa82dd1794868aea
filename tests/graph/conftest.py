"""A project whose marks make a graph; they are told by words, as in `tests.quality.conftest`."""

from random import Random

import pytest

from graph.counting import refresh
from graph.models import Graph
from tests import factories
from tests.quality.conftest import say

TEXT = "left air conditioner thermostat not working\ncheck the Thermostat and pump\nreplace pump oil\nThermostats off\n"


@pytest.fixture
def random(request):
    return Random(request.node.name)


@pytest.fixture
def project(alice, carol, dave):
    made = factories.project(by=alice, annotators=[carol, dave, factories.user("erin")], text=TEXT)
    made.reviews_own = True
    made.save(update_fields=["reviews_own"])
    return made


@pytest.fixture
def items(project):
    return list(project.dataset.items())


@pytest.fixture
def graph(project, items, carol, dave):
    """Of marks by two people: thermostats, a pump, and what they have to do with each other."""
    say(items[0], carol, "Thermostat 3", "State 4-5", "hasPart: Thermostat 3 > State 4-5")
    say(items[0], dave, "Thermostat 3")
    say(items[1], carol, "Thermostat 2", "PhysicalObject 4", "hasPart: PhysicalObject 4 > Thermostat 2")
    say(items[2], carol, "PhysicalObject 1-2", "PhysicalObject 1")
    say(items[3], carol, "Thermostat 0")
    graph = Graph.of(project)
    refresh(graph)
    return graph


def form(graph, text):
    """The id of the only form with this text."""
    return graph.forms.get(text=text).digest


def forms_of_nodes(graph):
    """The texts of the forms of each node that has several, that which stands for it first."""
    rows = graph.forms.exclude(node=None).order_by("text").values_list("node__text", "text")
    found = {}
    for node, text in rows:
        found.setdefault(node, [node]).append(text)
    return sorted(found.values())
