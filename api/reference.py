"""What programs can do, told to them by OpenAPI and to people by a page of the help: both made of the table of operations."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation_service.http import Request
from annotation_service.json_input import to_json

from .operations import FILE, NDJSON, OPERATIONS, PREFIX, ApiOperation, parameters, schemas
from .problems import TYPE

VERSION = "1"
_ABOUT = (
    "Everything that a page can do, with the same rights, rules and refusals. Show a token with each request. Lists come in"
    " pages: “next” is the address of the page that follows, or null; whoever accepts application/x-ndjson gets a list as a"
    " whole, an object a line. A POST with an Idempotency-Key can be sent again for 24 hours, and is done once."
)
ERRORS = {
    "400": "The request cannot be read.",
    "401": "No token, or one that does not let in.",
    "403": "The person or the token may not do this.",
    "404": "There is no such thing, or nobody may tell whether there is.",
    "409": "Somebody else has changed it meanwhile.",
    "412": "It is not what If-Match says any more.",
    "413": "The body is too large.",
    "422": "What was sent is refused; “problems” tell why. Nothing was stored.",
    "429": "Too often: again after the seconds that Retry-After tells.",
    "503": "The database is away or busy: again after the seconds that Retry-After tells.",
    "507": "There is no room left on the server.",
}
_TEXT = {"type": "string"}


@cache
def document() -> dict[str, Any]:
    """All operations as OpenAPI 3.1 has them."""
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS.values():
        paths.setdefault(f"/{each.template}", {})[each.method.lower()] = _described(each)
    error = {"description": "", "content": {TYPE: {"schema": _named("Problem")}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Annotation Service", "version": VERSION, "description": _ABOUT},
        "servers": [{"url": PREFIX.rstrip("/")}],
        "security": [{"token": []}],
        "tags": [{"name": section} for section, _ in sections()],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "responses": {status: {**error, "description": text} for status, text in ERRORS.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _named(schema: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _described(operation: ApiOperation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.section],
        "summary": operation.summary,
        "description": f"{operation.description}\n\nThe token needs the scope “{operation.scope}”.".strip(),
        "parameters": [*_path_parameters(operation), *map(_query_parameter, operation.query), *_headers(operation)],
        "responses": {
            **_answers(operation),
            **{status: {"$ref": f"#/components/responses/{status}"} for status in ERRORS},
        },
    }
    if operation.body == FILE:
        any_file: dict[str, Any] = {"application/octet-stream": {"schema": {}}}
        told["requestBody"] = {"description": "A document or file, as it is.", "content": any_file}
    elif operation.body:
        content = {"application/json": {"schema": _named(operation.body)}}
        told["requestBody"] = {"required": True, "content": content}
    return told


def _path_parameters(operation: ApiOperation) -> Iterator[dict[str, Any]]:
    for kind, name in operation.arguments:
        number = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
        schema = number if kind == "int" else {"type": "string", "pattern": "^[^/]+$"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "style": "form", "explode": False, **parameters()[name]}


def _headers(operation: ApiOperation) -> Iterator[dict[str, Any]]:
    if operation.method == "POST":
        yield {"name": "Idempotency-Key", "in": "header", "schema": {**_TEXT, "maxLength": 200, "pattern": "^[ -~]+$"}}


def _answers(operation: ApiOperation) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    if operation.is_list:
        page = {
            "type": "object",
            "required": ["results", "next"],
            "properties": {
                "results": {"type": "array", "items": _named(operation.answer)},
                "next": {"type": ["string", "null"]},
            },
        }
        answers["200"] = {
            "description": "A page",
            "content": {"application/json": {"schema": page}, NDJSON: {"schema": _named(operation.answer)}},
        }
    elif operation.answer:
        content: dict[str, Any] = {"application/json": {"schema": _named(operation.answer)}}
        content |= {"*/*": {}} if operation.sends_file else {}
        told = {} if operation.status == 204 else {"content": content}
        answers[str(operation.status)] = {"description": "Done", **told}
        if "dry_run" in operation.query:
            answers["200"] = {"description": "Done, or what would be done", "content": content}
    elif operation.sends_file:
        answers["200"] = {"description": "A file", "content": {"*/*": {}}}
    else:
        answers["204"] = {"description": "Done"}
    if operation.may_take_long:
        job = {"application/json": {"schema": _named("Job")}}
        answers["202"] = {"description": "It goes on in a job, whose address is in Location", "content": job}
    return answers


def sections() -> list[tuple[str, list[ApiOperation]]]:
    """The operations as they are shown, in the order in which they were registered."""
    order: dict[str, list[ApiOperation]] = {}
    for each in OPERATIONS.values():
        order.setdefault(each.section, []).append(each)
    return list(order.items())


def example_of(schema: str) -> str:
    examples = schemas()[schema].get("examples") if schema and schema != FILE else None
    return json.dumps(examples[0], indent=2, ensure_ascii=False) if examples else ""


def fields_of(schema: str) -> list[dict[str, Any]]:
    """The fields of an object, for people."""
    found = schemas().get(schema, {})
    if "anyOf" in found:
        return [field for each in found["anyOf"] for field in fields_of(_type_of(each))]
    needed = found.get("required", ())
    return [
        {"name": name, "type": _type_of(field), "needed": name in needed, "about": field.get("description", "")}
        for name, field in found.get("properties", {}).items()
    ]


def _type_of(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " | ".join(json.dumps(value) for value in field["enum"])
    if "$ref" in field:
        return str(field["$ref"].split("/")[3])
    kind = field.get("type", "any")
    names = " or ".join(kind) if isinstance(kind, list) else kind
    return f"{names} of {_type_of(field['items'])}" if "items" in field else names


def curl(operation: ApiOperation, host: str) -> str:
    """The request as a command line."""
    method = "" if operation.method == "GET" else f" -X {operation.method}"
    lines = [f"curl{method} {host}{PREFIX}{operation.template}", '-H "Authorization: Bearer $TOKEN"']
    if operation.body == FILE:
        lines.append("--data-binary @FILE")
    elif example := example_of(operation.body):
        told = to_json(json.loads(example)).replace("'", "’")
        lines += ['-H "Content-Type: application/json"', f"-d '{told}'"]
    return " \\\n  ".join(lines)


@login_not_required
@require_GET
def openapi(request: HttpRequest) -> HttpResponse:
    """The document, open to programs that have no token yet: it tells nothing of anybody."""
    return HttpResponse(to_json(document()), "application/json")


@require_GET
def reference(request: Request) -> HttpResponse:
    host = request.build_absolute_uri("/").rstrip("/")
    shown = [(section, [_shown(each, host) for each in found]) for section, found in sections()]
    context = {"section": "help", "sections": shown, "errors": ERRORS, "about": _ABOUT}
    return render(request, "api/reference.html", context)


def _shown(operation: ApiOperation, host: str) -> dict[str, Any]:
    return {
        "operation": operation,
        # Words and code in turns.
        "description": re.split("``(.+?)``", operation.description.replace("\n", " ")),
        "parameters": [{"name": name, **parameters()[name]} for name in operation.query],
        "fields": fields_of(operation.body),
        "answers": fields_of(operation.answer),
        "curl": curl(operation, host),
    }
