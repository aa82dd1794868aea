"""Who somebody is here whom an identity provider names, and what they may do."""

import os
import subprocess
import sys

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.conf import settings as SETTINGS
from django.contrib.auth.models import Group
from django.core import mail
from django.core.cache import cache

from annotation_service import identity
from annotation_service.leaving import anonymise, set_active
from annotation_service.models import PROJECT_MANAGERS, User
from projects.members import Invitation
from tests import factories
from tests.annotation_service.providers import StandIn, signing_in_by
from tests.people import sign_in

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
ANNA = {"sub": "17", "preferred_username": "anna", "email": "anna@example.org", "email_verified": True}


@pytest.fixture
def provider(settings):
    stand_in = StandIn()
    with signing_in_by(settings, stand_in.issuer, OIDC_MANAGERS=["leads", "heads"]):
        yield stand_in
    stand_in.server.shutdown()
    stand_in.server.server_close()


@pytest.fixture
def provider_alone(settings):
    stand_in = StandIn()
    with signing_in_by(settings, stand_in.issuer, local_accounts=False):
        yield stand_in
    stand_in.server.shutdown()
    stand_in.server.server_close()


def signed_in(client):
    return User.objects.filter(pk=client.session.get("_auth_user_id")).first()


def is_manager(person):
    return person.groups.filter(name=PROJECT_MANAGERS).exists()


def test_somebody_new_gets_an_account_and_finds_it_again(client, provider):
    page = provider.sign_in(client, **ANNA, given_name="Anna", family_name="Lee")
    anna = signed_in(client)
    assert page.request["PATH_INFO"] == "/" and page.status_code == 200
    assert (anna.username, anna.email, anna.get_full_name()) == ("anna", "anna@example.org", "Anna Lee")
    assert not anna.has_usable_password() and not anna.is_staff and not is_manager(anna)
    assert EmailAddress.objects.get(user=anna).verified
    client.post("/accounts/logout/")
    provider.sign_in(client, sub="17", preferred_username="anna.lee", email="other@example.org", email_verified=True)
    assert signed_in(client) == anna
    assert signed_in(client).username == "anna"


def test_nothing_that_the_provider_says_of_a_person_is_kept_but_the_tie(client, provider):
    provider.sign_in(client, **ANNA)
    tie = SocialAccount.objects.get()
    assert (tie.extra_data, len(tie.uid)) == ({"issuer": provider.issuer}, 64)


def test_another_provider_in_its_place_takes_nobody_for_somebody_else(client, provider, settings):
    provider.sign_in(client, **ANNA)
    anna = signed_in(client)
    client.post("/accounts/logout/")
    other = StandIn()
    with signing_in_by(settings, other.issuer):
        other.sign_in(client, sub="17", preferred_username="anna")
    assert signed_in(client).username == "anna2" and signed_in(client) != anna


@pytest.mark.parametrize("verified", [True, "true"])
def test_an_account_is_found_by_an_address_that_is_sure_on_both_sides(client, provider, verified):
    entered = factories.user("carol")  # an administrator has entered the address
    provider.sign_in(client, **{**ANNA, "email": "Carol@example.org", "email_verified": verified})
    assert signed_in(client) == entered
    assert entered.check_password("a-long-password") and User.objects.get(pk=entered.pk).has_usable_password()


@pytest.mark.parametrize("verified", [False, "false", None, 1.5, ["true"]])
def test_no_account_is_found_by_an_address_that_the_provider_does_not_vouch_for(client, provider, verified, carol):
    page = provider.sign_in(client, **{**ANNA, "email": carol.email, "email_verified": verified})
    assert (signed_in(client).username, signed_in(client).email) == ("anna", "")
    assert "Another account has the address carol@example.org" in page.text


def test_no_account_is_found_by_an_address_that_somebody_has_only_typed(client, provider, carol):
    EmailAddress.objects.create(user=carol, email=carol.email, primary=True, verified=False)
    provider.sign_in(client, **{**ANNA, "email": carol.email})
    assert signed_in(client) != carol and signed_in(client).email == ""


