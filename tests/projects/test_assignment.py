from collections import Counter
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation_service.inputs import Refused
from annotation_service.leaving import set_active
from datasets.models import Annotation, Entity
from projects import all_alike
from projects.assignment.by_hand import HandCounts
from projects.assignment.rule import AssignmentRule
from projects.models import Assignment, HandChange, Project, Withheld
from tests import factories


def shares(project):
    return sorted(Counter(Assignment.objects.values_list("annotator", flat=True)).values())


def held(project):
    return set(Assignment.objects.values_list("item", "annotator"))


@pytest.fixture
def shared(alice, carol, dave):
    text = "".join(f"item {n}\n" for n in range(10))
    return factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text=text)


def test_what_others_have_stays_when_items_come_or_go(shared, alice):
    before = held(shared)
    more = {"by": alice, "dataset": shared.dataset, "options": {"format": "text"}}
    factories.upload("ten\neleven\n", **more).store()
    assert before < held(shared) and shares(shared) == [6, 6]
    with_new = held(shared)
    gone = shared.dataset.items()[3]
    shared.dataset.remove(shared.dataset.items().filter(pk=gone.pk), by=alice)
    assert held(shared) == {(item, person) for item, person in with_new if item != gone.pk}


def test_two_items_fewer_are_evened_out(shared, alice, carol):
    shared.dataset.remove(shared.all_items().filter(pk__in=[item.pk for item in shared.items_for(carol)[:2]]), by=alice)
    assert shares(shared) == [4, 4]


def test_what_is_given_by_hand_counts_and_what_is_taken_away_goes_to_others(shared, alice, carol, dave):
    daves = shared.items_for(dave)[:3]
    chosen = shared.all_items().filter(pk__in=[item.pk for item in daves])
    foreseen = shared.foresee_by_hand("give", chosen, [carol])
    assert foreseen == HandCounts("give", pairs=3, had=0, begun=0, marks=0, losses=foreseen.losses)
    assert told(foreseen) == [("carol", 5, 3, 5), ("dave", 5, 3, 5)]  # carol gets three, and as many others go to dave
    assert foreseen == shared.change_by_hand("give", chosen, [carol], by=alice)
    assert "3 items given to carol. In turn, people lost 6 items." in HandChange.objects.get().text
    assert not shared.items_for(dave) & chosen
    assert shares(shared) == [5, 5]
    Annotation.start(daves[0], carol)
    foreseen = shared.foresee_by_hand("take", chosen, [carol])
    assert foreseen == HandCounts("take", pairs=3, had=3, begun=1, marks=0, losses=foreseen.losses)
    assert foreseen == shared.change_by_hand("take", chosen, [carol], by=alice)
    assert set(shared.items_for(dave) & chosen) == {*daves[1:]}
    shared.add_members([factories.user("erin")])
    assert set(shared.items_for(carol) & chosen) == {daves[0]}


def told(foreseen):
    return [(str(each.person), each.before, each.lost, each.after) for each in foreseen.losses]


def test_whoever_loses_the_most_is_told_first_and_what_is_begun_is_never_lost(shared, alice, carol, dave):
    for item in shared.items_for(dave)[:2]:
        Annotation.start(item, dave)
    shared.set_rule(AssignmentRule(), by=alice)
    assert told(shared.foresee_by_hand("give", shared.all_items(), [dave])) == []  # it is everybody's
    foreseen = shared.foresee_by_hand("take", shared.all_items(), [carol, dave])
    assert told(foreseen) == [("carol", 10, 10, 0), ("dave", 10, 8, 2)]
    assert [each.begun for each in foreseen.losses] == [0, 2]


def test_a_look_at_losses_takes_the_same_queries_with_many_people(shared, carol, django_assert_num_queries):
    def look():
        return shared.foresee_by_hand("give", shared.all_items(), [carol])

    with CaptureQueriesContext(connection) as few:
        assert len(look().losses) == 1
    shared.add_members([factories.user(f"person{n}") for n in range(8)])
    with django_assert_num_queries(len(few)):
        assert len(look().losses) == 9


def test_marks_that_go_with_what_others_lose_are_told(shared, alice, carol, dave):
    label = shared.entity_ontology.items().get(name="State").uid
    form = {"tokens": [shared.items_for(carol)[0].tokens[0]], "label": label}
    put = all_alike.apply(shared, carol, {"verb": "propagate", "kind": "entity", "form": form}).made
    assert put > 1
    chosen = shared.all_items().filter(pk__in=[item.pk for item in shared.items_for(carol)])
    foreseen = shared.foresee_by_hand("give", chosen, [dave])
    assert (foreseen.marks, shared.foresee_by_hand("give", chosen, [carol]).marks) == (put, 0)
    assert foreseen == shared.change_by_hand("give", chosen, [dave], by=alice)
    assert not Entity.objects.filter(batch__isnull=False)
    change = HandChange.objects.get()
    assert f"Deleted with what people lost: {put} marks put on all alike." in str(change)
    again = all_alike.apply(shared, dave, {"verb": "propagate", "kind": "entity", "form": form}).made
    others = shared.items_for(dave).exclude(pk__in=chosen)
    kept = Entity.objects.filter(batch__isnull=False, annotation__item__in=others).count()
    told = shared.undo_by_hand(change.pk, by=alice)
    assert f"marks that went with items do not come back. Deleted now: {again - kept} marks put on all alike." in told
    assert shares(shared) == [5, 5] and Entity.objects.filter(batch__isnull=False).count() == kept


def test_items_are_given_only_to_those_who_annotate(shared, alice, bob):
    for verb in ("give", "take"):
        change = partial(shared.change_by_hand, verb)
        with pytest.raises(Refused, match="bob"):
            change(shared.all_items(), [bob], by=alice)
    assert not Withheld.objects.exists()


def test_who_cannot_sign_in_is_given_nothing_and_what_they_have_is_taken_away(shared, alice, carol):
    own = shared.items_for(carol)[:1]
    shared.change_by_hand("give", shared.all_items().filter(pk=own[0].pk), [carol], by=alice)
    set_active(carol, False)
    for give in (partial(shared.foresee_by_hand, "give"), partial(shared.change_by_hand, "give", by=alice)):
        with pytest.raises(Refused, match="carol"):
            give(shared.all_items(), [carol])
    assert shared.change_by_hand("take", shared.all_items().filter(pk=own[0].pk), [carol], by=alice).changed == 1


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (AssignmentRule(0), "1 to 100"),
        (AssignmentRule(101), "1 to 100"),
        (AssignmentRule(1, overlap=100), "0 to 99"),
        (AssignmentRule(overlap=10), "no sample"),
        (AssignmentRule(calibration=501), "Calibration set: A whole number from 0 to 500 was expected."),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(shared, alice, rule, reason):
    for change in (partial(shared.set_rule, by=alice), shared.foresee_rule):
        with pytest.raises(Refused, match=reason):
            change(rule)
    assert Project.objects.get().rule == AssignmentRule(1)
