"""Errors as RFC 9457 has them: every error of an address for programs is JSON, and every answer has the id of its request."""

import json
import uuid
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

from annotation_service.inputs import Problem, Refused
from annotation_service.middleware import GetResponse, is_for_programs, middleware

TYPE = "application/problem+json"


class HttpProblem(Exception):
    """What is answered with a status of its own."""

    def __init__(self, status: int, why: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.status, self.why, self.headers = status, why, headers or {}
        super().__init__(why)


def show_problems(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"place": each.place, "text": each.text} for each in problems]


def problem(
    request: HttpRequest, status: int, why: str = "", refused: Refused | None = None, headers: Any = None
) -> HttpResponse:
    title = HTTPStatus(status).phrase
    body = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": why or title,
        "problems": show_problems(refused.problems) if refused else [],
        "total": refused.total if refused else 0,
        "request_id": getattr(request, "request_id", ""),
    }
    return HttpResponse(json.dumps(body, ensure_ascii=False), TYPE, status, headers=headers)


@middleware
def program_answers(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Put what the parts in front of the operations refuse into JSON, too: bodies that are too large, unknown addresses, a
    database that is away."""
    if not is_for_programs(request):
        return get_response(request)
    request.request_id = uuid.uuid4().hex  # type: ignore[attr-defined]
    response = get_response(request)
    if response.status_code >= 400 and not response.get("Content-Type", "").startswith(TYPE):
        kept = {name: response[name] for name in ("Retry-After", "Allow") if response.has_header(name)}
        reason = getattr(response, "trouble", None)
        response = problem(request, response.status_code, reason.value if reason else "", headers=kept)
    response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
    return response
