"""The requests of the workspace: what they store, and every rule that refuses one."""

import json
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from annotation_service.models import User
from datasets.models import Annotation, Entity, Item
from ontologies.models import OntologyItem
from tests import factories

from .conftest import UID

OTHER = "fedcba9876543210"
RELATION = "aaaaaaaabbbbbbbb"
MARKS = (
    "entities/add/",
    "relations/add/",
    *(f"{k}/{v}/" for k in ("entities", "relations") for v in ("label", "remove")),
    "entities/resize/",
    "relations/reverse/",
)


def test_words_are_marked(as_carol, send, entity, stored, label):
    answer = send(as_carol, "entities/add/", entity())
    assert answer.status_code == 200
    mark = {"uid": UID, "start": 1, "end": 2, "label": label("PhysicalObject"), "status": "accepted"}
    assert answer.json()["entity"] == mark
    assert stored().entities == [(UID, "PhysicalObject", 1, 2)]


def test_the_same_words_with_the_same_label_are_one_mark_however_often_it_is_sent(as_carol, send, entity, stored):
    first = send(as_carol, "entities/add/", entity()).json()["entity"]
    for uid in (UID, OTHER):
        assert send(as_carol, "entities/add/", entity(uid=uid)).json()["entity"] == first
    assert len(stored().entities) == 1


def test_marks_may_nest_overlap_and_share_their_words(as_carol, send, entity, stored):
    for uid, name, start, end in (
        ("a" * 8, "State", 1, 2),
        ("b" * 8, "Activity", 1, 2),
        ("c" * 8, "State", 1, 1),
        ("d" * 8, "State", 2, 4),
    ):
        assert send(as_carol, "entities/add/", entity(uid, name, start, end)).status_code == 200
    assert len(stored().entities) == 4


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (0, 6), (3, 2), (6, 6), (2**40, 2**40)])
def test_a_span_outside_of_the_tokens_is_refused(as_carol, send, entity, stored, start, end):
    answer = send(as_carol, "entities/add/", entity(start=start, end=end))
    assert answer.status_code == 422
    assert "6 tokens" in answer.json()["error"]
    assert stored().entities == []


def test_a_label_that_is_off_cannot_be_applied(as_carol, alice, project, send, entity, stored):
    OntologyItem.objects.get(ontology=project.entity_ontology, name="State").switch(False, by=alice)
    answer = send(as_carol, "entities/add/", entity(name="State"))
    assert answer.status_code == 422
    assert "switched off" in answer.json()["error"]
    send(as_carol, "entities/add/", entity())
    assert send(as_carol, "entities/label/", {"uid": UID, "label": entity(name="State")["label"]}).status_code == 422
    assert stored().entities == [(UID, "PhysicalObject", 1, 2)]


def test_a_mark_keeps_a_label_that_was_switched_off_and_can_be_removed(as_carol, alice, project, send, entity, stored):
    send(as_carol, "entities/add/", entity(name="State"))
    OntologyItem.objects.get(ontology=project.entity_ontology, name="State").switch(False, by=alice)
    assert stored().entities == [(UID, "State", 1, 2)]
    assert send(as_carol, "entities/remove/", {"uid": UID}).status_code == 200
    assert stored().entities == []


@pytest.fixture
def switch_off(alice, project):
    def switch_off(name):
        OntologyItem.objects.get(ontology__project=project, name=name).switch(False, by=alice)

    return switch_off


def test_a_removed_mark_and_its_relations_come_back_although_their_labels_were_switched_off(
    as_carol, send, pair, relation, entity, stored, switch_off
):
    send(as_carol, "relations/add/", relation())
    before = stored()
    was = send(as_carol, "entities/remove/", {"uid": UID}).json()["was"]
    assert [(mark["kind"], mark["uid"]) for mark in was] == [("entity", UID), ("relation", RELATION)]
    switch_off("PhysicalObject")
    switch_off("hasPart")
    assert send(as_carol, "entities/add/", entity()).status_code == 422
    assert send(as_carol, "entities/add/", {**entity(), "proof": was[0]["proof"]}).status_code == 200
    assert send(as_carol, "relations/add/", {**relation(), "proof": was[1]["proof"]}).status_code == 200
    assert set(stored().entities) == set(before.entities) and stored().relations == before.relations


