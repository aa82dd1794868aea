"""A preannotated dataset goes with the ontologies that it was made with, on the form and behind it."""

import pytest

from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Relation
from projects.models import Project
from tests import factories
from tests.datasets import marked

NOTE = "The dataset was made with this ontology"


@pytest.fixture
def dataset(alice):
    return marked.dataset(owner=alice)


@pytest.fixture
def others(alice):
    return {kind: factories.ontology(owner=alice, kind=kind, name=f"Other {kind}") for kind in ("entity", "relation")}


def chosen(response):
    form = response.context["form"]
    fields = [form[name] for name in ("entity_ontology", "relation_ontology")]
    return [(str(field.value() or ""), field.field.disabled, NOTE in field.field.help_text) for field in fields]


def keys(dataset):
    return [(str(ontology.pk), True, True) for ontology in dataset.given_ontologies()]


def test_the_form_chooses_them_and_locks_the_choice(as_alice, dataset, others):
    assert chosen(as_alice.get("/projects/new/")) == [("", False, False)] * 2
    assert chosen(as_alice.get("/projects/new/", {"dataset": dataset.pk})) == keys(dataset)
    query = {"dataset": dataset.pk, "entity_ontology": others["entity"].pk}
    response = as_alice.get("/projects/new/ontologies/", query)
    assert chosen(response) == keys(dataset)
    html = response.content.decode()
    assert html.count("disabled") == 2 and "<html" not in html


def test_the_page_says_that_suggestions_wait(as_alice, alice, carol, dataset):
    ontologies = dataset.given_ontologies()
    project = Project.create(
        name="Marked",
        by=alice,
        dataset=dataset,
        entity_ontology=ontologies[0],
        relation_ontology=ontologies[1],
        annotators=[carol],
    )
    figures = as_alice.get(f"/projects/{project.pk}/figures/")
    count = figures.context["given_entities"]
    assert count and f"{count} suggested entities" in " ".join(figures.content.decode().split())
    assert figures.context["entities"] == 0
    Annotation.start(project.dataset.items()[0], carol).reopen()  # the first write makes them carol's suggestions
    again = as_alice.get(f"/projects/{project.pk}/figures/")
    assert (again.context["given_entities"], again.context["entities"]) == (count, 0)
    plain = factories.project(by=alice)
    assert "came with the dataset" not in as_alice.get(f"/projects/{plain.pk}/figures/").content.decode()


def test_another_dataset_leaves_the_choice(as_alice, alice, others):
    standard = factories.dataset(owner=alice)
    query = {"dataset": standard.pk, "entity_ontology": others["entity"].pk}
    assert chosen(as_alice.get("/projects/new/ontologies/", query)) == [
        (str(others["entity"].pk), False, False),
        ("", False, False),
    ]
    for odd in ("", "x", "99999"):
        assert chosen(as_alice.get("/projects/new/ontologies/", {"dataset": odd}))[0] == ("", False, False)


@pytest.mark.parametrize("sent", [False, True])
def test_whatever_is_sent_the_project_gets_them(as_alice, dataset, others, sent):
    """A browser does not send fields that are locked."""
    values = {f"{kind}_ontology": ontology.pk for kind, ontology in others.items()} if sent else {}
    response = as_alice.post("/projects/new/", {"name": "Pumps", "dataset": dataset.pk, **values})
    assert response.status_code == 302
    project = Project.objects.get()
    assert [o.copied_from for o in project.dataset.given_ontologies()] == dataset.given_ontologies()
    assert project.dataset.given_ontologies() == [project.entity_ontology, project.relation_ontology]
    assert {e.label.ontology for e in Entity.objects.filter(annotation__item__dataset=project.dataset)} == {
        project.entity_ontology
    }
    assert Relation.objects.filter(annotation__item__dataset=project.dataset).count() == 1


def test_a_form_with_a_mistake_keeps_the_lock(as_alice, dataset):
    response = as_alice.post("/projects/new/", {"name": "", "dataset": dataset.pk})
    assert response.status_code == 422
    assert chosen(response) == keys(dataset)


def test_the_entity_kind_leaves_the_relations_free(as_alice, alice, dataset, others):
    dataset.touch(kind="preannotated_entity", relation_ontology=None)
    Relation.objects.all().delete()
    shown = chosen(as_alice.get("/projects/new/ontologies/", {"dataset": dataset.pk}))
    assert [disabled for _, disabled, _ in shown] == [True, False]
    values = {"name": "Pumps", "dataset": dataset.pk, "relation_ontology": others["relation"].pk}
    assert as_alice.post("/projects/new/", values).status_code == 302
    assert Project.objects.get().relation_ontology.copied_from == others["relation"]


def test_behind_the_form_another_choice_is_refused(alice, dataset, others):
    entities, relations = dataset.given_ontologies()
    for wrong in (
        {"entity_ontology": others["entity"], "relation_ontology": relations},
        {"entity_ontology": entities, "relation_ontology": others["relation"]},
        {"entity_ontology": entities},
    ):
        with pytest.raises(Refused, match="choose that one"):
            Project.create(name="P", by=alice, dataset=dataset, **wrong)
    assert not Project.objects.exists()
