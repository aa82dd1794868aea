"""The Annotation Service for programs in Python 3.10 or later: this file is all, and needs nothing else. Copy it or install it::

    pip install "git+REPOSITORY#subdirectory=client"

    service = Service("https://annotate.example.org", "ans_…")
    for dataset in service.all("datasets", q="orders"):
        print(dataset["id"], dataset["name"])

Paths are those of the reference (``/help/api/`` of the service), below ``/api/v1/``. What fails for a moment is tried again: each
``post`` has a key by which the service does it once, however often it arrives.
"""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

__all__ = ["JobFailed", "Service", "ServiceError"]
NDJSON = "application/x-ndjson"
PASSING = {429, 502, 503, 504}


class ServiceError(Exception):
    """What the service refuses: ``status``, ``detail``, and ``problems``, each with its ``place`` and ``text``."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.detail: str = problem.get("detail", "")
        self.problems: list[dict[str, str]] = problem.get("problems", [])
        self.request_id: str = problem.get("request_id", "")
        told = [f"{each['place']}: {each['text']}".removeprefix(": ") for each in self.problems] or [self.detail]
        super().__init__(f"{status}: " + "; ".join(told))


class JobFailed(Exception):
    """Long work that failed or was cancelled; ``job`` tells why."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        told = [f"{each['place']}: {each['text']}".removeprefix(": ") for each in job["problems"]]
        super().__init__(f"{job['title']}: {job['state']}. " + "; ".join([*filter(None, [job["message"]]), *told]))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token is for the service alone, wherever that might lead."""

    def redirect_request(self, *args: Any, **options: Any) -> None:
        return None


class Service:
    """``url`` is where people open the service; ``tries`` is how often something is tried that fails for a moment; ``timeout`` is
    in seconds, for each answer."""

    def __init__(self, url: str, token: str, *, tries: int = 5, timeout: float = 60) -> None:
        self.url, self.token, self.tries, self.timeout = url.rstrip("/"), token, tries, timeout
        self._opener = urllib.request.build_opener(_NoRedirects)

    # --- One request -----------------------------------------------------------------------------------------------------

    def get(self, path: str, **query: Any) -> Any:
        return self._json("GET", path, query=query)

    def post(self, path: str, body: Any = None, *, key: str = "", **query: Any) -> Any:
        """With the ``key`` of one that was sent within a day it is not done again, and answered alike."""
        return self._json("POST", path, body, query=query, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    def patch(self, path: str, body: Any, *, etag: str = "", **query: Any) -> Any:
        """With the ``etag`` of what was read, nothing is changed that has changed since."""
        return self._json("PATCH", path, body, query=query, headers={"If-Match": etag} if etag else {})

    def put(self, path: str, body: Any, *, etag: str = "", **query: Any) -> Any:
        return self._json("PUT", path, body, query=query, headers={"If-Match": etag} if etag else {})

    def delete(self, path: str, **query: Any) -> None:
        self._json("DELETE", path, query=query)

    # --- Lists, files and long work --------------------------------------------------------------------------------------

    def all(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """What is in a list, page after page."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            page = self._json("GET", page["next"])

    def stream(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """What is in a list, in one answer that comes line by line: for whole projects."""
        with self._send("GET", path, query=query, headers={"Accept": NDJSON}) as answer:
            for line in answer:
                yield json.loads(line)

    def upload(
        self,
        path: str,
        content: bytes | str | Path | Iterable[dict[str, Any]],
        *,
        method: str = "POST",
        key: str = "",
        **query: Any,
    ) -> Any:
        """Send a text, a file or objects, which become lines of JSON; returns what `wait` does."""
        if isinstance(content, Path):
            query.setdefault("file_name", content.name)
            data = content.read_bytes()
        elif isinstance(content, bytes | str):
            data = content.encode() if isinstance(content, str) else content
        else:
            data = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in content).encode()
        headers = {"Idempotency-Key": key or uuid.uuid4().hex} if method == "POST" else {}
        return self.wait(self._json(method, path, data, query=query, headers=headers))

    def download(self, path: str, to: Path | BinaryIO, **query: Any) -> None:
        """Fetch a file, such as the ``file`` of a job."""
        with self._send("GET", path, query=query) as answer:
            if isinstance(to, Path):
                with to.open("wb") as target:
                    copyfileobj(answer, target)
            else:
                copyfileobj(answer, to)

    def wait(self, answer: Any, *, seconds: float = 24 * 3600) -> Any:
        """The answer itself or, if it is a job, what it has made when it is done; if that has no address, the job. Raises
        `JobFailed`, and `TimeoutError` after so long."""
        until = time.monotonic() + seconds
        while isinstance(answer, dict) and answer.keys() >= {"state", "phase", "finished_at"}:
            if answer["state"] == "done":
                return self.get(answer["resource"]) if answer.get("resource") else answer
            if answer["state"] in ("failed", "cancelled"):
                raise JobFailed(answer)
            if time.monotonic() > until:
                raise TimeoutError(f"{answer['title']} has taken longer than {seconds:.0f} seconds.")
            answer = self._json("GET", f"jobs/{answer['id']}", headers={"Prefer": "wait=20"})
        return answer

    # --- How it is sent --------------------------------------------------------------------------------------------------

    def _json(self, *args: Any, **options: Any) -> Any:
        with self._send(*args, **options) as answer:
            data = answer.read()
            return json.loads(data) if data else None

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> HTTPResponse:
        sent = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **(headers or {})}
        data = body
        if isinstance(body, bytes):
            sent["Content-Type"] = "application/octet-stream"
        elif body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self._address(path, query or {}), data, sent, method=method)
        for attempt in range(1, self.tries + 1):
            pause = min(60.0, 2.0**attempt) * random.uniform(0.5, 1)
            try:
                return self._opener.open(request, timeout=self.timeout)
            except urllib.error.HTTPError as error:
                if error.code not in PASSING or attempt == self.tries:
                    raise ServiceError(error.code, _problem(error)) from None
                pause = max(pause, float(error.headers.get("Retry-After") or 0))
            except (urllib.error.URLError, HTTPException, OSError):
                if attempt == self.tries:
                    raise
            time.sleep(pause)
        raise AssertionError

    def _address(self, path: str, query: dict[str, Any]) -> str:
        below = path if path.startswith("/") else f"/api/v1/{path}"
        address = path if path.startswith("http") else f"{self.url}{below}"
        if not address.startswith(f"{self.url}/"):
            raise ValueError(f"{address} is not an address of {self.url}: the token is not sent there.")
        values = {name: _text(value) for name, value in query.items() if value is not None}
        return f"{address}?{urllib.parse.urlencode(values)}" if values else address


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, dict):
        return json.dumps(value)
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _problem(error: urllib.error.HTTPError) -> dict[str, Any]:
    try:
        found = json.loads(error.read())
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"detail": error.reason}
