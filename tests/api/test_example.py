"""The example that is given to programs, run against a service: while it waits, two people accept what its model suggests."""

import json
import subprocess
import sys

import pytest
from django.apps import apps
from django.conf import settings

from annotation_service.models import User
from api.models import Token
from datasets.models import Entity
from projects.models import Project
from tests import factories
from tests.api.asks import request
from tests.e2e.waiting import until

EXAMPLE = settings.BASE_DIR / "examples" / "project_with_a_model.py"
# Rows that tell who asked and when, and figures that whoever looks counts.
NOT_COMPARED = {"api.Token", "api.KeptAnswer", "projects.ItemCounts", "work.ItemWork", "work.ItemLabel"}


def started(live_server, token):
    arguments = [sys.executable, EXAMPLE, live_server.url, token]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored():
    models = [model for model in apps.get_models() if model._meta.label not in NOT_COMPARED]
    return {model._meta.label: list(model._base_manager.order_by("pk").values()) for model in models}


def accept_everything(name):
    """All that is suggested to somebody, as their own program does it."""
    token = Token.make(User.objects.get(username=name), "Own", scope="annotate")[1]
    project = f"/api/v1/projects/{Project.objects.get().pk}"
    for item in request("GET", f"{project}/my-items", token).json()["results"]:
        address = f"{project}/items/{item['id']}/annotations/me"
        marks = [{**each, "status": "accepted"} for each in request("GET", address, token).json()["entities"]]
        answer = request("PUT", address, token, {"entities": marks, "relations": [], "done": True})
        assert answer.status_code == 200, answer.text


@pytest.mark.django_db(transaction=True)
def test_the_example_runs_and_run_again_changes_nothing(live_server):
    token = Token.make(factories.manager("alice"), "Example", scope="manage")[1]
    for name in ("anna", "ben"):
        factories.user(name)
    example = started(live_server, token)
    until(lambda: Entity.objects.count() == 6 or example.poll() is not None, "nothing is suggested")
    for name in ("anna", "ben"):
        accept_everything(name)
    told, errors = example.communicate(timeout=60)
    assert (example.returncode, errors) == (0, "")
    marks = [mark for line in told.splitlines()[1:] for mark in json.loads(line)]
    assert {(mark["status"], mark["suggested_by"], mark["score"]) for mark in marks} == {("accepted", "words", 0.9)}
    assert len(marks) == 12
    before = stored()
    again = started(live_server, token)
    repeated, errors = again.communicate(timeout=60)
    assert (again.returncode, errors) == (0, "")
    assert repeated.splitlines()[1:] == told.splitlines()[1:]
    assert stored() == before
