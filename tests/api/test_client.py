"""The client for programs: what it sends, tries again, and takes apart; against a server whose answers are written down here."""

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from django.conf import settings

PATH = settings.BASE_DIR / "client" / "annotation_client.py"
JOB = {"id": 7, "kind": "x", "title": "Import", "phase": "", "finished_at": None, "problems": [], "message": ""}


@pytest.fixture(scope="module")
def client():
    spec = spec_from_file_location("annotation_client", PATH)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(monkeypatch, client):
    """Answers with what is in ``answers``, one after the other: a status, headers and a body; keeps what it was sent."""
    monkeypatch.setattr(client.time, "sleep", lambda seconds: server.pauses.append(seconds))

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            size = int(self.headers.get("Content-Length") or 0)
            server.sent.append((self.command, self.path, dict(self.headers), self.rfile.read(size)))
            status, headers, body = server.answers.pop(0)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.sent, server.answers, server.pauses = [], [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def service(client, server):
    return client.Service(server.url, "ans_secret")


def test_it_shows_its_token_and_reads_page_after_page(service, server):
    following = f"{server.url}/api/v1/datasets?cursor=2"
    server.answers = [(200, {}, {"results": [1, 2], "next": following}), (200, {}, {"results": [3], "next": None})]
    assert list(service.all("datasets", q="a b", limit=2)) == [1, 2, 3]
    assert [path for _, path, *_ in server.sent] == ["/api/v1/datasets?q=a+b&limit=2", "/api/v1/datasets?cursor=2"]
    assert {headers["Authorization"] for *_, headers, _ in server.sent} == {"Bearer ans_secret"}


def test_what_fails_for_a_moment_is_sent_again_with_the_same_key(service, server):
    server.answers = [(503, {"Retry-After": "90"}, {}), (502, {}, b"<html>"), (201, {}, {"id": 1})]
    assert service.post("datasets", {"name": "x"}) == {"id": 1}
    assert len({headers["Idempotency-Key"] for *_, headers, _ in server.sent}) == 1
    assert {body for *_, body in server.sent} == {b'{"name": "x"}'}
    assert server.pauses[0] == 90 and server.pauses[1] < 60


def test_a_refusal_is_not_sent_again_and_tells_what_is_wrong(service, server, client):
    problem = {"detail": "no", "problems": [{"place": "$.name", "text": "A text was expected."}], "request_id": "r"}
    server.answers = [(422, {}, problem)]
    with pytest.raises(client.ServiceError, match=r"422: \$.name: A text was expected.") as found:
        service.post("datasets", {"name": 1})
    assert (found.value.status, found.value.request_id, len(server.sent)) == (422, "r", 1)


def test_it_gives_up_after_so_many_tries(client, server):
    server.answers = [(503, {}, b"")] * 3
    with pytest.raises(client.ServiceError, match="503"):
        client.Service(server.url, "t", tries=3).get("me")
    assert len(server.sent) == 3


@pytest.mark.parametrize("where", ["http://elsewhere.example/api/v1/me", "//elsewhere.example/x"])
def test_the_token_is_shown_to_the_service_alone(service, server, client, where):
    server.answers = [(302, {"Location": where}, b"")]
    with pytest.raises(client.ServiceError, match="302"):
        service.get("me")
    assert len(server.sent) == 1
    with pytest.raises(ValueError, match="not an address of"):
        service.get("http://elsewhere.example/api/v1/me")


def test_long_work_is_waited_for(service, server, client):
    server.answers = [
        (202, {}, {**JOB, "state": "queued"}),
        (202, {}, {**JOB, "state": "running"}),
        (200, {}, {**JOB, "state": "done", "text": "Done."}),
    ]
    assert service.upload("datasets/1/items", [{"original": "ü"}])["text"] == "Done."
    assert [(method, path) for method, path, *_ in server.sent][1:] == [("GET", "/api/v1/jobs/7")] * 2
    assert server.sent[0][3] == '{"original": "ü"}\n'.encode()
    made = {**JOB, "state": "done", "resource": "/api/v1/datasets/3"}
    server.answers = [(202, {}, {**JOB, "state": "running"}), (200, {}, made), (200, {}, {"id": 3})]
    assert service.upload("datasets", "a") == {"id": 3}
    server.answers = [(200, {}, {**JOB, "state": "failed", "problems": [{"place": "line 2", "text": "Wrong."}]})]
    with pytest.raises(client.JobFailed, match="line 2: Wrong"):
        service.upload("datasets", "a\nb", kind="standard")


def test_lists_come_in_lines_and_files_as_they_are(service, server):
    server.answers = [(200, {}, b'{"id": 1}\n{"id": 2}\n'), (200, {}, b"zip" * 100_000)]
    assert [each["id"] for each in service.stream("projects/1/annotations")] == [1, 2]
    target = io.BytesIO()
    service.download("/api/v1/jobs/7/file", target)
    assert target.getvalue() == b"zip" * 100_000
