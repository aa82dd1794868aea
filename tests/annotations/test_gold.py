"""The texts with gold marks are what they are said to be, and come in and out unchanged."""

import pytest

from tests import gold
from tests.projects.test_bundle import read

ITEMS = gold.read("items")


def test_the_marks_are_many_nested_and_of_many_labels():
    entities = [entity for item in ITEMS for entity in item["entities"]]
    relations = [relation for item in ITEMS for relation in item["relations"]]
    nested = [
        inner
        for item in ITEMS
        for inner in item["entities"]
        for outer in item["entities"]
        if inner is not outer and outer["start"] <= inner["start"] and inner["end"] <= outer["end"]
    ]
    assert len({item["original"] for item in ITEMS}) == 200
    assert len({entity["label"] for entity in entities}) >= 20
    assert len({relation["label"] for relation in relations}) >= 6
    assert len(entities) > 900 and len(relations) > 600 and len(nested) > 100


@pytest.mark.django_db
def test_they_keep_the_constraints_and_come_out_as_they_came_in(alice):
    files = read(gold.project(by=alice))
    assert files["manifest.json"]["counts"]["items"] == 200
    assert files["dataset.json"] == ITEMS
