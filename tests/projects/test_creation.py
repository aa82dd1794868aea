"""A new project, made in steps: what each step is told, what the review says, and that it is made wholly or not at all."""

import re

import pytest
from django.db import DatabaseError, connection

from annotation_service import jobs
from datasets.models import Annotation, Entity, Mark
from projects.models import Project
from tests import factories, faults
from tests.datasets import marked
from tests.soak import amount


@pytest.fixture
def chosen(alice):
    """What a form without mistakes sends."""
    dataset = marked.dataset(owner=alice)
    ontologies = {f"{each.kind}_ontology": each.pk for each in dataset.given_ontologies()}
    return {"name": "Pumps", "task": "entities_and_relations", "dataset": dataset.pk, **ontologies}


def check(client, values, step=""):
    response = client.post("/projects/new/check/", {**values, "step": step})
    assert response.status_code == 200
    return " ".join(response.text.split())


def wrong(text):
    """The steps that are marked as wrong."""
    return re.findall(r'<li id="link-(\w+)" class="bad"', text)


# --- Steps ---------------------------------------------------------------------------------------------------------------


def test_whoever_leaves_a_step_is_told_what_is_wrong_with_it_alone(as_alice, chosen):
    text = check(as_alice, {"name": ""}, "task")
    assert wrong(text) == ["task"] and "This field is required" in text
    assert 'id="errors-dataset"' not in text and 'id="review"' not in text
    assert 'id="link-task" class="ok"' in check(as_alice, chosen, "task")
    assert wrong(check(as_alice, chosen | {"annotators": "nobody"}, "people")) == ["people"]
    assert not Project.objects.exists()


def test_the_review_has_counts_and_what_is_to_be_put_right(as_alice, carol, chosen, settings):
    text = check(as_alice, chosen | {"annotators": "carol", "annotators_per_item": "2"})
    for part in (
        "<b>3</b><span>items</span>",
        "<b>1</b><span>annotators</span>",
        "Entities and relations",
        "Without guidelines",
        "None: every label can be applied everywhere.",
        "suggested",
        "Each item goes to 2 annotators.",
        "There are only 1",
    ):
        assert part in text, (part, text)
    assert not wrong(text) and "in the background" not in text
    settings.JOB_ROWS = 1
    assert "in the background" in check(as_alice, chosen)
    text = check(as_alice, {"name": "Pumps"})
    assert wrong(text) == ["dataset", "ontologies"] and "Something is to be put right first" in text
    text = check(as_alice, chosen | {"annotators_per_item": "-1", "overlap": "100"})
    assert "Annotators per item: A whole number from 1 to 100 was expected." in text
    assert "Sample for everybody: A whole number from 0 to 99 was expected." in text


def test_the_task_decides_about_relations(as_alice, alice):
    plain = {
        "name": "Pumps",
        "dataset": factories.dataset(owner=alice).pk,
        "entity_ontology": factories.ontology(owner=alice).pk,
        "relation_ontology": factories.ontology(owner=alice, kind="relation").pk,
    }
    assert as_alice.post("/projects/new/", plain | {"task": "entities"}).status_code == 302
    assert Project.objects.get().relation_ontology is None
    without = {name: value for name, value in plain.items() if name != "relation_ontology"}
    response = as_alice.post("/projects/new/", without | {"task": "entities_and_relations"})
    assert list(response.context["form"].errors) == ["relation_ontology"]
    assert as_alice.post("/projects/new/", plain).status_code == 302
    assert Project.objects.first().task == "entities_and_relations"


def test_a_dataset_with_relations_needs_the_task_for_them(as_alice, chosen):
    response = as_alice.post("/projects/new/", chosen | {"task": "entities"})
    assert list(response.context["form"].errors) == ["dataset"]
    assert wrong(check(as_alice, chosen | {"task": "entities"}, "dataset")) == ["dataset"]


def test_the_rule_of_assignment_is_chosen_with_the_project(as_alice, carol, chosen):
    values = {"annotators": "carol", "annotators_per_item": "1", "overlap": "10", "calibration": "2"}
    assert as_alice.post("/projects/new/", chosen | values).status_code == 302
    project = Project.objects.get()
    assert (project.annotators_per_item, project.overlap, project.calibration) == (1, 10, 2)


# --- Given marks ---------------------------------------------------------------------------------------------------------


def statuses(project, **whose):
    marks = Entity.objects.filter(annotation__item__dataset__project=project, origin="given", **whose)
    return set(marks.values_list("status", flat=True))


@pytest.mark.parametrize("given", ["", "suggested", "accepted"])
@pytest.mark.parametrize("rows", [1, 10_000])
def test_given_marks_are_suggested_or_accepted(given, rows, as_alice, carol, chosen, settings):
    settings.JOB_ROWS = rows
    as_alice.post("/projects/new/", chosen | {"given_marks": given, "annotators": "carol"})
    while job := jobs.claim():
        jobs.run(job)
    project, expected = Project.objects.get(), {given or "suggested"}
    assert statuses(project, annotation__annotator=None) == expected
    item = project.dataset.items().filter(annotation__entity__isnull=False).first()
    assert set(Annotation.start(item, carol).entity_set.values_list("status", flat=True)) == expected
    late = [
        {
            "original": "oil",
            "tokens": ["oil"],
            "entities": [{"id": "x", "start": 0, "end": 0, "label": "State"}],
            "relations": [],
        }
    ]
    options = project.dataset.import_options | {"format": "json"}
    factories.upload(late, by=as_alice.user, options=options, dataset=project.dataset).store()
    assert statuses(project) == expected  # those of texts that come later, too
    assert statuses(project.duplicate(name="Again", by=as_alice.user, contents="given")) == expected
    blueprint = project.dataset.copy_to(by=as_alice.user)
    given_marks = Entity.objects.filter(annotation__item__dataset=blueprint)
    assert set(given_marks.values_list("status", flat=True)) == {Mark.Status.SUGGESTED}


# --- All or nothing ------------------------------------------------------------------------------------------------------


class Broken(DatabaseError):
    """What a test makes go wrong."""


def break_off():
    raise Broken


@pytest.fixture
def creation(transactional_db):
    alice, carol = factories.manager("alice"), factories.user("carol")
    dataset = marked.dataset(owner=alice)

    def create():
        factories.project(
            by=alice, of=dataset, annotators=[carol], annotators_per_item=1, given_marks=Mark.Status.ACCEPTED
        )

    return create


def assert_whole():
    project = Project.objects.get()
    assert project.dataset.items().count() == project.dataset.item_count and project.annotators().count() == 1
    assert statuses(project) == {"accepted"} and not faults.orphans()


def test_a_creation_that_is_broken_off_leaves_nothing(creation):
    before, number = faults.rows(), 1
    while faults.rows() == before:
        try:
            with faults.watching(faults.at(number, break_off)):
                creation()
        except Broken:
            connection.close()
            number += amount(11, 1)
    assert number > 1
    assert_whole()


def test_a_creation_that_is_killed_leaves_nothing(creation):
    before, number = faults.rows(), 1
    while faults.rows() == before:
        faults.killed_at(number, creation)
        number += amount(31, 1)
    assert number > 32
    assert_whole()
