"""The table of operations: what programs may ask for. It makes the routes, the checks, the answers and the OpenAPI document.

An operation is a function that a decorator of its section registers::

    @ontologies.patch("ontologies/<int:ontology>/labels/<str:label>", "LabelChange", "Label")
    def change_label(call: Call, ontology: int, label: str) -> Any:
        \"""Change a label.\"""

It gets what it is about through an access module, calls the model method that a page calls, and returns

- what its answer has as JSON; nothing for 204, `Rows` for a list, which comes in pages or, to whom accepts that, in lines;
- a `Job` for long work, which is answered with 202, or as it ended for whoever waits for it;
- a response, such as a file.

Bodies, queries and answers follow the JSON Schemas in ``schemas/``. A `Refused` is answered with 422 and its problems.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial, partialmethod
from hashlib import sha256
from inspect import cleandoc
from itertools import islice
from operator import attrgetter
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import BoundedSemaphore
from typing import Any, NamedTuple

from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.files import File
from django.db.models import BigIntegerField, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from annotation_service import access, attempts
from annotation_service.db import store, write
from annotation_service.edits import Conflict
from annotation_service.http import Request
from annotation_service.inputs import MAX_PROBLEMS, Problem, Refused, decode, whole_number
from annotation_service.json_input import parse_json, to_json
from annotation_service.models import Job, JobState, User
from annotation_service.schemas import Checker, load

from .models import KeptAnswer, Scope, Token
from .problems import HttpProblem, problem

PREFIX = "/api/v1/"
FILE = "file"
"""As the body of an operation: a document or file, as it is."""
NDJSON = "application/x-ndjson"
MOST_WAITING, POLL = 30, 0.1  # seconds
_waiting = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))
PORTION = 500  # rows of a stream that are read at once


class Call(Request):
    """A request of a program, which has shown a token."""

    token: Token
    asked: dict[str, Any]  # the query, checked; None for what is left out and has no default
    sent: Any  # the body: a checked value or, if that is wanted, a `File`
    etag: str  # of what is answered, if an operation says so
    told: dict[str, str]  # headers of the answer


class Rows(NamedTuple):
    """A list: a query set, which is put in the order of ``key``, or what is in memory; and what is shown of a part.

    ``key`` names columns of whole numbers that are unique together, mostly one. A page begins at the first, by its index.
    """

    rows: Any
    show: Callable[[Sequence[Any]], Iterable[dict[str, Any]]]
    key: str = "pk"

    def after(self, cursor: str | None, count: int) -> list[tuple[str, Any]]:
        """So many rows after the one with a cursor, each with its cursor: the values of its key, or in memory its number."""
        names = self.key.split()
        # No row has a key beyond 64 bits, but not all lookups know that.
        last = [min(int(each), BigIntegerField.MAX_BIGINT) for each in cursor.split("-")] if cursor else []
        if len(last) not in (0, len(names)):
            raise Refused("This is the cursor of another list. Follow “next” of a page of this one.", place="cursor")
        if not isinstance(self.rows, QuerySet):
            first = last[0] if last else 0
            return [(str(number), row) for number, row in enumerate(self.rows[first : first + count], first + 1)]
        found = self.rows.order_by(*names)
        if last:
            *leading, final = names
            seen = dict(zip(leading, last, strict=False), **{f"{final}__lte": last[-1]})
            found = found.filter(**{f"{names[0]}__gte": last[0]}).exclude(**seen)
        return [("-".join(str(_value_of(row, name)) for name in names), row) for row in found[:count]]


def _value_of(row: Any, column: str) -> Any:
    return row[column] if isinstance(row, dict) else attrgetter(column.replace("__", "."))(row)


@dataclass(frozen=True)
class ApiOperation:
    """``path`` is what Django takes, below the `PREFIX`; ``query`` names parameters, ``body`` and ``answer`` name schemas;
    ``pages`` are the names of the addresses whose requests it stands for. One that is ``long`` may go on in a job."""

    name: str
    about: str
    method: str
    path: str
    scope: Scope
    section: str
    perform: Callable[..., Any]
    body: str = ""
    answer: str = ""
    status: int = 200
    sends_file: bool = False
    long: bool = False
    query: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return self.about.partition("\n")[0].removesuffix(".")

    @property
    def description(self) -> str:
        return self.about.partition("\n")[2].strip()

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """The parts of its path that stand for something, such as ("int", "project")."""
        return re.findall(r"<(\w+):(\w+)>", self.path)

    @property
    def may_take_long(self) -> bool:
        return self.long or (self.answer == "Job" and not self.is_list)

    @property
    def is_list(self) -> bool:
        return "cursor" in self.query

    @property
    def template(self) -> str:
        """Its path as OpenAPI has it."""
        return re.sub(r"<\w+:(\w+)>", r"{\1}", self.path)

    def address(self, *args: Any, **named: Any) -> str:
        """Of what has these in the places of its path."""
        values = iter(args)
        return PREFIX + re.sub(r"<\w+:(\w+)>", lambda part: str(named.get(part[1]) or next(values)), self.path)


OPERATIONS: dict[str, ApiOperation] = {}


class ApiSection:
    """A part of the reference. Its decorators register functions: what they take and what they answer are names of schemas.

    ``list`` is a GET that answers with `Rows`, ``file`` one of a file, and ``create`` a POST that answers with 201. A token needs
    the scope that the section has for reading, or for changes, unless an operation names another one.
    """

    def __init__(self, name: str, *, reads: Scope = Scope.READ, changes: Scope = Scope.MANAGE) -> None:
        self.name, self.reads, self.changes = name, reads, changes

    def _operation(
        self,
        method: str,
        path: str,
        body: str = "",
        answer: str = "",
        *,
        scope: Scope | None = None,
        query: str = "",
        pages: str = "",
        name: str = "",
        about: str = "",
        **fields: Any,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """One that is registered several times is given another ``name`` and what it is ``about`` each time."""
        needed = scope or (self.reads if method == "GET" else self.changes)
        fields |= {"body": body, "answer": answer, "query": tuple(query.split()), "pages": tuple(pages.split())}

        def register(perform: Callable[..., Any]) -> Callable[..., Any]:
            own, told = name or perform.__name__, cleandoc(about or perform.__doc__ or "")
            assert own not in OPERATIONS, own
            OPERATIONS[own] = ApiOperation(own, told, method, path, needed, self.name, perform, **fields)
            return perform

        return register

    def get(self, path: str, answer: str = "", **fields: Any) -> Any:
        return self._operation("GET", path, answer=answer, **fields)

    def list(self, path: str, answer: str, query: str = "", **fields: Any) -> Any:
        return self.get(path, answer, query=f"{query} limit cursor", **fields)

    file = partialmethod(get, sends_file=True)
    post = partialmethod(_operation, "POST")
    create = partialmethod(_operation, "POST", status=201)
    put = partialmethod(_operation, "PUT")
    patch = partialmethod(_operation, "PATCH")
    delete = partialmethod(_operation, "DELETE")


# --- What is checked ---------------------------------------------------------------------------------------------------


@cache
def schemas() -> dict[str, Any]:
    """All schemas by their names."""
    files = sorted(Path(__file__).with_name("schemas").glob("*.json"))
    return {name: schema for file in files if file.stem != "parameters" for name, schema in load(file).items()}


@cache
def parameters() -> dict[str, Any]:
    """The parameters of queries, by their names: a description and a schema."""
    return load(Path(__file__).with_name("schemas") / "parameters.json")


@cache
def checker(name: str) -> Checker:
    return Checker({"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas()}})


@cache
def _parameter_checker(name: str) -> Checker:
    return Checker(parameters()[name]["schema"])


_READ_AS: dict[str, Callable[[str], Any]] = {
    "integer": lambda text: whole_number(text) if text else text,
    "boolean": lambda text: {"1": True, "true": True, "0": False, "false": False}.get(text),
    "array": lambda text: text.split(",") if text else [],
}


def asked_of(operation: ApiOperation, query: Mapping[str, str]) -> dict[str, Any]:
    """The values of a query. Raises `Refused` for one that is not known or is no such value."""
    if unknown := next((name for name in query if name not in operation.query), None):
        known = ", ".join(operation.query) or "none"
        raise Refused(f"This parameter is not known here; known are {known}.", place=unknown[:60])
    asked: dict[str, Any] = {}
    for name in operation.query:
        schema = parameters()[name]["schema"]
        asked[name] = schema.get("default")
        if name in query:
            value = _READ_AS.get(schema["type"], str)(query[name])
            for _, text in _parameter_checker(name).problems(query[name] if value is None else value):
                raise Refused(text, place=name)
            asked[name] = value
    return asked


def _body_of(operation: ApiOperation, request: HttpRequest) -> tuple[Any, bytes]:
    """The body as the operation wants it, and a digest of it."""
    if operation.body == FILE:
        return _file_of(request)
    data = request.body
    if not operation.body:
        if data.strip() not in (b"", b"{}"):
            raise Refused("This operation takes no body.")
        return None, b""
    value = parse_json(decode(data))
    if found := [Problem(*each) for each in islice(checker(operation.body).problems(value), MAX_PROBLEMS)]:
        raise Refused(found)
    return value, sha256(data).digest()


def _file_of(request: HttpRequest) -> tuple[File, bytes]:
    """What is sent, on disk if it is large."""
    kept, digest, size = SpooledTemporaryFile(settings.FILE_UPLOAD_MAX_MEMORY_SIZE), sha256(), 0  # noqa: SIM115
    while part := request.read(1 << 16):
        size += len(part)
        if size > settings.MAX_FILE_BYTES:
            raise RequestDataTooBig
        digest.update(part)
        kept.write(part)
    kept.seek(0)
    file: File = File(kept, request.GET.get("file_name") or "body")
    file.size = size
    return file, digest.digest()


# --- Who asks ----------------------------------------------------------------------------------------------------------

# What the first argument of a path is the key of, and how the key of its project is found.
project_of: dict[str, Callable[[int], int | None]] = {"project": lambda pk: pk}


def _identify(request: HttpRequest) -> Call:
    """The request as its person's. Cookies are not looked at."""
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    token = Token.of(secret.strip()) if kind.lower() == "bearer" else None
    if token is None:
        why = "Show a token: “Authorization: Bearer TOKEN”. You make tokens on your account’s page."
        if secret:
            why = "This token is not known, has expired or was revoked, or its person cannot sign in any more."
            attempts.count(request, [("api_token_failed", None)])
        raise HttpProblem(401, why, {"WWW-Authenticate": "Bearer"})
    if token.project_id:
        access.let_create_nothing(token.user)
    call: Any = request
    call.user, call.token, call.etag, call.told = token.user, token, "", {}
    return call


