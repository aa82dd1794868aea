"""What `manage.py prepare`, and so `bin/run`, says about a database that this version cannot take over."""

import os
import sqlite3
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from tests import factories


def test_an_old_database_is_recognised_and_its_projects_are_named(alice, monkeypatch):
    project = factories.project(by=alice, name="Haul trucks")
    monkeypatch.setattr("annotation_service.management.commands.prepare.call_command", None)  # nothing is done
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE auth_user (id integer)")
    with pytest.raises(CommandError) as refusal:
        call_command("prepare")
    assert f"manage.py export project {project.pk} --output {project.pk}.zip   # Haul trucks" in str(refusal.value)
    anew = "create a new database" if connection.vendor == "postgresql" else "move the folder"
    assert f"Then start anew: {anew}" in str(refusal.value)


def test_an_old_file_is_left_as_it_is(tmp_path):
    (tmp_path / "secret_key").write_text("x" * 60)
    file = tmp_path / "db.sqlite3"
    with sqlite3.connect(file) as database:
        database.executescript(
            "CREATE TABLE django_migrations (id integer PRIMARY KEY, app text, name text, applied datetime);"
            "INSERT INTO django_migrations (app, name) VALUES ('datasets', '0003_uploads');"
            "CREATE TABLE auth_user (id integer PRIMARY KEY, username text);"
        )
    database.close()
    environment = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "manage.py", "prepare"],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "made by an earlier layout" in done.stderr and f"move the folder {tmp_path} away" in done.stderr
    with sqlite3.connect(file) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    assert tables == {"django_migrations", "auth_user"}
