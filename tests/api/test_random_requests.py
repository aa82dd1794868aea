"""Requests that schemathesis makes of the OpenAPI document: none fails, all are answered as it describes, and nobody writes what
is not theirs."""

import random

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, connection, transaction
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from api.operations import OPERATIONS, PREFIX
from tests.api.asks import token_of
from tests.soak import SOAK, amount
from tests.test_access import built_world, world  # noqa: F401 - fixtures

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# Who is nobody's member, who annotates, who reviews, who observes, who manages, and who is staff.
ROLES = ["dave", "carol", "rita", "otto", "alice", "sam"]
# A role in all: 10,000 in the long form.
CASES = amount(300, 10_000)
# What may be written by a request that reads, or is refused.
BOOKS = {"api_token", "cache", "api_keptanswer", "django_session"}


class Writes:
    """Counts statements that change rows which a request leaves behind it."""

    def __init__(self):
        self.tables = set()

    def __call__(self, execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        words = sql.replace('"', " ").split()
        if words[0] in ("INSERT", "UPDATE", "DELETE") and context["cursor"].rowcount:
            self.tables.add(words[1] if words[0] == "UPDATE" else words[2])
        return result


def there_is(world):  # noqa: F811
    """Keys of things that are there, by what paths call them."""
    return {
        "project": [world["project"], world["bare_project"], world["binned"]],
        "ontology": [world["ontology"], world["ontology_copy"]],
        "dataset": [world["dataset"], world["dataset_copy"]],
        "constraints": [world["rules"], world["rules_copy"]],
        "preannotations": [world["lexicon"], world["lexicon_copy"]],
        "item": [world["item"], world["item_copy"], world["corrected_copy"]],
        "label": [world["uid"], world["relation_label"]],
        "job": [world["job"], world["finished_job"]],
        "person": ["carol", "alice", "dave"],
        "who": ["carol", "alice", "dave"],
        "kind": ["entity", "relation"],
        "binned": [world["binned"]],
        "comment": [world["comment"], world["managers_comment"]],
        "invitation": [world["invitation"], world["asked"]],
        "upload": [world["upload"], world["upload_copy"]],
        "batch": [world["batch"]],
        "version": [1, 2],
        "rule": [world["ruled"]],
        "list": ["excludes", "can_contain"],
        "row": [world["lexicon_row"], world["lexicon_row_copy"]],
        "node": [world["node"], world["other_node"], world["further_form"]],
        "object": [world["node"], world["other_node"]],
    }


@pytest.fixture
def application():
    """Asked within the transaction of the test: its requests do not close the connection."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield get_wsgi_application()
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.soak
@pytest.mark.parametrize("role", ROLES)
def test_random_requests_are_answered_as_described(role, application, world):  # noqa: F811
    schema = schemathesis.openapi.from_wsgi(f"{PREFIX}openapi.json", application)
    known, token = there_is(world), token_of(role)
    chance = random.Random(role)
    each = max(1, CASES // len(OPERATIONS))
    reached = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @seed(random.randrange(2**32) if SOAK else 7)
        @settings(
            max_examples=each,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case):
            nonlocal reached
            for name in case.path_parameters:
                if name in known and chance.random() < 0.9:
                    case.path_parameters[name] = chance.choice(known[name])
            case.headers["Authorization"] = f"Bearer {token}"
            writes = Writes()
            with transaction.atomic():
                with connection.execute_wrapper(writes):
                    response = case.call()
                case.validate_response(response, checks=CHECKS)
                transaction.set_rollback(True)
            reached += response.status_code < 300
            if response.status_code < 300 and case.method == "GET":
                assert not writes.tables - BOOKS - READ_AND_KEPT, (case.as_curl_command(), writes.tables)
            if role in ("dave", "otto") and case.path not in COME_AND_GO:  # whoever may change nothing here
                assert not writes.tables - BOOKS - OWN, (case.as_curl_command(), response.status_code)

        ask()
    assert reached > len(OPERATIONS) // 40


# Figures that are counted when somebody looks at them; of a project, by which rule its disputes were found.
READ_AND_KEPT = {
    "projects_itemcounts",
    "quality_agreementreport",
    "work_itemwork",
    "work_itemlabel",
    "projects_project",
    *(
        f"graph_{name}"
        for name in ("graph", "surfaceform", "counteditem", "itemnode", "itemedge", "nodetotal", "edgetotal")
    ),
}
# One's own things, whoever one is.
OWN = {"annotation_service_user", "annotation_service_job"}
# Everybody joins where they are invited, and leaves what they are in.
COME_AND_GO = {"/projects/{project}/leave", "/invitations/{invitation}/answer", "/invitations/answer"}
