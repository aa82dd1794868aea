"""What words were labelled before is counted of people and of what came with the dataset, and not of what was decided."""

import pytest

from datasets.cleaned import key_of
from datasets.models import Annotation, Entity
from projects.models import Project
from tests import factories
from work.models import Source
from work.suggestions import history

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text="pump leaks\n" * 9)
    project.edit(history=Project.History.EVERYBODY)
    return project


def test_gold_is_no_label_of_before(project, carol, dave):
    state, activity = (factories.item(project.entity_ontology, name) for name in ("State", "Activity"))
    items = project.dataset.items()
    for item in items[:5]:
        factories.gold(item, (activity, 0, 0), (activity, 0, 1))
    found = history.labels_before("pump", project.entity_ontology, carol)
    assert not found.own and not found.given and not found.project
    assert history.find(items[8], carol, project.entity_ontology, everybody=True) is None
    Annotation.start(items[5], dave).add_entity(uid="a", label=state, start=0, end=0)
    factories.annotation(items[6]).entity_set.create(uid="b", label=state, start=0, end=0, origin="given")
    found = history.labels_before("pump", project.entity_ontology, carol)
    assert (found.own, found.given, found.project) == ({}, {state.uid: 1}, {state.uid: 1})
    suggested = history.find(items[8], carol, project.entity_ontology, everybody=True)
    assert {span[2] for span in suggested.spans} == {state.pk}


def test_newer_and_older_gold_hides_no_marks_of_people_and_of_the_dataset(project, carol, monkeypatch):
    monkeypatch.setattr(history, "FEW_MARKS", 2)
    state, items = factories.item(project.entity_ontology, "State"), project.dataset.items()
    for item in items[:3]:
        factories.gold(item, (state, 0, 0))
    factories.annotation(items[3]).entity_set.create(uid="b", label=state, start=0, end=0, origin="given")
    Annotation.start(items[4], carol).add_entity(uid="a", label=state, start=0, end=0)
    for item in items[5:8]:
        factories.gold(item, (state, 0, 0))
    key = key_of(["pump"])
    found = history.labels_of_words([key], project.entity_ontology, carol, marks=2)[key]
    assert (found.own, found.given, found.project) == ({state.uid: 1}, {state.uid: 1}, {state.uid: 1})


def test_marks_of_before_that_were_taken_over_into_gold_are_no_suggestions(project, carol):
    state, items = factories.item(project.entity_ontology, "State"), project.dataset.items()
    own = Annotation.start(items[0], carol)
    source = Source.own(project.dataset.pk, Source.Kind.HISTORY)
    came = {"origin": "history", "suggested_by": source}
    own.entity_set.create(uid="a", label=state, start=0, end=0, **came)
    factories.gold(items[0], (state, 0, 0), **came)
    assert Entity.objects.filter(origin="history").count() == 2
    assert source.figures() == {state.pk: (1, 1, 0, 0, 0)}
