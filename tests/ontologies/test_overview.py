"""The overview of an ontology, and the filters that it leads to."""

import re

import pytest
from django.urls import reverse

from datasets.models import Annotation
from tests import factories


def found(client, ontology, query):
    answer = client.get(f"{reverse('ontologies:find', args=[ontology.pk])}?{query}")
    page = answer.content.decode()
    return re.findall(r'data-match>.*?class="name">(?:<mark>)?(\w+)', page), page


@pytest.fixture
def labels(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    labels = project.entity_ontology
    labels.refresh_from_db()
    annotation = Annotation.start(project.dataset.item_set.first(), carol)
    annotation.add_entity(uid="aaaaaaaa", label=factories.item(labels, "Thermostat"), start=0, end=0)
    factories.item(labels, "Activity").switch(False, by=alice)
    factories.item(labels, "State").describe("Such as broken.", by=alice)
    labels.refresh_from_db()
    return labels


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("only=undescribed", ["SensingObject", "Thermostat", "DrivingObject", "Activity", "Replace"]),
        ("only=unused", ["PhysicalObject", "SensingObject", "DrivingObject", "State"]),
        ("only=off", ["Activity", "Replace"]),
        ("only=level-2", ["SensingObject", "DrivingObject", "Replace"]),
        ("only=level-9", []),
        ("only=off&q=replace", ["Replace"]),
        ("only=nonsense", []),
        ("only=level-0", []),
    ],
)
def test_a_filter_lets_some_labels_through(as_alice, labels, query, names):
    assert found(as_alice, labels, query)[0] == names


def test_the_overview_counts_what_its_filters_show(as_alice, labels):
    page = as_alice.get(reverse("ontologies:overview", args=[labels.pk])).content.decode()
    counted = re.findall(r'data-only="([\w-]+)".*?(?:class="end">|class="count">)(\d+)', page)
    assert [key for key, _ in counted] == ["undescribed", "unused", "off", "level-1", "level-2", "level-3"]
    for key, count in counted:
        assert len(found(as_alice, labels, f"only={key}")[0]) == int(count) > 0
    assert "Describe “State”" in page and "Switch off 2 items" in page


def test_the_overview_of_an_empty_ontology_has_no_figures(as_alice, alice):
    empty = factories.ontology(owner=alice, items=[])
    page = as_alice.get(reverse("ontologies:overview", args=[empty.pk])).content.decode()
    assert "Overview" in page and "data-only" not in page and "Last changes" not in page