def _check_token(token: Token, operation: ApiOperation, args: Mapping[str, Any]) -> None:
    if not Scope(token.scope).includes(operation.scope):
        raise PermissionDenied(f"This takes a token with the scope “{operation.scope}”; this one has “{token.scope}”.")
    if token.project_id is None or operation.path == "me":
        return
    name, value = next(iter(args.items()), ("", 0))
    found = project_of[name](value) if name in project_of else None
    if found != token.project_id:
        raise PermissionDenied(f"This token is for one project alone: {PREFIX}projects/{token.project_id}")


# --- The answer --------------------------------------------------------------------------------------------------------


def routes() -> list[URLPattern]:
    """The addresses of all operations."""
    by_path: dict[str, dict[str, ApiOperation]] = {}
    for each in OPERATIONS.values():
        by_path.setdefault(each.path, {})[each.method] = each
    return [path(route, _view(of_method)) for route, of_method in by_path.items()]


def _view(operations: Mapping[str, ApiOperation]) -> Callable[..., HttpResponseBase]:
    return csrf_exempt(login_not_required(partial(_answer, operations)))


def _answer(operations: Mapping[str, ApiOperation], request: HttpRequest, **args: Any) -> HttpResponseBase:
    try:
        call = _identify(request)
        operation = operations.get("GET" if request.method == "HEAD" else request.method or "")
        if operation is None:
            raise HttpProblem(405, "This address has no such method.", {"Allow": ", ".join(operations)})
        _check_token(call.token, operation, args)
        call.asked = asked_of(operation, request.GET.dict())
        call.sent, digest = _body_of(operation, request)
        response = _once(call, operation, digest, args)
        if call.etag:
            response["ETag"] = call.etag
        for name, value in call.told.items():
            response[name] = value
        return response
    except HttpProblem as error:
        return problem(request, error.status, error.why, headers=error.headers)
    except Conflict as error:
        return problem(request, 409, str(error) or "Somebody else has changed this meanwhile.")
    except Refused as error:
        return problem(request, 422, str(error), error)
    except PermissionDenied as error:
        return problem(request, 403, str(error) or "You may not do this.")
    except Http404 as error:
        return problem(request, 404, str(error) if "matches the given query" not in str(error) else "")
    except RequestDataTooBig:
        return problem(request, 413, "The body is too large.")
    except ImmediateHttpResponse as error:
        return problem(request, error.response.status_code, headers={"Retry-After": error.response["Retry-After"]})


