"""Limits of attempts to sign in and to have mails sent."""

import logging
import re
import time

import pytest
from django.core import mail
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.people import PASSWORD, sign_in
from tests.threads import for_each

HOME, AWAY, ABROAD = "203.0.113.7", "203.0.113.8", "2001:db8::7"


pytestmark = pytest.mark.usefixtures("no_attempts_yet")


@pytest.fixture
def limits(settings):
    """Changes limits, such as ``limits(signup="3/h/ip")``."""

    def change(**rates):
        settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, **rates}

    return change


def fail(login, times=1, at=HOME):
    return [sign_in(Client(), login, "wrong", REMOTE_ADDR=at).status_code for _ in range(times)]


def succeeds(login, at=HOME):
    return sign_in(Client(), login, REMOTE_ADDR=at).status_code == 302


@pytest.fixture
def later(monkeypatch):
    """Moves the clock of the limits."""
    now = time.time
    return lambda seconds: monkeypatch.setattr("time.time", lambda: now() + seconds)


def test_after_five_failures_a_name_waits_and_is_told_how_long(client, carol, later):
    assert fail("carol", 6) == [200] * 5 + [429]
    page = sign_in(client, "carol", REMOTE_ADDR=HOME)
    assert page.status_code == 429
    assert 290 < int(page["Retry-After"]) <= 300
    text = page.text
    assert "Try again in 5 minutes." in text and "choose a new one" in text and "css/app" in text
    later(270)
    page = sign_in(client, "CAROL", REMOTE_ADDR=HOME)
    assert 20 < int(page["Retry-After"]) <= 30 and f"Try again in {page['Retry-After']} seconds." in page.text
    later(301)
    assert succeeds("carol")


@pytest.mark.parametrize("headers", [{"HX-Request": "true"}, {"Accept": "application/json"}])
def test_scripts_are_told_in_a_sentence(client, carol, headers):
    fail("carol", 5)
    answer = client.post("/accounts/login/", {"login": "carol", "password": "x"}, headers=headers, REMOTE_ADDR=HOME)
    assert (answer.status_code, answer["Content-Type"]) == (429, "text/plain")
    assert answer.content == b"Too many attempts. Try again in 5 minutes."


def test_who_fails_on_and_on_locks_out_nobody_else(carol, dave, limits):
    limits(login_failed_at_address="8/10m/ip")
    assert fail("carol", 12).count(200) == 5
    assert succeeds("dave")
    assert succeeds("carol", at=AWAY)


def test_who_is_refused_writes_nothing(carol):
    fail("carol", 5)
    with CaptureQueriesContext(connection) as queries:
        assert fail("carol", 3) == [429] * 3
    assert queries and all(query["sql"].startswith("SELECT") for query in queries)


def test_attempts_that_lie_in_the_future_count_as_now(carol, later):
    later(3600)
    fail("carol", 5)
    later(0)  # the clock was set back
    page = sign_in(Client(), "carol", REMOTE_ADDR=HOME)
    assert page.status_code == 429 and 290 < int(page["Retry-After"]) <= 300
    later(301)
    assert succeeds("carol")


def test_who_succeeds_is_not_counted(carol):
    assert all(succeeds("carol") for _ in range(8))


@pytest.mark.parametrize("at", [HOME, ABROAD])
def test_an_address_that_tries_many_names_waits(carol, dave, limits, at):
    limits(login_failed_at_address="8/10m/ip")
    for i in range(8):
        assert fail(f"name{i}", at=at) == [200]
    assert fail("another", at=at) == [429]
    assert not succeeds("dave", at=at)
    assert succeeds("dave", at=AWAY)


def test_the_network_of_somebody_is_one_address(carol):
    """Who has one address of IPv6 has a whole network of them."""
    for i in range(5):
        assert fail("carol", at=f"2001:db8::{i}") == [200]
    assert fail("carol", at="2001:db8::99") == [429]


def test_a_name_that_is_tried_from_everywhere_waits_but_not_for_its_owner(client, carol, dave, limits):
    limits(login_failed_for_name="8/h/key")
    assert succeeds("carol", at=HOME)
    tried = [fail("carol", at=f"198.51.100.{i}") for i in range(10)]
    assert tried == [[200]] * 8 + [[429]] * 2
    page = sign_in(client, "Carol", REMOTE_ADDR=AWAY)
    assert page.status_code == 429 and "60 minutes" in page.text
    assert succeeds("carol", at=HOME) and succeeds("carol@example.org", at=HOME)
    assert succeeds("dave", at=AWAY)


