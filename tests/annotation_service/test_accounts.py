import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from annotation_service.models import User, fold
from tests import factories

PASSWORD = "a-long-password"


@pytest.fixture(autouse=True)
def no_attempts_yet(db):
    cache.clear()


def sign_in(client, login, password=PASSWORD, **extra):
    return client.post("/accounts/login/", {"login": login, "password": password}, **extra)


@pytest.mark.parametrize("login", ["carol", "carol@example.org", "CAROL@example.org"])
def test_people_sign_in_by_user_name_or_email(client, carol, login):
    assert sign_in(client, login)["Location"] == "/"
    assert client.get("/").status_code == 200


def test_a_wrong_password_is_refused_where_it_was_typed(client, carol):
    response = sign_in(client, "carol", "wrong")
    assert "not correct" in response.content.decode()
    assert client.get("/").status_code == 302


def test_signing_out_needs_a_post_and_ends_the_session(client, carol):
    sign_in(client, "carol")
    key = client.session.session_key
    client.get("/accounts/logout/")
    assert client.get("/").status_code == 200
    client.post("/accounts/logout/")
    assert client.get("/").status_code == 302
    client.cookies["sessionid"] = key
    assert client.get("/").status_code == 302


def test_the_session_gets_a_new_key_at_sign_in(client, carol):
    session = client.session
    session["x"] = 1
    session.save()
    before = session.session_key
    client.cookies["sessionid"] = before
    sign_in(client, "carol")
    assert client.cookies["sessionid"].value != before


def test_nobody_can_register_unless_it_is_opened(client, settings, db):
    assert "Accounts are by invitation" in client.get("/accounts/signup/").content.decode()
    settings.OPEN_REGISTRATION = True
    data = {"username": "new", "email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/accounts/signup/", data)
    assert client.get("/").status_code == 200
    assert client.get("/ontologies/").status_code == 403


def test_after_too_many_failures_even_the_right_password_waits(client, carol):
    for _ in range(5):
        sign_in(client, "carol", "wrong")
    assert "Too many" in sign_in(client, "carol").content.decode()


def test_nobody_can_lock_out_somebody_at_another_address(client, carol):
    for _ in range(6):
        sign_in(client, "carol", "wrong", REMOTE_ADDR="203.0.113.7")
    assert sign_in(client, "carol", REMOTE_ADDR="203.0.113.8").status_code == 302


def test_a_password_is_reset_by_mail(client, carol):
    client.post("/accounts/password/reset/", {"email": "carol@example.org"})
    link = re.search(r"http://[^/]+(/accounts/password/reset/key/\S+)", mail.outbox[0].body)[1]
    form = client.get(link, follow=True).request["PATH_INFO"]
    client.post(form, {"password1": "another-long-one", "password2": "another-long-one"})
    assert sign_in(client, "carol", PASSWORD).status_code == 200
    assert sign_in(client, "carol", "another-long-one").status_code == 302


def test_a_reset_does_not_tell_who_has_an_account(client, carol):
    for email in ("carol@example.org", "stranger@example.org"):
        assert (
            client.post("/accounts/password/reset/", {"email": email})["Location"] == "/accounts/password/reset/done/"
        )


def test_changing_the_password_ends_other_sessions(client, carol, as_carol):
    sign_in(client, "carol")
    data = {"oldpassword": PASSWORD, "password1": "another-long-one", "password2": "another-long-one"}
    assert client.post("/accounts/password/change/", data).status_code == 302
    assert as_carol.get("/").status_code == 302


@pytest.mark.parametrize(
    "target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "http:evil.example"]
)
def test_signing_in_never_leads_elsewhere(client, carol, target):
    response = client.post("/accounts/login/", {"login": "carol", "password": PASSWORD, "next": target})
    assert response["Location"] == "/"


def test_an_expired_session_leads_fragments_and_data_to_the_sign_in_page(client, alice):
    project = factories.project(by=alice)
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/projects/{project.pk}/"}
    fragment = client.get(f"/projects/{project.pk}/figures/", headers=headers)
    assert fragment.status_code == 204
    assert fragment["HX-Redirect"] == f"/accounts/login/?next=%2Fprojects%2F{project.pk}%2F"
    data = client.post(f"/projects/{project.pk}/items/1/done/", headers={"Accept": "application/json"})
    assert data.status_code == 401
    assert "signed out" in data.json()["error"]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/nothing/", 404), ("/ontologies/", 403), ("/projects/?q=%00", 400), ("/accounts/login/?x=%00", 400)],
)
def test_error_pages_are_pages_of_the_service(as_carol, path, status):
    response = as_carol.get(path)
    assert response.status_code == status
    assert "css/app" in response.content.decode()
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


