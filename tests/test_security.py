"""What holds for the whole code base, read off its files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from tests import factories
from tests.test_imports import APPS

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_templates_keep_to_what_the_content_security_policy_allows(path):
    """htmx drops filters, hx-on and js: silently when eval is off, and a browser drops inline code."""
    text = path.read_text()
    assert "hx-on" not in text
    assert not re.search(r"""hx-trigger=["'][^"']*\[""", text)
    assert not re.search(r"""["'\s](js|javascript):""", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*type=.application/json)", text)
    assert not re.search(r"<style|\son[a-z]+=", text)
    assert not re.search(r"\|\s*safe\b|autoescape off", text)
    for style in re.findall(r'style="([^"]*)"', text):
        assert re.fullmatch(r"--[a-z]+: ?(\{\{[^}]*\}\}%?|#[0-9A-Fa-f]{6})", style), style


def test_no_output_is_marked_as_safe():
    """But the rows of the tree, which write themselves; that they escape what people typed is tested with the editor."""
    for path in SOURCES:
        if path.relative_to(ROOT).as_posix() == "ontologies/editor/tree_rows.py":
            continue
        assert "mark_safe" not in path.read_text(), path


def test_nothing_is_fetched_from_the_network():
    for path in SOURCES:
        assert not re.search(r"^\s*(import|from) (requests|httpx|urllib\.request|urllib3)\b", path.read_text(), re.M), (
            path
        )


def run_with(**environment):
    clean = {"PATH": os.environ["PATH"], "VAR_DIR": "/nonexistent"}
    return subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=clean | environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, "SECRET_KEY is missing"),
        ({"SECRET_KEY": "short", "ALLOWED_HOSTS": "example.org"}, "SECRET_KEY is missing or shorter"),
        ({"SECRET_KEY": "x" * 60}, "ALLOWED_HOSTS must name"),
        ({"SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS must name"),
        (
            {"SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "a", "MAX_FILE_BYTES": "lots"},
            "MAX_FILE_BYTES must be a whole number",
        ),
        (
            {"SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "a", "SLOW_CLIENT_BYTES": "0"},
            "SLOW_CLIENT_BYTES must be a whole number from 1",
        ),
        ({"SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "a", "DEBUG": "1"}, "DEBUG is for local mode only"),
    ],
)
def test_the_service_does_not_start_without_its_settings(environment, reason):
    result = run_with(**environment)
    assert result.returncode != 0
    assert reason in result.stderr


def test_an_sqlite_that_is_too_old_is_told_of_at_once():
    code = "import sqlite3; sqlite3.sqlite_version_info = (3, 34, 1); import annotation_service.settings"
    environment = {"PATH": os.environ["PATH"], "SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "a"}
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode != 0 and "SQLite 3.35 or later is needed" in result.stderr


def settings_with(names, **environment):
    code = f"from django.conf import settings as s; print(*[getattr(s, name) for name in {names}])"
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "annotation_service.settings", **environment}
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    return result.stdout.split()


def test_outside_of_local_mode_cookies_are_secure():
    found = settings_with(
        ["SESSION_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "DEBUG"], SECRET_KEY="x" * 60, ALLOWED_HOSTS="example.org"
    )
    assert found == ["True", "True", "False"]


@pytest.mark.parametrize(("behind_proxy", "expected"), [("", ["0", "100"]), ("1", ["1", "0"])])
def test_behind_a_proxy_its_word_is_taken_and_its_address_not_limited(tmp_path, behind_proxy, expected):
    (tmp_path / "secret_key").write_text("x" * 60)
    names = ["ALLAUTH_TRUSTED_PROXY_COUNT", "MAX_UNFINISHED_PER_ADDRESS"]
    assert settings_with(names, VAR_DIR=str(tmp_path), BEHIND_PROXY=behind_proxy) == expected


@pytest.mark.parametrize(("debug", "expected"), [("", "False"), ("0", "False"), ("1", "True")])
def test_debugging_is_off_unless_asked_for(tmp_path, debug, expected):
    (tmp_path / "secret_key").write_text("x" * 60)
    assert settings_with(["DEBUG"], VAR_DIR=str(tmp_path), DEBUG=debug) == [expected]


def test_a_request_larger_than_any_file_is_refused_before_it_is_read(client, settings, db):
    settings.MAX_FILE_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = client.generic("POST", "/datasets/new/", b"", CONTENT_LENGTH="3000000000", **{"wsgi.input": Unread()})
    assert response.status_code == 413
    assert "too large" in response.text


class Unread:
    def read(self, *size):
        raise AssertionError("the body was read")

    readline = read


def send(body=b"", **environment):
    """The status of a request whose body nobody may read, from somebody without a CSRF token."""
    environment = {"wsgi.input": Unread(), **environment}
    return Client(enforce_csrf_checks=True).generic("POST", "/accounts/login/", body, **environment)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "application/json", "text/plain", ""])
def test_a_large_body_that_is_no_multipart_form_is_refused_before_it_is_read(db, kind):
    answer = send(CONTENT_LENGTH="1000001", content_type=kind)
    assert answer.status_code == 413
    assert "can have 1 MB at most" in answer.text


def test_more_text_than_a_form_may_have_is_refused_in_words(as_alice, settings):
    settings.MAX_PASTED_BYTES, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000, 2000
    answer = as_alice.post("/ontologies/new/", {"name": "x", "kind": "entity", "source": "paste", "text": "x" * 3000})
    assert answer.status_code == 413
    assert "A text can have 1 kB at most" in answer.text


def test_forms_with_texts_are_sent_as_multipart(as_sam):
    """The other encoding makes a text up to twelve times as large, and is refused above one megabyte."""
    assert '<body hx-encoding="multipart/form-data"' in (ROOT / "templates/base.html").read_text()
    for path in TEMPLATES:
        for form in re.findall(r'<form[^>]*method="post".*?</form>', path.read_text(), re.DOTALL):
            if re.search(r"<textarea|form\.(description|guidelines|text)\b", form):
                assert 'enctype="multipart/form-data"' in form, path
    project = factories.project(by=as_sam.user)
    for thing in (project, project.dataset):
        page = as_sam.get(reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk]))
        assert b'enctype="multipart/form-data"' in page.content


@pytest.mark.parametrize("address", ["/", "/?q=%00", "/nowhere/", "/accounts/login/"])
def test_no_answer_can_be_framed(client, db, address):
    response = client.get(address)
    assert response["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
