"""Marks that came with a dataset, in an annotator's hands: accepted, rejected, brought back, whatever their uids are."""

from importlib import import_module

import pytest
from django.db import connection

from datasets.models import Annotation, Entity, Rejection, Relation
from ontologies.models import OntologyItem
from tests import factories

from .test_workspace import state_of

# A file's own identifiers: an entity and a relation may have the same.
ODD = "a/b ../ü?#%2F <1>"
SAME = "r1"


@pytest.fixture
def given(item, project):
    """Three suggested entities, and suggested relations from the first to the others."""
    annotation = factories.annotation(item)
    state = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    has_part = OntologyItem.objects.get(ontology=project.relation_ontology, name="hasPart")
    ends = [
        annotation.entity_set.create(uid=uid, label=state, start=n, end=n, status="suggested")
        for n, uid in enumerate((ODD, SAME, "e3"))
    ]
    for uid, target in ((SAME, ends[1]), ("r2", ends[2])):
        annotation.relation_set.create(uid=uid, label=has_part, source=ends[0], target=target, status="suggested")
    return annotation


@pytest.fixture
def statuses(item, carol):
    """``statuses()``: the status of each of carol's entities and relations, by uid."""

    def statuses():
        mine = Annotation.objects.get(item=item, annotator=carol)
        return tuple(dict(marks.values_list("uid", "status")) for marks in (mine.entity_set, mine.relation_set))

    return statuses


def test_a_removed_suggestion_is_kept_as_rejected_with_its_relations(as_carol, send, given, statuses):
    for _ in (1, 2):
        assert send(as_carol, "entities/remove/", {"uid": ODD}).json()["removed"] == ODD
        assert statuses() == (
            {ODD: "rejected", SAME: "suggested", "e3": "suggested"},
            {SAME: "rejected", "r2": "rejected"},
        )
    assert set(given.entity_set.values_list("status", flat=True)) == {"suggested"}


def test_a_rejected_mark_is_not_shown_again(as_carol, item, project, send, given):
    send(as_carol, "entities/remove/", {"uid": SAME})
    state = state_of(as_carol.get(f"/projects/{project.pk}/annotate/{item.pk}/"))
    assert [mark["uid"] for mark in state["entities"]] == [ODD, "e3"]
    assert [mark["uid"] for mark in state["relations"]] == ["r2"]


def test_undo_brings_a_rejected_mark_back_as_ones_own(as_carol, send, given, statuses, label):
    send(as_carol, "entities/remove/", {"uid": ODD})
    body = {"uid": ODD, "label": label("State"), "start": 0, "end": 0}
    assert send(as_carol, "entities/add/", body).json()["entity"]["status"] == "accepted"
    relation = {"uid": SAME, "label": label("hasPart", "relation"), "source": ODD, "target": SAME}
    assert send(as_carol, "relations/add/", relation).json()["relation"]["uid"] == SAME
    assert statuses() == (
        {ODD: "accepted", SAME: "accepted", "e3": "suggested"},  # a relation of one's own has ends of one's own
        {SAME: "accepted", "r2": "rejected"},
    )


@pytest.fixture
def suggested(given):
    for marks in (given.entity_set, given.relation_set):
        marks.update(origin="given")


def test_undo_makes_a_rejected_mark_and_its_relations_suggestions_again(as_carol, send, suggested, statuses, label):
    send(as_carol, "entities/remove/", {"uid": ODD})
    again = {"uid": "r2", "label": label("hasPart", "relation")}
    assert send(as_carol, "relations/suggest/", again).status_code == 422  # an end is not there
    for _ in (1, 2):
        answer = send(as_carol, "entities/suggest/", {"uid": ODD, "label": label("State")})
        assert answer.json()["entity"]["status"] == "suggested"
    assert send(as_carol, "relations/suggest/", again).status_code == 200
    assert statuses() == (
        {ODD: "suggested", SAME: "suggested", "e3": "suggested"},
        {SAME: "rejected", "r2": "suggested"},
    )
    assert Rejection.objects.count() == 1  # that of the other relation


def test_undo_makes_a_mark_that_got_another_label_a_suggestion_again(as_carol, send, suggested, statuses, label):
    assert send(as_carol, "entities/suggest/", {"uid": "e3", "label": label("Activity")}).status_code == 422
    send(as_carol, "entities/label/", {"uid": "e3", "label": label("Activity")})
    answer = send(as_carol, "entities/suggest/", {"uid": "e3", "label": label("State")})
    entity = {"uid": "e3", "start": 2, "end": 2, "label": label("State"), "status": "suggested"}
    assert answer.json()["entity"] == entity
    assert not Rejection.objects.exists()


def test_what_nobody_suggested_is_no_suggestion_again(as_carol, send, suggested, statuses, label):
    own = {"uid": "own", "label": label("Activity")}
    send(as_carol, "entities/add/", {**own, "start": 2, "end": 2})
    answer = send(as_carol, "entities/suggest/", own)
    assert answer.status_code == 422 and "was not suggested here" in answer.json()["error"]
    assert statuses()[0]["own"] == "accepted"


def test_copies_from_before_marks_had_origins_get_those_of_the_given_marks(
    as_carol, send, suggested, item, carol, label
):
    send(as_carol, "entities/add/", {"uid": "own", "label": label("Activity"), "start": 2, "end": 2})
    mine = Annotation.objects.get(item=item, annotator=carol)
    migration = import_module("datasets.migrations.0008_origin_of_copies")
    for marks in (mine.entity_set, mine.relation_set):
        marks.update(origin="person")
    with connection.cursor() as cursor:
        for operation in migration.Migration.operations:
            cursor.execute(operation.sql)
    origins = dict.fromkeys((ODD, SAME, "e3"), "given") | {"own": "person"}
    assert dict(mine.entity_set.values_list("uid", "origin")) == origins
    assert set(mine.relation_set.values_list("origin", flat=True)) == {"given"}


