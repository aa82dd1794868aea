"""Several operations in one request: each is stored and answered by itself."""

import json

import pytest

from annotations.requests import MAX_OPERATIONS
from datasets.models import Annotation
from projects.models import Membership

from .conftest import UID

OTHER = "fedcba9876543210"
DONE = {"path": "done/", "body": {"done": True}}


@pytest.fixture
def together(as_carol, send):
    """``together(operation, …)``: the answers."""

    def together(*operations, status=200):
        answer = send(as_carol, "operations/", {"operations": list(operations)})
        assert answer.status_code == status
        return answer.json()["answers"] if status == 200 else answer.json()["error"]

    return together


@pytest.fixture
def add(entity):
    def add(*args, **fields):
        return {"path": "entities/add/", "body": entity(*args, **fields)}

    return add


def test_all_are_stored_in_their_order(together, add, stored, label):
    relation = {"uid": "r", "label": label("hasPart", "relation"), "source": UID, "target": OTHER}
    answers = together(
        add(), add(OTHER, "State", 4, 4), {"path": "relations/add/", "body": relation}, {**DONE, "body": {"done": True}}
    )
    assert [each["status"] for each in answers] == [200] * 4
    assert answers[0]["entity"]["uid"] == UID and answers[2]["relation"]["uid"] == "r"
    assert [each["revision"] for each in answers] == [1, 2, 3, 4]
    assert [each["done"] for each in answers] == [False, False, False, True]
    assert len(stored().entities) == 2 and Annotation.objects.get().done_at


def test_sent_again_it_changes_nothing(together, add, stored, label):
    operations = (
        add(),
        add(OTHER, "State"),
        {"path": "entities/label/", "body": {"uid": OTHER, "label": label("Activity")}},
    )
    for _ in range(2):
        assert [each["status"] for each in together(*operations)] == [200] * 3
    assert stored().entities == [(UID, "PhysicalObject", 1, 2), (OTHER, "Activity", 1, 2)]


def test_done_is_said_again_of_what_is_done_and_nothing_changes(together, add, stored):
    together(add(), DONE)
    refused, done = together(add(), DONE)
    assert refused["error"] == "This item is done. Reopen it to change its marks." and done["status"] == 422
    assert stored().entities == [(UID, "PhysicalObject", 1, 2)] and Annotation.objects.get().done_at


def test_an_item_is_not_done_if_something_before_was_refused(together, add, stored):
    answers = together(add(start=7, end=9), add(OTHER), DONE)
    assert [each["status"] for each in answers] == [422, 200, 422]
    assert "6 tokens" in answers[0]["error"]
    assert answers[2]["error"] == "A change before it was refused, so the item is not done."
    assert stored().entities == [(OTHER, "PhysicalObject", 1, 2)] and Annotation.objects.get().done_at is None


def test_it_is_told_that_somebody_else_was_there_meanwhile(together, as_carol, send, add, entity):
    send(as_carol, "entities/add/", entity("elsewhere", "State"))
    one, two = add(), add(OTHER, "Activity")
    one["body"]["revision"] = 0
    assert [each["changed"] for each in together(one, two)] == [True, False]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (7, "$.operations[1]: An object was expected."),
        ({"path": "done/"}, "$.operations[1]: The field “body” is missing."),
        ({"path": 7, "body": {}}, "$.operations[1].path: This must be a text."),
        ({"path": "done/", "body": []}, "$.operations[1].body: This must be an object."),
        ({**DONE, "more": 1}, "$.operations[1]: There is no field “more”."),
        ({"path": "nowhere/", "body": {}}, "$.operations[1].path: There is no such operation."),
        ({"path": "operations/", "body": {}}, "$.operations[1].path: There is no such operation."),
        ({"path": "../1/done/", "body": {}}, "$.operations[1].path: There is no such operation."),
    ],
)
def test_nothing_is_stored_of_what_has_a_bad_shape(together, add, stored, operation, reason):
    assert together(add(), operation, status=422) == reason
    assert not Annotation.objects.exists()


def test_the_body_of_each_is_checked_at_its_turn(together, add):
    answers = together(add(), {"path": "done/", "body": {"done": "yes"}}, {"path": "done/", "body": {}})
    assert [each["status"] for each in answers] == [200, 422, 422]
    assert answers[1]["error"] == "$.done: This must be true or false."
    assert answers[2]["error"] == "$: The field “done” is missing."


def test_there_are_not_too_many(together, add):
    assert together(*[add()] * (MAX_OPERATIONS + 1), status=422) == "$.operations: Send at most 50 operations at once."
    together(*[add(f"u{n}", "State") for n in range(MAX_OPERATIONS)])


def test_the_body_is_not_too_large(as_carol, send):
    body = json.dumps({"operations": [{"path": "x" * 200_000, "body": {}}]})
    assert send(as_carol, "operations/", body).status_code == 422


def test_rights_are_asked_again_for_each(together, add, carol, monkeypatch):
    start = Annotation.start

    def last(*args):
        Membership.objects.filter(user=carol).delete()
        return start(*args)

    monkeypatch.setattr(Annotation, "start", last)
    answers = together(add(), add(OTHER, "State"), DONE)
    assert answers[0]["status"] == 200
    assert {each["status"] for each in answers[1:]} <= {404, 422} and answers[1]["status"] == 404
