"""Deciding about an item: what becomes of the marks, of undo, of what others do meanwhile, and of people's own work."""

import re

import pytest
from django.test import override_settings

from annotation_service.db import write
from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Layer, Relation
from quality.models import GoldDecision, Verdict
from quality.review import disputed_among, refresh_disputes
from quality.review_list import share_out
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.answers import text_of, toast
from tests.quality.conftest import label, review, say, told
from work.models import ItemWork
from work.models.item_work import refresh


def gold(item):
    return told(Annotation.objects.filter(item=item, layer=Layer.GOLD).first())


def decide(item, place, choice, by, reason=""):
    """About the group with this number."""
    with write():
        found = review(item)
        return found.decide(found.seen[place].sign, choice, by=by, reason=reason)


def states(item):
    return [(each.standing.state.value, str(each.standing.why)) for each in review(item).seen]


def test_agreed_marks_are_taken_over_and_a_dispute_is_decided(items, carol, dave, alice):
    _, item, _ = items
    say(item, carol, "Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3")
    say(item, dave, "SensingObject 1-3", "State 4-5", "hasPart: State 4-5 > SensingObject 1-3")
    assert states(item) == [("open", ""), ("agreed", ""), ("waits", "")]
    decision = decide(item, 0, "2", alice, "a thermostat senses")
    assert gold(item) == ["Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3"]
    assert states(item) == [("decided", "")] * 3
    assert [each.person for each in decision.overruled.all()] == [dave]
    agreed = Verdict.objects.get(
        decision=decision, what__endswith=str(label(item.dataset.project, "State").pk), place=1
    )
    assert (agreed.is_taken, agreed.people) == (True, sorted([carol.pk, dave.pk]))


def test_people_s_own_work_is_never_written(items, carol, dave, alice):
    item = items[1]
    own = [say(item, carol, "Thermostat 1-3", "State 4-5"), say(item, dave, "SensingObject 1-3", "State 4")]
    before = [list(model.objects.filter(annotation__in=own).order_by("pk").values()) for model in (Entity, Relation)]
    rows = list(Annotation.objects.filter(pk__in=[each.pk for each in own]).order_by("pk").values())
    decide(item, 0, "2", alice)
    decide(item, 1, "both", alice)
    found = review(item)
    found.finish(by=alice)
    found.reopen()
    found.undo(by=alice)
    assert before == [
        list(model.objects.filter(annotation__in=own).order_by("pk").values()) for model in (Entity, Relation)
    ]
    assert rows == list(Annotation.objects.filter(pk__in=[each.pk for each in own]).order_by("pk").values())


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("1", ["SensingObject 1-3"]),
        ("2", ["Thermostat 1-3"]),
        ("both", ["SensingObject 1-3", "Thermostat 1-3"]),
        ("neither", []),
    ],
)
def test_each_choice(items, carol, dave, alice, choice, expected):
    say(items[1], carol, "Thermostat 1-3")
    say(items[1], dave, "SensingObject 1-3")
    decide(items[1], 0, choice, alice)
    assert gold(items[1]) == expected


def test_a_choice_that_is_none_is_refused(items, carol, dave, alice):
    say(items[1], carol, "Thermostat 1-3")
    say(items[1], dave, "SensingObject 1-3")
    for choice in ("3", "0", "", "-1", "x", "1,2"):
        with pytest.raises(Refused, match="Choose"):
            decide(items[1], 0, choice, alice)


def test_undo_and_redo_lead_through_one_s_own_decisions(items, carol, dave, alice, bob):
    item = items[1]
    say(item, carol, "Thermostat 1-3", "State 4-5")
    say(item, dave, "SensingObject 1-3", "State 4")
    decide(item, 0, "1", alice)
    decide(item, 1, "1", alice)
    assert gold(item) == ["SensingObject 1-3", "State 4"]
    review(item).undo(by=alice)
    assert gold(item) == ["SensingObject 1-3"]
    review(item).undo(by=alice)
    assert gold(item) == []
    with pytest.raises(Refused, match="nothing of yours"):
        review(item).undo(by=alice)
    review(item).redo(by=alice)
    assert gold(item) == ["SensingObject 1-3"]
    decide(item, 0, "2", bob)
    with pytest.raises(Refused, match="bob decided about the same marks since"):
        review(item).undo(by=alice)


