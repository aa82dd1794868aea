"""Signing in by a real identity provider, which runs beside the service: run by bin/test --provider."""

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from playwright.sync_api import expect

from annotation_service.leaving import set_active
from annotation_service.models import PROJECT_MANAGERS, User
from projects.members import Invitation
from tests import factories
from tests.annotation_service.providers import signing_in_by

pytestmark = [
    pytest.mark.skipif("PROVIDER" not in os.environ, reason="bin/test --provider installs the provider"),
    pytest.mark.e2e,
    pytest.mark.own_context,  # of the provider's cookies, too
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("no_attempts_yet"),
]
NAME = "Example University"
ANNA = {"email": "anna@example.org", "email_verified": True, "preferred_username": "anna", "groups": ["leads"]}
PAGES = os.environ.get("PAGES")  # where pictures of the pages go


class RunningProvider:
    def __init__(self, callback, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.issuer, self.callback, self.people = f"http://127.0.0.1:{self.port}", callback, folder / "people.json"
        self.know(anna=ANNA)

    def know(self, **people):
        self.people.write_text(json.dumps(people))

    def start(self):
        command = ["node", "provider.js", str(self.port), self.callback, str(self.people)]
        self.process = subprocess.Popen(
            command, cwd=os.environ["PROVIDER"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        while (line := self.process.stdout.readline()) and "ready" not in line:
            pass
        return self

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def running(live_server, page, tmp_path):
    elsewhere = re.compile("^https:")  # the letters of the pages of the provider
    page.context.route(elsewhere, lambda route: route.fulfill(body=""))
    provider = RunningProvider(f"{live_server.url}/accounts/oidc/callback/", tmp_path).start()
    yield provider
    provider.stop()


@pytest.fixture
def provider(settings, running):
    with signing_in_by(settings, running.issuer, OIDC_MANAGERS=["leads"]):
        yield running


def begin(page, address="/accounts/login/"):
    page.goto(address)
    page.get_by_role("button", name=f"Sign in with {NAME}").click()


def go_through(page, login="anna"):
    """The pages of the provider, as often as it asks: who it is, and whether the service may know that."""
    page.get_by_placeholder("Enter any login").fill(login)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def sign_out(page):
    page.get_by_label("Your account").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def picture(page, name):
    if PAGES:
        for theme, width in (("light", 1400), ("dark", 1400), ("light", 420)):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 800})
            page.screenshot(path=Path(PAGES) / f"{name}-{theme}-{width}.png")
        page.set_viewport_size({"width": 1400, "height": 800})


def test_somebody_comes_for_the_first_time_and_again_and_loses_a_group(page, provider):
    page.goto("/accounts/login/")
    picture(page, "login")
    begin(page, "/accounts/login/?next=/datasets/")
    go_through(page)
    expect(page).to_have_url(re.compile("/datasets/$"))
    picture(page, "signed-in")
    anna = User.objects.get(username="anna")
    assert anna.email == "anna@example.org" and EmailAddress.objects.get(user=anna).verified
    sign_out(page)
    provider.know(anna={**ANNA, "groups": []})
    begin(page)  # the provider knows who sits there
    expect(page.get_by_role("link", name="Projects")).to_be_visible()
    expect(page.get_by_role("link", name="Datasets")).to_have_count(0)
    assert not anna.groups.filter(name=PROJECT_MANAGERS).exists()
    assert User.objects.count() == 1


def test_an_account_with_the_same_sure_address_is_theirs(page, provider, carol):
    provider.know(anna={**ANNA, "email": "carol@example.org"})
    begin(page)
    go_through(page)
    expect(page.get_by_label("Your account, carol")).to_be_visible()
    assert User.objects.count() == 1


def test_somebody_invited_comes_back_to_the_invitation(page, provider, alice):
    project = factories.project(by=alice)
    _, token = Invitation.make(project, role="annotator", by=alice, address="anna@example.org")
    page.goto(f"/projects/invitations/{token}/")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("button", name=f"Sign in with {NAME}").click()
    go_through(page)
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Welcome to")).to_be_visible()


def test_who_is_deactivated_gets_no_further(page, provider, carol):
    provider.know(anna={**ANNA, "email": "carol@example.org"})
    set_active(carol, False)
    begin(page)
    go_through(page)
    expect(page.get_by_role("heading", name="This account is switched off")).to_be_visible()
    picture(page, "deactivated")
    page.goto("/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_with_local_accounts_off_there_is_one_way(page, running, settings):
    with signing_in_by(settings, running.issuer, local_accounts=False):
        page.goto("/accounts/login/")
        expect(page.get_by_label("Password")).to_have_count(0)
        picture(page, "login-alone")
        begin(page)
        go_through(page)
        expect(page.get_by_label("Your account, anna")).to_be_visible()
        expect(page.get_by_role("link", name="Change password", include_hidden=True)).to_have_count(0)
        sign_out(page)


def test_somebody_who_cancels_is_told(page, provider, problems):
    problems.expect("403")
    begin(page, "/accounts/login/?next=/projects/")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_text("It was cancelled, or refused")).to_be_visible()
    picture(page, "cancelled")
    page.get_by_role("link", name="Back to sign in").click()
    begin(page, page.url)
    go_through(page)
    expect(page).to_have_url(re.compile("/projects/$"))


def test_a_wrong_secret_is_said(page, running, settings, problems, caplog):
    problems.expect("502")
    with signing_in_by(settings, running.issuer, secret="wrong"):
        begin(page)
        go_through(page)
        expect(page.get_by_text("does not answer as it should")).to_be_visible()
        picture(page, "wrong-secret")
    assert "invalid_client" in caplog.text
    assert not User.objects.exists()


def test_a_provider_that_is_away_is_said(page, provider, problems):
    problems.expect("502")
    provider.stop()
    begin(page)
    expect(page.get_by_text(f"{NAME} cannot be reached")).to_be_visible()
    picture(page, "away")
    provider.start()
    page.get_by_role("link", name="Back to sign in").click()
    begin(page, page.url)
    go_through(page)
    expect(page.get_by_label("Your account, anna")).to_be_visible()
