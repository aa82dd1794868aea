"""Constraints bind: no request gets a forbidden mark in, and none is refused for what was there before."""

from itertools import chain

import pytest
from django.db import connection
from django.test import Client

from datasets.models import Annotation
from ontologies.models import OntologyItem
from resources.judging import Judge
from tests import factories
from tests.resource_sets import broken_places, make
from tests.threads import for_each

# The labels are those of tests.factories: PhysicalObject with SensingObject/Thermostat and DrivingObject, Activity with Replace,
# State; hasPart, hasParticipant with hasPatient. The text is “left air conditioner thermostat not working”.
ENTITIES = [
    {"domain": "PhysicalObject", "excludes": ["Activity"], "can_contain": ["PhysicalObject"]},
    {"domain": "State", "excludes": [], "can_contain": []},
]
RELATIONS = [{"relation": "hasPart", "domain": "PhysicalObject", "range": ["SensingObject"]}]


def constrain(project, *, entities=ENTITIES, relations=RELATIONS):
    """Add constraints to a project; without any, take them away."""
    by = project.created_by
    blueprints = {
        "entities": project.entity_ontology.copied_from,
        "relations": project.relation_ontology.copied_from,
    }
    for format, document in (("entity_constraints", entities), ("relation_constraints", relations)):
        if document is not None:
            project.use(make(format, owner=by, document=document, **blueprints), by=by)


@pytest.fixture
def add(as_carol, send, label):
    """``add("State", 1, 2)`` marks words, ``add("hasPart", "e1", "e2")`` relates marks."""

    def add(name, first, last, *, uid="", by=as_carol, status=200, **fields):
        is_entity = isinstance(first, int)
        kind, place = ("entity", ("start", "end")) if is_entity else ("relation", ("source", "target"))
        uid = uid or f"{name}-{first}-{last}"
        path = "entities/add/" if is_entity else "relations/add/"
        body = {"uid": uid, "label": label(name, kind), **dict(zip(place, (first, last), strict=True)), **fields}
        answer = send(by, path, body)
        assert answer.status_code == status, answer.json()
        return answer.json()["error"] if status == 422 else uid

    return add


@pytest.fixture
def relabel(as_carol, send, label):
    def relabel(uid, name, *, status=200, kind="entity", **fields):
        path = "entities/label/" if kind == "entity" else "relations/label/"
        answer = send(as_carol, path, {"uid": uid, "label": label(name, kind), **fields})
        assert answer.status_code == status, answer.json()
        return answer.json()["error"] if status == 422 else answer.json()

    return relabel


@pytest.fixture
def remove(as_carol, send):
    def remove(uid):
        answer = send(as_carol, "entities/remove/", {"uid": uid})
        assert answer.status_code == 200
        return {(each["kind"], each["uid"]): each["proof"] for each in answer.json()["was"]}

    return remove


@pytest.fixture
def resize(as_carol, send):
    def resize(uid, start, end, *, status=200, **fields):
        answer = send(as_carol, "entities/resize/", {"uid": uid, "start": start, "end": end, **fields})
        assert answer.status_code == status, answer.json()
        return answer.json()["error"] if status == 422 else answer.json()

    return resize


@pytest.fixture
def suggest(item, project):
    """``suggest("State", 1, 2)``: an entity that came with the dataset; ``suggest("hasPart", "e1", "e2")`` a relation."""

    def suggest(name, first, last, uid):
        annotation = factories.annotation(item)
        label = OntologyItem.objects.get(ontology__project=project, name=name)
        if isinstance(first, int):
            annotation.entity_set.create(
                uid=uid, label=label, start=first, end=last, status="suggested", origin="given"
            )
        else:
            ends = (annotation.entity_set.get(uid=end) for end in (first, last))
            source, target = ends
            annotation.relation_set.create(
                uid=uid, label=label, source=source, target=target, status="suggested", origin="given"
            )

    return suggest


# --- Adding ------------------------------------------------------------------------------------------------------------------