def test_an_account_that_the_provider_knows_as_somebody_elses_is_left_alone(client, provider):
    """The address was given to somebody new there."""
    provider.sign_in(client, **ANNA)
    anna = signed_in(client)
    provider.sign_in(client, **{**ANNA, "sub": "18", "preferred_username": "anne"})
    assert signed_in(client) != anna and signed_in(client).email == ""


def test_a_session_ends_before_what_the_groups_say_is_old(client, provider):
    provider.sign_in(client, **ANNA)
    assert client.session.get_expiry_age() <= 12 * 3600


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("carol", "carol2"),
        ("CAROL", "CAROL2"),
        ("carоl", "user"),  # a Cyrillic о
        ("dave@example.org", "dave"),
        ("EXAMPLE\\dave", "EXAMPLEdave"),
        ("Zoë Lee", "ZoëLee"),
        ("", "anna"),
        ("12345", "user"),
        (None, "anna"),
        (["dave"], "user"),
        ("d\0ave", "dave"),
        ("x" * 5000, "x" * 100),
    ],
)
def test_a_new_account_gets_a_name_of_its_own(client, provider, carol, called, name):
    provider.sign_in(client, **{**ANNA, "preferred_username": called})
    found = signed_in(client)
    assert found != carol
    assert found.username.rstrip("0123456789") == "user" if name == "user" else found.username == name


def test_groups_make_project_managers_and_unmake_them(client, provider):
    Group.objects.filter(name=PROJECT_MANAGERS).delete()
    for groups, expected in [(["leads", "x"], True), ("heads", True), (["lead"], False), (None, False)]:
        provider.sign_in(client, **ANNA, groups=groups)
        assert is_manager(signed_in(client)) == expected


def test_without_names_of_groups_nobody_becomes_or_stops_being_a_manager(client, provider, settings):
    settings.OIDC_MANAGERS = []
    provider.sign_in(client, **ANNA, groups=["leads"])
    assert not is_manager(signed_in(client))
    signed_in(client).groups.add(Group.objects.get_or_create(name=PROJECT_MANAGERS)[0])
    provider.sign_in(client, **ANNA)
    assert is_manager(signed_in(client))


def test_staff_follows_the_groups_if_that_is_set_and_superusers_never_do(client, provider, settings, sam):
    provider.sign_in(client, **ANNA, roles=["admins"])
    assert not signed_in(client).is_staff
    settings.OIDC_STAFF, settings.OIDC_GROUPS_CLAIM = ["admins"], "roles"
    provider.sign_in(client, **ANNA, roles=["admins"])
    assert signed_in(client).is_staff and not signed_in(client).is_superuser
    provider.sign_in(client, **ANNA, roles=[])
    assert not signed_in(client).is_staff
    provider.sign_in(client, sub="5", email=sam.email, email_verified=True)
    assert signed_in(client) == sam and signed_in(client).is_staff and signed_in(client).is_superuser


def test_who_is_deactivated_is_refused(client, provider):
    provider.sign_in(client, **ANNA)
    set_active(signed_in(client), False)
    client.logout()
    page = provider.sign_in(client, **ANNA)
    assert signed_in(client) is None
    assert "This account is switched off" in page.text


def test_who_is_anonymised_is_nobody_any_more(client, provider):
    provider.sign_in(client, **ANNA)
    anna = signed_in(client)
    anonymise(anna)
    assert not SocialAccount.objects.exists()
    client.logout()
    provider.sign_in(client, **ANNA)
    assert signed_in(client) != anna


def test_an_invitation_survives_the_way(client, provider, alice):
    project = factories.project(by=alice)
    _, token = Invitation.make(project, role="annotator", by=alice, address="anna@example.org")
    address = f"/projects/invitations/{token}/"
    page = provider.sign_in(client, **ANNA, to=address)
    assert page.request["PATH_INFO"] == address and "Accept" in page.text
    client.post(address, {"accept": "1"})
    assert project.members().filter(user=signed_in(client)).exists()


