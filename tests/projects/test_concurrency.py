"""People annotate while managers change the project: real threads on a real database."""

import threading
import time
import uuid

import pytest
from django.db import connection
from django.test import Client

from datasets.models import Annotation, Entity
from projects.models import Assignment, Project
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


def annotate(project, user, label, stop, answers):
    client = Client()
    client.force_login(user)
    try:
        while not stop.is_set():
            for item in list(project.items_for(user)[:20]):
                body = {"uid": uuid.uuid4().hex, "label": label.uid, "start": 0, "end": 0}
                url = f"/projects/{project.pk}/items/{item.pk}/entities/add/"
                answers.append(client.post(url, body, content_type="application/json").status_code)
    finally:
        connection.close()


def test_a_project_can_be_assigned_anew_and_deleted_while_people_annotate():
    alice = factories.manager("alice")
    people = [factories.user(name) for name in ("carol", "dave", "erin")]
    text = "".join(f"item {n}\n" for n in range(60))
    project = factories.project(by=alice, annotators=people[:2], annotators_per_item=1, text=text)
    label = project.entity_ontology.items().first()
    stop, answers = threading.Event(), []
    threads = [
        threading.Thread(target=annotate, args=(project, person, label, stop, answers))
        for person in people
        for _ in (1, 2)
    ]
    for thread in threads:
        thread.start()
    try:
        deadline = time.monotonic() + 30
        while len(answers) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        for _ in range(4):
            project.add_members([people[2]])
            project.remove_member(project.membership_set.get(user=people[2]))
        begun = set(Annotation.objects.filter(annotator__in=people[:2]).values_list("item_id", "annotator_id"))
        assert begun <= set(Assignment.objects.values_list("item_id", "annotator_id"))
        project.erase()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert answers.count(200) > 0
    assert set(answers) <= {200, 404}
    assert not Project.objects.exists() and not Entity.objects.exists() and not Annotation.objects.exists()
