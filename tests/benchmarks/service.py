"""The service under test: a copy of this checkout in a temporary folder, started with its own bin/run.

So it has a database, a key and uploads of its own, one web process with eight threads and one worker, and every request goes
over HTTP as a browser sends it: with session, CSRF token and the rendered page as the answer.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent.parent
OWN_SETTINGS = {"VAR_DIR", "SECRET_KEY", "ALLOWED_HOSTS", "HTTPS", "UPLOAD_DIR", "DATABASE_URL", "WEB_PROCESSES"}
PATIENCE = 600


class Service:
    process: subprocess.Popen[bytes] | None = None

    def __init__(self, folder: Path, database_url: str, *, long: bool) -> None:
        self.folder, self.long = folder / "service", long
        self.log = folder / "log"
        shutil.copytree(ROOT, self.folder, ignore=shutil.ignore_patterns(".*", "var", "tests", "__pycache__"))
        # The packages of this virtual environment, marked as installed, so that bin/run need not look after them.
        (self.folder / ".venv").mkdir()
        for name in ("bin", "lib", "pyvenv.cfg"):
            (self.folder / ".venv" / name).symlink_to(ROOT / ".venv" / name)
        shutil.copy(ROOT / "requirements.lock", self.folder / ".venv" / "installed-requirements.lock")
        self.environment = {name: value for name, value in os.environ.items() if name not in OWN_SETTINGS}
        self.environment["PREANNOTATION_RESOURCES"] = "1"
        if database_url:
            self.environment["DATABASE_URL"] = database_url
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> None:
        """Start it, or start it anew, and wait for the sign-in page."""
        self.stop()
        command = ["bin/run", "--no-demo", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        browser = Browser(self)
        while self.process.poll() is None:
            try:
                browser.get("/accounts/login/")
                return
            except OSError:
                time.sleep(0.005)
        raise RuntimeError("bin/run failed")

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()

    def memory(self, file: str, key: str) -> float:
        """A figure of /proc summed over all its processes (shells, web, worker), in MB."""
        texts = (Path(f"/proc/{pid}/{file}").read_text() for pid in self.processes())
        return sum(float(text.partition(f"{key}:")[2].split()[0]) for text in texts) / 1000

    def forget_peaks(self) -> None:
        for pid in self.processes():
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def processes(self) -> list[int]:
        assert self.process
        found = [self.process.pid]
        for pid in found:
            found += children(pid)
        return found


def children(pid: int) -> list[int]:
    """Of a process, which may have ended since it was found."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@contextmanager
def autovacuum(server: Any) -> Iterator[None]:
    """Have a PostgreSQL server see to its statistics meanwhile: without, figures mean nothing, for no installation is run so."""

    def is_on() -> bool:
        return bool(server.execute("SELECT current_setting('autovacuum')::boolean").fetchone()[0])

    def change(statement: str) -> None:
        server.execute(statement)
        server.execute("SELECT pg_reload_conf()")

    if is_on():
        yield
        return
    where = server.execute("SELECT sourcefile FROM pg_settings WHERE name = 'autovacuum'").fetchone()[0] or ""
    before = "SET autovacuum = off" if where.endswith("postgresql.auto.conf") else "RESET autovacuum"
    try:
        change("ALTER SYSTEM SET autovacuum = on")
    except Exception as error:
        raise SystemExit(f"The server's autovacuum is off, so nothing is measured: turn it on. ({error})") from None
    try:
        time.sleep(1)  # until the server has read it
        if not is_on():
            raise SystemExit("The server's autovacuum stays off, so nothing is measured: turn it on.")
        yield
    finally:
        change(f"ALTER SYSTEM {before}")


