"""The web server with small applications, and clients that are slow, greedy or far away."""

import http.client
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from waitress import buffers

from annotation_service import server
from annotation_service.accounts import AccountAdapter, MailBackend
from tests.faults import start_child

PATIENCE = 30  # seconds, far more than any answer takes
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
SLOW = {"idle": b"", "half a head": HEAD, "half a body": HEAD + b"\r\nsome"}


def echo(environ, start_response):
    """Answers what came: method, the client's address, the length that it was told, what came of the body."""
    body = environ["wsgi.input"].read()
    told = f"{environ['REQUEST_METHOD']} {environ['REMOTE_ADDR']} {environ.get('CONTENT_LENGTH', '-')} {len(body)}".encode()
    start_response("200 OK", [("Content-Length", str(len(told)))])
    return Closing([told])


class Closing(list):
    def close(self):
        pass


@pytest.fixture
def serving(settings):
    """A context manager that serves an application from threads of this process, and gives the port."""
    settings.WEB_THREADS = 2

    @contextmanager
    def serving(application=echo, host="127.0.0.1"):
        listening = server.listen(host, 0)
        served = server.Server(application, listening)
        over = threading.Event()

        def turn():
            while not over.is_set():
                served.turn()

        thread = threading.Thread(target=turn)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            over.set()
            served.pull_trigger()
            thread.join()
            served.task_dispatcher.shutdown(timeout=0)
            for channel in list(served.active_channels.values()):
                channel.handle_close()
            served.close()

    return serving


def connect(port, sent=b"", source="127.0.0.1"):
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0))
    client.sendall(sent)
    return client


