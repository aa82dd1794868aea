"""Whatever fails while items are given to people: everything is stored or nothing; and nobody's beginning gets lost meanwhile."""

import threading
from functools import partial

import pytest
from django.db import DatabaseError

from annotation_service.db import write
from datasets.models import Annotation
from projects.assignment.assigned import given_item
from projects.assignment.rule import AssignmentRule
from projects.models import Assignment, Project
from tests import factories, faults
from tests.threads import running

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "".join(f"item {n}\n" for n in range(12))


class Fault(DatabaseError):
    pass


def fail():
    raise Fault


def set_rule(project, alice):
    project.set_rule(AssignmentRule(2, overlap=25, calibration=2), by=alice)


def give(project, alice):
    project.change_by_hand("give", project.items_for(project.people[1]), project.people[:1], by=alice)


def take(project, alice):
    project.change_by_hand("take", project.items_for(project.people[0]), project.people[:1], by=alice)


@pytest.fixture
def project():
    people = [factories.user(name) for name in ("carol", "dave", "erin")]
    alice = factories.manager("alice")
    project = factories.project(by=alice, annotators=people, annotators_per_item=1, text=TEXT)
    project.people = people
    Annotation.start(project.items_for(people[0])[0], people[0])
    given = project.items_for(people[1])[0]
    project.change_by_hand("take", project.all_items().filter(pk=given.pk), [people[1]], by=alice)
    return project


@pytest.mark.parametrize("change", [set_rule, give, take])
def test_a_fault_at_any_statement_leaves_everything_as_it_was(project, change):
    alice, before = project.created_by, faults.rows()
    passed = []
    for number in range(1, 100):
        try:
            with faults.watching(faults.at(number, fail)):
                change(project, alice)
        except Fault:
            passed.append(faults.rows() == before)
            if not passed[-1]:
                break  # after the commit
    assert passed.count(True) > 10 and passed[-1] is False
    assert not faults.orphans()


def test_what_somebody_begins_while_the_rule_is_changed_stays_with_them(project):
    """Begun before or after the change, never in spite of it."""
    rules = [AssignmentRule(1), AssignmentRule(), AssignmentRule(2, calibration=2), AssignmentRule(1, overlap=50)]
    stop, begun = threading.Event(), set()

    def annotate(person):
        is_over = False
        while not is_over:
            is_over = stop.is_set()  # one round at least, however late this thread begins
            for item in project.all_items():
                with write():
                    project.all_items().select_for_update(of=("self",), no_key=True).get(pk=item.pk)
                    if given_item(person, project.pk, item.pk):
                        Annotation.start(item, person)
                        begun.add((person.pk, item.pk))

    with running(*(partial(annotate, person) for person in project.people)):
        try:
            for rule in rules * 3:
                Project.objects.get().set_rule(rule, by=project.created_by)
                now = Project.objects.get()
                for person in project.people:
                    there = Annotation.objects.filter(annotator=person, started_at__isnull=False)
                    assert set(there.values_list("item", flat=True)) <= set(
                        now.assigned_to(person).values_list("pk", flat=True)
                    )
        finally:
            stop.set()
    assert begun
    assert Assignment.objects.exists()