def test_two_who_review_one_item_do_not_overwrite_each_other(items, carol, dave, alice, bob):
    item = items[1]
    say(item, carol, "Thermostat 1-3", "State 4-5")
    say(item, dave, "SensingObject 1-3", "State 4")
    seen = [each.sign for each in review(item).seen]
    review(item).decide(seen[0], "1", by=alice)
    with pytest.raises(Refused, match="meanwhile"):
        review(item).decide(seen[0], "2", by=bob)
    review(item).decide(seen[1], "2", by=bob)  # another one
    assert gold(item) == ["SensingObject 1-3", "State 4-5"]


def test_a_decision_about_other_marks_than_those_seen_is_refused(items, carol, dave, alice):
    item = items[1]
    say(item, carol, "Thermostat 1-3")
    say(item, dave, "SensingObject 1-3")
    sign = review(item).seen[0].sign
    say(item, dave, "DrivingObject 1-3")
    with pytest.raises(Refused, match="meanwhile"):
        review(item).decide(sign, "2", by=alice)
    assert not GoldDecision.objects.exists()


def test_what_cannot_be_made_becomes_a_dispute(items, carol, dave, alice, project):
    item = items[1]
    for person in (carol, dave):
        say(item, person, "Thermostat 1-3", "State 4-5")
    factories.item(project.entity_ontology, "Thermostat").switch(False, by=alice)
    assert states(item) == [("open", "The label is switched off."), ("agreed", "")]
    with pytest.raises(Refused, match="switched off"):
        decide(item, 0, "1", alice)
    assert disputed_among([item.pk]) == {item.pk}
    decide(item, 0, "neither", alice)
    assert gold(item) == ["State 4-5"]


def test_finishing_waits_for_disputes_and_is_taken_back_at_will(items, carol, dave, alice):
    item = items[1]
    say(item, carol, "Thermostat 1-3")
    with pytest.raises(Refused, match="Fewer than two"):
        review(item).finish(by=alice)
    say(item, dave, "SensingObject 1-3")
    with pytest.raises(Refused, match="1 dispute first"):
        review(item).finish(by=alice)
    decide(item, 0, "1", alice)
    review(item).finish(by=alice)
    with pytest.raises(Refused, match="Reopen"):
        decide(item, 0, "2", alice)
    review(item).reopen()
    decide(item, 0, "2", alice)
    assert gold(item) == ["Thermostat 1-3"]


def test_an_item_with_nothing_in_it_is_decided_as_that(items, carol, dave, alice):
    for person in (carol, dave):
        say(items[0], person)
    found = review(items[0])
    found.finish(by=alice)
    assert gold(items[0]) == [] and found.is_decided


def test_what_is_edited_by_hand_follows_from_the_decisions_too(items, carol, dave, alice, project):
    item = items[1]
    say(item, carol, "Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3")
    say(item, dave, "SensingObject 1-3", "State 4-5", "hasPart: State 4-5 > SensingObject 1-3")
    decide(item, 0, "1", alice)
    found = review(item)
    found.begin_editing().entity_set.get(label__name="SensingObject").relabel(label(project, "DrivingObject"))
    found.note_edit(by=alice)
    expected = ["DrivingObject 1-3", "State 4-5", "hasPart: State 4-5 > DrivingObject 1-3"]
    assert gold(item) == expected
    assert GoldDecision.objects.last().kind == "edit"
    review(item).undo(by=alice)
    assert gold(item) == ["SensingObject 1-3", "State 4-5", "hasPart: State 4-5 > SensingObject 1-3"]
    review(item).redo(by=alice)
    assert gold(item) == expected