def test_a_label_that_was_switched_off_is_given_back_to_the_mark_that_had_it(
    as_carol, send, entity, label, stored, switch_off
):
    send(as_carol, "entities/add/", entity())
    [was] = send(as_carol, "entities/label/", {"uid": UID, "label": label("State")}).json()["was"]
    switch_off("PhysicalObject")
    body = {"uid": UID, "label": was["label"]}
    assert send(as_carol, "entities/label/", body).status_code == 422
    assert send(as_carol, "entities/label/", {**body, "proof": was["proof"]}).status_code == 200
    assert stored().entities == [(UID, "PhysicalObject", 1, 2)]


@pytest.mark.parametrize("change", [{"uid": OTHER}, {"start": 0}, {"end": 3}, {"proof": "x"}, {"proof": ""}])
def test_the_proof_of_a_mark_makes_no_other_one(as_carol, send, entity, stored, switch_off, change):
    send(as_carol, "entities/add/", entity())
    [was] = send(as_carol, "entities/remove/", {"uid": UID}).json()["was"]
    switch_off("PhysicalObject")
    answer = send(as_carol, "entities/add/", {**entity(), "proof": was["proof"], **change})
    assert answer.status_code == 422 and "switched off" in answer.json()["error"]
    assert stored().entities == []


def test_the_proof_of_a_mark_is_for_its_annotator_only(as_carol, as_alice, alice, send, entity, stored, switch_off):
    for client in (as_carol, as_alice):
        send(client, "entities/add/", entity())
    was = [send(client, "entities/remove/", {"uid": UID}).json()["was"][0] for client in (as_carol, as_alice)]
    switch_off("PhysicalObject")
    assert send(as_alice, "entities/add/", {**entity(), "proof": was[0]["proof"]}).status_code == 422
    assert stored(alice).entities == []


def test_what_is_no_label_of_the_ontology_is_refused(as_carol, alice, project, send, entity, label, stored):
    elsewhere = factories.ontology(owner=alice, items=[{"name": "Elsewhere"}]).items().get().uid
    for uid in (elsewhere, label("hasPart", "relation"), project.entity_ontology.root.uid, "", "nothing"):
        assert send(as_carol, "entities/add/", {**entity(), "label": uid}).status_code == 422
    assert stored().entities == []


def test_a_uid_that_is_none_is_refused(as_carol, send, entity, stored):
    bodies = [json.dumps(entity(uid=uid)) for uid in ("", "x" * 101)]
    for body in (*bodies, json.dumps(entity()).replace(UID, "0123\\u0000abcdef")):
        assert send(as_carol, "entities/add/", body).status_code == 422
    assert stored().entities == []


def test_a_mark_gets_another_label(as_carol, send, entity, label, stored):
    body = {"uid": UID, "label": label("State")}
    assert send(as_carol, "entities/label/", body).status_code == 422  # there is no such mark
    send(as_carol, "entities/add/", entity())
    for _ in range(2):
        assert send(as_carol, "entities/label/", body).json()["entity"]["label"] == label("State")
    assert stored().entities == [(UID, "State", 1, 2)]


def test_a_label_that_the_words_carry_already_is_refused(as_carol, send, entity, label, stored):
    send(as_carol, "entities/add/", entity())
    send(as_carol, "entities/add/", entity(uid=OTHER, name="State"))
    answer = send(as_carol, "entities/label/", {"uid": UID, "label": label("State")})
    assert answer.status_code == 422
    assert "already" in answer.json()["error"]
    assert len(stored().entities) == 2


def test_a_mark_is_removed_and_removing_it_again_does_no_harm(as_carol, send, entity, stored):
    send(as_carol, "entities/add/", entity())
    for _ in range(2):
        assert send(as_carol, "entities/remove/", {"uid": UID}).json()["removed"] == UID
    assert stored().entities == []


@pytest.fixture
def pair(as_carol, send, entity):
    """Two marks: the ends of a relation."""
    send(as_carol, "entities/add/", entity())
    send(as_carol, "entities/add/", entity(uid=OTHER, name="State", start=4, end=5))


@pytest.fixture
def relation(label):
    def relation(uid=RELATION, name="hasPart", source=UID, target=OTHER):
        return {"uid": uid, "label": label(name, "relation"), "source": source, "target": target}

    return relation