def test_a_new_password_ends_the_wait(client, carol, limits):
    limits(login_failed_for_name="8/h/key")
    for login in ("carol", "carol@example.org"):
        fail(login, 6)
    for i in range(3):
        fail("carol", at=f"198.51.100.{i}")
    assert not succeeds("carol") and not succeeds("carol", at=AWAY)
    client.post("/accounts/password/reset/", {"email": "carol@example.org"}, REMOTE_ADDR=HOME)
    link = re.search(r"http://[^/]+(/accounts/password/reset/key/\S+)", mail.outbox[0].body)[1]
    form = client.get(link, follow=True).request["PATH_INFO"]
    client.post(form, {"password1": PASSWORD, "password2": PASSWORD}, REMOTE_ADDR=HOME)
    assert succeeds("carol") and succeeds("carol@example.org")
    assert not succeeds("carol", at=AWAY)


def test_reauthentication_counts_as_a_sign_in(client, carol):
    sign_in(client, "carol", REMOTE_ADDR=HOME)
    answers = [client.post("/accounts/reauthenticate/", {"password": "wrong"}, REMOTE_ADDR=HOME) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]


def test_counts_outlast_many_other_entries(carol):
    fail("carol", 5)
    for i in range(400):
        cache.set(f"zz{i}", 1)
    assert fail("carol") == [429]


@pytest.mark.django_db(transaction=True)
def test_attempts_at_the_same_time_are_counted_exactly():
    factories.user("carol")
    answers = for_each(lambda _: fail("carol", 4), range(8))
    assert sum(codes.count(200) for codes in answers) == 5


@pytest.mark.parametrize("email", ["carol@example.org", "stranger@example.org"])
def test_resets_are_limited_for_an_address_whether_it_is_known_or_not(client, carol, dave, limits, email):
    limits(reset_mail_at_address="8/h/ip")

    def reset(email):
        return client.post("/accounts/password/reset/", {"email": email}).status_code

    assert [reset(email) for _ in range(12)] == [302] * 5 + [429] * 7
    assert reset(email.upper()) == 429
    assert reset("dave@example.org") == 302
    assert len(mail.outbox) == (6 if email.startswith("carol") else 1)


def test_resets_are_limited_for_a_network_address(client, carol, limits):
    limits(reset_mail_at_address="3/h/ip")
    codes = [client.post("/accounts/password/reset/", {"email": f"m{i}@example.org"}).status_code for i in range(4)]
    assert codes == [302] * 3 + [429]


def test_limits_of_allauth_say_when_to_try_again_too(client, as_carol, settings, limits):
    settings.OPEN_REGISTRATION = True
    limits(signup="2/h/ip", manage_email="3/h/user")
    codes = [client.post("/accounts/signup/", {"username": "x"}) for _ in range(3)]
    assert [answer.status_code for answer in codes] == [200, 200, 429]
    assert "Try again in 60 minutes." in codes[-1].text and 3500 < int(codes[-1]["Retry-After"]) <= 3600
    as_carol.post("/accounts/reauthenticate/", {"password": PASSWORD}, REMOTE_ADDR=AWAY)
    for i in range(4):
        answer = as_carol.post("/accounts/email/", {"action_add": "", "email": f"m{i}@example.org"}, REMOTE_ADDR=AWAY)
    assert answer.status_code == 429 and 3500 < int(answer["Retry-After"]) <= 3600
    assert len(mail.outbox) == 3


# --- Behind a proxy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "trusted", "lines"),
    [("127.0.0.1", 0, 1), ("10.0.0.2", 0, 1), ("::1", 0, 1), ("127.0.0.1", 1, 0), ("93.184.216.34", 0, 0)],
)
def test_a_proxy_that_the_service_does_not_know_of_is_told_once(carol, settings, caplog, peer, trusted, lines):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = trusted
    with caplog.at_level(logging.WARNING, "annotation_service.attempts"):
        for _ in range(3):
            sign_in(Client(), "carol", REMOTE_ADDR=peer, headers={"X-Forwarded-For": "198.51.100.1"})
    assert [record.getMessage().count("BEHIND_PROXY=1") for record in caplog.records] == [1] * lines


def test_behind_a_proxy_people_are_told_apart_by_what_it_says(carol, dave, settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1

    def tried(forwarded):
        return sign_in(Client(), "carol", "wrong", headers={"X-Forwarded-For": forwarded}).status_code

    assert [tried(f"192.0.2.{i}, {HOME}") for i in range(6)] == [200] * 5 + [429]  # only the last one is the proxy's
    assert tried(AWAY) == 200
