from itertools import pairwise

import pytest

from annotation_service.inputs import Refused
from datasets.models import Annotation, Dataset, Entity, Item, Relation
from ontologies.models import Ontology, OntologyChange, OntologyItem
from projects.models import Assignment, Membership, Project
from tests import factories


def shares(project):
    return {
        member.user.username: project.items_for(member.user).count()
        for member in project.membership_set.filter(role="annotator")
    }


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


def test_a_copy_and_its_blueprint_do_not_reach_each_other(alice):
    project = factories.project(by=alice)
    blueprint = project.entity_ontology.copied_from
    project.entity_ontology.items().first().rename("Renamed in the project", by=alice)
    assert not blueprint.items().filter(name="Renamed in the project").exists()
    blueprint.items().last().rename("Renamed in the blueprint", by=alice)
    assert not project.entity_ontology.items().filter(name="Renamed in the blueprint").exists()


@pytest.mark.parametrize("step", range(1, 12))
def test_a_project_that_fails_half_way_leaves_nothing(alice, monkeypatch, step):
    from django.db import connection

    dataset, ontology = factories.dataset(owner=alice), factories.ontology(owner=alice)
    models = (Project, Dataset, Item, Ontology, OntologyItem, Membership)
    before = [model._base_manager.count() for model in models]
    writes = 0

    def failing(execute, sql, params, many, context):
        nonlocal writes
        if sql.startswith(("INSERT", "UPDATE")):
            writes += 1
            if writes == step:
                raise RuntimeError("the power failed")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(failing), pytest.raises(RuntimeError):
        Project.create(name="P", by=alice, dataset=dataset, entity_ontology=ontology)
    assert [model._base_manager.count() for model in models] == before


def test_the_kinds_of_ontologies_are_checked(alice):
    dataset, relation = factories.dataset(owner=alice), factories.ontology(owner=alice, kind="relation")
    with pytest.raises(Refused, match="relation ontology"):
        Project.create(name="P", by=alice, dataset=dataset, entity_ontology=relation)
    assert not Project.objects.exists()


def test_a_preannotated_dataset_without_marks_goes_with_any_ontology(alice):
    dataset, own, other = (
        factories.dataset(owner=alice),
        factories.ontology(owner=alice),
        factories.ontology(owner=alice, items=[{"name": "Thing"}]),
    )
    dataset.touch(entity_ontology=own)
    for chosen in (own, other):
        project = Project.create(name="P", by=alice, dataset=dataset, entity_ontology=chosen)
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


def test_deleting_a_project_leaves_no_row_of_it(alice, carol):
    bystander = factories.project(by=alice, annotators=[carol], annotators_per_item=1)
    kept = {
        model: model._base_manager.count() for model in (Item, OntologyItem, OntologyChange, Membership, Assignment)
    }
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1)
    blueprints = Dataset.objects.filter(project=None).count(), Ontology.objects.filter(project=None).count()
    item = project.dataset.items().first()
    annotation = Annotation.start(item, carol)
    label = project.entity_ontology.items().first()
    for number in (0, 1):
        annotation.add_entity(uid=f"uid-{number}-aaa", label=label, start=number, end=number)
    annotation.add_relation(
        uid="relation-1", label=project.relation_ontology.items().first(), source="uid-0-aaa", target="uid-1-aaa"
    )
    project.entity_ontology.items().first().rename("Changed", by=alice)
    project.erase()
    assert list(Project.objects.all()) == [bystander]
    assert not any(model.objects.exists() for model in (Annotation, Entity, Relation))
    assert (Dataset.objects.filter(project=None).count(), Ontology.objects.filter(project=None).count()) == blueprints
    assert Membership.objects.count() == kept[Membership]
    assert Assignment.objects.count() == kept[Assignment]
    assert not OntologyItem.objects.exclude(ontology__in=Ontology.objects.all()).exists()


def test_items_are_assigned_evenly_and_anew_for_new_people(alice, carol, dave):
    erin = factories.user("erin")
    project = factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text="a\nb\nc\nd\ne\nf\n")
    assert shares(project) == {"carol": 3, "dave": 3}
    begun = project.items_for(carol).first()
    Annotation.start(begun, carol)
    project.add_members([erin])
    assert shares(project) == {"carol": 2, "dave": 2, "erin": 2}
    assert begun in project.items_for(carol)


def test_each_item_goes_to_so_many_different_people(alice, carol, dave):
    erin = factories.user("erin")
    people = [carol, dave, erin]
    project = factories.project(by=alice, annotators=people, annotators_per_item=2, text="a\nb\nc\nd\n")
    for item in project.dataset.items():
        assert item.assignment_set.count() == 2
    assert sum(shares(project).values()) == 8
    assert max(shares(project).values()) - min(shares(project).values()) <= 1


def test_more_annotators_per_item_than_there_are_gives_everybody_everything(alice, carol):
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=5)
    assert shares(project) == {"carol": 3}


def test_removing_an_annotator_keeps_their_marks_and_assigns_the_rest_to_others(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text="a\nb\nc\nd\n")
    item = project.items_for(carol).first()
    Annotation.start(item, carol).add_entity(
        uid="12345678", label=project.entity_ontology.items().first(), start=0, end=0
    )
    project.remove_member(project.membership_set.get(user=carol))
    assert Entity.objects.count() == 1
    assert shares(project) == {"dave": 4}


def test_the_last_manager_cannot_be_removed(alice, bob):
    project = factories.project(by=alice)
    with pytest.raises(Refused, match="needs a manager"):
        project.remove_member(project.membership_set.get(user=alice))
    project.add_members([bob], role="manager")
    project.remove_member(project.membership_set.get(user=alice))
    assert [member.user for member in project.membership_set.all()] == [bob]


def test_people_are_added_all_or_none(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol])
    with pytest.raises(Refused, match="carol"):
        project.add_members([dave, carol])
    assert project.membership_set.count() == 2


def test_items_come_in_the_order_of_the_dataset(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    assert all(a.position < b.position for a, b in pairwise(project.items_for(carol)))