def test_given_marks_can_become_gold_or_be_one_voice(items, carol, alice, project):
    item = items[1]
    given = say(item, None, "Thermostat 1-3", "State 4-5", done=False)
    given.entity_set.update(origin="given", status="suggested")
    say(item, carol, "SensingObject 1-3", "State 4-5")
    assert not review(item).is_ready
    project.given_voice = True
    project.save(update_fields=["given_voice"])
    assert states(item) == [("open", ""), ("agreed", "")]
    review(item).take_given(by=alice)
    assert gold(item) == ["Thermostat 1-3", "State 4-5"]


def test_a_dispute_is_counted_until_it_is_decided(items, carol, dave, alice, project):
    item = items[1]
    say(item, carol, "Thermostat 1-3")
    say(item, dave, "SensingObject 1-3")
    refresh(project.dataset.pk, 60)
    assert ItemWork.objects.get(item=item).is_disputed
    decide(item, 0, "1", alice)
    assert not ItemWork.objects.get(item=item).is_disputed
    review(item).undo(by=alice)
    assert ItemWork.objects.get(item=item).is_disputed


def test_the_list_tells_who_has_what_and_how_far_that_is(as_alice, items, carol, dave, alice, project):
    for item in items[:2]:
        say(item, carol, "Thermostat 1-2")
        say(item, dave, "SensingObject 1-2")
    refresh(project.dataset.pk, 60)
    assert share_out(project, [alice], by=alice) == 2
    decide(items[0], 0, "1", alice)
    review(items[0]).finish(by=alice)
    page = text_of(as_alice.get(f"/projects/{project.pk}/review/"))
    assert "alice: 1 of 2 items decided" in page and "50 %" in page
    assert (
        len(re.findall("disputed<", as_alice.get(f"/projects/{project.pk}/review/?state=disputed").content.decode()))
        >= 1
    )
    found = as_alice.get(f"/projects/{project.pk}/review/next/?state=disputed")
    assert found["Location"] == f"/projects/{project.pk}/review/{items[1].pk}/?state=disputed"


def test_nobody_decides_about_their_own_work(as_carol, items, carol, dave, project):
    project.membership_set.filter(user=carol).update(role="manager")
    project.reviews_own = False
    project.save(update_fields=["reviews_own"])
    for item in items[:2]:
        say(item, dave, "SensingObject 1-2")
    say(items[0], carol, "Thermostat 1-2")
    say(items[1], project.membership_set.get(user__username="erin").user, "Thermostat 1-2")
    refresh(project.dataset.pk, 60)
    answer = as_carol.post(f"/projects/{project.pk}/review/{items[0].pk}/decide/", {"choice": "1"})
    assert answer.status_code == 403
    assert "You annotated this item yourself" in text_of(as_carol.get(f"/projects/{project.pk}/review/{items[0].pk}/"))
    found = as_carol.get(f"/projects/{project.pk}/review/next/")
    assert found["Location"] == f"/projects/{project.pk}/review/{items[1].pk}/"
    assert share_out(project, [carol], by=carol) == 1


def test_annotators_learn_what_was_decided_differently(as_carol, items, carol, dave, alice, project):
    item, address = items[1], f"/projects/{project.pk}/decided/"
    assert as_carol.get(address).status_code == 403
    project.shows_decisions = True
    project.save(update_fields=["shows_decisions"])
    assert "Nothing was decided differently" in text_of(as_carol.get(address))
    say(item, carol, "Thermostat 1-3", "State 4-5")
    say(item, dave, "SensingObject 1-3", "State 4-5", "DrivingObject 1-2")
    decide(item, 1, "1", alice, "what measures is a sensor")
    decide(item, 0, "1", alice)
    assert "Nothing was decided differently" in text_of(as_carol.get(address))  # not decided yet
    review(item).finish(by=alice)
    page = text_of(as_carol.get(address))
    assert "what measures is a sensor" in page and "SensingObject" in page and "DrivingObject" in page
    assert "State" not in page and "dave" not in page
    review(item).reopen()
    decide(item, 1, "2", alice)
    review(item).finish(by=alice)
    assert "what measures is a sensor" not in text_of(as_carol.get(address))