def test_two_marks_are_related_once(as_carol, send, pair, relation, stored):
    for uid in (RELATION, RELATION, "c" * 8):
        answer = send(as_carol, "relations/add/", relation(uid=uid))
        assert answer.json()["relation"] == {**relation(), "status": "accepted"}
    assert stored().relations == [(RELATION, "hasPart", UID, OTHER)]


def test_a_relation_needs_two_different_marks_and_a_label_of_relations(as_carol, send, pair, relation, label, stored):
    for wrong in ({"source": "missing00"}, {"target": "missing00"}, {"target": UID}, {"label": label("State")}):
        assert send(as_carol, "relations/add/", relation() | wrong).status_code == 422
    assert stored().relations == []


def test_a_relation_does_not_reach_into_somebody_elses_annotation(
    as_carol, as_alice, send, entity, pair, relation, alice, stored
):
    theirs = "9999999999999999"
    send(as_alice, "entities/add/", entity(uid=theirs))
    assert send(as_carol, "relations/add/", relation(target=theirs)).status_code == 422
    assert stored().relations == stored(alice).relations == []


def test_a_relation_gets_another_label_and_is_removed(as_carol, send, pair, relation, label, stored):
    send(as_carol, "relations/add/", relation())
    answer = send(as_carol, "relations/label/", {"uid": RELATION, "label": label("hasPatient", "relation")})
    assert answer.json()["relation"]["label"] == label("hasPatient", "relation")
    assert stored().relations == [(RELATION, "hasPatient", UID, OTHER)]
    for _ in range(2):
        assert send(as_carol, "relations/remove/", {"uid": RELATION}).status_code == 200
    assert stored().relations == []
    assert (
        send(as_carol, "relations/label/", {"uid": RELATION, "label": label("hasPart", "relation")}).status_code == 422
    )


def test_removing_a_mark_removes_its_relations(as_carol, send, pair, relation, stored):
    send(as_carol, "relations/add/", relation())
    send(as_carol, "entities/remove/", {"uid": OTHER})
    assert stored().relations == []
    assert len(stored().entities) == 1


def test_a_mark_is_resized(as_carol, send, entity, stored, label):
    send(as_carol, "entities/add/", entity())
    answer = send(as_carol, "entities/resize/", {"uid": UID, "start": 0, "end": 3})
    mark = {"uid": UID, "start": 0, "end": 3, "label": label("PhysicalObject"), "status": "accepted"}
    assert answer.json()["entity"] == mark
    assert stored().entities == [(UID, "PhysicalObject", 0, 3)]


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (0, 6), (3, 2), (6, 6), (2**40, 2**40), (4, 4)])
def test_a_mark_is_not_resized_beyond_the_text_or_onto_its_twin(as_carol, send, entity, stored, start, end):
    send(as_carol, "entities/add/", entity())
    send(as_carol, "entities/add/", entity(uid=OTHER, start=4, end=4))
    assert send(as_carol, "entities/resize/", {"uid": UID, "start": start, "end": end}).status_code == 422
    assert stored().entities == [(UID, "PhysicalObject", 1, 2), (OTHER, "PhysicalObject", 4, 4)]


def test_done_is_said_and_taken_back(as_carol, send, stored):
    for done in (True, True, False, False):
        assert send(as_carol, "done/", {"done": done}).json()["done"] is done
        assert stored().done is done


@pytest.mark.parametrize("path", MARKS)
def test_a_done_item_takes_no_marks(as_carol, send, pair, relation, entity, label, stored, path):
    send(as_carol, "relations/add/", {**relation(), "uid": UID})
    before = stored()
    send(as_carol, "done/", {"done": True})
    body = {
        "entities/add/": entity(uid="f" * 8, start=0),
        "relations/add/": relation(uid="f" * 8, name="hasPatient"),
    }.get(path)
    if body is None:
        body = {"uid": UID}
        if "resize" in path:
            body |= {"start": 0, "end": 1}
        if "label" in path:
            body["label"] = label("Replace") if "entities" in path else label("hasPatient", "relation")
    answer = send(as_carol, path, body)
    assert answer.status_code == 422
    assert "Reopen" in answer.json()["error"]
    assert (stored().entities, stored().relations) == (before.entities, before.relations)


# --- Who may -------------------------------------------------------------------------------------------------------------


def test_staff_who_are_no_members_do_not_write(as_sam, send, entity):
    answer = send(as_sam, "entities/add/", entity())
    assert answer.status_code == 403
    assert "of the project annotate in it" in answer.json()["error"]
    assert not Annotation.objects.exists()


