import re

import pytest
from django.core import mail
from django.core.cache import cache

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

    monkeypatch.setattr("projects.figures.home", broken)
    client.raise_request_exception = False
    client.force_login(factories.user("erin"))
    response = client.get("/")
    assert response.status_code == 500
    assert "css/app" in response.content.decode()
