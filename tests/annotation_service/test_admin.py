"""Accounts in Django admin."""

import re

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from annotation_service.models import PROJECT_MANAGERS, User, start_job
from datasets.models import Annotation
from tests import factories
from tests.queries import queries_of

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
        text = page.text
        assert "Deactivate it instead" in text and "permission" not in text
        assert f'name="_selected_action" value="{carol.pk}"' in text
    said = as_sam.post(PEOPLE, {"action": "deactivate", "_selected_action": [carol.pk]}, follow=True)
    assert "“carol” can no longer sign in. What they made stays." in said.text
    client.post("/accounts/login/", {"login": "carol", "password": "a-long-password"})
    assert client.get("/").status_code == 302


def test_people_who_left_nothing_can_be_deleted(as_sam, carol, dave):
    assert "Are you sure" in as_sam.get(delete_url(carol)).text
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


def test_people_are_listed_with_their_groups_and_last_sign_in(as_sam, alice, carol, django_assert_num_queries):
    page = as_sam.get(PEOPLE).text
    assert "Project managers" in re.search(r"<tr>(?:(?!</tr>).)*>alice<.*?</tr>", page, re.S)[0]
    assert [person.username for person in listed(as_sam, PEOPLE, groups__id__exact=alice.groups.get().pk)] == ["alice"]
    as_carol = Client()
    as_carol.post("/accounts/login/", {"login": "carol", "password": "a-long-password"})
    names = {person.username for person in listed(as_sam, PEOPLE, last_login__isnull="True")}
    assert "alice" in names and "carol" not in names
    assert "carol" in {person.username for person in listed(as_sam, PEOPLE, last_login__isnull="False")}
    few = queries_of(as_sam.get, PEOPLE)
    for n in range(5):
        factories.manager(f"manager{n}")
    with django_assert_num_queries(len(few)):
        as_sam.get(PEOPLE)


def listed(client, address, **query):
    return client.get(address, query).context["cl"].result_list


ITEMS = "/admin/datasets/item/"


def test_rows_are_filtered_by_dataset_and_project_without_a_list_of_all(as_sam, alice, django_assert_num_queries):
    project = factories.project(by=alice)
    copy, blueprint = project.dataset, project.dataset.copied_from
    assert {item.dataset for item in listed(as_sam, ITEMS, dataset__id__exact=blueprint.pk)} == {blueprint}
    assert {item.dataset for item in listed(as_sam, ITEMS, dataset__project__id__exact=project.pk)} == {copy}
    page = as_sam.get(ITEMS, {"dataset__id__exact": copy.pk, "q": "x"}).text
    assert f'<option value="{copy.pk}" selected>{copy.name} ({project})</option>' in page
    assert '<input type="hidden" name="q" value="x">' in page
    assert len(listed(as_sam, ITEMS, dataset__id__exact="")) == 2 * copy.item_count
    assert as_sam.get(ITEMS, {"dataset__id__exact": "x" * 30}).status_code == 302
    few = queries_of(as_sam.get, ITEMS)
    for n in range(5):
        factories.dataset(owner=alice, name=f"another {n}")
    with django_assert_num_queries(len(few)):
        page = as_sam.get(ITEMS).text
    assert page.count("<option") == 2  # the empty ones


def test_what_a_filter_suggests_is_told_apart_by_the_project(as_sam, alice, django_assert_num_queries):
    project = factories.project(by=alice)
    ask = {"app_label": "datasets", "model_name": "item", "field_name": "dataset", "term": project.dataset.name}
    few = queries_of(as_sam.get, "/admin/autocomplete/", ask)
    found = as_sam.get("/admin/autocomplete/", ask).json()["results"]
    assert {each["text"] for each in found} == {project.dataset.name, f"{project.dataset.name} ({project})"}
    for n in range(3):
        factories.project(by=alice, name=f"Project {n}")
    with django_assert_num_queries(len(few)):
        assert len(as_sam.get("/admin/autocomplete/", ask).json()["results"]) == 8


def test_staff_who_may_not_see_accounts_get_no_filter_by_person(client, alice):
    client.force_login(factories.user("tom", is_staff=True))
    page = client.get("/admin/datasets/dataset/").text
    assert "By project" in page and "By owner" not in page


