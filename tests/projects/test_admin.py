from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation_service.inputs import Refused
from annotation_service.models import User
from datasets.models import Annotation
from projects.models import Invitation, Project
from tests import factories
from work.models import Batch, Comment, Flag

OURS = [
    model
    for app in ("annotation_service", "ontologies", "resources", "datasets", "work", "projects")
    for model in apps.get_app_config(app).get_models()
]


@pytest.fixture
def filled(alice, carol):
    return fill(alice, carol)


def fill(manager, annotator):
    """A project with something in most of its lists."""
    name = f"Pumps of {manager}"
    project = factories.project(by=manager, name=name, annotators=[annotator], annotators_per_item=1)
    item = project.dataset.items().first()
    annotation = Annotation.start(item, annotator)
    label = project.entity_ontology.items().first()
    for place in (0, 1):
        annotation.add_entity(uid=f"uid-{place}-abc", label=label, start=place, end=place)
    relation = project.relation_ontology.items().first()
    annotation.add_relation(uid="relation", label=relation, source="uid-0-abc", target="uid-1-abc")
    label.rename("Renamed", by=manager)
    Flag.put(item, annotator, kind="issue")
    Comment.begin(item, annotator, by=manager, text="Why?").answer("So.", by=annotator)
    later = timezone.now() + timedelta(days=1)
    Invitation.objects.create(
        project=project, role="annotator", by=manager, expires_at=later, token_hash=str(project.pk)
    )
    return project


def test_every_model_is_registered():
    assert [model for model in OURS if model not in admin.site._registry] == []


def test_every_model_is_listed_searched_opened_and_kept_by_its_own_methods(as_sam, filled):
    """Nothing is added or deleted past them, except accounts."""
    for model in OURS:
        base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        assert as_sam.get(reverse(f"{base}_changelist")).status_code == 200, model
        assert as_sam.get(reverse(f"{base}_changelist"), {"q": "a"}).status_code == 200, model
        assert as_sam.get(reverse(f"{base}_add")).status_code == (200 if model is User else 403), model
        if thing := model._base_manager.order_by("-pk").first():
            assert as_sam.get(reverse(f"{base}_change", args=[thing.pk])).status_code == 200, model
            if model is not User:
                delete = reverse(f"{base}_delete", args=[thing.pk])
                assert as_sam.post(delete, {"post": "yes"}).status_code == 403, model


def test_batches_are_listed_with_the_name_of_their_label(as_sam, filled, carol):
    label = filled.entity_ontology.items().first()
    named = {"kind": "entity", "label": label.uid, "words": "pump", "verb": "propagate"}
    Batch.objects.create(dataset=filled.dataset, person=carol, **named)
    page = as_sam.get(reverse("admin:work_batch_changelist")).content.decode()
    assert label.name in page and label.uid not in page


def test_queries_of_lists_do_not_grow_with_what_their_rows_belong_to(as_sam, alice, bob, carol, dave):
    """What a column shows is read with the rows, without naming it a second time."""

    def counted():
        counts = {}
        for model in OURS:
            with CaptureQueriesContext(connection) as queries:
                as_sam.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
            counts[model] = len(queries)
        return counts

    fill(alice, carol)
    few = counted()
    fill(bob, dave)
    assert counted() == few


@pytest.fixture
def save(as_sam, filled):
    """``save(*members)``: the form of the project, with each member as (existing membership or "", user, role, deleted)."""

    def save(*members):
        data = {"name": "Renamed", "description": "", "guidelines": "Think."}
        data |= {"membership_set-TOTAL_FORMS": len(members)}
        data |= {"membership_set-INITIAL_FORMS": sum(1 for member, *_ in members if member)}
        for place, (member, user, role, *deleted) in enumerate(members):
            values = {"id": member and member.pk, "project": filled.pk, "user": user.pk, "role": role}
            values |= {"DELETE": "on"} if deleted else {}
            data |= {f"membership_set-{place}-{name}": value for name, value in values.items()}
        return as_sam.post(reverse("admin:projects_project_change", args=[filled.pk]), data)

    return save


def test_words_and_memberships_of_a_project_can_be_edited(save, filled, alice, carol, dave):
    annotator, manager = filled.membership_set.get(user=carol), filled.membership_set.get(user=alice)
    response = save((annotator, carol, "annotator"), (manager, alice, "manager"), ("", dave, "annotator"))
    assert response.status_code == 302, response.context["errors"]
    filled.refresh_from_db()
    assert (filled.name, filled.guidelines) == ("Renamed", "Think.")
    assert filled.items_for(dave).exists()


@pytest.mark.parametrize("change", [("manager", "deleted"), ("annotator",)])
def test_the_last_manager_of_a_project_stays(save, filled, alice, bob, change):
    manager = filled.membership_set.get(user=alice)
    response = save((manager, alice, *change))
    assert response.status_code == 200
    assert "A project needs a manager. Make somebody else one first." in response.text
    manager.refresh_from_db()
    assert manager.role == "manager"
    assert save((manager, alice, *change), ("", bob, "manager")).status_code == 302
    assert filled.membership_set.get(role="manager").user == bob


def test_who_cannot_sign_in_manages_nothing(save, filled, alice, bob):
    manager = filled.membership_set.get(user=alice)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    for change in (("manager", "deleted"), ("annotator",)):
        assert "A project needs a manager" in save((manager, alice, *change), ("", bob, "manager")).text
    assert [*filled.membership_set.filter(role="manager").values_list("user", flat=True)] == [alice.pk]


def test_who_is_removed_there_stays_out_until_added_and_finds_their_shortcuts_again(save, filled, alice, carol):
    annotator, manager = filled.membership_set.get(user=carol), filled.membership_set.get(user=alice)
    label = filled.entity_ontology.items().first().uid
    annotator.set_shortcut("entity", "1", label)
    link, _ = Invitation.make(filled, role="observer", by=alice)
    assert save((annotator, carol, "annotator", "deleted"), (manager, carol, "manager")).status_code == 302
    assert [*filled.membership_set.values_list("user", "role")] == [(alice.pk, "manager")]
    with pytest.raises(Refused, match="You have left this project"):
        link.accept(carol)
    save((manager, alice, "manager"), ("", carol, "reviewer"))
    assert filled.membership_set.get(user=carol).shortcuts["entity"] == {"1": label}
    assert not filled.former_members().exists()


def test_projects_are_deleted_by_their_own_method(as_sam, filled):
    data = {"action": "erase", "_selected_action": [filled.pk]}
    as_sam.post(reverse("admin:projects_project_changelist"), data)
    assert not Project.objects.exists()


def test_copies_in_an_archived_project_are_only_shown(as_sam, filled, bob):
    address = reverse("admin:datasets_dataset_change", args=[filled.dataset.pk])
    sent = {"name": "Renamed", "description": "", "owner": bob.pk}
    assert as_sam.post(address, sent).status_code == 302
    filled.archive()
    assert as_sam.post(address, {**sent, "name": "Again"}).status_code == 403
    assert as_sam.get(address).status_code == 200 and Project.objects.get().dataset.name == "Renamed"
