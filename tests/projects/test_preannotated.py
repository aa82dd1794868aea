"""A preannotated dataset goes with the ontologies that it was made with, or with others that have the labels of its marks."""

import pytest

from annotation_service import jobs
from annotation_service.inputs import Refused
from datasets.models import Annotation, Dataset, Entity, Relation
from projects.models import Project
from tests import factories
from tests.datasets import marked
from tests.resource_sets import broken_places, make

NOTE = "The dataset was made with “"


@pytest.fixture
def dataset(alice):
    return marked.dataset(owner=alice)


@pytest.fixture
def others(alice):
    """They have the labels of the dataset, with other ids."""
    return {kind: factories.ontology(owner=alice, kind=kind, name=f"Other {kind}") for kind in ("entity", "relation")}


@pytest.fixture
def poor(alice):
    """They do not."""
    return {
        kind: factories.ontology(owner=alice, kind=kind, name=f"Poor {kind}", items=[{"name": "PhysicalObject"}])
        for kind in ("entity", "relation")
    }


def chosen(response):
    form = response.context["form"]
    fields = [form[name] for name in ("entity_ontology", "relation_ontology")]
    return [(str(field.value() or ""), field.field.required, NOTE in field.field.help_text) for field in fields]


def keys(dataset):
    return [(str(ontology.pk), True, True) for ontology in dataset.given_ontologies()]


def test_the_form_chooses_them_and_leaves_the_choice(as_alice, dataset, others):
    assert chosen(as_alice.get("/projects/new/")) == [("", True, False), ("", False, False)]
    assert chosen(as_alice.get("/projects/new/", {"dataset": dataset.pk})) == keys(dataset)
    query = {"dataset": dataset.pk, **{f"{kind}_ontology": ontology.pk for kind, ontology in others.items()}}
    response = as_alice.get("/projects/new/ontologies/", query)
    assert chosen(response) == [(str(ontology.pk), True, True) for ontology in others.values()]
    assert not response.context["form"].mismatches and "<html" not in response.text
    assert chosen(as_alice.get("/projects/new/ontologies/", query | {"fresh": "1"})) == keys(dataset)


def test_it_says_at_once_what_others_lack(as_alice, dataset, poor):
    query = {"dataset": dataset.pk, **{f"{kind}_ontology": ontology.pk for kind, ontology in poor.items()}}
    mismatches = as_alice.get("/projects/new/ontologies/", query).context["form"].mismatches
    assert mismatches == {
        "entity_ontology": "The marks of “Marked” have the labels “PhysicalObject/DrivingObject” and"
        " “PhysicalObject/SensingObject/Thermostat”, which “Poor entity” does not have. Choose another ontology, or add them"
        " first.",
        "relation_ontology": "The marks of “Marked” have the label “hasPart”, which “Poor relation” does not have. Choose another"
        " ontology, or add it first.",
    }
    response = as_alice.post("/projects/new/", {"name": "Pumps", **query})
    assert response.status_code == 422
    assert {name: errors[0] for name, errors in response.context["form"].errors.items()} == mismatches
    assert not Project.objects.exists()


def test_the_page_says_that_suggestions_wait(as_alice, alice, carol, dataset):
    ontologies = dataset.given_ontologies()
    project = factories.project(
        by=alice, name="Marked", of=dataset, entities=ontologies[0], relations=ontologies[1], annotators=[carol]
    )
    figures = as_alice.get(f"/projects/{project.pk}/figures/")
    count = figures.context["given_entities"]
    assert count and f"{count} suggested entities" in " ".join(figures.text.split())
    assert figures.context["entities"] == 0
    Annotation.start(project.dataset.items()[0], carol).reopen()  # the first write makes them carol's suggestions
    again = as_alice.get(f"/projects/{project.pk}/figures/")
    assert (again.context["given_entities"], again.context["entities"]) == (count, 0)
    Dataset.objects.filter(project=project).update(given_status="accepted")
    accepted = as_alice.get(f"/projects/{project.pk}/figures/").text
    assert f"{count} accepted entities" in " ".join(accepted.split()) and "“?”" not in accepted
    plain = factories.project(by=alice)
    assert "came with the dataset" not in as_alice.get(f"/projects/{plain.pk}/figures/").text


def test_another_dataset_leaves_the_choice(as_alice, alice, others):
    standard = factories.dataset(owner=alice)
    query = {"dataset": standard.pk, "entity_ontology": others["entity"].pk}
    assert chosen(as_alice.get("/projects/new/ontologies/", query)) == [
        (str(others["entity"].pk), True, False),
        ("", False, False),
    ]
    for odd in ("", "x", "99999"):
        assert chosen(as_alice.get("/projects/new/ontologies/", {"dataset": odd}))[0] == ("", True, False)


@pytest.mark.parametrize("sent", [False, True])
def test_the_project_gets_what_was_chosen(as_alice, dataset, others, sent):
    """What was not sent is what the dataset was made with."""
    values = {f"{kind}_ontology": ontology.pk for kind, ontology in others.items()} if sent else {}
    response = as_alice.post("/projects/new/", {"name": "Pumps", "dataset": dataset.pk, **values})
    assert response.status_code == 302
    project = Project.objects.get()
    expected = list(others.values()) if sent else dataset.given_ontologies()
    assert [o.copied_from for o in project.dataset.given_ontologies()] == expected
    assert project.dataset.given_ontologies() == [project.entity_ontology, project.relation_ontology]
    marks = [(Entity, project.entity_ontology), (Relation, project.relation_ontology)]
    for model, ontology in marks:
        of = {
            each: model.objects.filter(annotation__item__dataset=each).order_by("pk")
            for each in (dataset, project.dataset)
        }
        assert {mark.label.ontology for mark in of[project.dataset]} == {ontology}
        names = [[mark.label.fullname for mark in found] for found in of.values()]
        assert names[0] == names[1] and names[0]