def test_somebody_who_is_signed_out_is_told_where_to_sign_in(send, entity, client):
    answer = send(client, "entities/add/", entity())
    assert answer.status_code == 401
    assert answer.json()["login"] == "/accounts/login/"


def end_session(person):
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def close_account(person):
    User.objects.filter(pk=person.pk).update(is_active=False)


@pytest.mark.parametrize("end", [end_session, close_account])
def test_who_is_signed_out_meanwhile_writes_nothing(as_carol, carol, send, entity, stored, end):
    end(carol)
    assert send(as_carol, "entities/add/", entity()).status_code == 401
    assert stored().entities == []


def test_a_page_of_another_person_does_not_write_into_mine(as_carol, alice, send, entity, stored):
    assert send(as_carol, "entities/add/", entity(), **{"X-Annotator": str(alice.pk)}).status_code == 401
    assert stored().entities == []
    assert send(as_carol, "entities/add/", entity(), **{"X-Annotator": str(as_carol.user.pk)}).status_code == 200


def test_an_item_that_is_not_given_to_the_person_is_not_found(alice, carol, dave, as_carol, send):
    project = factories.project(by=alice, name="Dealt", annotators=[carol, dave], annotators_per_item=1)
    given = set(project.items_for(carol).values_list("pk", flat=True))
    for item in project.dataset.items():
        answer = send(as_carol, "done/", {"done": True}, to=item, project_pk=project.pk)
        assert answer.status_code == (200 if item.pk in given else 404)


def test_a_removed_item_is_not_found(as_carol, send, entity, item):
    Item.objects.filter(pk=item.pk).update(removed_at=timezone.now())
    assert send(as_carol, "entities/add/", entity()).status_code == 404
    assert not Entity.objects.exists()


def test_everybody_has_their_own_marks(as_carol, as_alice, alice, send, entity, stored):
    send(as_carol, "entities/add/", entity())
    send(as_alice, "entities/add/", entity(name="State"))
    assert stored().entities == [(UID, "PhysicalObject", 1, 2)]
    assert stored(alice).entities == [(UID, "State", 1, 2)]


# --- Given marks ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def given(item, project):
    annotation = factories.annotation(item)
    state = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    has_part = OntologyItem.objects.get(ontology=project.relation_ontology, name="hasPart")
    ends = [
        annotation.entity_set.create(uid=f"given-{n}x", label=state, start=n, end=n, status="suggested") for n in (3, 5)
    ]
    annotation.relation_set.create(uid="given-rel", label=has_part, source=ends[0], target=ends[1])
    return annotation


def test_the_first_write_copies_the_given_marks(as_carol, send, entity, given, stored):
    send(as_carol, "entities/add/", entity())
    assert [uid for uid, *_ in stored().entities] == [UID, "given-3x", "given-5x"]
    assert stored().relations == [("given-rel", "hasPart", "given-3x", "given-5x")]


@pytest.mark.parametrize("name", ["State", "Activity"])
def test_whoever_gives_a_label_accepts_the_suggestion(as_carol, send, given, label, name):
    answer = send(as_carol, "entities/label/", {"uid": "given-3x", "label": label(name)})
    assert answer.json()["entity"]["status"] == "accepted"
    assert send(as_carol, "entities/label/", {"uid": "given-3x", "label": label(name)}).status_code == 200
    assert set(given.entity_set.values_list("status", flat=True)) == {"suggested"}


@pytest.mark.parametrize("status", ["suggested", "rejected"])
def test_whoever_makes_a_mark_or_relation_that_was_not_accepted_accepts_it(
    as_carol, send, entity, given, relation, stored, carol, status
):
    given.entity_set.update(status=status)
    given.relation_set.update(status=status)
    answers = [
        send(as_carol, "entities/add/", entity(name="State", start=3, end=3)).json()["entity"],
        send(as_carol, "relations/add/", relation(source="given-3x", target="given-5x")).json()["relation"],
        send(as_carol, "entities/add/", entity(uid="given-5x", name="State", start=5, end=5)).json()["entity"],
    ]
    assert [(answer["uid"], answer["status"]) for answer in answers] == [
        ("given-3x", "accepted"),
        ("given-rel", "accepted"),
        ("given-5x", "accepted"),
    ]
    mine = Annotation.objects.get(annotator=carol)
    assert set(mine.entity_set.values_list("status", flat=True)) == {"accepted"}
    assert mine.relation_set.get().status == "accepted"
    assert set(given.entity_set.values_list("status", flat=True)) == {status}


