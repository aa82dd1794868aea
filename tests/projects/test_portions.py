"""Items of a large project change hands in portions: whatever is killed is finished, and whatever is begun meanwhile stays."""

from datetime import timedelta
from functools import partial
from unittest import mock

import pytest
from django.db import connections
from django.utils import timezone

from annotation_service import jobs
from annotation_service.inputs import Refused
from annotation_service.models import Job, JobState
from datasets.models import Annotation
from projects.assignment.assigned import given_item
from projects.assignment.giving import AssignsItems
from projects.assignment.rule import AssignmentRule
from projects.jobs import go_on_sharing_out
from projects.models import Assignment, HandChange, ItemCounts, Project, Withheld
from tests import factories, faults

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "".join(f"item {n}\n" for n in range(24))
EVERYTHING, ONE, TWO = AssignmentRule(), AssignmentRule(1), AssignmentRule(2, overlap=25, calibration=2)


@pytest.fixture(autouse=True)
def portions(monkeypatch):
    monkeypatch.setattr(AssignsItems, "PORTION", 3)


@pytest.fixture
def project(alice, carol, dave):
    people = [carol, dave, factories.user("erin")]
    project = factories.project(by=alice, annotators=people, annotators_per_item=1, text=TEXT)
    project.people = people
    for person in people:
        Annotation.start(project.items_for(person)[1], person)
    return project


def start(project, kind="assign", **target):
    target["project"] = project.pk
    return Job.objects.create(kind=kind, title="Share out", by=project.created_by, target=target)


def again(job):
    """As a worker takes it up, however often it was killed."""
    Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(
        heartbeat_at=timezone.now() - timedelta(hours=1), attempts=0
    )
    if job := jobs.claim(pk=job.pk):
        jobs.run(job)


def killed_before(number, job):
    """Killed where the n-th transaction would be committed."""
    database = connections["default"]
    commit = database._commit
    point = faults.at(number, faults.die)
    with mock.patch.object(database, "_commit", lambda: (point(), commit())):
        again(job)


def stored():
    rows = [model.objects.values_list("item", "annotator", "by") for model in (Assignment, Withheld)]
    return [sorted(map(str, some)) for some in rows], Project.objects.get().next_below


def begun(project):
    return set(Annotation.objects.exclude(started_at=None).values_list("annotator", "item"))


def given(project):
    project = Project.objects.get(pk=project.pk)
    return {(person.pk, item.pk) for person in project.working() for item in project.assigned_to(person)}


def set_rule(rule, project):
    return start(project, rule=rule.values)


def join(project):
    project.add_members([factories.user("frank")], by=project.created_by)
    return Job.objects.get(kind="assign")


def leave(project):
    project.remove_member(project.members().get(user=project.people[0]), by=project.created_by)
    return Job.objects.get(kind="assign")


def even_pairs(project):
    project.set_rule(AssignmentRule(2), by=project.created_by)
    return start(project, pairs=True)


def give(project):
    people = [project.people[1].pk]
    return start(project, "by_hand", verb="give", filter="", count=24, people=people)


def take(project):
    return start(project, "by_hand", verb="take", filter="", count=24, people=[project.people[1].pk])


def undo(project):
    project.change_by_hand("give", project.all_items(), project.people[1:2], by=project.created_by)
    return start(project, "undo_by_hand", change=HandChange.last_of(project.pk).pk)


CHANGES = [partial(set_rule, EVERYTHING), partial(set_rule, TWO), join, leave, even_pairs, give, take, undo]


@pytest.mark.parametrize("change", CHANGES, ids=["everything", "two", "join", "leave", "pairs", "give", "take", "undo"])
def test_it_is_finished_after_a_kill_at_every_portion(project, change):
    job = change(project)
    members = set(project.annotators())
    had = {(person, item) for person, item in begun(project) if person in members}
    kills, number, seen = 0, 1, []
    while faults.end_of(faults.start_child(partial(killed_before, number, job))):
        kills += 1
        assert had <= given(project) and kills < 100
        number += stored() in seen  # the next one gets a step further
        seen.append(stored())
    job.refresh_from_db()
    assert job.state == JobState.DONE, job.errors
    assert kills > 2
    project.refresh_from_db()
    assert not project.is_changing and not faults.orphans()
    for other in Job.objects.filter(state=JobState.QUEUED):
        jobs.run(jobs.claim(pk=other.pk))
    assert had <= given(project)
    planned = project.planned()
    assert planned.count_moved() == 0
    assert not ItemCounts.objects.get().done


def test_the_old_rule_binds_an_item_until_its_portion_is_stored(project):
    """Everybody gets every item, then one person each: whoever begins an item meanwhile keeps it."""
    project.set_rule(EVERYTHING, by=project.created_by)
    carol = project.people[0]
    items, seen = list(project.all_items()), []

    def look(done, total, phase):
        now = Project.objects.get()
        here = {item.position: given_item(carol, project.pk, item.pk) is not None for item in items}
        seen.append((now.next_below, here))
        assert all(here[position] for position in range(now.next_below, 24)) and now.rule == EVERYTHING
        for item in items[now.next_below : now.next_below + 2]:
            Annotation.start(item, carol)

    project.set_rule(ONE, by=project.created_by, report=look)
    assert [below for below, _ in seen[:4]] == [3, 6, 9, 12] and not all(seen[-1][1].values())
    project.refresh_from_db()
    assert project.rule == ONE and begun(project) <= given(project)
    assert {below for below, _ in seen} and project.planned().count_moved() == 0