def _once(call: Call, operation: ApiOperation, digest: bytes, args: Mapping[str, Any]) -> HttpResponseBase:
    """What is answered; to a request that comes again with the same key, the same."""
    key = call.headers.get("Idempotency-Key", "")
    changes_nothing = operation.sends_file or call.asked.get("dry_run")
    if operation.method != "POST" or not key or changes_nothing:
        return _response(call, operation, operation.perform(call, **args))
    if len(key) > KeptAnswer.MAX_KEY:
        raise Refused(f"A key has at most {KeptAnswer.MAX_KEY} characters.", place="Idempotency-Key")
    asked = sha256(call.get_full_path().encode() + digest).hexdigest()
    with write():
        oldest = timezone.now() - KeptAnswer.KEPT
        KeptAnswer.objects.filter(token=call.token, key=key, at__lt=oldest).delete()
        kept, is_new = KeptAnswer.objects.get_or_create(token=call.token, key=key, defaults={"digest": asked})
        if is_new:
            result = operation.perform(call, **args)
            if isinstance(result, Job):
                store(kept, answer={"job": result.pk})
            else:
                response = _response(call, operation, result)
                body = response.content.decode() if isinstance(response, HttpResponse) else ""
                store(kept, answer={"status": response.status_code, "body": body, "etag": call.etag})
                return response
    if kept.digest != asked:
        raise Refused("This key came with another request before.", place="Idempotency-Key")
    if "job" in kept.answer:
        return _response(call, operation, access.job(call, kept.answer["job"]))
    call.etag = kept.answer["etag"]
    return HttpResponse(kept.answer["body"], "application/json", kept.answer["status"])