def test_a_refused_decision_says_why_and_keeps_the_reason(as_alice, items, carol, dave, project):
    say(items[1], carol, "Thermostat 1-3")
    say(items[1], dave, "SensingObject 1-3")
    address = f"/projects/{project.pk}/review/{items[1].pk}/decide/"
    answer = as_alice.post(address, {"sign": "old", "choice": "1", "reason": "my words", "number": "0"})
    assert answer.status_code == 422
    assert toast(answer).startswith("This was marked or decided otherwise meanwhile")
    assert 'value="my words"' in answer.content.decode()
    sign = review(items[1]).seen[0].sign
    long = as_alice.post(address, {"sign": sign, "choice": "1", "reason": "x" * 501})
    assert long.status_code == 422 and not GoldDecision.objects.exists()


def test_the_list_is_filtered_by_kind_label_and_person(as_alice, items, carol, dave, erin, project):
    say(items[0], carol, "Thermostat 1-2", "State 0")
    say(items[0], dave, "SensingObject 1-2", "State 0")
    say(items[1], carol, "State 1-2")
    say(items[1], erin, "State 1")
    say(items[2], dave, "State 1", "Activity 2", "hasPart: State 1 > Activity 2")
    say(items[2], erin, "State 1", "Activity 2")
    refresh(project.dataset.pk, 60)

    def found(query):
        page = as_alice.get(f"/projects/{project.pk}/review/?{query}").content.decode()
        return [int(number) for number in re.findall(r'id="item-(\d+)"', page)]

    assert found("") == [1, 2, 3]
    assert found("kind=label") == [1] and found("kind=span") == [2] and found("kind=relation") == [3]
    assert found("label=Thermostat") == [1] and found("label=State") == [2]
    assert found(f"person={dave.pk}") == [1, 3] and found(f"person={carol.pk}&kind=span") == [2]
    assert found("kind=nonsense") == [] and found("person=x") == []
    say(items[1], erin, "State 1-2")
    assert found("kind=span") == []


def test_agreed_marks_that_break_a_constraint_become_disputes(items, carol, dave, alice, project):
    for person in (carol, dave):
        say(items[1], person, "Thermostat 1-3", "State 2-3", "Activity 5")
    constrain(project, entities=[{"domain": "State", "excludes": ["Thermostat"]}], relations=None)
    assert [(state, bool(why)) for state, why in states(items[1])] == [
        ("open", True),
        ("open", True),
        ("agreed", False),
    ]
    assert disputed_among([items[1].pk]) == {items[1].pk}
    decide(items[1], 0, "1", alice)
    assert gold(items[1]) == ["Thermostat 1-3", "Activity 5"]
    with pytest.raises(Refused, match="State"):
        decide(items[1], 1, "1", alice)
    assert gold(items[1]) == ["Thermostat 1-3", "Activity 5"]
    decide(items[1], 1, "neither", alice)
    review(items[1]).finish(by=alice)


def test_what_is_brought_back_obeys_constraints_and_labels_that_are_off(items, carol, dave, alice, bob, project):
    constrain(project, entities=[{"domain": "State", "excludes": ["Thermostat"]}], relations=None)
    item = items[1]
    say(item, carol, "Thermostat 1-3", "State 3-4")
    say(item, dave, "SensingObject 1-3", "State 4")
    decide(item, 0, "2", alice)  # the thermostat
    review(item).undo(by=alice)
    decide(item, 1, "1", bob)
    assert gold(item) == ["State 3-4"]
    with pytest.raises(Refused, match="State"), write():
        review(item).redo(by=alice)
    assert gold(item) == ["State 3-4"]


def test_one_voice_alone_agrees_with_nobody(items, carol, dave, alice, project):
    item = items[1]
    say(item, carol, "Thermostat 1-3")
    say(item, dave, "Thermostat 1-3", "State 4-5")
    decide(item, 1, "neither", alice)
    say(item, dave, done=False)  # reopens the item
    say(item, carol, "Thermostat 1-3", "Activity 0")
    assert ("open", "") in states(item)
    project.agreed, project.agreed_least = "least", 3
    project.save(update_fields=["agreed", "agreed_least"])
    say(items[2], carol, "State 0")
    say(items[2], dave, "State 0")
    assert states(items[2]) == [("open", "")]