def test_a_forbidden_mark_is_refused_with_the_rule_and_not_stored(project, add, stored):
    constrain(project)
    add("Thermostat", 1, 3)
    reason = add("Replace", 3, 4, status=422)
    assert reason == (
        "“Replace” cannot share words with “Thermostat”: rule 1 of “entity constraints” excludes “Activity” for every"
        " “PhysicalObject”."
    )
    assert [mark[1] for mark in stored().entities] == ["Thermostat"]
    add("Replace", 4, 4)


@pytest.mark.parametrize("outer_first", [True, False])
def test_what_may_not_stand_inside_is_refused_whichever_comes_first(project, add, outer_first):
    constrain(project)
    marks = [("PhysicalObject", 1, 3), ("State", 2, 2)]
    first, second = marks if outer_first else reversed(marks)
    add(*first)
    assert "“State” cannot stand inside “PhysicalObject”: by rule 1 of" in add(*second, status=422)


def test_a_forbidden_relation_is_refused(project, add, stored):
    constrain(project)
    add("PhysicalObject", 0, 0, uid="p")
    add("DrivingObject", 1, 1, uid="d")
    add("Thermostat", 2, 2, uid="t")
    add("State", 3, 3, uid="s")
    assert "“hasPart” cannot lead from “PhysicalObject” to “DrivingObject”: by rule 1 of" in add(
        "hasPart", "p", "d", status=422
    )
    assert "has rules for it, but none for this source" in add("hasPart", "s", "t", status=422)
    add("hasPart", "d", "t")
    add("hasPatient", "s", "d")  # without rules
    assert len(stored().relations) == 2


def test_without_constraints_everything_goes(add):
    add("Thermostat", 1, 3)
    add("Replace", 3, 4)


def test_another_project_s_constraints_do_not_bind(project, alice, add):
    constrain(factories.project(by=alice, name="Other"))
    add("Thermostat", 1, 3)
    add("Replace", 3, 4)


# --- Changing ----------------------------------------------------------------------------------------------------------------


def test_relabelling_is_refused_for_what_it_would_break(project, add, relabel, stored):
    constrain(project)
    add("PhysicalObject", 1, 3)
    add("DrivingObject", 2, 2, uid="inner")
    assert "cannot share words" in relabel("inner", "Replace", status=422)
    assert "cannot stand inside" in relabel("inner", "State", status=422)
    relabel("inner", "Thermostat")
    assert [mark[1] for mark in stored().entities] == ["PhysicalObject", "Thermostat"]


def test_relabelling_an_end_is_refused_while_its_relation_would_become_forbidden(project, add, relabel):
    constrain(project)
    add("PhysicalObject", 0, 0, uid="source")
    add("Thermostat", 2, 2, uid="target")
    add("hasPart", "source", "target")
    assert "“hasPart” cannot lead from “PhysicalObject” to “State”" in relabel("target", "State", status=422)
    assert "none for this source" in relabel("source", "State", status=422)
    relabel("target", "SensingObject")
    relabel("source", "DrivingObject")


def test_relabelling_a_relation_obeys_its_rules(project, add, relabel):
    constrain(project)
    add("State", 0, 0, uid="source")
    add("Thermostat", 2, 2, uid="target")
    uid = add("hasPatient", "source", "target")
    assert "none for this source" in relabel(uid, "hasPart", kind="relation", status=422)
    relabel(uid, "hasParticipant", kind="relation")


def test_resizing_is_refused_for_what_it_would_break(project, add, resize, stored):
    constrain(project)
    add("Thermostat", 1, 2, uid="t")
    add("Replace", 4, 4, uid="r")
    assert "cannot share words" in resize("t", 1, 4, status=422)
    add("State", 3, 3)
    assert "“State” cannot stand inside “Thermostat”" in resize("t", 1, 3, status=422)
    resize("t", 3, 3)  # neither of the two holds the other
    assert ("t", "Thermostat", 3, 3) in stored().entities


# --- What was there before ---------------------------------------------------------------------------------------------------


