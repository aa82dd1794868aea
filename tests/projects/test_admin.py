import pytest
from django.apps import apps
from django.contrib import admin
from django.urls import reverse

from annotation_service.models import User
from datasets.models import Annotation
from projects.models import Project
from tests import factories

OURS = [
    model
    for app in ("annotation_service", "ontologies", "resources", "datasets", "projects")
    for model in apps.get_app_config(app).get_models()
]


@pytest.fixture
def filled(alice, carol):
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1)
    annotation = Annotation.start(project.dataset.items().first(), carol)
    label = project.entity_ontology.items().first()
    for place in (0, 1):
        annotation.add_entity(uid=f"uid-{place}-abc", label=label, start=place, end=place)
    relation = project.relation_ontology.items().first()
    annotation.add_relation(uid="relation", label=relation, source="uid-0-abc", target="uid-1-abc")
    label.rename("Renamed", by=alice)
    return project


def test_every_model_is_registered():
    assert [model for model in OURS if model not in admin.site._registry] == []


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_every_model_can_be_listed_searched_and_opened(as_sam, filled, model):
    base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    assert as_sam.get(reverse(f"{base}_changelist")).status_code == 200
    assert as_sam.get(reverse(f"{base}_changelist"), {"q": "a"}).status_code == 200
    thing = model._base_manager.order_by("-pk").first()
    if thing:
        assert as_sam.get(reverse(f"{base}_change", args=[thing.pk])).status_code == 200


@pytest.mark.parametrize("model", [m for m in OURS if m is not User], ids=lambda model: model.__name__)
def test_nothing_is_added_or_deleted_past_the_model_methods(as_sam, filled, model):
    base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    assert as_sam.get(reverse(f"{base}_add")).status_code == 403
    thing = model._base_manager.first()
    if thing:
        assert as_sam.post(reverse(f"{base}_delete", args=[thing.pk]), {"post": "yes"}).status_code == 403


def test_tree_positions_are_not_shown(as_sam, filled):
    item = filled.entity_ontology.items().first()
    text = as_sam.get(reverse("admin:ontologies_ontologyitem_change", args=[item.pk])).content.decode()
    assert "lft" not in text.lower().replace("left", "") and "Tree id" not in text


def test_words_and_memberships_of_a_project_can_be_edited(as_sam, filled, dave):
    carol, alice = filled.membership_set.get(role="annotator"), filled.membership_set.get(role="manager")
    data = {"name": "Renamed", "description": "", "guidelines": "Think.", "membership_set-TOTAL_FORMS": 3}
    for place, values in enumerate(
        [(carol.pk, carol.user_id, "annotator"), (alice.pk, alice.user_id, "manager"), ("", dave.pk, "annotator")]
    ):
        data |= {
            f"membership_set-{place}-{name}": value for name, value in zip(("id", "user", "role"), values, strict=True)
        }
        data[f"membership_set-{place}-project"] = filled.pk
    data["membership_set-INITIAL_FORMS"] = 2
    response = as_sam.post(reverse("admin:projects_project_change", args=[filled.pk]), data)
    assert response.status_code == 302, response.context["errors"]
    filled.refresh_from_db()
    assert (filled.name, filled.guidelines) == ("Renamed", "Think.")
    assert filled.items_for(dave).exists()


def test_projects_are_deleted_by_their_own_method(as_sam, filled):
    data = {"action": "erase", "_selected_action": [filled.pk]}
    as_sam.post(reverse("admin:projects_project_changelist"), data)
    assert not Project.objects.exists()