def test_another_rule_or_label_finds_the_disputes_anew(items, carol, dave, erin, alice, project):
    for person in (carol, dave):
        say(items[0], person, "Thermostat 1-2")
    say(items[0], erin, "SensingObject 1-2")
    assert refresh_disputes(project, 60)
    assert ItemWork.objects.get(item=items[0]).is_disputed
    project.agreed = "majority"
    project.save(update_fields=["agreed"])
    project.refresh_from_db()
    refresh_disputes(project, 60)
    assert not ItemWork.objects.get(item=items[0]).is_disputed
    factories.item(project.entity_ontology, "Thermostat").switch(False, by=alice)
    project.refresh_from_db()
    refresh_disputes(project, 60)
    assert ItemWork.objects.get(item=items[0]).is_disputed


def test_nothing_is_finished_or_taken_back_that_was_not_seen(as_alice, items, carol, dave, alice, bob, project):
    item, address = items[1], f"/projects/{project.pk}/review/{items[1].pk}/"
    say(item, carol, "Thermostat 1-3", "State 4-5")
    say(item, dave, "SensingObject 1-3", "State 4-5")
    first = decide(item, 0, "1", alice)
    sign = review(item).sign
    decide(item, 0, "2", bob)
    answer = as_alice.post(f"{address}done/", {"sign": sign})
    assert answer.status_code == 422 and "meanwhile" in toast(answer)
    assert as_alice.post(f"{address}done/", {"sign": review(item).sign}).status_code == 200
    as_alice.post(f"{address}reopen/", {})
    second = decide(item, 0, "1", alice)
    assert as_alice.post(f"{address}undo/", {"seen": str(first.pk)}).status_code == 422
    assert as_alice.post(f"{address}undo/", {"seen": str(second.pk)}).status_code == 200
    assert as_alice.post(f"{address}undo/", {"seen": str(second.pk)}).status_code == 422
    assert gold(item) == ["Thermostat 1-3", "State 4-5"]


@pytest.mark.parametrize("name", ["sign", "choice", "reason", "number", "seen"])
@pytest.mark.parametrize("value", ["9" * 5000, "-1", "²", "١", "\0", "", "x" * 3000])
def test_odd_input_is_refused_with_a_reason(as_alice, items, carol, dave, project, name, value):
    say(items[1], carol, "Thermostat 1-3")
    say(items[1], dave, "SensingObject 1-3")
    data = {"sign": review(items[1]).seen[0].sign, "choice": "1", "reason": "", "number": "0", name: value}
    address = f"/projects/{project.pk}/review/{items[1].pk}/"
    assert as_alice.post(f"{address}decide/", data).status_code in (200, 422)
    assert as_alice.post(f"{address}undo/", data).status_code in (200, 422)
    for each in ("at", "start", "after"):
        assert as_alice.get(address, {each: value}).status_code == (400 if value == "\0" else 200)


def test_a_long_item_is_shown_in_parts(as_alice, alice, carol, dave):
    text = " ".join(f"w{n}" for n in range(1000))
    project = factories.project(by=alice, annotators=[carol, dave], text=text + "\n")
    project.reviews_own = True
    project.save(update_fields=["reviews_own"])
    [item] = project.dataset.items()
    say(item, carol, "State 500")
    say(item, dave, "Activity 500")
    address = f"/projects/{project.pk}/review/{item.pk}/"
    assert "Words 401 to 800 of 1 000" in text_of(as_alice.get(address)).replace("\u202f", " ").replace(",", " ")
    assert "Words 1 to 400" in text_of(as_alice.get(f"{address}?start=0"))
    assert as_alice.get(f"{address}?start=999999999").status_code == 200


def test_where_names_are_hidden_a_sign_tells_nothing(items, carol, dave, project):
    say(items[1], carol, "Thermostat 1-3")
    say(items[1], dave, "SensingObject 1-3")
    sign = review(items[1]).seen[0].sign
    with override_settings(SECRET_KEY="x" * 60):
        assert review(items[1]).seen[0].sign != sign