def test_what_broke_a_rule_before_may_stay_and_be_relabelled(project, add, relabel, stored):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    constrain(project)
    add("State", 0, 0, uid="far")  # nothing to do with the two
    relabel("r", "Activity")  # breaks what the same two marks broke before
    relabel("r", "State")  # allowed
    assert "cannot share words" in relabel("r", "Activity", status=422)  # and now it is new


def test_an_old_conflict_does_not_let_a_new_one_in(project, add, relabel):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    constrain(project)
    assert "cannot share words" in add("Replace", 2, 2, status=422)
    add("State", 4, 4, uid="s")
    assert "cannot share words" in relabel("s", "Thermostat", status=422)  # r is in its way


def test_what_broke_a_rule_before_may_be_resized_without_another_conflict(project, add, resize):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    add("Replace", 5, 5)
    constrain(project)
    resize("t", 2, 4)
    assert "cannot share words" in resize("t", 2, 5, status=422)
    resize("t", 2, 2)
    assert "cannot share words" in resize("t", 2, 3, status=422)  # and now it is new


def test_undo_of_a_resize_brings_back_what_broke_a_rule_before(project, add, resize):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    constrain(project)
    (was,) = resize("t", 1, 1)["was"]
    assert "cannot share words" in resize("t", 1, 3, status=422)
    resize("t", 1, 3, proof=was["proof"])


def test_a_suggestion_is_accepted_by_resizing_and_judged(project, add, resize, suggest):
    suggest("Thermostat", 1, 3, "t")
    constrain(project)
    add("Replace", 3, 3)
    assert "cannot share words" in resize("t", 2, 3, status=422)
    assert resize("t", 1, 2)["entity"]["status"] == "accepted"


def test_given_marks_that_break_a_rule_are_copied_and_bind_nobody_until_accepted(
    project, add, relabel, suggest, stored
):
    suggest("Thermostat", 1, 3, "t")
    suggest("Replace", 3, 4, "r")
    suggest("hasPart", "r", "t", "x")
    constrain(project)
    add("Activity", 1, 1)  # no suggestion is in its way
    assert len(stored().entities) == 3
    assert "cannot share words" in relabel("t", "Thermostat", status=422)  # accepting it: now it is judged
    relabel("r", "Replace")
    assert "cannot share words" in relabel("x", "hasPart", kind="relation", status=422)  # it would accept “t”


def test_a_relation_is_accepted_together_with_its_ends_or_not_at_all(project, add, relabel, suggest, item, carol):
    suggest("DrivingObject", 1, 1, "source")
    suggest("Thermostat", 3, 3, "target")
    suggest("hasPart", "source", "target", "x")
    constrain(project)
    uid = add("Activity", 3, 3)
    assert "cannot share words" in relabel("x", "hasPart", kind="relation", status=422)
    mine = Annotation.objects.get(item=item, annotator=carol)
    assert set(mine.entity_set.exclude(uid=uid).values_list("status", flat=True)) == {"suggested"}
    assert mine.relation_set.get().status == "suggested"


def test_a_rejected_mark_is_in_nobody_s_way(project, add, remove, suggest):
    suggest("Thermostat", 1, 3, "t")
    constrain(project)
    remove("t")
    add("Replace", 3, 3)


def test_accepting_by_marking_the_same_words_is_judged(project, add, suggest):
    suggest("Thermostat", 1, 3, "t")
    constrain(project)
    add("Replace", 3, 3)
    assert "cannot share words" in add("Thermostat", 1, 3, uid="again", status=422)


def test_relating_suggestions_judges_the_ends_that_it_accepts(project, add, suggest):
    suggest("Thermostat", 1, 3, "t")
    suggest("State", 4, 4, "s")
    constrain(project)
    add("Replace", 3, 3)
    assert "cannot share words" in add("hasPatient", "s", "t", status=422)


# --- Undo --------------------------------------------------------------------------------------------------------------------


