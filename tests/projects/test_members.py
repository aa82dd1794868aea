"""Roles and their rights, and how they change."""

from contextlib import suppress

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service.blueprints import Right
from annotation_service.inputs import Refused
from datasets.models import Annotation
from projects.models import Assignment, Membership
from projects.roles import ROLES, with_right
from tests import factories
from tests.soak import amount
from work.models import Flag

SHORT = settings(
    max_examples=amount(10, 500), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text="a\nb\nc\nd\n")


@pytest.fixture
def people(alice, carol, dave):
    return [alice, carol, dave]


def member(project, person):
    return project.membership_set.get(user=person)


def test_each_role_has_its_rights(project, carol):
    names = {name: " ".join(sorted(role.rights)) for name, role in ROLES.items()}
    assert names == {
        "manager": "annotate keep look manage read review see",
        "annotator": "annotate look see",
        "reviewer": "read review see",
        "observer": "read see",
    }
    for name, role in ROLES.items():
        project.change_role(member(project, carol), name)
        assert project.rights_of(carol) == role.rights


def test_who_stops_annotating_keeps_what_they_have_begun_and_the_others_get_the_rest(project, carol, dave):
    first = project.items_for(carol).first()
    Annotation.start(first, carol)
    project.change_role(member(project, carol), "reviewer")
    assert set(Assignment.objects.values_list("annotator", flat=True)) == {dave.pk} and Assignment.objects.count() == 4
    assert Annotation.objects.filter(annotator=carol, item=first).exists()
    project.change_role(member(project, carol), "annotator")
    assert first in project.items_for(carol) and project.items_for(carol).count() == 2


@pytest.mark.parametrize("with_marks", [False, True])
def test_who_is_removed_keeps_their_marks_or_loses_them_and_returns_to_what_is_left(project, carol, with_marks):
    first = project.items_for(carol).first()
    label = project.entity_ontology.items().first()
    Annotation.start(first, carol).add_entity(uid="12345678", label=label, start=0, end=0)
    Flag.put(first, carol, kind="issue")
    membership = member(project, carol)
    membership.set_shortcut("entity", "1", label.uid)
    assert project.count_work(carol) == {"begun": 1, "marks": 1}
    project.remove_member(membership, with_marks=with_marks)
    assert project.rights_of(carol) == frozenset() and project.former_members().get().user == carol
    project.add_members([carol])
    left = {"begun": 0, "marks": 0} if with_marks else {"begun": 1, "marks": 1}
    assert project.count_work(carol) == left and Flag.objects.count() == 1
    assert with_marks or first in project.items_for(carol)
    assert member(project, carol).shortcuts["entity"] == {"1": label.uid} and not project.former_members().exists()


def test_the_last_manager_stays_until_somebody_else_is_one(project, alice, carol):
    for change in (
        lambda: project.change_role(member(project, alice), "reviewer"),
        lambda: project.remove_member(member(project, alice)),
        lambda: project.hand_over(member(project, alice), member(project, alice), "observer"),
    ):
        with pytest.raises(Refused):
            change()
    project.change_role(member(project, alice), "manager")
    project.hand_over(member(project, alice), member(project, carol), "observer")
    assert (member(project, carol).role, member(project, alice).role) == ("manager", "observer")
    project.remove_member(member(project, alice))
    project.refresh_from_db()
    assert project.created_by == alice  # as history


def test_a_handover_is_done_as_a_whole_or_not_at_all(project, alice, carol):
    with pytest.raises(Refused, match="A role is one of"):
        project.hand_over(member(project, alice), member(project, carol), "owner")
    assert (member(project, carol).role, member(project, alice).role) == ("annotator", "manager")


def test_what_is_no_role_or_no_member_any_more_is_refused(project, carol, bob):
    gone = member(project, carol)
    with pytest.raises(Refused, match="A role is one of these: manager, annotator, reviewer, observer"):
        project.add_members([bob], "owner")
    project.remove_member(gone)
    with pytest.raises(Refused, match="carol is not a member"):
        project.change_role(Membership(pk=10**6, user=carol, project=project), "reviewer")


STEP = st.tuples(
    st.sampled_from(["role", "remove", "add", "hand over"]), *[st.integers(0, 2)] * 2, st.sampled_from([*ROLES])
)


@SHORT
@given(steps=st.lists(STEP, min_size=4, max_size=10))
def test_whatever_is_asked_a_manager_is_left_and_each_item_is_with_one_who_annotates(project, people, steps):
    with transaction.atomic():
        for verb, who, other, role in steps:
            members = {each.user_id: each for each in project.membership_set.all()}
            one, two = members.get(people[who].pk), members.get(people[other].pk)
            with suppress(Refused):
                if verb == "add":
                    project.add_members([people[who]], role)
                elif one and verb == "role":
                    project.change_role(one, role)
                elif one and verb == "remove":
                    project.remove_member(one)
                elif one and two:
                    project.hand_over(one, two, role)
            assert project.membership_set.filter(role__in=with_right(Right.MANAGE)).exists()
            annotators = set(project.annotators())
            assert set(Assignment.objects.values_list("annotator", flat=True)) == annotators
            assert Assignment.objects.count() == (4 if annotators else 0)
        transaction.set_rollback(True)