def test_signing_in_leads_nowhere_else(client, provider):
    assert provider.sign_in(client, **ANNA, to="https://evil.example/").request["PATH_INFO"] == "/"


def test_what_the_form_says_beside_where_to_go_is_not_listened_to(client, provider, carol):
    client.force_login(carol)
    page = client.post("/accounts/oidc/sign-in/?process=connect&scope=more&auth_params=prompt%3Dnone")
    assert "more" not in page.context["url"] and "prompt" not in page.context["url"]
    provider.sign_in(client, **ANNA)
    assert signed_in(client) != carol and not SocialAccount.objects.filter(user=carol).exists()


@pytest.mark.parametrize(
    ("say", "status", "words"),
    [
        ({"error": "access_denied"}, 403, "It was cancelled, or refused"),
        ({"error": "server_error"}, 502, "cannot be reached, or does not answer"),
        ({"code": "c", "state": "invented"}, 403, "begun in another browser"),
        ({"state": ""}, 403, "begun in another browser"),
    ],
)
def test_what_the_provider_refuses_is_said(client, provider, say, status, words):
    page = provider.sign_in(client, say=say, to="/projects/", **ANNA)
    assert (page.status_code, signed_in(client)) == (status, None)
    assert words in page.text
    assert ("next=/projects/" in page.text) == ("error" in say)


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/userinfo"])
@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"[]", b"7", b"{}", b'{"sub": 5}', b'{"id_token": "x.y.z", "access_token": 1}']
)
def test_odd_answers_of_the_provider_are_no_failure_of_ours(client, provider, path, answer):
    provider.instead[path] = answer
    page = provider.sign_in(client, **ANNA)
    assert (page.status_code, signed_in(client)) == (502, None)
    assert "does not answer as it should" in page.text


@pytest.mark.parametrize("token", [{"sub": "18"}, {"aud": "others"}, {"iss": "https://evil.example"}, {"exp": 1}])
def test_a_token_that_is_for_others_is_refused(client, provider, token):
    provider.token = token
    assert provider.sign_in(client, **ANNA).status_code == 502
    assert signed_in(client) is None


def test_a_provider_that_is_away_is_said(client, provider, caplog):
    provider.server.shutdown()
    provider.server.server_close()
    page = provider.sign_in(client, **ANNA)
    assert page.status_code == 502 and "Example University cannot be reached" in page.text
    assert "could not be asked" in caplog.text


def test_of_two_tabs_at_the_same_time_one_is_told(client, provider, monkeypatch):
    provider.sign_in(client, **ANNA)
    tie = SocialAccount.objects.get()
    signed_in(client).delete()
    client.logout()
    make = identity._new_person

    def made_meanwhile(request, claims):
        person = make(request, claims)
        SocialAccount.objects.create(user=person, provider=tie.provider, uid=tie.uid)
        return person

    monkeypatch.setattr(identity, "_new_person", made_meanwhile)
    page = provider.sign_in(client, **ANNA)
    assert page.status_code == 409 and "signing in twice" in page.text
    assert not User.objects.filter(username="anna").exists()


def test_attempts_are_limited(client, provider, settings):
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "provider_sign_in": "1/m/ip"}
    assert provider.sign_in(client, **ANNA).status_code == 200
    assert provider.sign_in(client, **ANNA).status_code == 429
    cache.clear()


def test_the_page_has_both_ways_and_a_form_that_needs_a_post(client, provider):
    page = client.get("/accounts/login/?next=/projects/").text
    assert "Sign in with Example University" in page and 'name="password"' in page
    assert page.count('name="next" value="/projects/"') == 2
    assert client.get("/accounts/oidc/sign-in/").status_code == 405


