"""What every answer says of the item: whether it is done, and whether something else has changed its marks."""

import pytest

from datasets.models import Annotation
from ontologies.models import OntologyItem
from tests import factories

from .test_workspace import state_of

OTHER = "fedcba9876543210"


@pytest.fixture
def now(as_carol, project, item):
    """``now()``: what a page that is opened now knows."""

    def now():
        state = state_of(as_carol.get(f"/projects/{project.pk}/annotate/{item.pk}/"))
        marks = as_carol.get(f"/projects/{project.pk}/items/{item.pk}/marks/").json()
        assert all(state[name] == marks[name] for name in ("done", "revision", "entities", "relations"))
        return {name: marks[name] for name in ("done", "revision")}

    return now


def test_each_answer_names_the_revision_that_it_made(as_carol, send, entity, now, label):
    assert now() == {"done": False, "revision": 0}
    steps = [
        ("entities/add/", entity()),
        ("entities/add/", entity(uid=OTHER, name="State", start=4, end=4)),
        ("entities/label/", {"uid": OTHER, "label": label("Activity")}),
        ("entities/resize/", {"uid": OTHER, "start": 4, "end": 5}),
        (
            "relations/add/",
            {"uid": "r", "label": label("hasPart", "relation"), "source": OTHER, "target": entity()["uid"]},
        ),
        ("relations/reverse/", {"uid": "r"}),
        ("relations/remove/", {"uid": "r"}),
        ("entities/remove/", {"uid": OTHER}),
        ("done/", {"done": True}),
        ("done/", {"done": False}),
    ]
    known = 0
    for path, body in steps:
        answer = send(as_carol, path, {**body, "revision": known}).json()
        assert not answer["changed"], path
        assert answer["revision"] > known
        assert now() == {"done": answer["done"], "revision": answer["revision"]}
        assert answer["done"] is body.get("done", False)
        known = answer["revision"]


def test_whoever_knows_an_older_revision_is_told_and_the_mark_is_stored(as_carol, send, entity, stored, now):
    known = now()["revision"]
    send(as_carol, "entities/add/", {**entity(), "revision": known})
    body = entity(uid=OTHER, name="State", start=4, end=4)
    answer = send(as_carol, "entities/add/", {**body, "revision": known}).json()  # from another tab
    assert answer["changed"] and answer["entity"]["uid"] == OTHER
    assert len(stored().entities) == 2
    assert not send(as_carol, "entities/remove/", {"uid": OTHER, "revision": answer["revision"]}).json()["changed"]
    assert not send(as_carol, "entities/remove/", {"uid": OTHER}).json()["changed"]  # it said nothing of what it knows


def test_what_others_do_changes_nothing_of_mine(as_carol, as_alice, send, entity, now):
    known = send(as_carol, "entities/add/", entity()).json()["revision"]
    send(as_alice, "entities/add/", entity())
    assert now()["revision"] == known


def test_marks_that_came_with_the_dataset_are_known_until_they_change(as_carol, project, item, send, entity, now):
    given = factories.annotation(item)
    state = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    given.entity_set.create(uid="given", label=state, start=0, end=0, status="suggested", origin="given")
    known = now()["revision"]
    Annotation.objects.filter(pk=given.pk).update(revision=known + 1)  # as matching does
    assert send(as_carol, "entities/add/", {**entity(), "revision": known}).json()["changed"]
    Annotation.objects.filter(pk=given.pk).update(revision=known + 9)
    assert not send(as_carol, "entities/remove/", {"uid": "given", "revision": known + 2}).json()["changed"]


def test_the_first_write_knows_the_given_marks(as_carol, item, send, entity, now):
    factories.annotation(item, revision=7)
    known = now()["revision"]
    answer = send(as_carol, "entities/add/", {**entity(), "revision": known}).json()
    assert not answer["changed"] and answer["revision"] > known


def test_a_refusal_says_what_is_now(as_carol, alice, project, send, entity, now):
    known = send(as_carol, "entities/add/", entity()).json()["revision"]
    send(as_carol, "done/", {"done": True})  # in another tab
    OntologyItem.objects.get(ontology=project.entity_ontology, name="State").switch(False, by=alice)
    answer = send(as_carol, "entities/add/", {**entity(uid=OTHER), "revision": known})
    assert answer.status_code == 422
    told = answer.json()
    assert "Reopen" in told["error"] and told["done"] and told["changed"] and told["revision"] == now()["revision"]
    labels = as_carol.get(told["urls"]["labels"])
    assert "immutable" in labels["Cache-Control"]
    answer = send(as_carol, "entities/add/", {**entity(uid=OTHER), "revision": told["revision"]}).json()
    assert not answer["changed"] and answer["revision"] == told["revision"]  # nothing was written


@pytest.mark.parametrize("revision", ["1", True, 1.0, None])
def test_a_revision_is_a_whole_number(as_carol, send, entity, stored, revision):
    answer = send(as_carol, "entities/add/", {**entity(), "revision": revision})
    assert answer.status_code == 422 and "whole number" in answer.json()["error"]
    assert stored().entities == []