def test_an_end_of_an_accepted_relation_is_no_suggestion_again(as_carol, send, suggested, statuses, label):
    send(as_carol, "relations/label/", {"uid": "r2", "label": label("hasPart", "relation")})
    assert send(as_carol, "entities/suggest/", {"uid": ODD, "label": label("State")}).status_code == 422
    assert statuses()[0][ODD] == "accepted"
    send(as_carol, "done/", {"done": True})
    assert send(as_carol, "relations/suggest/", {"uid": "r2", "label": label("hasPart", "relation")}).status_code == 422
    assert statuses()[1]["r2"] == "accepted"


def test_an_accepted_mark_is_removed_and_can_be_brought_back(as_carol, send, given, statuses, label):
    body = {"uid": ODD, "label": label("State")}
    assert send(as_carol, "entities/label/", body).json()["entity"]["status"] == "accepted"
    send(as_carol, "entities/remove/", {"uid": ODD})
    assert statuses() == ({SAME: "suggested", "e3": "suggested"}, {})
    assert send(as_carol, "entities/add/", {**body, "start": 0, "end": 0}).status_code == 200
    assert statuses()[0][ODD] == "accepted"


def test_whoever_relates_suggested_marks_accepts_them(as_carol, send, given, statuses, label):
    relation = {"uid": "own-relation", "label": label("hasPatient", "relation"), "source": "e3", "target": SAME}
    assert send(as_carol, "relations/add/", relation).status_code == 200
    assert statuses() == (
        {ODD: "suggested", SAME: "accepted", "e3": "accepted"},
        {SAME: "suggested", "r2": "suggested", "own-relation": "accepted"},
    )


@pytest.mark.parametrize("name", ["hasPart", "hasPatient"])
def test_whoever_accepts_a_relation_accepts_its_ends(as_carol, send, given, statuses, label, name):
    assert send(as_carol, "relations/label/", {"uid": "r2", "label": label(name, "relation")}).status_code == 200
    assert statuses() == (
        {ODD: "accepted", SAME: "suggested", "e3": "accepted"},
        {SAME: "suggested", "r2": "accepted"},
    )
    assert set(given.entity_set.values_list("status", flat=True)) == {"suggested"}


@pytest.mark.parametrize("names", [["State"], ["hasPart"], ["State", "hasPart"]])
def test_no_way_accepts_a_suggestion_whose_label_was_switched_off(as_carol, alice, project, send, given, label, names):
    """Neither does undo: what was never accepted has no proof."""
    was = send(as_carol, "entities/remove/", {"uid": ODD}).json()["was"]
    was += send(as_carol, "entities/label/", {"uid": "e3", "label": label("Activity")}).json()["was"]
    for name in names:
        OntologyItem.objects.get(ontology__project=project, name=name).switch(False, by=alice)
    proofs = {(mark["kind"], mark["uid"]): mark["proof"] for mark in was}
    state, has_part = {"label": label("State")}, {"label": label("hasPart", "relation")}
    ways = [
        ("entities/add/", {"uid": ODD, **state, "start": 0, "end": 0, "proof": proofs["entity", ODD]}),
        ("relations/add/", {"uid": "r2", **has_part, "source": ODD, "target": "e3", "proof": proofs["relation", "r2"]}),
        ("entities/label/", {"uid": "e3", **state, "proof": proofs["entity", "e3"]}),
        ("entities/label/", {"uid": SAME, **state}),
        ("entities/add/", {"uid": "other", **state, "start": 1, "end": 1}),
        ("relations/add/", {"uid": "other", **has_part, "source": ODD, "target": SAME}),
        ("relations/label/", {"uid": "r2", **has_part}),
        ("done/", {"done": True}),
    ]
    codes = [send(as_carol, path, body).status_code for path, body in ways]
    assert codes == [422 if "State" in names or path.startswith("rel") else 200 for path, _ in ways[:-1]] + [200]
    for marks in (Entity, Relation):
        accepted = marks.objects.filter(annotation__annotator__isnull=False, status="accepted")
        assert not accepted.filter(label__active=False).exists()


def test_a_removed_suggested_relation_is_kept_as_rejected(as_carol, send, given, statuses, label):
    for _ in (1, 2):
        assert send(as_carol, "relations/remove/", {"uid": SAME}).status_code == 200
        assert statuses() == (
            {ODD: "suggested", SAME: "suggested", "e3": "suggested"},
            {SAME: "rejected", "r2": "suggested"},
        )
    send(as_carol, "relations/label/", {"uid": "r2", "label": label("hasPart", "relation")})
    send(as_carol, "relations/remove/", {"uid": "r2"})
    assert statuses()[1] == {SAME: "rejected"}


def test_an_entity_and_a_relation_with_the_same_uid_do_not_touch_each_other(as_carol, send, given, statuses, label):
    send(as_carol, "entities/label/", {"uid": SAME, "label": label("Activity")})
    assert statuses() == (
        {ODD: "suggested", SAME: "accepted", "e3": "suggested"},
        {SAME: "suggested", "r2": "suggested"},
    )
    send(as_carol, "relations/remove/", {"uid": SAME})
    assert statuses() == (
        {ODD: "suggested", SAME: "accepted", "e3": "suggested"},
        {SAME: "rejected", "r2": "suggested"},
    )