def test_another_rule_waits_until_the_first_binds_all_items(project, as_alice):
    project.set_rule(EVERYTHING, by=project.created_by)

    class Killed(Exception):
        pass

    def stop(*_):
        raise Killed

    with pytest.raises(Killed):
        project.set_rule(ONE, by=project.created_by, report=stop)
    changing = Project.objects.get()
    assert changing.is_changing and changing.rule == EVERYTHING and changing.next_rule == ONE
    for refused in (
        lambda: changing.set_rule(TWO, by=project.created_by),
        lambda: changing.even_pairs(by=project.created_by),
        lambda: changing.change_by_hand("give", changing.all_items(), project.people[:1], by=project.created_by),
    ):
        with pytest.raises(Refused, match="at the moment"):
            refused()
    page = as_alice.get(project.get_absolute_url()).text
    assert "Being changed to: Each item goes to 1 annotator." in page and "goes on with it" in page
    go_on_sharing_out()
    go_on_sharing_out()
    job = Job.objects.get(kind="assign")
    Job.objects.filter(pk=job.pk).update(done=5, total=24)
    for address in (project.get_absolute_url(), f"{project.get_absolute_url()}people/"):
        page = as_alice.get(address).text
        assert "Items are being shared out at the moment: 5 of" in page and f"/jobs/{job.pk}/" in page
    jobs.run(jobs.claim(pk=job.pk))
    project.refresh_from_db()
    assert project.rule == ONE and Assignment.objects.count() == 24
    assert "being shared out" not in as_alice.get(project.get_absolute_url()).text


def test_a_large_project_locks_no_more_than_a_portion(project, monkeypatch):
    locked = []
    from projects.assignment import giving

    lock = giving.lock_items
    monkeypatch.setattr(giving, "lock_items", lambda items: (locked.append(len(items)), lock(items)))
    monkeypatch.setattr(AssignsItems, "lock_items", lambda _: pytest.fail("all items are locked"))
    for rule in (EVERYTHING, TWO, ONE):
        project.set_rule(rule, by=project.created_by)
    project.add_members([factories.user("frank")])
    jobs.finish(kind="assign")
    assert locked and max(locked) <= 3


def test_what_is_begun_between_planning_and_storing_stays(project, monkeypatch):
    planned = AssignsItems.planned
    moves = []

    def begin_at_once(self, *args, **options):
        plan = planned(self, *args, **options)
        if len(moves) < 3:
            for item in Project.objects.get().items_for(project.people[0]):
                if (project.people[0].pk, item.pk) not in begun(project):
                    Annotation.start(item, project.people[0])
                    moves.append(item.pk)
                    break
        return plan

    monkeypatch.setattr(AssignsItems, "planned", begin_at_once)
    project.remove_member(project.members().get(user=project.people[2]))
    project.add_members([factories.user("frank"), factories.user("greta")])
    jobs.finish(kind="assign")
    assert len(moves) == 3
    assert {(project.people[0].pk, item) for item in moves} <= given(project)
    assert Project.objects.get().planned().count_moved() == 0
    assert not Withheld.objects.exists()


def test_pairs_are_evened_out_after_the_count_is_shown_and_that_is_undone(project, as_alice, monkeypatch):
    monkeypatch.setattr(AssignsItems, "PORTION", 1000)
    project.add_members([factories.user("frank")])
    project.set_rule(AssignmentRule(2), by=project.created_by)
    people, items = list(project.working().exclude(pk=project.created_by.pk)), list(project.all_items())
    Annotation.objects.all().delete()
    Assignment.objects.all().delete()
    for pair, own in ((people[:2], items[:12]), (people[2:], items[12:])):
        Assignment.insert([(person.pk, item.pk) for person in pair for item in own], by=None)
    before = given(project)
    address = f"/projects/{project.pk}/assignment/pairs/"
    dialog = as_alice.get(address).text
    assert "<b>16 items change hands</b>" in dialog
    assert given(project) == before
    assert as_alice.post(address)["HX-Redirect"] == project.get_absolute_url()
    assert given(project) != before
    shared = Project.objects.get().planned().shared()
    counts = {shared[one][other] for one in shared for other in shared if one != other}
    assert counts == {4}
    change = HandChange.objects.get()
    assert str(change) == "Pairs evened out: 16 items changed hands."
    assert as_alice.post(f"/projects/{project.pk}/items/undo/", {"change": change.pk}).status_code == 200
    assert given(project) == before
    assert "Every two people share 0 to 12 items" in as_alice.get(f"/projects/{project.pk}/assignment/").text
