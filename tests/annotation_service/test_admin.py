"""Accounts in Django admin."""

import pytest

from annotation_service.models import User, start_job
from datasets.models import Annotation
from tests import factories

PEOPLE = "/admin/annotation_service/user/"


def delete_url(person):
    return f"{PEOPLE}{person.pk}/delete/"


def left_marks(person, alice):
    project = factories.project(by=alice, annotators=[person])
    annotation = Annotation.start(project.dataset.items()[0], person)
    annotation.add_entity(uid="aaaaaaaa", label=project.entity_ontology.items()[0], start=0, end=0)
    project.membership_set.filter(user=person).delete()


def left_a_project(person, alice):
    factories.project(by=factories.manager("erin"), annotators=[person])


def left_a_blueprint(person, alice):
    factories.ontology(owner=person)


def left_a_job(person, alice):
    start_job("test", title="t", by=person, target={})


@pytest.mark.parametrize("left", [left_marks, left_a_project, left_a_blueprint, left_a_job])
def test_people_who_left_something_are_deactivated_instead_of_deleted(as_sam, alice, carol, client, left):
    left(carol, alice)
    for page in (
        as_sam.get(delete_url(carol)),
        as_sam.post(PEOPLE, {"action": "delete_selected", "_selected_action": [carol.pk]}),
    ):
        text = page.content.decode()
        assert "Deactivate it instead" in text and "permission" not in text
        assert f'name="_selected_action" value="{carol.pk}"' in text
    said = as_sam.post(PEOPLE, {"action": "deactivate", "_selected_action": [carol.pk]}, follow=True)
    assert "“carol” can no longer sign in. What they made stays." in said.content.decode()
    client.post("/accounts/login/", {"login": "carol", "password": "a-long-password"})
    assert client.get("/").status_code == 302


def test_people_who_left_nothing_can_be_deleted(as_sam, carol, dave):
    assert "Are you sure" in as_sam.get(delete_url(carol)).content.decode()
    as_sam.post(delete_url(carol), {"post": "yes"})
    as_sam.post(PEOPLE, {"action": "delete_selected", "_selected_action": [dave.pk], "post": "yes"})
    assert list(User.objects.values_list("username", flat=True)) == ["sam"]


def test_nobody_deactivates_themselves(as_sam, sam, carol):
    as_sam.post(PEOPLE, {"action": "deactivate", "_selected_action": [sam.pk, carol.pk]})
    assert list(User.objects.filter(is_active=True)) == [sam]


def test_deactivating_needs_the_permission_to_change_people(client, carol):
    client.force_login(factories.user("tom", is_staff=True))
    assert client.post(PEOPLE, {"action": "deactivate", "_selected_action": [carol.pk]}).status_code == 403
    carol.refresh_from_db()
    assert carol.is_active
