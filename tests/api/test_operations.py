"""Every operation, asked by everybody, with every scope."""

import json
import re

import jsonschema
import pytest
from django.db import transaction
from django.utils import timezone

from annotation_service.models import User
from api.models import KeptAnswer, Scope, Token
from api.operations import FILE, OPERATIONS, checker, schemas
from api.reasons import NO_OPERATION
from projects.models import Membership, Project
from tests.api.asked import ASKS
from tests.api.asks import request, send, token_of
from tests.test_access import PEOPLE, ROWS, built_world, signed_in, world  # noqa: F401 - fixtures

# They make blueprints or other projects of what is in a project, or bring blueprints into it.
OF_BLUEPRINTS = {
    *(f"copy_{name}" for name in ("ontology", "constraints", "preannotations", "dataset", "project")),
    *(f"put_{name}" for name in ("labels", "items", "constraints", "preannotations")),
    "create_gold_dataset",
}


@pytest.fixture
def tokens(world):  # noqa: F811
    return {person: None if person == "nobody" else token_of(person) for person in (*PEOPLE, "rita", "otto")}


def test_every_operation_is_asked():
    assert {each.operation for each in ASKS} == OPERATIONS.keys()


def test_every_change_that_a_page_makes_has_an_operation_or_a_reason():
    done = {page for each in OPERATIONS.values() for page in each.pages}
    changes = {row.name for row in ROWS if row.is_post}
    assert done & NO_OPERATION.keys() == set()
    assert sorted(changes - done - NO_OPERATION.keys()) == []
    assert sorted((done | NO_OPERATION.keys()) - {row.name for row in ROWS}) == []


def check_answer(answer, operation):
    """It follows its schema, and so does a refusal."""
    if answer.status_code >= 400:
        assert answer["Content-Type"] == "application/problem+json"
        assert list(checker("Problem").problems(answer.json())) == []
        return
    assert answer["X-Request-Id"]
    if answer.status_code == 204 or "json" not in answer.get("Content-Type", "") or not operation.answer:
        return
    value = answer.json()
    if answer.status_code == 202 or answer.headers.get("Location", "").startswith("/api/v1/jobs/"):
        found = list(checker("Job").problems(value))
    elif isinstance(value, dict) and value.keys() == {"results", "next"}:
        found = [problem for each in value["results"] for problem in checker(operation.answer).problems(each)]
    else:
        found = list(checker(operation.answer).problems(value))
    assert found == []


def kind_of(status):
    """2xx are alike: what is expected says 200."""
    return "200" if 200 <= status < 300 else str(status)


@pytest.mark.parametrize("row", ASKS, ids=str)
def test_everybody_gets_what_they_may_have(row, world, tokens):  # noqa: F811
    found = []
    for person in PEOPLE:
        with transaction.atomic():
            answer = send(row, world, tokens[person])
            check_answer(answer, OPERATIONS[row.operation])
            found.append(kind_of(answer.status_code))
            transaction.set_rollback(True)
    assert " ".join(found) == row.expected


@pytest.mark.parametrize("row", [row for row in ASKS if "200" in row.expected], ids=str)
def test_a_token_does_no_more_than_its_scope(row, world):  # noqa: F811
    person = PEOPLE[row.expected.split().index("200")]
    wanted = OPERATIONS[row.operation].scope
    for scope in Scope:
        with transaction.atomic():
            status = send(row, world, token_of(person, scope)).status_code
            transaction.set_rollback(True)
        assert (status == 403) != scope.includes(wanted), (scope, status)


@pytest.mark.parametrize("row", [row for row in ASKS if "200" in row.expected], ids=str)
def test_a_token_of_one_project_opens_nothing_else(row, world):  # noqa: F811
    """Neither blueprints nor other projects; its own things as before."""
    person = PEOPLE[row.expected.split().index("200")]
    other = token_of(person, project_id=world["bare_project"])
    own = token_of(person, project_id=world["project"])
    with transaction.atomic():
        assert send(row, world, other).status_code in (403, 404) or row.operation == "me", row
        transaction.set_rollback(True)
    is_own = row.args and (row.args[0] in ("project",) or row.args[0].endswith("_copy"))
    if is_own:
        with transaction.atomic():
            assert (send(row, world, own).status_code < 300) != (row.operation in OF_BLUEPRINTS)
            transaction.set_rollback(True)


def test_tokens_that_were_revoked_or_have_expired_or_whose_person_is_gone_let_nobody_in(world):  # noqa: F811
    token = token_of("alice")
    assert request("GET", "/api/v1/me", token).status_code == 200
    row = Token.objects.latest("pk")
    row.revoke()
    assert request("GET", "/api/v1/me", token).status_code == 401
    late = token_of("alice", expires_at=timezone.now())
    assert request("GET", "/api/v1/me", late).status_code == 401
    token = token_of("carol")
    User.objects.filter(username="carol").update(is_active=False)
    assert request("GET", "/api/v1/me", token).status_code == 401
    assert request("GET", "/api/v1/me", "ans_nothing").status_code == 401