def test_the_page_for_errors_of_the_service_needs_nothing(client, settings, db, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("broken")

    monkeypatch.setattr("projects.progress.home", broken)
    client.raise_request_exception = False
    client.force_login(factories.user("erin"))
    response = client.get("/")
    assert response.status_code == 500
    assert "css/app" in response.content.decode()


# --- Names in any case ---------------------------------------------------------------------------------------------------

CASES = [("Ärmel", "äRMEL"), ("straße", "STRASSE"), ("Σίσυφος", "ΣΊΣΥΦΟΣ")]
SIGNS = [("İpek", "i̇pek"), ("ΐος", "Ϊ́ΟΣ")]  # typed with combining signs, which no user name can have


@pytest.mark.parametrize(("stored", "typed"), [*CASES, *SIGNS])
def test_people_are_found_in_any_case_and_script(client, db, stored, typed):
    person = User.objects.create_user(stored, f"post@{stored}.example", PASSWORD)
    for login in (typed, stored, f"POST@{typed}.example", f" {typed} "):
        assert sign_in(client, login).status_code == 302, login
        assert client.session["_auth_user_id"] == str(person.pk)
        client.logout()
    assert User.objects.get_by_natural_key(typed) == person


@pytest.mark.parametrize(("stored", "typed"), [("Carol@Example.org", "carol@example.org"), *CASES])
def test_a_password_is_reset_from_an_address_in_any_case(client, db, stored, typed):
    own = stored if "@" in stored else f"post@{stored}.example"
    typed = typed if "@" in typed else f"Post@{typed}.example"
    User.objects.create_user("carol", own, PASSWORD)
    client.post("/accounts/password/reset/", {"email": typed})
    assert [to.lower() for to in mail.outbox[0].to] == [own.lower()]  # never to what was typed


def test_every_letter_is_folded_like_its_upper_and_lower_case():
    unlike = [
        letter
        for letter in map(chr, [*range(0xD800), *range(0xE000, 0x20000)])
        if letter != "ı" and not fold(letter) == fold(letter.upper()) == fold(letter.lower()) == fold(fold(letter))
    ]
    assert not unlike


@pytest.mark.parametrize(("stored", "typed"), [("carol", "CAROL"), *CASES])
def test_nobody_gets_a_name_or_address_that_differs_by_case_only(client, as_sam, settings, stored, typed):
    settings.OPEN_REGISTRATION = True
    User.objects.create_user(stored, f"post@{stored}.example", PASSWORD)
    other = User.objects.create_user("other", "other@example.org", PASSWORD)
    taken = ["A user with that username already exists.", "A user is already registered with this email address."]
    names = {"username": typed, "email": f"Post@{typed}.example"}
    passwords = {"password1": PASSWORD, "password2": PASSWORD}

    page = client.post("/accounts/signup/", {**names, **passwords})
    assert [page.context["form"].errors[name] for name in names] == [[text] for text in taken]

    page = as_sam.post(
        "/admin/annotation_service/user/add/", {"username": typed, "usable_password": "true", **passwords}
    )
    assert page.context["adminform"].errors == {"username": [taken[0]]}
    change = {**names, "date_joined_0": "2026-01-01", "date_joined_1": "10:00:00", "is_active": "on"}
    page = as_sam.post(f"/admin/annotation_service/user/{other.pk}/change/", change)
    assert page.context["adminform"].errors == {name: [text] for name, text in zip(names, taken, strict=True)}

    client.force_login(other)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    page = client.post("/accounts/email/", {"action_add": "", "email": names["email"]})
    assert page.context["form"].errors == {"email": [taken[1]]}

    for fields, text in (({"username": typed, "email": ""}, taken[0]), ({**names, "username": "new"}, taken[1])):
        with pytest.raises(CommandError, match=text if "email" in text else "already taken"):
            call_command("createsuperuser", "--noinput", **fields)
    assert User.objects.count() == 3


def test_a_further_address_of_somebody_is_taken_too(client, carol, dave):
    EmailAddress.objects.create(user=carol, email="second@example.org", verified=True)
    assert sign_in(client, "Second@Example.org")["Location"] == "/"
    dave.email = "SECOND@example.org"
    with pytest.raises(ValidationError, match="already registered"):
        dave.save()


def test_the_first_address_follows_what_the_administrator_writes(client, as_sam, carol):
    sign_in(client, "carol@example.org")
    client.get("/accounts/email/")  # allauth makes its own row of the address here
    assert EmailAddress.objects.get(user=carol).email == "carol@example.org"
    change = {"username": "carol", "email": "New@example.org", "is_active": "on"}
    as_sam.post(
        f"/admin/annotation_service/user/{carol.pk}/change/",
        {**change, "date_joined_0": "2026-01-01", "date_joined_1": "10:00:00"},
    )
    client.logout()
    assert sign_in(client, "carol@example.org").status_code == 200
    assert sign_in(client, "new@example.org").status_code == 302
    client.post("/accounts/password/reset/", {"email": "carol@example.org"})
    assert not [message for message in mail.outbox if "reset" in message.subject.lower() and message.to]


def test_no_way_around_the_folded_names(carol, dave):
    erin = User.objects.bulk_create([User(username="Erin", email="Erin@example.org")])[0]
    assert (erin.username_folded, erin.email_folded) == ("erin", "erin@example.org")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.bulk_create([User(username="ERIN")])
    with pytest.raises(TypeError, match="one by one"):
        User.objects.filter(pk=carol.pk).update(email="x@example.org")
    carol.username = "Caroline"
    with pytest.raises(TypeError, match="one by one"), transaction.atomic():
        User.objects.bulk_update([carol], ["username"])
    carol.save(update_fields=["username"])
    assert User.objects.get_by_natural_key("CAROLINE") == carol
    assert User.objects.filter(pk=dave.pk).update(first_name="Dave") == 1