def test_a_form_with_a_mistake_keeps_the_choice(as_alice, dataset):
    response = as_alice.post("/projects/new/", {"name": "", "dataset": dataset.pk})
    assert response.status_code == 422
    assert chosen(response) == keys(dataset)


def test_the_entity_kind_leaves_the_relations_free(as_alice, alice, dataset, others):
    dataset.touch(kind="preannotated_entity", relation_ontology=None)
    Relation.objects.all().delete()
    shown = chosen(as_alice.get("/projects/new/ontologies/", {"dataset": dataset.pk}))
    assert [made_with for _, _, made_with in shown] == [True, False]
    values = {"name": "Pumps", "dataset": dataset.pk, "relation_ontology": others["relation"].pk}
    assert as_alice.post("/projects/new/", values).status_code == 302
    assert Project.objects.get().relation_ontology.copied_from == others["relation"]


def test_behind_the_form_labels_that_are_missing_are_refused(alice, dataset, poor):
    entities, relations = dataset.given_ontologies()
    for wrong, reason in (
        ({"entity_ontology": poor["entity"], "relation_ontology": relations}, "which “Poor entity” does not have"),
        ({"entity_ontology": entities, "relation_ontology": poor["relation"]}, "which “Poor relation” does not have"),
        ({"entity_ontology": entities}, "choose a relation ontology that has their labels"),
    ):
        with pytest.raises(Refused, match=reason):
            Project.create(name="P", by=alice, dataset=dataset, **wrong)
    assert not Project.objects.exists()


# --- With constraints -----------------------------------------------------------------------------------------------------


@pytest.fixture
def sets(alice, dataset):
    """The dataset has a DrivingObject inside a PhysicalObject, which has it as a part."""
    entities, relations = dataset.given_ontologies()
    documents = {
        "entity_constraints": [{"domain": "PhysicalObject", "excludes": [], "can_contain": ["State"]}],
        "relation_constraints": [{"relation": "hasPart", "domain": "PhysicalObject", "range": ["PhysicalObject"]}],
    }
    return {
        format: make(format, owner=alice, entities=entities, relations=relations, document=document)
        for format, document in documents.items()
    }


@pytest.mark.parametrize("with_others", [False, True])
def test_what_the_marks_would_break_is_said_before_a_project_is_made(as_alice, dataset, sets, others, with_others):
    query = {"dataset": dataset.pk, **{name: each.pk for name, each in sets.items()}}
    if with_others:
        query |= {f"{kind}_ontology": ontology.pk for kind, ontology in others.items()}
    response = as_alice.get("/projects/new/ontologies/", query)
    assert response.context["form"].foreseen.rows() == [
        {
            "set": "entity constraints",
            "number": 1,
            "text": "“PhysicalObject” can contain only “State”.",
            "count": 1,
            "examples": [
                [
                    "item 1",
                    "“DrivingObject” cannot stand inside “PhysicalObject”: by rule 1 of “entity constraints” every"
                    " “PhysicalObject” can contain only “State”.",
                ]
            ],
        }
    ]
    assert "break these constraints 1 time" in response.text
    values = {"name": "Pumps", **query}
    response = as_alice.post("/projects/new/", values)
    assert response.status_code == 422 and not Project.objects.exists()
    assert "or keep the marks as they are" in response.text
    assert as_alice.post("/projects/new/", {**values, "keep_violations": "on"}).status_code == 302
    project = Project.objects.get()
    assert [each.copied_from for each in project.constraint_sets()] == list(sets.values())
    assert len(broken_places(project)) == 1


def test_a_large_project_gets_them_too(as_alice, dataset, sets, settings):
    settings.JOB_ROWS = 1
    values = {"name": "Pumps", "dataset": dataset.pk, "keep_violations": "on"} | {k: s.pk for k, s in sets.items()}
    as_alice.post("/projects/new/", values)
    jobs.run(jobs.claim())
    assert [each.copied_from for each in Project.objects.get().constraint_sets()] == list(sets.values())


def test_constraints_that_name_other_labels_are_refused_at_their_field(as_alice, alice, dataset, labels):
    labels["entities"].add_item("Fan", by=alice)
    document = [{"domain": "Fan", "excludes": []}]
    stranger = make("entity_constraints", owner=alice, document=document, **labels)
    response = as_alice.post("/projects/new/", {"name": "P", "dataset": dataset.pk, "entity_constraints": stranger.pk})
    assert response.status_code == 422
    (error,) = response.context["form"].errors["entity_constraints"]
    assert "“entity constraints” names the label “Fan”, which “Entities” does not have" in error


def test_marks_that_obey_are_said_to(as_alice, dataset, sets):
    query = {"dataset": dataset.pk, "relation_constraints": sets["relation_constraints"].pk}
    html = as_alice.get("/projects/new/ontologies/", query).text
    assert "All marks of the dataset obey these constraints." in html
