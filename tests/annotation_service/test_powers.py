"""Nobody but a superuser gives powers, or gets at an account that has some: tried as somebody who may only change accounts."""

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, Permission
from django.test import Client

from annotation_service.models import PROJECT_MANAGERS, User
from tests import factories
from tests.people import PASSWORD

PEOPLE = "/admin/annotation_service/user/"
GROUPS = "/admin/auth/group/"
ADDRESSES = "/admin/account/emailaddress/"
CHANGE = {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00", "is_active": "on"}
MINE = [
    "view_user",
    "add_user",
    "change_user",
    "delete_user",
    "view_group",
    "add_group",
    "change_group",
    "delete_group",
]
MINE += [f"{verb}_emailaddress" for verb in ("view", "change", "delete")]


def permission(name):
    return Permission.objects.get(codename=name)


@pytest.fixture
def tom(db):
    """Staff who may change accounts, groups and addresses, and nothing else."""
    tom = factories.user("tom", is_staff=True)
    tom.user_permissions.set(Permission.objects.filter(codename__in=MINE))
    return tom


@pytest.fixture
def as_tom(tom):
    client = Client()
    client.force_login(tom)
    return client


def made_superuser(person):
    person.is_superuser = True
    person.save()


def made_staff(person):
    person.is_staff = True
    person.save()


def given_a_permission(person):
    person.user_permissions.add(permission("view_group"))


def put_into_a_powerful_group(person):
    powerful = Group.objects.create(name="Powerful")
    powerful.permissions.add(permission("view_group"))
    person.groups.add(powerful)


@pytest.fixture(params=[made_superuser, made_staff, given_a_permission, put_into_a_powerful_group])
def powerful(request, db):
    person = factories.user("paula")
    EmailAddress.objects.create(user=person, email="second@example.org", verified=False)
    request.param(person)
    return person


def state():
    """All that an account can do, and how one gets into it."""
    people = User.objects.order_by("pk").values()
    rows = [(each, *through.objects.order_by("pk").values_list()) for each in people for through in THROUGH]
    return [*rows, *Group.permissions.through.objects.order_by("pk").values_list(), *Group.objects.values_list()]


THROUGH = (User.groups.through, User.user_permissions.through)


def test_whoever_may_change_accounts_gives_nobody_powers(as_tom, carol, tom):
    powers = Group.objects.create(name="Powerful")
    powers.permissions.add(permission("view_group"))
    plain = Group.objects.get_or_create(name=PROJECT_MANAGERS)[0]
    extra = {"is_staff": "on", "is_superuser": "on", "user_permissions": permission("delete_group").pk}
    names = {"username": "carol", "email": "carol@example.org"}
    assert as_tom.post(f"{PEOPLE}{carol.pk}/change/", {**CHANGE, **names, **extra}).status_code == 302
    refused = as_tom.post(f"{PEOPLE}{carol.pk}/change/", {**CHANGE, **names, **extra, "groups": [powers.pk, plain.pk]})
    assert refused.status_code == 200 and f"{powers.pk} is not one of the available choices" in refused.text
    as_tom.post(f"{PEOPLE}{carol.pk}/change/", {**CHANGE, **names, "groups": [plain.pk]})
    added = {"username": "new", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    refused = as_tom.post(f"{PEOPLE}add/", {**added, **extra, "groups": powers.pk})
    assert f"{powers.pk} is not one of the available choices" in refused.text
    as_tom.post(f"{PEOPLE}add/", {**added, **extra})
    for name in ("carol", "new"):
        person = User.objects.get(username=name)
        assert not (person.is_staff or person.is_superuser or person.user_permissions.exists())
        assert {*person.groups.all()} == ({plain} if name == "carol" else set())


def test_whoever_may_change_accounts_gets_at_none_with_powers(as_tom, powerful, tom):
    before, address = state(), EmailAddress.objects.get()
    names = {"username": "mine", "email": "mine@example.org", "password": "x", "groups": []}
    changed = {"usable_password": "true", "password1": "another-long-one", "password2": "another-long-one"}
    for person in (powerful, tom):  # their own powers, too
        page = f"{PEOPLE}{person.pk}/"
        assert as_tom.get(f"{page}change/").status_code == 200
        assert 'name="_save"' not in as_tom.get(f"{page}change/").text
        for path, sent in {"change/": {**CHANGE, **names}, "password/": changed, "delete/": {"post": "yes"}}.items():
            assert as_tom.post(f"{page}{path}", sent).status_code == 403, path
    for action in ("deactivate", "anonymise", "delete_selected"):
        sent = {"action": action, "_selected_action": [powerful.pk], "select_across": "1", "post": "yes"}
        page = as_tom.post(PEOPLE, sent, follow=True)
        assert "Only superusers change the account of “paula”." in page.text or "delete" in action
    assert state() == before
    for path, sent in {f"{address.pk}/delete/": {"post": "yes"}, f"{address.pk}/change/": {"verified": "on"}}.items():
        assert as_tom.post(f"{ADDRESSES}{path}", sent).status_code in (302, 403)
    for action in ("make_verified", "delete_selected"):
        as_tom.post(ADDRESSES, {"action": action, "_selected_action": [address.pk], "post": "yes"})
    address.refresh_from_db()
    assert not address.verified and address.email not in as_tom.get(ADDRESSES).text


def test_groups_are_changed_by_superusers_alone(as_tom, as_sam, tom):
    group = Group.objects.create(name="Helpers")
    tom.groups.add(group)
    sent = {"name": "Helpers", "permissions": permission("delete_group").pk}
    assert as_tom.get(f"{GROUPS}{group.pk}/change/").status_code == 200
    for path in (f"{group.pk}/change/", f"{group.pk}/delete/", "add/"):
        assert as_tom.post(f"{GROUPS}{path}", {**sent, "post": "yes"}).status_code == 403
    as_tom.post(GROUPS, {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"})
    assert not group.permissions.exists()
    assert as_sam.post(f"{GROUPS}{group.pk}/change/", sent).status_code == 302
    assert group.permissions.get().codename == "delete_group"


def test_whoever_may_change_accounts_helps_all_others(as_tom, carol, dave):
    address = EmailAddress.objects.create(user=carol, email="second@example.org", verified=False)
    as_tom.post(ADDRESSES, {"action": "make_verified", "_selected_action": [address.pk]})
    address.refresh_from_db()
    changed = {"usable_password": "true", "password1": "another-long-one", "password2": "another-long-one"}
    assert as_tom.post(f"{PEOPLE}{carol.pk}/password/", changed).status_code == 302
    as_tom.post(PEOPLE, {"action": "deactivate", "_selected_action": [carol.pk]})
    as_tom.post(PEOPLE, {"action": "anonymise", "_selected_action": [dave.pk]})
    carol.refresh_from_db()
    dave.refresh_from_db()
    assert address.verified and carol.check_password("another-long-one") and not carol.is_active and dave.anonymised_at


def test_to_see_addresses_is_not_to_confirm_them(as_tom, tom, carol):
    tom.user_permissions.set([permission("view_emailaddress")])
    address = EmailAddress.objects.create(user=carol, email="second@example.org", verified=False)
    as_tom.post(ADDRESSES, {"action": "make_verified", "_selected_action": [address.pk]})
    address.refresh_from_db()
    assert not address.verified


def test_superusers_give_powers(as_sam, carol):
    sent = {**CHANGE, "username": "carol", "email": "carol@example.org", "is_staff": "on", "user_permissions": []}
    assert as_sam.post(f"{PEOPLE}{carol.pk}/change/", sent).status_code == 302
    assert User.objects.get(pk=carol.pk).is_staff