def ask(port, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, "/", body, headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


def read(client):
    """All that comes until the connection is closed."""
    client.settimeout(PATIENCE)
    return client.makefile("rb").read()


def is_closed(client, within=PATIENCE):
    client.settimeout(within)
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
def test_slow_clients_hold_no_thread(serving, sent):
    with serving() as port:
        clients = [connect(port, sent) for _ in range(20)]
        assert ask(port) == (200, "GET 127.0.0.1 - 0")
        assert not any(is_closed(client, 0.01) for client in clients)


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
def test_slow_clients_are_given_up_after_a_while(serving, settings, sent):
    settings.SLOW_CLIENT_SECONDS = 1
    with serving() as port:
        assert is_closed(connect(port, sent))


@pytest.mark.parametrize(("bytes_a_second", "given_up"), [(1000, True), (1, False)])
def test_a_body_that_trickles_is_given_up_unless_it_is_fast_enough(serving, settings, bytes_a_second, given_up):
    settings.SLOW_CLIENT_SECONDS, settings.SLOW_CLIENT_BYTES = 1, bytes_a_second
    with serving() as port:
        client = connect(port, b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 30\r\n\r\n")
        answer = b""
        with suppress(ConnectionError):
            for _ in range(29):
                client.sendall(b"x")
                time.sleep(0.1)
            if not given_up:  # the others never get as far, however late the server looks
                client.sendall(b"x")
            answer = read(client)
        assert answer.endswith(b"POST 127.0.0.1 30 30") != given_up


def test_of_too_many_unfinished_requests_the_most_silent_is_given_up(serving, settings):
    settings.MAX_UNFINISHED_PER_ADDRESS = 5
    with serving() as port:
        elsewhere = connect(port, source="127.0.0.2")
        clients = [connect(port, sent) for sent in (*SLOW.values(), b"", b"")]
        assert not any(is_closed(client, 0.05) for client in clients)
        assert ask(port)[0] == 200
        assert is_closed(clients[0])
        assert not any(is_closed(client, 0.05) for client in (*clients[1:], elsewhere))


def test_the_network_of_an_ipv6_address_is_limited_as_one():
    """Who has one address of IPv6 has a whole network of them."""
    addresses = ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1", "198.51.100.1", "198.51.100.2")
    networks = [server.Channel.network.func(SimpleNamespace(addr=(address, 1))) for address in addresses]
    assert networks == ["2001:db8::", "2001:db8::", "2001:db8:0:1::", "198.51.100.1", "198.51.100.2"]


def test_whole_requests_are_not_limited(serving, settings):
    settings.MAX_UNFINISHED_PER_ADDRESS, settings.WEB_THREADS, settings.SLOW_CLIENT_SECONDS = 2, 1, 1
    go_on = threading.Event()

    def wait(environ, start_response):
        go_on.wait()
        return echo(environ, start_response)

    with serving(wait) as port:
        clients = [connect(port, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n") for _ in range(10)]
        assert not any(is_closed(client, 0.3) for client in clients)
        go_on.set()
        assert all(read(client).endswith(b"GET 127.0.0.1 - 0") for client in clients)


def test_when_there_are_too_many_connections_the_most_silent_makes_room(serving, settings, monkeypatch):
    settings.MAX_UNFINISHED_PER_ADDRESS = 0
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    with serving() as port:
        clients = [connect(port, source=f"127.0.0.{n}") for n in range(2, 5)]
        assert ask(port)[0] == 200
        assert is_closed(clients[0]) and not is_closed(clients[1], 0.05)


def test_a_client_that_does_not_read_a_file_holds_no_thread(serving, settings):
    settings.WEB_THREADS = 1

    def send_file(environ, start_response):
        if environ["PATH_INFO"] != "/file":
            return echo(environ, start_response)
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the server closes it
        file.truncate(50_000_000)
        start_response("200 OK", [("Content-Length", "50000000")])
        return environ["wsgi.file_wrapper"](file)

    with serving(send_file) as port:
        client = connect(port, b"GET /file HTTP/1.1\r\n\r\n")
        assert ask(port)[0] == 200
        received = 0
        while received < 50_000_000:
            received += len(client.recv(1 << 20))


def test_a_client_that_does_not_read_a_stream_is_given_up(serving, settings):
    settings.WEB_THREADS = settings.SLOW_CLIENT_SECONDS = 1
    ended = threading.Event()

    def stream(environ, start_response):
        start_response("200 OK", [])
        try:
            for _ in range(100):
                yield b"x" * 1_000_000
        finally:
            ended.set()

    with serving(stream) as port:
        connect(port, b"GET / HTTP/1.1\r\n\r\n")
        assert ended.wait(30)


def test_requests_in_one_piece_are_answered_in_their_order(serving):
    with serving() as port:
        client = connect(
            port, b"GET / HTTP/1.1\r\n\r\nPUT / HTTP/1.1\r\n\r\nDELETE / HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
        answers = read(client).split(b"HTTP/1.1 200 OK")
        assert [answer.split()[-4] for answer in answers[1:]] == [b"GET", b"PUT", b"DELETE"]


def test_head_has_no_body_and_the_connection_goes_on(serving):
    with serving() as port:
        client = connect(port, b"HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        first, second = read(client).split(b"HTTP/1.1 200 OK")[1:]
        assert b"Content-Length: 18" in first and first.endswith(b"\r\n\r\n")
        assert second.endswith(b"GET 127.0.0.1 - 0")


def test_a_chunked_body_arrives_whole(serving):
    with serving() as port:
        assert ask(port, "POST", iter([b"abc", b"defg"])) == (200, "POST 127.0.0.1 7 7")


def test_what_is_too_large_is_refused_before_it_comes(serving, settings):
    """The application refuses it; a body whose length nobody told is refused as soon as it is too large."""
    settings.MAX_FILE_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    with serving() as port:
        for expect in (b"", b"Expect: 100-continue\r\n"):
            client = connect(port, b"POST / HTTP/1.1\r\nContent-Length: 2001\r\n" + expect + b"\r\n")
            answer = read(client)
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"POST 127.0.0.1 2001 0")
        assert ask(port, "POST", b"x" * 2000) == (200, "POST 127.0.0.1 2000 2000")
        assert ask(port, "POST", iter([b"x" * 1500, b"x" * 1500]))[0] == 413


@pytest.mark.parametrize("head", [b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000, b"GET http://[::1 HTTP/1.1"])
def test_what_nobody_can_read_is_answered_and_not_logged(serving, caplog, head):
    with serving() as port:
        assert read(connect(port, head + b"\r\n\r\n")).startswith(b"HTTP/1.1 400 Bad Request")
        assert "exception" not in caplog.text


def test_a_body_for_which_there_is_no_room_is_refused_with_the_reason(serving, monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(buffers.TempfileBasedBuffer, "newfile", full)
    with serving() as port:
        status, text = ask(port, "POST", b"x" * 600_000)
        assert status == 507 and "no room left on the server" in text
        assert ask(port)[0] == 200


def test_what_a_proxy_says_is_left_to_the_settings(serving):
    def told(environ, start_response):
        start_response("200 OK", [])
        return [environ["HTTP_X_FORWARDED_FOR"].encode(), b" ", environ["HTTP_X_FORWARDED_PROTO"].encode()]

    headers = {"X-Forwarded-For": "198.51.100.1, 203.0.113.9", "X-Forwarded-Proto": "https"}
    with serving(told) as port:
        assert ask(port, **headers) == (200, "198.51.100.1, 203.0.113.9 https")


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "203.0.113.9")])
def test_the_address_of_a_client_is_what_the_proxy_says_if_there_is_one(settings, rf, db, proxies, address):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies
    request = rf.get("/", HTTP_X_FORWARDED_FOR="198.51.100.1, 203.0.113.9")
    assert AccountAdapter().get_client_ip(request) == address


def test_it_serves_ipv6(serving):
    with serving(host="::1") as port:
        connection = http.client.HTTPConnection("::1", port, timeout=PATIENCE)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"GET ::1 - 0"


def test_a_stop_finishes_what_is_being_worked_on(settings):
    settings.WEB_THREADS = 2
    reading, writing = os.pipe()

    def slow(environ, start_response):
        os.write(writing, b"x")
        time.sleep(1)
        return echo(environ, start_response)

    with server.listen("127.0.0.1", 0) as listening:
        pid = start_child(lambda: server.Server(slow, listening).serve())
        port = listening.getsockname()[1]
    idle = connect(port)
    busy = connect(port, b"GET / HTTP/1.1\r\n\r\n")
    os.read(reading, 1)
    os.kill(pid, signal.SIGTERM)
    assert is_closed(idle)
    with pytest.raises(ConnectionRefusedError):
        connect(port)
    assert read(busy).endswith(b"GET 127.0.0.1 - 0")
    assert os.waitpid(pid, 0)[1] == 0


class SlowMail(MailBackend):
    def __init__(self, send):
        super().__init__()
        self._send_now = lambda messages: send()


def test_a_stop_waits_for_mails_on_their_way():
    reading, writing = os.pipe()

    def mailing(environ, start_response):
        SlowMail(lambda: (time.sleep(1), os.write(writing, b"sent"))).send_messages([])
        return echo(environ, start_response)

    with server.listen("127.0.0.1", 0) as listening:
        pid = start_child(lambda: server.Server(mailing, listening).serve())
        assert ask(listening.getsockname()[1])[0] == 200
    os.kill(pid, signal.SIGTERM)
    assert os.waitpid(pid, 0)[1] == 0
    os.close(writing)
    assert os.read(reading, 4) == b"sent"


def test_a_process_whose_parent_died_stops(settings):
    with server.listen("127.0.0.1", 0) as listening:
        parent = start_child(lambda: (server._start(listening, echo), time.sleep(60)))
        port = listening.getsockname()[1]
    assert ask(port)[0] == 200
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    end = time.monotonic() + PATIENCE
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < end:
            connect(port).close()
            time.sleep(0.05)


def test_a_client_is_not_waited_for_by_a_clock_that_was_set_back(settings):
    channel = SimpleNamespace(total_outbufs_len=1, requests=(), since=5000.0, last_activity=5000.0, moved=0)
    seconds = settings.SLOW_CLIENT_SECONDS
    assert not server.Channel.is_late(channel, 1000.0)
    assert server.Channel.is_late(channel, 1001.0 + seconds)
