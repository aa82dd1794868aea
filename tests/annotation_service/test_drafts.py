"""Browsers are told which of the drafts that they keep is stored."""

import pytest

pytestmark = pytest.mark.django_db
DRAFT = "%2Fontologies%2Fnew%2F 0a1b"
COOKIE = "stored.%2Fontologies%2Fnew%2F"


def send(client, **fields):
    return client.post("/ontologies/new/", {"kind": "entity", "source": "empty", "name": "New", **fields})


def test_a_draft_is_named_once_it_is_stored(as_alice):
    answer = send(as_alice, draft=DRAFT)
    assert answer.status_code == 302
    assert answer.cookies[COOKIE].value == "0a1b"


@pytest.mark.parametrize("draft", ["", "0a1b", "x; y 0a1b", "x\r\ny 0a1b", "é 0a1b", f"{'x' * 400} 0a1b", "x 0a;b"])
def test_what_is_no_draft_is_no_cookie(as_alice, draft):
    answer = send(as_alice, draft=draft)
    assert answer.status_code == 302
    assert not [name for name in answer.cookies if name.startswith("stored")]


def test_what_is_refused_or_sent_without_a_session_is_not_stored(as_alice, client):
    for answer, status in ((send(as_alice, name="", draft=DRAFT), 422), (send(client, draft=DRAFT), 302)):
        assert answer.status_code == status
        assert COOKIE not in answer.cookies
