"""What takes a decision back brings back exactly what was: span, label, status, origin and relations.

Each test does something to suggested marks and takes it back with the requests that the workspace sends for that.
"""

import pytest

from datasets.models import Annotation, Rejection
from ontologies.models import OntologyItem
from tests import factories

from .test_constraints import constrain


@pytest.fixture
def given(item, project):
    """Suggested states at the first three tokens, and relations from the first to the others."""
    annotation = factories.annotation(item)
    labels = {label.name: label for label in OntologyItem.objects.filter(ontology__project=project)}
    suggested = {"status": "suggested", "origin": "given"}
    ends = [
        annotation.entity_set.create(uid=uid, label=labels["State"], start=n, end=n, **suggested)
        for n, uid in enumerate(("e0", "e1", "e2"))
    ]
    for uid, target in (("r1", ends[1]), ("r2", ends[2])):
        annotation.relation_set.create(uid=uid, label=labels["hasPart"], source=ends[0], target=target, **suggested)
    return annotation


@pytest.fixture
def marks(item, carol):
    """``marks()``: all of carol's marks as they are stored, the rejected ones too, and what counts as rejected."""

    def marks():
        mine = Annotation.objects.get(item=item, annotator=carol)
        common = ("uid", "label__name", "status", "origin")
        return (
            sorted(mine.entity_set.values_list(*common, "start", "end")),
            sorted(mine.relation_set.values_list(*common, "source__uid", "target__uid")),
            sorted(Rejection.objects.filter(annotation=mine).values_list("what", flat=True)),
        )

    return marks


@pytest.fixture
def do(as_carol, send, given):
    """``do("entities/remove", uid="e0")``: sent twice, because an answer may be lost; returns the answer to the first."""

    def do(path, **body):
        answers = [send(as_carol, f"{path}/", body) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200], answers[-1].json()
        return answers[0].json()

    do("done", done=False)  # the first write copies the given marks
    return do


@pytest.fixture
def state(label):
    return label("State")


@pytest.fixture
def has_part(label):
    return label("hasPart", "relation")


def test_a_resized_suggestion_comes_back_with_its_relations(do, marks, state):
    before = marks()
    do("entities/resize", uid="e0", start=0, end=3)
    assert marks()[0][0] == ("e0", "State", "accepted", "given", 0, 3)
    answer = do("entities/suggest", uid="e0", label=state, start=0, end=0)
    assert answer["entity"] == {"uid": "e0", "start": 0, "end": 0, "label": state, "status": "suggested"}
    assert marks() == before


def test_one_that_got_another_label_and_another_span_comes_back(do, marks, state, label):
    before = marks()
    do("entities/label", uid="e0", label=label("Activity"))
    do("entities/resize", uid="e0", start=0, end=3)
    do("entities/suggest", uid="e0", label=state, start=0, end=0)
    assert marks()[:2] == before[:2]


@pytest.mark.parametrize("place", [{"start": 0, "end": 1}, {"start": 3, "end": 3}])
def test_what_was_not_suggested_there_is_refused(as_carol, do, marks, send, state, place):
    before = marks()
    for uid in ("e0", "new"):
        answer = send(as_carol, "entities/suggest/", {"uid": uid, "label": state, **place})
        assert answer.status_code == 422 and "not suggested" in answer.json()["error"]
    assert marks() == before


@pytest.mark.parametrize("place", [{"start": 0}, {"end": 0}, {"start": 0, "end": 99}, {"start": "0", "end": 0}])
def test_a_place_is_a_whole_one(as_carol, do, marks, send, state, place):
    before = marks()
    assert send(as_carol, "entities/suggest/", {"uid": "e0", "label": state, **place}).status_code == 422
    assert marks() == before


def test_a_rejected_suggestion_comes_back_with_its_relations_and_their_ends_as_they_were(do, marks, state, has_part):
    before = marks()
    do("entities/remove", uid="e0")
    do("entities/suggest", uid="e0", label=state)
    for uid, target in (("r1", "e1"), ("r2", "e2")):
        do("relations/suggest", uid=uid, label=has_part, source="e0", target=target)
    assert marks() == before


def test_an_accepted_one_that_is_removed_comes_back_with_suggested_relations(do, marks, state, has_part):
    suggested = marks()
    do("entities/label", uid="e0", label=state)
    accepted = marks()
    proof = do("entities/remove", uid="e0")["was"][0]["proof"]
    assert [mark[0] for mark in marks()[0]] == ["e1", "e2"]
    do("entities/add", uid="e0", label=state, start=0, end=0, proof=proof)
    for uid, target in (("r1", "e1"), ("r2", "e2")):
        do("relations/suggest", uid=uid, label=has_part, source="e0", target=target)
    assert marks()[:2] == accepted[:2]
    do("entities/suggest", uid="e0", label=state)
    assert marks() == suggested


def test_a_rejected_one_that_is_marked_by_hand_comes_back_step_by_step(do, marks, state, has_part):
    before = marks()
    do("relations/remove", uid="r1")
    do("relations/remove", uid="r2")
    do("entities/remove", uid="e0")
    do("entities/add", uid="mine", label=state, start=0, end=0)  # it is that one again
    do("entities/remove", uid="e0")
    do("entities/suggest", uid="e0", label=state, start=0, end=0)
    for uid, target in (("r1", "e1"), ("r2", "e2")):
        do("relations/suggest", uid=uid, label=has_part, source="e0", target=target)
    assert marks() == before


