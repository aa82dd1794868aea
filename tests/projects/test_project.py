from itertools import pairwise

import pytest

from annotation_service.inputs import Refused
from projects.models import Project
from tests import factories


def test_creating_a_project_copies_its_blueprints(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    assert project.dataset.item_count == project.dataset.items().count() == 3
    assert project.entity_ontology.items().count() == 7
    assert project.relation_ontology.items().count() == 3
    assert project.task == "entities_and_relations"
    assert [(m.user, m.role) for m in project.membership_set.order_by("role")] == [
        (carol, "annotator"),
        (alice, "manager"),
    ]


def test_the_kinds_of_ontologies_are_checked(alice):
    with pytest.raises(Refused, match="relation ontology"):
        factories.project(by=alice, entities=factories.ontology(owner=alice, kind="relation"), relations=False)
    assert not Project.objects.exists()


def test_a_preannotated_dataset_without_marks_goes_with_any_ontology(alice):
    dataset, own = factories.dataset(owner=alice), factories.ontology(owner=alice)
    dataset.touch(entity_ontology=own)
    for chosen in (own, factories.ontology(owner=alice, items=[{"name": "Thing"}])):
        project = factories.project(by=alice, of=dataset, entities=chosen, relations=False)
        assert project.entity_ontology.copied_from == chosen
        assert project.dataset.entity_ontology == project.entity_ontology


def test_a_relation_ontology_can_be_added_once(alice):
    project = factories.project(by=alice, relations=False)
    relation = factories.ontology(owner=alice, kind="relation")
    project.use(relation, by=alice)
    project.refresh_from_db()
    assert project.task == "entities_and_relations"
    assert project.relation_ontology.copied_from == relation
    with pytest.raises(Refused, match="already"):
        project.use(relation, by=alice)


def test_each_item_goes_to_so_many_different_people(alice, carol, dave):
    people = [carol, dave, factories.user("erin")]
    project = factories.project(by=alice, annotators=people, annotators_per_item=2, text="a\nb\nc\nd\n")
    for item in project.dataset.items():
        assert item.assignment_set.count() == 2
    assert sorted(project.items_for(person).count() for person in people) == [2, 3, 3]


def test_people_are_added_all_or_none(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol])
    with pytest.raises(Refused, match="carol"):
        project.add_members([dave, carol])
    assert project.membership_set.count() == 2


def test_items_come_in_the_order_of_the_dataset(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    assert all(a.position < b.position for a, b in pairwise(project.items_for(carol)))
