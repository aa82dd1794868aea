"""People annotate while texts are corrected: real threads on a real database."""

import uuid

import pytest
from django.test import Client

from datasets.models import Entity, Item, TextCorrection
from datasets.models.correction import cut_anew
from tests import factories
from tests.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_marks_that_are_saved_while_a_text_is_corrected_and_undone_stay_on_their_words():
    alice, carol = factories.manager("alice"), factories.user("carol")
    project = factories.project(by=alice, annotators=[carol], text="pump leaks oil\n")
    label, item = project.entity_ontology.items().first(), project.dataset.items().get()

    def correct():
        for _ in range(4):
            now = Item.objects.get(pk=item.pk)
            done = TextCorrection.make(
                now, cut_anew(now, "the old pump leaks oil"), by=alice, was_version=now.text_version
            )
            done.undo(by=alice)
        return 200

    def annotate():
        client, answers = Client(), []
        client.force_login(carol)
        for _ in range(12):
            body = {"uid": uuid.uuid4().hex, "label": label.uid, "start": 0, "end": 0, "text_version": 1}
            url = f"/projects/{project.pk}/items/{item.pk}/entities/"
            add = client.post(f"{url}add/", body, content_type="application/json")
            answers.append(add.status_code)
        return max(answers)

    assert at_once(correct, annotate) == [200, 200]
    item.refresh_from_db()
    assert (item.text_version, item.tokens) == (9, ["pump", "leaks", "oil"])
    assert list(Entity.objects.values_list("start", "end")) == [(0, 0)]
