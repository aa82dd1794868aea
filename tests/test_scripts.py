"""The scripts in bin/, and the service as they start it."""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.benchmarks.service import Browser, Service, children

BIN = Path(__file__).parents[1] / "bin"


def run(*command, **environment):
    clean = {key: value for key, value in os.environ.items() if key not in ("ALLOWED_HOSTS", "VAR_DIR")}
    return subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_a_service_for_everybody_wants_to_know_its_names(host, tmp_path):
    done = run(BIN / "run", "--host", host, "--port", "1", VAR_DIR=str(tmp_path))
    assert done.returncode == 1 and "set ALLOWED_HOSTS to the names" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_made_at_run_time_is_made_where_the_environment_says(tmp_path):
    done = run("bash", "-c", f". {BIN}/lib.sh && make_key && echo $var", VAR_DIR=str(tmp_path / "elsewhere"))
    assert done.stdout.strip() == str(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "secret_key").stat().st_mode & 0o777 == 0o600


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A fresh checkout, in which somebody called bin/run twice at once. The second one's exit status is `second`."""
    checkout = Service(tmp_path_factory.mktemp("checkout"), "", long=False)
    checkout.process = start(checkout)
    wait_for((checkout.folder / "var" / "secret_key").exists)  # made by the one whose turn it is
    checkout.second = start(checkout).wait(120)
    yield checkout
    checkout.stop()


@pytest.fixture
def service(checkout):
    """The service, even if the test before stopped it."""
    if checkout.process.poll() is not None:
        checkout.process = start(checkout)
        wait_for(lambda: answers(checkout))
    return checkout


def start(service):
    with service.log.open("ab") as log:
        # What is started in the background ignores Ctrl-C, and so does all that it starts.
        command = ["env", "--default-signal=INT", "bin/run", "--port", str(service.port)]
        return subprocess.Popen(
            command, cwd=service.folder, env=service.environment, stdout=log, stderr=log, start_new_session=True
        )


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def answers(service):
    try:
        Browser(service).get("/accounts/login/")
    except OSError:
        return False
    return True


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def runs(pid):
    """Whether it has not ended; its parent may not have taken notice yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def web_server(service):
    """The process that bin/run started to serve, and the one that it started to answer."""
    for pid in service.processes():
        if "serve" in command(pid) and (found := children(pid)):
            return pid, found[0]
    return None


def test_of_two_starts_at_once_the_second_waits_and_gives_way(service):
    log = service.log.read_text()
    assert service.second == 1 and answers(service)
    assert "Another bin/run is starting here: waiting for it." in log
    assert f"Port {service.port} is in use already" in log
    assert log.count("A demo is ready") == 1


def test_passwords_are_not_written_to_a_log(service):
    accounts = service.folder / "var" / "demo_accounts.txt"
    log = service.log.read_text()
    assert str(accounts) in log
    assert not any(line.split()[1] in log for line in accounts.read_text().splitlines())


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: csrftoken=%(token)s\r\nX-CSRFToken: %(token)s\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nlogin="
        % {b"token": b"a" * 32},
    ],
    ids=["idle", "half a head", "half a body"],
)
def test_slow_clients_keep_nobody_waiting(service, sent):
    held = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(40)]
    for client in held:
        client.sendall(sent)
    time.sleep(0.5)
    browser = Browser(service)
    browser.connection.timeout = 15  # less than it takes until slow clients are given up
    browser.get("/accounts/login/")


def test_what_is_too_large_is_refused_with_a_page_before_it_comes(service):
    client = socket.create_connection(("127.0.0.1", service.port), timeout=5)
    client.sendall(b"POST /datasets/new/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000000\r\n\r\n")
    answer = client.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 413") and "too large" in answer and "</html>" in answer


@pytest.mark.parametrize(
    ("which", "said"), [(1, r"a web process ended \(-9\)"), (0, "The web server ended and is started again")]
)
def test_a_web_server_that_is_killed_comes_back(service, which, said):
    killed = web_server(service)[which]
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: (found := web_server(service)) and killed not in found and answers(service))
    assert re.search(said, service.log.read_text())


def test_a_start_that_fails_ends_everything(service):
    command = [service.folder / "bin" / "run", "--port", "none"]
    done = subprocess.run(command, env=service.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "invalid int value: 'none'" in done.stderr


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["a signal", "Ctrl-C"])
def test_a_stop_ends_all_processes_and_says_nothing(service, send):
    processes, said = service.processes(), service.log.read_text()
    send(service.process.pid, signal.SIGINT)
    assert service.process.wait(30) == 0
    # Each gets the signal, so one may end after the first.
    wait_for(lambda: not [pid for pid in processes if runs(pid)])
    assert service.log.read_text() == said