def test_a_rejected_one_that_gave_way_to_another_label_comes_back(do, marks, state, label):
    before = marks()
    do("entities/add", uid="mine", label=label("Activity"), start=0, end=0)
    do("entities/remove", uid="e0")
    do("entities/label", uid="mine", label=state)
    do("entities/label", uid="mine", label=label("Activity"))
    do("entities/remove", uid="mine")
    do("entities/suggest", uid="e0", label=state, start=0, end=0)
    assert marks()[0] == before[0]


def test_a_relation_that_accepted_its_ends_comes_back_with_them(do, marks, state, has_part):
    before = marks()
    do("relations/label", uid="r1", label=has_part)
    assert {mark[2] for mark in marks()[0][:2]} == {"accepted"}
    do("relations/suggest", uid="r1", label=has_part)
    for uid in ("e0", "e1"):
        do("entities/suggest", uid=uid, label=state)
    assert marks() == before


def test_what_came_from_a_preannotation_comes_back_as_that(do, marks, state, given, item, carol):
    given.entity_set.filter(uid="e0").update(origin="preannotation")
    Annotation.objects.get(item=item, annotator=carol).entity_set.filter(uid="e0").update(origin="preannotation")
    do("entities/label", uid="e0", label=state)
    do("entities/remove", uid="e0")
    do("entities/suggest", uid="e0", label=state, start=0, end=0)
    assert marks()[0][0] == ("e0", "State", "suggested", "preannotation", 0, 0)


# --- Reversing -----------------------------------------------------------------------------------------------------------


def test_a_suggested_relation_is_reversed_and_comes_back(do, marks, state, has_part):
    before = marks()
    answer = do("relations/reverse", uid="r1", source="e1", target="e0")
    assert answer["relation"] == {"uid": "r1", "label": has_part, "source": "e1", "target": "e0", "status": "accepted"}
    assert [(each["kind"], each["uid"], each["label"]) for each in answer["was"]] == [("relation", "r1", has_part)]
    assert marks()[1][0] == ("r1", "hasPart", "accepted", "given", "e1", "e0")
    assert {mark[0]: mark[2] for mark in marks()[0]} == {"e0": "accepted", "e1": "accepted", "e2": "suggested"}
    do("relations/suggest", uid="r1", label=has_part, source="e0", target="e1")
    for uid in ("e0", "e1"):
        do("entities/suggest", uid=uid, label=state)
    assert marks() == before


def test_without_ends_each_request_reverses(as_carol, send, do, marks, has_part):
    do("relations/label", uid="r1", label=has_part)
    before = marks()[1]
    for ends in (["e1", "e0"], ["e0", "e1"]):
        relation = send(as_carol, "relations/reverse/", {"uid": "r1"}).json()["relation"]
        assert [relation["source"], relation["target"]] == ends
    assert marks()[1] == before


@pytest.mark.parametrize("ends", [{"source": "e2", "target": "e0"}, {"source": "e0", "target": "e0"}, {"source": "e1"}])
def test_other_ends_are_refused(as_carol, send, do, marks, ends):
    before = marks()
    assert send(as_carol, "relations/reverse/", {"uid": "r1", **ends}).status_code == 422
    assert marks() == before


def test_a_relation_is_not_reversed_onto_its_twin(as_carol, send, do, marks, has_part):
    do("relations/add", uid="twin", label=has_part, source="e1", target="e0")
    before = marks()
    answer = send(as_carol, "relations/reverse/", {"uid": "r1"})
    assert answer.status_code == 422 and "already" in answer.json()["error"]
    assert marks() == before
    do("relations/remove", uid="twin")
    do("relations/reverse", uid="r1", source="e1", target="e0")


def test_a_reversed_relation_is_judged_and_undo_may_bring_back_what_is_forbidden(
    as_carol, send, do, project, marks, label, has_part
):
    do("entities/add", uid="p", label=label("PhysicalObject"), start=3, end=3)
    do("entities/add", uid="t", label=label("Thermostat"), start=4, end=4)
    do("relations/add", uid="r", label=has_part, source="t", target="p")
    constrain(project)  # “hasPart” leads from physical objects to thermostats
    was = do("relations/reverse", uid="r", source="p", target="t")["was"]
    forbidden = {"uid": "r", "source": "t", "target": "p"}
    before = marks()
    answer = send(as_carol, "relations/reverse/", forbidden)
    assert answer.status_code == 422 and "cannot lead" in answer.json()["error"]
    assert marks() == before
    do("relations/reverse", **forbidden, proof=was[0]["proof"])
    assert marks()[1][0][-2:] == ("t", "p")


def test_a_suggestion_with_a_label_that_is_off_is_not_reversed(as_carol, alice, send, do, project, marks, has_part):
    OntologyItem.objects.get(ontology__project=project, name="hasPart").switch(False, by=alice)
    before = marks()
    answer = send(as_carol, "relations/reverse/", {"uid": "r1"})
    assert answer.status_code == 422 and "switched off" in answer.json()["error"]
    assert marks() == before