def test_undo_of_a_removal_brings_back_what_broke_a_rule_before(project, add, remove):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    add("hasPart", "r", "t", uid="x")
    constrain(project)
    proofs = remove("r")
    assert "cannot share words" in add("Replace", 3, 4, uid="r", status=422)
    add("Replace", 3, 4, uid="r", proof=proofs["entity", "r"])
    assert "none for this source" in add("hasPart", "r", "t", uid="x", status=422)
    add("hasPart", "r", "t", uid="x", proof=proofs["relation", "x"])


def test_undo_of_a_removal_is_refused_for_what_was_added_or_changed_since(project, add, remove, relabel):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    constrain(project)
    proof = remove("r")["entity", "r"]
    add("DrivingObject", 4, 4, uid="new")
    assert "“DrivingObject”" in add("Replace", 3, 4, uid="r", proof=proof, status=422)
    relabel("new", "State")
    relabel("t", "DrivingObject")
    assert "“DrivingObject”" in add("Replace", 3, 4, uid="r", proof=proof, status=422)
    relabel("t", "Thermostat")
    add("Replace", 3, 4, uid="r", proof=proof)


def test_undo_of_a_relabel_brings_back_what_broke_a_rule_before(project, add, relabel):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    constrain(project)
    (was,) = relabel("r", "State")["was"]
    assert "cannot share words" in relabel("r", "Replace", status=422)
    relabel("r", "Replace", proof=was["proof"])


def test_a_forged_or_foreign_proof_lets_nothing_in(project, add, remove):
    add("Thermostat", 1, 3, uid="t")
    add("Replace", 3, 4, uid="r")
    constrain(project)
    proof = remove("r")["entity", "r"]
    for forged in ("x", proof[:-1], proof.replace(":", ""), f"{proof}x"):
        add("Replace", 3, 4, uid="r", proof=forged, status=422)
    add("Replace", 3, 3, uid="r", proof=proof, status=422)  # other tokens
    add("Replace", 3, 4, uid="other", proof=proof, status=422)


# --- Labels that are off -----------------------------------------------------------------------------------------------------


def test_rules_about_a_label_that_is_off_hold_for_marks_that_carry_it(project, alice, add):
    constrain(project)
    add("Thermostat", 1, 3)
    OntologyItem.objects.get(ontology__project=project, name="PhysicalObject").switch(False, by=alice)
    assert "cannot share words" in add("Replace", 3, 4, status=422)


def test_a_mark_keeps_its_label_that_is_off_when_it_is_resized(project, alice, add, resize):
    add("Thermostat", 1, 3, uid="t")
    OntologyItem.objects.get(ontology__project=project, name="Thermostat").switch(False, by=alice)
    resize("t", 1, 2)


def test_a_suggestion_with_a_label_that_is_off_cannot_be_accepted(project, alice, add, relabel, resize, suggest):
    suggest("Thermostat", 1, 3, "t")
    suggest("State", 4, 4, "s")
    suggest("hasPatient", "s", "t", "x")
    OntologyItem.objects.get(ontology__project=project, name="Thermostat").switch(False, by=alice)
    refused = "The label “Thermostat” is switched off"
    assert refused in relabel("t", "Thermostat", status=422)
    assert refused in add("Thermostat", 1, 3, uid="again", status=422)
    assert refused in resize("t", 1, 2, status=422)
    assert refused in relabel("x", "hasPatient", kind="relation", status=422)
    assert refused in relabel("x", "hasParticipant", kind="relation", status=422)
    assert refused in add("hasPart", "s", "t", status=422)
    relabel("t", "SensingObject")
    relabel("x", "hasPatient", kind="relation")