def test_without_a_provider_nothing_says_so(client, db):
    assert "Sign in with" not in client.get("/accounts/login/").text
    assert client.post("/accounts/oidc/sign-in/").status_code == 404


def test_with_local_accounts_off_there_is_one_way(client, provider_alone, carol, alice):
    page = client.get("/accounts/login/").text
    assert "Sign in with Example University" in page and 'name="password"' not in page
    assert sign_in(client, "carol").status_code == 403
    for path in ("signup", "password/reset", "password/change", "password/set", "email", "reauthenticate"):
        assert client.get(f"/accounts/{path}/").status_code in (302, 404), path
        assert client.post(f"/accounts/{path}/", {"email": carol.email}).status_code == 404, path
    _, token = Invitation.make(factories.project(by=alice), role="annotator", by=alice, address="anna@example.org")
    address = f"/projects/invitations/{token}/"
    assert "Create account" not in client.get(address).text
    made = {"username": "new", "password1": "a-long-password", "password2": "a-long-password", "accept": "1"}
    assert client.post(address, made).status_code == 422
    assert not User.objects.filter(username="new").exists()
    page = provider_alone.sign_in(client, **ANNA, to=address)
    assert "Accept" in page.text and "Change password" not in page.text
    client.force_login(carol)
    assert "no confirmed address" in client.get(address).text


def run(*arguments, **environment):
    clean = {"PATH": os.environ["PATH"], "VAR_DIR": "/nonexistent", "SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "a"}
    clean["DJANGO_SETTINGS_MODULE"] = "annotation_service.settings"
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=SETTINGS.BASE_DIR, env=clean | environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"LOCAL_ACCOUNTS": "0"}, "LOCAL_ACCOUNTS=0 without OIDC_ISSUER"),
        ({"OIDC_ISSUER": "https://example.org"}, "OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set"),
        ({"OIDC_ISSUER": "http://example.org"}, "must begin with https://"),
    ],
)
def test_the_service_does_not_start_with_half_a_provider(environment, reason):
    assert reason in run("manage.py", "check", **environment).stderr


@pytest.mark.parametrize("local_accounts", ["0", "1"])
def test_the_service_starts_with_a_whole_one(local_accounts):
    whole = {"OIDC_ISSUER": "https://example.org/", "OIDC_CLIENT_ID": "a", "OIDC_CLIENT_SECRET": "b"}
    found = run("manage.py", "check", "--deploy", "--fail-level", "ERROR", LOCAL_ACCOUNTS=local_accounts, **whole)
    assert found.returncode == 0, found.stderr


def test_without_the_libraries_it_says_how_to_get_them():
    code = "import importlib.util as u; u.find_spec = lambda name: None; import annotation_service.settings"
    found = run("-c", code, OIDC_ISSUER="https://example.org")
    assert "pip install 'django-allauth[socialaccount]" in found.stderr


def test_without_a_provider_its_libraries_are_not_loaded():
    code = "import django, sys; django.setup(); import annotation_service.urls"
    code += "; print([name for name in ('jwt', 'requests', 'cryptography') if name in sys.modules])"
    found = run("-c", code)
    assert found.stdout.strip() == "[]", found.stderr


def test_who_signs_in_by_the_provider_gets_no_other_way_in(client, provider, carol):
    provider.sign_in(client, **ANNA)
    anna = signed_in(client)
    client.post("/accounts/password/set/", {"password1": "a-long-password", "password2": "a-long-password"})
    assert not User.objects.get(pk=anna.pk).has_usable_password()
    assert "Change password" not in client.get("/").text
    client.post("/accounts/logout/")
    for person in (anna, carol):
        client.post("/accounts/password/reset/", {"email": person.email})
    assert [each.to for each in mail.outbox] == [[carol.email]]
    User.objects.filter(pk=anna.pk).update(is_superuser=True)
    client.post("/accounts/password/reset/", {"email": anna.email})
    assert [each.to for each in mail.outbox] == [[carol.email], [anna.email]]