@pytest.mark.parametrize("status", ["suggested", "rejected"])
def test_a_mark_that_was_not_accepted_is_not_made_with_a_label_that_is_off(
    as_carol, alice, send, entity, given, relation, project, carol, status
):
    given.entity_set.update(status=status)
    given.relation_set.update(status=status)
    for ontology, name in ((project.entity_ontology, "State"), (project.relation_ontology, "hasPart")):
        OntologyItem.objects.get(ontology=ontology, name=name).switch(False, by=alice)
    ends = relation(source="given-3x", target="given-5x")
    for path, body in (
        ("entities/add/", entity(name="State", start=3, end=3)),
        ("relations/add/", ends),
        ("relations/add/", {**ends, "uid": "given-rel"}),
    ):
        answer = send(as_carol, path, body)
        assert answer.status_code == 422
        assert "switched off" in answer.json()["error"]
    assert not Annotation.objects.filter(annotator=carol).exists()


def test_a_rejected_twin_gives_way_to_a_new_label(as_carol, send, entity, given, relation, label, stored, carol):
    given.entity_set.filter(uid="given-3x").update(status="rejected")
    send(as_carol, "entities/add/", entity(start=3, end=3))
    assert send(as_carol, "entities/label/", {"uid": UID, "label": label("State")}).status_code == 200
    assert stored().entities == [(UID, "State", 3, 3), ("given-5x", "State", 5, 5)]
    for uid, name in ((RELATION, "hasPart"), ("b" * 16, "hasPatient")):
        assert send(as_carol, "relations/add/", relation(uid=uid, name=name, target="given-5x")).status_code == 200
    mine = Annotation.objects.get(annotator=carol)
    mine.relation_set.filter(uid=RELATION).update(status="rejected")
    answer = send(as_carol, "relations/label/", {"uid": "b" * 16, "label": label("hasPart", "relation")})
    assert answer.status_code == 200
    assert stored().relations == [("b" * 16, "hasPart", UID, "given-5x")]


def test_a_refused_first_write_leaves_nothing(as_carol, send, entity, given, carol):
    assert send(as_carol, "entities/add/", entity(start=90, end=91)).status_code == 422
    assert not Annotation.objects.filter(annotator=carol).exists()


# --- What a body may be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"color": "#fff"},
        {"start": None},
        {"start": True},
        {"start": 1.0},
        {"start": "1"},
        {"label": 5},
        {"uid": ["x"]},
        {"status": "suggested"},
    ],
)
def test_fields_are_exactly_as_expected(as_carol, send, entity, stored, change):
    without_end = {name: value for name, value in entity().items() if name != "end"}
    for body, named in (({**entity(), **change}, next(iter(change))), (without_end, "end")):
        answer = send(as_carol, "entities/add/", body)
        assert answer.status_code == 422 and named in answer.json()["error"]
    assert stored().entities == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe{\x00}\x00",
        b'{"done": true, "done": false}',
        b'{"done": NaN}',
        b'{"done": "\\u0000"}',
        b'{"done": "\x00"}',
        b'{"done": "\\ud800"}',
        b'{"done": ' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"done": ' + b"9" * 5000 + b"}",
        b'{"done": true, "x": "' + b"x" * 10_000 + b'"}',
    ],
)
def test_a_body_that_is_no_sound_object_is_refused(as_carol, send, body):
    answer = send(as_carol, "done/", body)
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert not Annotation.objects.exists()


# --- Cost ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marks", [1, 40])
def test_saving_a_mark_takes_few_queries(as_carol, send, entity, django_assert_max_num_queries, marks):
    for n in range(marks):
        send(as_carol, "entities/add/", entity(uid=f"{n:08}", name=("State", "Activity")[n % 2], start=n % 6, end=5))
    # session and user, begin, item with membership, annotation, label, marks there, versions of labels and rules, insert, commit,
    # versions for the answer; and on PostgreSQL the locks of item and label
    body = entity(uid=OTHER, name="Replace", start=3, end=3)
    with django_assert_max_num_queries(11 + 2 * connection.features.has_select_for_update):
        assert send(as_carol, "entities/add/", body).status_code == 200