# --- Several at once ---------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["add", "label", "resize"])
def test_eight_threads_cannot_get_two_marks_in_that_exclude_each_other(way, project, item, carol, send, label):
    constrain(project, entities=[{"domain": "PhysicalObject", "excludes": ["Activity"]}], relations=None)
    names = ("Thermostat", "Replace")
    places = {"label": [(n, 5) for n in range(4)], "resize": [(0, 0), (5, 5), (0, 1), (4, 5)]}.get(way, [])
    annotation = Annotation.objects.create(item=item, annotator=carol)
    for n, (start, end) in enumerate(places):
        its_label = project.entity_ontology.items().get(name="State" if way == "label" else names[n % 2])
        annotation.entity_set.create(uid=f"m{n}", label=its_label, start=start, end=end)
    wider = [(0, 3), (2, 5), (1, 3), (3, 5)]
    bodies = {
        "add": [{"uid": f"m{n}", "label": label(names[n % 2]), "start": n % 3, "end": 3} for n in range(24)],
        "label": [{"uid": f"m{n % 4}", "label": label(names[n % 2])} for n in range(24)],
        "resize": [{"uid": f"m{n % 4}", "start": wider[n % 4][0], "end": wider[n % 4][1]} for n in range(24)],
    }[way]

    def work(mine):
        client = Client()
        client.force_login(carol)
        return [send(client, f"entities/{way}/", body).status_code for body in mine]

    statuses = list(chain.from_iterable(for_each(work, [bodies[n::8] for n in range(8)])))
    assert len(statuses) == 24
    assert set(statuses) == {200, 422}
    assert not broken_places(project)


# --- At most so many marks share a token ------------------------------------------------------------------------------------


@pytest.fixture
def full(settings, add):
    """Three marks on the second token, and no room for more."""
    for end in (1, 2, 3):
        add("State", 1, end)
    settings.MAX_TOKEN_MARKS = 3


def test_no_mark_comes_to_a_token_that_has_as_many_as_can_be(full, add, resize, relabel):
    refusal = "At most 3 marks can share a word."
    assert add("Activity", 0, 1, status=422) == refusal
    beside = add("Activity", 2, 4)  # the third on its first token
    assert resize(beside, 1, 4, status=422) == refusal
    assert resize(beside, 0, 1, status=422) == refusal
    resize(beside, 3, 4)
    relabel("State-1-1", "Activity")


def test_what_is_there_stays_and_may_shrink_and_come_back(full, add, resize, remove, settings):
    settings.MAX_TOKEN_MARKS = 1
    resize("State-1-3", 2, 3)
    assert resize("State-1-1", 1, 4, status=422) == "At most 1 mark can share a word."
    proofs = remove("State-1-2")
    assert "share a word" in add("State", 1, 2, status=422)
    add("State", 1, 2, proof=proofs["entity", "State-1-2"])


# --- Steps, not seconds: they must not grow with the item -----------------------------------------------------------------------


def test_a_save_takes_few_queries(project, add, as_carol, send, label, django_assert_max_num_queries):
    constrain(project)
    add("State", 1, 1)
    body = {"uid": "new", "label": label("PhysicalObject"), "start": 2, "end": 3}
    # those without constraints, the pairs of the mark and its relations
    with django_assert_max_num_queries(13 + 2 * connection.features.has_select_for_update):
        assert send(as_carol, "entities/add/", body).status_code == 200


def test_a_save_judges_the_pairs_of_the_new_mark_alone(add, item, carol, project, monkeypatch):
    constrain(project, entities=[{"domain": "PhysicalObject", "excludes": ["Activity"]}], relations=[])
    item.tokens = ["x"] * 1000
    item.save()
    annotation = Annotation.start(item, carol)
    state = OntologyItem.objects.get(ontology__project=project, name="State")
    judged, between = [], Judge.between
    monkeypatch.setattr(Judge, "between", lambda *pair: judged.append(pair) or between(*pair))

    def steps(count):
        for n in range(annotation.entity_set.count(), count):
            annotation.entity_set.create(uid=f"m{n}", label=state, start=n, end=n + 4)
        judged.clear()
        add("Thermostat", 100, 100, uid=f"new-{count}")
        annotation.entity_set.filter(uid=f"new-{count}").delete()
        return len(judged)

    assert [steps(200), steps(400), steps(800)] == [5, 5, 5]
