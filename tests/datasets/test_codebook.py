"""Example sentences of codebooks: which marks they come from, whose, and in which order."""

from types import SimpleNamespace

import pytest
from django.utils import timezone

from datasets.models import Dataset, Entity, Relation
from datasets.sentences import AROUND, LONG, sentences
from projects.models import Project
from tests import factories
from tests.datasets import marked
from tests.queries import queries_of

TEXT = "replace engine oil\nleft air conditioner thermostat not working\ncheck coolant level and top up\n"
ACTIVITY, REPLACE = "Activity", "Activity/Replace"


def found(ontology, person):
    """Sentences as words, with brackets around what is marked, by full names."""
    labels = ontology.labels()
    some = sentences(SimpleNamespace(user=person), ontology, [label.uid for label in labels])
    return {
        labels.by_uid[uid].fullname: [
            "".join(f"[{piece}]" if n % 2 else piece for n, piece in enumerate(sentence)) for sentence in each
        ]
        for uid, each in some.items()
    }


def mark(dataset, position, label, start, end, person, status="accepted"):
    item = dataset.items().get(position=position)
    annotation = factories.annotation(item, person)
    return Entity.objects.create(
        annotation=annotation,
        label_id=dataset.project.ontology_set.get(kind="entity").labels().by_fullname[label].pk,
        start=start,
        end=end,
        uid=f"e{Entity.objects.count()}",
        status=status,
    )


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


@pytest.fixture
def ontology(project):
    return project.ontology_set.get(kind="entity")


def test_the_shortest_texts_with_accepted_marks_come_first(project, ontology, alice, carol, dave):
    texts = [
        "check it",
        "check it",
        "check all of the pumps",
        "check the pump again",
        "check the very last pump",
        "check a b c d e f g",
    ]
    for position, text in enumerate(texts, 3):
        marked.add(project.dataset, position, text)
        mark(project.dataset, position, ACTIVITY, 0, 0, carol)
    mark(project.dataset, 5, ACTIVITY, 0, 0, dave)
    mark(project.dataset, 0, REPLACE, 0, 0, carol, status="suggested")
    mark(project.dataset, 1, REPLACE, 0, 0, carol, status="rejected")
    mark(project.dataset, 2, REPLACE, 0, 0, carol)
    mark(project.dataset, 2, "State", 1, 2, dave)
    assert found(ontology, alice) == {
        ACTIVITY: ["[check] a b c d e f g", "[check] the pump again", "[check] all of the pumps"],
        REPLACE: ["[check] coolant level and top up"],
        "State": ["check [coolant level] and top up"],
    }
    project.dataset.items().filter(position=2).update(removed_at=timezone.now())
    assert set(found(ontology, alice)) == {ACTIVITY}


def test_annotators_see_their_own_marks_only(project, ontology, carol, dave, sam):
    mark(project.dataset, 0, REPLACE, 0, 0, carol)
    mark(project.dataset, 1, REPLACE, 1, 2, dave)
    assert found(ontology, carol) == {REPLACE: ["[replace] engine oil"]}
    assert found(ontology, dave) == {REPLACE: ["left [air conditioner] thermostat not working"]}
    assert len(found(ontology, sam)[REPLACE]) == 2
    Project.objects.get(pk=project.pk).membership_set.filter(user=carol).delete()
    blueprint = ontology.copied_from
    assert not found(blueprint, carol)


def test_a_blueprint_has_its_dataset_and_the_projects_that_one_sees(alice, bob, carol):
    dataset = marked.dataset(owner=alice)
    blueprint = dataset.entity_ontology
    options = {"dataset": dataset, "entity_ontology": blueprint, "relation_ontology": dataset.relation_ontology}
    project = Project.create(name="One", by=alice, annotators=[bob, carol], **options)
    labels = {"PhysicalObject": ["replace [engine oil]"], "PhysicalObject/DrivingObject": ["replace [engine] oil"]}
    given = labels | {"PhysicalObject/SensingObject/Thermostat": ["[thermostat] broken"]}
    assert found(blueprint, alice) == given
    assert found(dataset.relation_ontology, alice) == {"hasPart": ["replace [engine oil]"]}
    mark(project.dataset, 0, "State", 0, 0, carol)
    mark(project.dataset, 1, "State", 1, 1, bob)
    assert found(blueprint, alice) == given | {"State": ["thermostat [broken]", "[replace] engine oil"]}
    assert found(blueprint, bob) == given | {"State": ["thermostat [broken]"]}
    stranger = factories.manager("eve")
    assert found(blueprint, stranger) == given
    dataset.mark_deleted(Dataset.objects.filter(pk=dataset.pk))
    assert found(blueprint, stranger) == {}


def test_a_text_that_is_in_several_projects_is_there_once(alice, carol):
    blueprint = factories.ontology(owner=alice)
    dataset = factories.dataset(owner=alice, text=TEXT)
    for name in ("One", "Two"):
        project = Project.create(name=name, by=alice, annotators=[carol], dataset=dataset, entity_ontology=blueprint)
        mark(project.dataset, 0, REPLACE, 0, 0, carol)
    assert found(blueprint, alice) == {REPLACE: ["[replace] engine oil"]}


def test_relations_have_both_ends(project, alice, carol):
    relations = project.ontology_set.get(kind="relation")
    label = relations.labels().by_fullname["hasPart"]
    ends = [mark(project.dataset, 2, *place, carol) for place in ((ACTIVITY, 4, 5), (ACTIVITY, 0, 0))]
    near = [mark(project.dataset, 1, *place, carol) for place in ((ACTIVITY, 1, 2), (REPLACE, 2, 3))]
    for number, (source, target) in enumerate((ends, near)):
        annotation = source.annotation
        Relation.objects.create(
            annotation=annotation, source=source, target=target, label_id=label.pk, uid=f"r{number}"
        )
    assert found(relations, alice) == {
        "hasPart": ["[check] coolant level and [top up]", "left [air conditioner thermostat] not working"]
    }


def test_of_a_long_text_only_what_is_near_is_shown(project, ontology, alice, carol):
    marked.add(project.dataset, 3, " ".join(f"w{n}" for n in range(1000)))
    mark(project.dataset, 3, ACTIVITY, 400, 600, carol)
    (sentence,) = sentences(
        SimpleNamespace(user=alice), ontology, [label.uid for label in ontology.labels()]
    ).popitem()[1]
    before, piece, after = sentence
    assert before.startswith("…") and before.endswith("w398 w399 ") and len(before) == AROUND + 1
    assert piece.startswith("w400 w401") and " … " in piece and piece.endswith("w600") and len(piece) == LONG + 3
    assert after.startswith(" w601") and after.endswith("…") and len(after) == AROUND + 1


def test_the_codebook_takes_as_many_queries_with_many_marks(project, ontology, as_alice, carol):
    path = f"/ontologies/{ontology.pk}/codebook/"
    numbers = []
    for positions in (range(1), range(1, 3)):
        for position in positions:
            for label in (ACTIVITY, REPLACE, "State"):
                mark(project.dataset, position, label, 0, 0, carol)
        assert "<mark>replace</mark> engine oil" in as_alice.get(path).text
        numbers.append(len(queries_of(as_alice.get, path)))
    assert numbers[0] == numbers[1]
    queries = queries_of(as_alice.get, f"{path}?sentences=no")
    assert not any("datasets_entity" in query for query in queries)