def _response(call: Call, operation: ApiOperation, result: Any) -> HttpResponseBase:
    if isinstance(result, HttpResponseBase):
        return result
    if isinstance(result, Job):
        result = _waited_for(result, call.headers.get("Prefer", ""))
        headers = {"Location": f"{PREFIX}jobs/{result.pk}"}
        return JsonResponse(show_job(result), status=200 if result.is_over else 202, headers=headers)
    if isinstance(result, Rows):
        if call.get_preferred_type(["application/json", NDJSON]) == NDJSON:
            lines = (f"{to_json(each)}\n" for each in _stream(result))
            return StreamingHttpResponse(lines, content_type=NDJSON)
        result = _page(call, result)
    if result is None:
        return HttpResponse(status=204)
    status = 200 if call.asked.get("dry_run") else operation.status
    return HttpResponse(to_json(result), "application/json", status)


def _waited_for(job: Job, prefer: str) -> Job:
    """A job when it is over, or when its program does not want to wait any longer. Where as many wait as may, at once: each has a
    thread that people need."""
    wanted = re.search(r"\bwait=(\d{1,4})\b", prefer)
    if job.is_over or not wanted or not _waiting.acquire(blocking=False):
        return job
    try:
        until = time.monotonic() + min(int(wanted[1]), MOST_WAITING)
        while not job.is_over and time.monotonic() < until:
            time.sleep(POLL)
            job.refresh_from_db()
    finally:
        _waiting.release()
    return job


def show_job(job: Job) -> dict[str, Any]:
    page = re.fullmatch(r"(?:/datasets)?/(\w+/\d+)/", job.result.get("url") or "")
    return {
        **attributes(job, "id kind title state phase done total created_at finished_at"),
        "text": job.result.get("text", ""),
        "resource": f"{PREFIX}{page[1]}" if page else None,
        "file": f"{PREFIX}jobs/{job.pk}/file" if job.state == JobState.DONE and "file" in job.result else None,
        "message": job.errors.get("message", ""),
        "problems": [{"place": place, "text": text} for place, text in job.errors.get("problems", [])],
    }


def time_of(moment: Any) -> str | None:
    """In UTC, with parts of a second: what is asked for as changed since then is not missed."""
    return moment and moment.isoformat().replace("+00:00", "Z")


def attributes(thing: Any, names: str) -> dict[str, Any]:
    """Some of its attributes as JSON has them: times in UTC, people by their names."""
    values = {name: getattr(thing, name) for name in names.split()}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return time_of(value)
    return value.username if isinstance(value, User) else value


def _page(call: Call, rows: Rows) -> dict[str, Any]:
    limit = call.asked.get("limit") or 100
    found = rows.after(call.asked.get("cursor"), limit + 1)
    following = None
    if len(found) > limit:
        found = found[:limit]
        query = call.GET.copy()
        query["cursor"] = found[-1][0]
        following = call.build_absolute_uri(f"{call.path}?{query.urlencode()}")
    return {"results": list(rows.show([row for _, row in found])), "next": following}


def _stream(rows: Rows) -> Iterator[dict[str, Any]]:
    """All, read in portions: no transaction waits for a slow program."""
    last: str | None = None
    while found := rows.after(last, PORTION):
        yield from rows.show([row for _, row in found])
        last = found[-1][0]


def check_match(call: Call, etag: str) -> None:
    """Refuse what is meant for another state, if the program has said for which, in a transaction that has locked it."""
    wanted = call.headers.get("If-Match", "").strip()
    # Weak is what a proxy has made of one that it sent compressed.
    if wanted not in ("", "*") and etag not in [each.strip().removeprefix("W/") for each in wanted.split(",")]:
        raise HttpProblem(412, "It has changed since you have read it. Read it again.", {"ETag": etag})
