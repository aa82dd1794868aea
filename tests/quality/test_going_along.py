"""What a duplicate of a project has of its review."""

import pytest

from annotation_service.jobs import claim, run
from annotation_service.models import start_job
from datasets.models import Annotation, Layer
from datasets.models.dataset import Contents
from ontologies.models import OntologyItem
from projects.models import NOT_DUPLICATED, Project
from quality.models import GoldDecision, Overruled, ReviewAssignment, Verdict
from tests import factories, faults
from tests.quality.conftest import label, review, say
from tests.quality.test_review import decide, gold, states


@pytest.fixture
def decided(project, items, carol, dave, alice, bob):
    """Two items, decided in turn; a removed item, and one that has a reviewer who is not in the project."""
    for item in items[:2]:
        say(item, carol, "Thermostat 0-1", "State 2", "hasPart: Thermostat 0-1 > State 2")
        say(item, dave, "SensingObject 0-1", "State 2", "hasPart: SensingObject 0-1 > State 2")
    decide(items[1], 0, "1", alice)
    decide(items[0], 0, "2", alice, "a thermostat")
    decide(items[1], 0, "both", bob)
    review(items[1]).undo(by=bob)
    decide(items[1], 0, "2", bob, "this, too")
    review(items[0]).finish(by=alice)
    say(items[2], carol, "State 0")
    say(items[2], dave, "State 1")
    decide(items[2], 0, "1", alice)
    ReviewAssignment.put({items[0].pk: alice.pk, items[1].pk: bob.pk, items[2].pk: alice.pk})
    project.dataset.remove(project.dataset.items().filter(pk=items[2].pk), by=alice)
    return project


def decisions(project):
    """All that is said about the review of a project, by what does not depend on keys."""
    uids = dict(OntologyItem.objects.filter(ontology__project=project).values_list("pk", "uid"))

    def named(mark):
        if mark.is_relation:
            return named(mark.source), named(mark.target), uids[mark.label]
        return mark.start, mark.end, uids[mark.label]

    here = {"annotation__item__dataset__project": project, "annotation__item__removed_at": None}
    found = []
    for position in sorted({*GoldDecision.objects.filter(**here).values_list("annotation__item__position", flat=True)}):
        for made in GoldDecision.objects.filter(annotation__item__position=position, **here).order_by("pk"):
            verdicts = Verdict.objects.filter(decision=made).order_by("pk")
            assert {verdict.annotation_id for verdict in verdicts} == {made.annotation_id}
            overruled = Overruled.objects.filter(decision=made, annotation=made.annotation_id)
            found.append(
                (
                    position,
                    (made.by_id, made.at, made.kind, made.reason, made.undone_at),
                    [(each.place, named(each.mark), each.is_taken, each.people) for each in verdicts],
                    sorted(overruled.values_list("person", flat=True)),
                )
            )
    return found


def test_a_duplicate_with_everybodys_marks_has_the_review_as_it_is(decided, alice, bob):
    before = faults.rows()
    copy = decided.duplicate(name="Again", by=alice, people=True, contents=Contents.EVERYBODY)
    assert decisions(copy) == decisions(decided) and len(decisions(copy)) == 4
    assert not faults.orphans()
    for new, old in zip(copy.all_items(), decided.all_items(), strict=True):
        assert gold(new) == gold(old) and gold(new)
        assert states(new) == states(old) and states(new)[0] == ("decided", "")
        assert review(new).is_decided == review(old).is_decided == (old.position == 0)
    # Bob is in neither project: the item that was for him is for all.
    assert list(
        ReviewAssignment.objects.filter(item__dataset__project=copy).values_list("item__position", "person")
    ) == [(0, alice.pk)]
    after = faults.rows()
    assert all(set(rows) <= set(after[name]) for name, rows in before.items())
    # It is reviewed on its own.
    second = copy.all_items()[1]
    review(second).undo(by=bob)
    assert gold(second) != gold(decided.all_items()[1])
    assert decisions(decided) == decisions(Project.objects.get(pk=decided.pk))


@pytest.mark.parametrize("contents", [Contents.NOTHING, Contents.ITEMS, Contents.GIVEN])
def test_a_duplicate_with_less_has_nothing_of_the_review(decided, alice, contents):
    copy = decided.duplicate(name="Again", by=alice, people=True, contents=contents)
    assert not Annotation.objects.filter(item__dataset__project=copy, layer=Layer.GOLD).exists()
    assert decisions(copy) == []
    assert not ReviewAssignment.objects.filter(item__dataset__project=copy).exists()


def test_a_duplicate_of_a_duplicate_and_of_renamed_labels(decided, alice):
    label(decided, "Thermostat").rename("Regulator", by=alice)
    copy = decided.duplicate(name="Again", by=alice, contents=Contents.EVERYBODY)
    again = copy.duplicate(name="Once more", by=alice, contents=Contents.EVERYBODY)
    assert decisions(again) == decisions(copy) == decisions(decided)
    assert gold(again.all_items()[0]) == ["Regulator 0-1", "State 2", "hasPart: Regulator 0-1 > State 2"]


def test_a_duplicate_made_by_a_job_has_the_review(decided, alice):
    target = {"project": decided.pk, "name": "Again", "people": True, "contents": "everybody"}
    start_job("duplicate_project", title="t", by=alice, target=target)
    run(claim())
    assert decisions(Project.objects.get(name="Again")) == decisions(decided)


def test_a_duplicate_is_reviewed_by_the_same_rule(project, alice):
    wanted = {
        "agreed": "least",
        "agreed_least": 3,
        "given_voice": True,
        "is_blind": True,
        "reviews_own": True,
        "shows_decisions": True,
    }
    assert not wanted.keys() & NOT_DUPLICATED
    Project.objects.filter(pk=project.pk).update(**wanted)
    copy = Project.objects.get(pk=project.pk).duplicate(name="Again", by=alice)
    assert {name: getattr(copy, name) for name in wanted} == wanted


def test_many_decisions_are_told_apart(project, items, alice, carol, dave):
    """Of several items in turn, each with more verdicts than are relabelled at once."""
    made = [factories.gold(item) for item in items[:2]]
    state = label(project, "State").pk
    for number in range(10):
        gold = made[number % 2]
        decision = GoldDecision.objects.create(annotation=gold, by=alice, kind="edit", reason=str(number))
        Verdict.objects.bulk_create(
            Verdict(
                annotation=gold, decision=decision, place=n, what=f"{n}-{n}:{state}", is_taken=False, people=[carol.pk]
            )
            for n in range(250)
        )
        Overruled.objects.create(annotation=gold, decision=decision, person=dave)
    copy = project.duplicate(name="Again", by=alice, contents=Contents.EVERYBODY)
    assert decisions(copy) == decisions(project)