class Browser:
    """A signed-in person's browser, which asks for parts of pages as htmx does: one connection that is kept open."""

    def __init__(self, service: Service, username: str = "") -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        self.used = 0.0
        token = uuid.uuid4().hex
        self.headers = {"Cookie": f"csrftoken={token}", "X-CSRFToken": token, "HX-Request": "true"}
        if username:
            from django.test import Client

            from annotation_service.models import User

            client = Client()
            client.force_login(User.objects.get(username=username))
            self.headers["Cookie"] += f"; sessionid={client.cookies['sessionid'].value}"

    def ask(
        self, path: str, body: bytes | None = None, *, expected: int | tuple[int, ...] = 200, **headers: str
    ) -> tuple[bytes, str]:
        """The answer, and where it leads. A body makes it a POST."""
        if time.monotonic() - self.used > 1:  # the server closes idle connections
            self.connection.close()
        headers = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET" if body is None else "POST", path, body, headers)
        response = self.connection.getresponse()
        text = response.read()
        self.used = time.monotonic()
        if response.status not in ((expected,) if isinstance(expected, int) else expected):
            raise RuntimeError(f"{path}: {response.status} {text[:300]!r}")
        headers = response.headers
        return text, headers["Location"] or headers["HX-Redirect"] or ""

    def get(self, path: str) -> None:
        self.ask(path)

    def download(self, path: str) -> tuple[float, float]:
        """The seconds to the first and to the last byte, read in small pieces."""
        self.connection.close()
        started = time.perf_counter()
        self.connection.request("GET", path, headers=self.headers)
        response = self.connection.getresponse()
        response.read(1)
        first = time.perf_counter() - started
        while response.read(1 << 16):
            pass
        return first, time.perf_counter() - started

    def submit(self, path: str, *, expected: int = 200, **fields: object) -> str:
        """Send a form; returns the address that the answer leads to."""
        kind = "application/x-www-form-urlencoded"
        return self.ask(
            path, urlencode(fields, doseq=True).encode(), expected=expected, Content_Type=kind, HX_Request="true"
        )[1]

    def submit_json(self, path: str, **fields: object) -> Any:
        headers = {"Content_Type": "application/json", "Accept": "application/json"}
        return json.loads(self.ask(path, json.dumps(fields).encode(), **headers)[0])

    def get_json(self, path: str) -> Any:
        return json.loads(self.ask(path, Accept="application/json")[0])

    def upload(self, path: str, file: bytes, *, expected: int = 302, **fields: object) -> str:
        """Send a form with a file, as multipart/form-data."""
        mark = uuid.uuid4().hex
        parts = [f'--{mark}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
        parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n')
        body = "".join(parts).encode() + file + f"\r\n--{mark}--\r\n".encode()
        return self.ask(path, body, expected=expected, Content_Type=f"multipart/form-data; boundary={mark}")[1]

    def follow(self, path: str) -> str:
        """Wait for the job that a form led to, if it is one, and open the page that it leads to; returns its address."""
        if path.startswith("/jobs/"):
            while b"hx-trigger" in self.ask(f"{path}progress/")[0]:
                time.sleep(0.05)
            path = self.ask(path, expected=302)[1]
        self.get(path)
        return path

    def fetch(self, path: str) -> None:
        """Wait for the job that makes a file, and download that."""
        while b"hx-trigger" in self.ask(f"{path}progress/")[0]:
            time.sleep(0.05)
        self.get(f"{path}file/")


class Program:
    """A program with a token, which waits for its jobs."""

    def __init__(self, service: Service, user: Any) -> None:
        from api.models import Token

        self.port = service.port
        self.headers = {
            "Authorization": f"Bearer {Token.make(user, 'benchmark', scope='manage')[1]}",
            "Prefer": "wait=30",
        }

    def send(self, path: str, body: bytes | None = None, method: str = "") -> Any:
        """The answer; a body makes it a POST, unless another method is given."""
        with self._answer(method or ("GET" if body is None else "POST"), path, body, self.headers) as response:
            return json.load(response)

    def lines(self, path: str) -> int:
        """How many come of a list that is streamed."""
        with self._answer("GET", path, None, {**self.headers, "Accept": "application/x-ndjson"}) as response:
            return sum(1 for _ in response)

    @contextmanager
    def _answer(self, *asked: Any) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(connection):
            connection.request(*asked)
            response = connection.getresponse()
            if response.status >= 300:
                raise RuntimeError(f"{asked[:2]}: {response.status} {response.read(300)!r}")
            yield response

    def done(self, job: Any) -> None:
        while job["state"] in ("queued", "running"):
            job = self.send(f"/api/v1/jobs/{job['id']}")
        if job["state"] != "done":
            raise RuntimeError(str(job))