def test_rows_that_only_link_are_reached_from_their_project(as_sam, alice, carol):
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1)
    index = as_sam.get("/admin/").text
    assert "/admin/projects/project/" in index and "/admin/projects/assignment/" not in index
    page = as_sam.get(f"/admin/projects/project/{project.pk}/change/").text
    address = re.search(r'href="(/admin/projects/assignment/\?[^"]+)"', page)[1]
    assert {row.annotator for row in as_sam.get(address).context["cl"].result_list} == {carol}


def test_what_can_only_be_looked_at_is_folded_at_the_end_of_the_index(as_sam):
    groups = as_sam.get("/admin/").context["app_list"]
    *others, folded = groups
    assert folded["name"] == "Only to look at" and not any(group.get("is_folded") for group in others)
    editable = {model["object_name"] for group in others for model in group["models"]}
    assert {"User", "Group", "Ontology", "Dataset", "Project"} <= editable
    assert {"Membership", "Item", "Annotation", "Job"} <= {model["object_name"] for model in folded["models"]}
    assert all(model["view_only"] for model in folded["models"])
    assert "<details" in as_sam.get("/admin/").text and "Items" in as_sam.get("/admin/datasets/").text


def test_a_new_person_has_name_address_and_groups_at_once(as_sam):
    managers = Group.objects.get(name=PROJECT_MANAGERS)
    words = {"username": "erin", "first_name": "Erin", "last_name": "Olsen", "email": "erin@example.org"}
    password = {"usable_password": "true", "password1": "a-long-password", "password2": "a-long-password"}
    page = as_sam.get(f"{PEOPLE}add/").text
    assert all(f'name="{name}"' in page for name in [*words, *password, "groups"])
    as_sam.post(f"{PEOPLE}add/", {**words, **password, "groups": [managers.pk]})
    erin = User.objects.get(username="erin")
    assert (erin.get_full_name(), erin.email, [*erin.groups.all()]) == ("Erin Olsen", "erin@example.org", [managers])
    twice = as_sam.post(f"{PEOPLE}add/", {**words, "username": "ann", "email": "ERIN@example.org", **password})
    assert twice.status_code == 200 and not User.objects.filter(username="ann").exists()


def test_who_may_add_people_gives_no_powers_by_that(db, client):
    tom = factories.user("tom", is_staff=True)
    tom.user_permissions.set(Permission.objects.filter(codename__in=["add_user", "change_user", "view_user"]))
    powers = Group.objects.create(name="Powers")
    powers.permissions.add(Permission.objects.first())
    client.force_login(tom)
    password = {"usable_password": "true", "password1": "a-long-password", "password2": "a-long-password"}
    client.post(f"{PEOPLE}add/", {"username": "erin", **password, "groups": [powers.pk]})
    assert not User.objects.filter(username="erin").exists()
    client.post(f"{PEOPLE}add/", {"username": "erin", **password})
    assert User.objects.get(username="erin").groups.count() == 0


def test_no_button_resets_the_password_of_somebody_who_can_only_be_looked_at(client, sam, carol):
    tom = factories.user("tom", is_staff=True)
    tom.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    client.force_login(tom)
    pages = [client.get(f"{PEOPLE}{person.pk}/change/").text for person in (sam, carol)]
    assert ["/password/" in page for page in pages] == [False, True]
    assert client.get(f"{PEOPLE}{sam.pk}/password/").status_code == 403


def test_the_colour_of_a_label_is_seen(as_sam, ontology_item):
    for page in ("/admin/ontologies/ontologyitem/", f"/admin/ontologies/ontologyitem/{ontology_item.pk}/change/"):
        assert f'style="--c: {ontology_item.color}"></span> {ontology_item.color}' in as_sam.get(page).text


@pytest.fixture
def ontology_item(alice):
    return factories.ontology(owner=alice).items()[0]


def test_authors_who_came_with_a_bundle_can_be_looked_at_with_their_names_there(as_sam, carol):
    author = User.objects.create(username="vera (imported, project 1)", imported_as="vera", is_active=False)
    page = as_sam.get(f"{PEOPLE}{author.pk}/change/").text
    assert "Imported as:" in page and ">vera</div>" in page
    assert 'name="username"' not in page and "Password:" not in page
    assert "Imported as:" not in as_sam.get(f"{PEOPLE}{carol.pk}/change/").text
    assert [person.username for person in listed(as_sam, PEOPLE, imported_as__isempty="0")] == [author.username]
