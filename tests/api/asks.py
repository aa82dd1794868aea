"""Requests of programs to the world of `tests.test_access`, and what everybody gets for them."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

import api.urls  # noqa: F401 - fills the table
from annotation_service.models import User
from api.models import Token
from api.operations import OPERATIONS
from tests.test_access import filled

# What nobody, dave, carol, bob, alice and sam get: see `tests.test_access.PEOPLE`.
READ_COPY = "401 404 403 404 200 200"
EVERYBODY = "401 200 200 200 200 200"
CREATORS = "401 403 403 200 200 200"
BLUEPRINT = "401 404 404 200 200 200"
BLUEPRINT_CHANGE = "401 404 404 403 200 200"
MANAGERS = "401 404 403 404 200 200"
MEMBERS = "401 404 200 404 200 200"


@dataclass
class Ask:
    """``args`` are keys of the world, or what stands in the address. ``like`` is the name of a page whose request, with the same
    arguments and sent by ``by``, must do the same to the database; ``data`` is its form, if that is not the one of the row."""

    operation: str
    expected: str
    args: tuple[str, ...] = ()
    body: Any = None
    query: str = ""
    like: str = ""
    data: Any = None
    by: str = "alice"
    headers: Any = None
    page_args: Any = None  # those of the page, where its address names something by its key

    def __str__(self) -> str:
        return f"{self.operation} {' '.join(self.args)} {self.query}".strip()

    def address(self, world):
        operation = OPERATIONS[self.operation]
        return operation.address(*(world.get(arg, arg) for arg in self.args)) + self.query.format(**world)


def token_of(person, scope="manage", **fields):
    user = User.objects.get(username=person)
    return Token.make(user, "test", scope=scope, **fields)[1]


def request(method, address, token=None, body=None, **headers):
    """``body`` is sent as JSON, unless it is bytes."""
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    client = Client(headers=headers)
    client.raise_request_exception = True
    return client.generic(method, address, data, content_type=kind)


def send(ask, world, token, **headers):
    body = ask.body(world) if callable(ask.body) else ask.body
    body = body.format(**world).encode() if isinstance(body, str) else filled_json(body, world)
    method = OPERATIONS[ask.operation].method
    return request(method, ask.address(world), token, body, **{**(ask.headers or {}), **headers})


def filled_json(value, world):
    """As `filled`; a text that is a key of the world in brackets becomes its value, a number as such."""
    if isinstance(value, list):
        return [filled_json(each, world) for each in value]
    if isinstance(value, dict):
        return {key: filled_json(each, world) for key, each in value.items()}
    if isinstance(value, str) and value.startswith("{") and value[1:-1] in world:
        return world[value[1:-1]]
    return filled(value, world)


def of_both(operation, thing, *args, expected=BLUEPRINT_CHANGE, of_copy=MANAGERS, **fields):
    """The same asked of a blueprint and of a project's copy."""
    copied = tuple(
        f"{arg}_copy" if arg in ("item", "removed", "corrected", "correction", "lexicon_row") else arg for arg in args
    )
    return [
        Ask(operation, expected, (thing, *args), **fields),
        Ask(operation, of_copy, (f"{thing}_copy", *copied), **fields),
    ]