def test_the_openapi_document_is_one(client):
    """Open to programs without a token, and what OpenAPI 3.1 wants of a document."""
    told = client.get("/api/v1/openapi.json").json()
    assert told["openapi"] == "3.1.0"
    assert {(path, method) for path, item in told["paths"].items() for method in item} == {
        (f"/{each.template}", each.method.lower()) for each in OPERATIONS.values()
    }
    named = set(re.findall(r"#/components/(\w+)/(\w+)", json.dumps(told)))
    assert [each for each in named if each[1] not in told["components"][each[0]]] == []
    assert {each.answer for each in OPERATIONS.values()} | {each.body for each in OPERATIONS.values()} <= {
        "",
        FILE,
        *told["components"]["schemas"],
    }
    for schema in told["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_reference_shows_every_operation(world):  # noqa: F811
    page = signed_in(world, "carol").get("/help/api/").text
    for each in OPERATIONS.values():
        assert f'id="{each.name}"' in page and each.summary
    assert "<code>finish=1</code>" in page and "``" not in page


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_example_of_an_operation_follows_its_schema(name):
    body = OPERATIONS[name].body
    if body and body != FILE:
        examples = schemas()[body].get("examples")
        assert examples, body
        for each in examples:
            assert list(checker(body).problems(each)) == []


def test_a_request_with_a_key_is_answered_once(world):  # noqa: F811
    token, body = token_of("alice"), {"name": "Once"}
    address = f"/api/v1/ontologies/{world['ontology']}/copies"
    first = request("POST", address, token, body, **{"Idempotency-Key": "k"})
    again = request("POST", address, token, body, **{"Idempotency-Key": "k"})
    assert (first.status_code, first.content) == (again.status_code, again.content)
    other = request("POST", address, token, {"name": "Other"}, **{"Idempotency-Key": "k"})
    assert other.status_code == 422
    KeptAnswer.objects.update(at=timezone.now() - KeptAnswer.KEPT * 2)
    assert request("POST", address, token, body, **{"Idempotency-Key": "k"}).json()["id"] != first.json()["id"]


def test_keys_are_those_of_a_token_and_nothing_is_kept_of_a_dry_run(world):  # noqa: F811
    address = f"/api/v1/ontologies/{world['ontology']}/copies"
    first, second = (
        request("POST", address, token_of("alice"), {"name": name}, **{"Idempotency-Key": "1"}) for name in "ab"
    )
    assert (first.status_code, second.status_code) == (201, 201)
    kept = KeptAnswer.objects.count()
    dry = f"/api/v1/ontologies/{world['ontology']}/label_lists?dry_run=1"
    assert request("POST", dry, token_of("alice"), b"Pump", **{"Idempotency-Key": "2"}).status_code == 200
    assert KeptAnswer.objects.count() == kept


def test_what_is_accepted_is_weighed(world):  # noqa: F811
    token = token_of("alice")
    for accept, kind in (
        ("application/x-ndjson", "application/x-ndjson"),
        ("application/json, application/x-ndjson;q=0.5", "application/json"),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
    ):
        assert request("GET", "/api/v1/ontologies", token, Accept=accept)["Content-Type"].startswith(kind)


def test_a_weak_etag_is_of_the_same_state(world):  # noqa: F811
    token = token_of("alice")
    address = f"/api/v1/ontologies/{world['ontology']}/labels/{world['uid']}"
    weak = f"W/{request('GET', address, token)['ETag']}"
    changed = request("PATCH", address, token, {"description": "New"}, **{"If-Match": weak})
    assert changed.status_code == 200
    assert request("PATCH", address, token, {"description": "Newer"}, **{"If-Match": weak}).status_code == 412


def test_of_projects_that_one_has_left_nothing_is_listed(world):  # noqa: F811
    """Neither jobs nor uploads; what a key is kept for is asked for again with the rights of then."""
    bob = User.objects.get(username="bob")
    project = Project.objects.get(pk=world["project"])
    member = Membership.objects.create(project=project, user=bob, role="manager")
    token = token_of("bob")
    body, key = b'{"original": "one more"}', {"Idempotency-Key": "k"}
    upload = request("POST", f"/api/v1/datasets/{world['dataset_copy']}/uploads", token, body)
    assert upload.status_code == 201, upload.text
    job = request("POST", f"/api/v1/projects/{project.pk}/agreement", token, **key)
    assert job.status_code == 202
    assert [each["id"] for each in request("GET", "/api/v1/uploads", token).json()["results"]] == [upload.json()["id"]]
    assert [each["id"] for each in request("GET", "/api/v1/jobs", token).json()["results"]] == [job.json()["id"]]
    member.delete()
    for path in ("uploads", "jobs"):
        assert request("GET", f"/api/v1/{path}", token).json()["results"] == []
    assert request("POST", f"/api/v1/projects/{project.pk}/agreement", token, **key).status_code == 404
