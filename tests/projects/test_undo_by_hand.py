"""What was given or taken by hand last is undone: everybody has what they had, but for what was begun meanwhile."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation_service import jobs
from annotation_service.inputs import Refused
from annotation_service.models import Job
from datasets.models import Annotation
from projects.assignment.giving import AssignsItems
from projects.assignment.rule import AssignmentRule
from projects.jobs import forget_hand_changes
from projects.models import Assignment, HandChange, Withheld
from tests import factories

TEXT = "".join(f"item {n}\n" for n in range(16))


@pytest.fixture
def project(alice, carol, dave):
    """Dealt, with something done by hand already."""
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT, annotators_per_item=1, overlap=25)
    project.change_by_hand("give", project.all_items().filter(position__lt=3), [carol], by=alice)
    project.change_by_hand("take", project.all_items().filter(position__in=[2, 3, 4]), [dave], by=alice)
    return project


def rows(project):
    """What everybody has, and how they came to it."""
    return {
        (model, item, person, by is not None)
        for model in (Assignment, Withheld)
        for item, person, by in model.objects.filter(item__dataset__project=project).values_list(
            "item__position", "annotator", "by"
        )
    }


def undo(client, project, change=None):
    change = HandChange.objects.get(project=project).pk if change is None else change
    return client.post(f"/projects/{project.pk}/items/undo/", {"change": change})


@pytest.mark.parametrize("verb", ["give", "take"])
def test_everything_is_as_it_was(project, alice, as_alice, carol, dave, verb):
    before = rows(project)
    for people in ([carol], [dave], [carol, dave]):
        project.change_by_hand(verb, project.all_items().filter(position__lt=10), people, by=alice)
        assert rows(project) != before
        said = HandChange.objects.get().text
        assert said in as_alice.get(f"/projects/{project.pk}/items/").text
        assert f"Undone: {said}" in undo(as_alice, project)["HX-Trigger"]
        assert rows(project) == before and not HandChange.objects.exists()


def test_what_was_begun_meanwhile_stays(project, alice, as_alice, carol, dave):
    of_dave = [item for item in project.items_for(dave) if item not in project.items_for(carol)][:2]
    project.change_by_hand("give", project.all_items(), [carol], by=alice)
    Annotation.start(of_dave[0], carol)
    undo(as_alice, project)
    assert of_dave[0] in project.items_for(carol) and of_dave[1] not in project.items_for(carol)
    taken = [item for item in project.items_for(carol) if item not in project.items_for(dave)][1]
    project.change_by_hand("take", project.all_items(), [carol], by=alice)
    Annotation.start(taken, dave)
    undo(as_alice, project)
    assert taken in project.items_for(carol) and taken in project.items_for(dave)


def test_only_the_last_change_can_be_undone_and_once(project, alice, as_alice, carol, dave):
    first = HandChange.objects.get().pk
    project.change_by_hand("give", project.all_items(), [dave], by=alice)
    before = rows(project)
    for change in (first, 0, "x", 10**30):
        answer = undo(as_alice, project, change)
        assert answer.status_code == 422 and "cannot be undone any more" in answer["HX-Trigger"]
    assert rows(project) == before
    last = HandChange.objects.get().pk
    assert undo(as_alice, project, last).status_code == 200 and undo(as_alice, project, last).status_code == 422
    assert "Undo" not in as_alice.get(f"/projects/{project.pk}/items/").text


def test_a_change_of_another_project_is_not_undone(project, alice, as_alice, carol):
    other = factories.project(by=alice, annotators=[carol], text=TEXT)
    before = rows(project)
    assert undo(as_alice, other, HandChange.objects.get().pk).status_code == 422
    assert rows(project) == before


def test_the_rule_the_people_and_the_items_may_have_changed_meanwhile(project, alice, as_alice, carol, dave):
    project.change_by_hand("take", project.all_items(), [carol], by=alice)
    project.set_rule(AssignmentRule(), by=alice)
    project.remove_member(project.membership_set.get(user=dave))
    project.dataset.remove(project.all_items().filter(position__lt=2), by=alice)
    assert undo(as_alice, project).status_code == 200
    project.refresh_from_db()
    assert [item.position for item in project.items_for(carol)] == list(range(2, 16))
    assert not Withheld.objects.filter(annotator=dave).exists()
    assert not Assignment.objects.filter(by=None).exists()


def test_many_are_brought_back_by_a_job_of_somebody_who_manages(project, alice, bob, as_alice, carol, monkeypatch):
    project.add_members([bob], "manager")
    before = rows(project)
    project.change_by_hand("give", project.all_items(), [carol], by=alice)
    monkeypatch.setattr(AssignsItems, "PORTION", 4)
    for _ in range(2):
        assert undo(as_alice, project)["HX-Redirect"].startswith("/jobs/")
    first, second = Job.objects.order_by("pk")
    jobs.run(jobs.claim(pk=first.pk))
    assert rows(project) == before
    project.remove_member(project.membership_set.get(user=alice))
    jobs.run(jobs.claim(pk=second.pk))
    second.refresh_from_db()
    assert "not manage" in second.errors["problems"][0][1]
    with pytest.raises(Refused):
        project.undo_by_hand(first.target["change"], by=bob)


def test_observers_do_not_undo_and_after_a_day_nobody_does(project, as_bob, bob):
    project.add_members([bob], "observer")
    assert undo(as_bob, project).status_code == 403
    assert "Undo" not in as_bob.get(f"/projects/{project.pk}/items/").text
    forget_hand_changes()
    assert HandChange.objects.exists()
    HandChange.objects.update(at=timezone.now() - timedelta(hours=25))
    forget_hand_changes()
    assert not HandChange.objects.exists()


def test_it_goes_with_its_project(project):
    project.erase()
    assert not HandChange.objects.exists()
