"""The web server: waitress, which takes a request in whole before a thread works on it, and sends answers at each client's pace.

What it lacks is here: time-outs for slow clients, a limit on unfinished requests, several processes, a stop that finishes work.
"""

import logging
import os
import resource
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any

from allauth.core.internal.ratelimit import truncate_ip
from django.conf import settings
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

WSGI = Callable[[dict[str, Any], Callable[..., Any]], Any]
log = logging.getLogger(__name__)

# Of each process, without those whose requests are being worked on.
MAX_CONNECTIONS = 1000
# How long a stop waits for the requests that are being worked on.
SECONDS_TO_FINISH = 10


class NoRoom(Error):
    code = 507
    reason = "Insufficient Storage"


class RequestParser(HTTPRequestParser):
    error: Error | None

    def received(self, data: bytes) -> int:
        try:
            taken: int = super().received(data)
        except OSError as error:
            log.error("a request could not be buffered: %s", error)
            self.error, self.completed, taken = NoRoom("There is no room left on the server."), True, len(data)
        except ValueError:  # waitress lets some pass: of a length of 5,000 digits, of half an IPv6 address
            self.error, self.completed, taken = BadRequest("This request cannot be read."), True, len(data)
        if isinstance(self.error, RequestEntityTooLarge) and not self.chunked:
            # The middleware `body_limit` refuses it with a page, before the body comes.
            self.error, self.expect_continue = None, False
            self.headers["CONNECTION"] = "close"
        return taken


class Channel(HTTPChannel):
    """A connection. What is on its way, a request or an answer, has begun at ``since`` and ``moved`` so many bytes."""

    parser_class = RequestParser
    since = 0.0
    moved = 0
    last_activity: float

    def begin(self) -> None:
        self.since, self.moved = time.time(), 0

    def recv(self, buffer_size: int) -> bytes:
        if self.request is None:
            self.begin()
        data: bytes = super().recv(buffer_size)
        self.moved += len(data)
        return data

    def write_soon(self, data: Any) -> int:
        if not self.total_outbufs_len:
            self.begin()
        length: int = super().write_soon(data)
        return length

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent: int = super().send(data, do_close=do_close)
        self.moved += sent
        return sent

    @cached_property
    def network(self) -> str:
        """The client's address; for IPv6 its network, as where attempts to sign in are counted."""
        network: str = truncate_ip(self.addr[0])
        return network

    @property
    def is_unfinished(self) -> bool:
        """Whether no whole request has come since the last answer was sent."""
        return not (self.requests or self.total_outbufs_len)

    def is_late(self, now: float) -> bool:
        """Whether what is on its way takes too long, or nothing has come for too long."""
        patience = settings.SLOW_CLIENT_SECONDS
        self.since, self.last_activity = min(self.since, now), min(self.last_activity, now)  # a clock may be set back
        if self.total_outbufs_len or (self.request and not self.requests):
            return now > self.since + patience + self.moved / settings.SLOW_CLIENT_BYTES
        return not self.requests and now > self.last_activity + patience


class Server(TcpWSGIServer):
    channel_class = Channel

    def __init__(self, application: WSGI, listening: socket.socket) -> None:
        super().__init__(
            without_body_after_head(application),
            _sock=listening,
            sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
            bind_socket=False,
            threads=settings.WEB_THREADS,
            connection_limit=2 * MAX_CONNECTIONS,
            max_request_body_size=settings.MAX_FILE_BYTES + settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1,
            max_request_header_size=1 << 16,
            recv_bytes=1 << 16,
            cleanup_interval=1,
            clear_untrusted_proxy_headers=False,  # the settings decide whether they are trusted
            ident="",
        )

    def handle_accept(self) -> None:
        super().handle_accept()
        unfinished = [channel for channel in self.active_channels.values() if channel.is_unfinished]
        if unfinished:
            network = unfinished[-1].network
            self._limit([c for c in unfinished if c.network == network], settings.MAX_UNFINISHED_PER_ADDRESS)
            self._limit(unfinished, MAX_CONNECTIONS)

    def _limit(self, unfinished: list[Channel], limit: int) -> None:
        """Close the connection that has been silent the longest, so that there is room for those who do send something."""
        if limit and len(unfinished) > limit:
            min(unfinished, key=lambda channel: channel.last_activity).will_close = True

    def maintenance(self, now: float) -> None:
        for channel in self.active_channels.values():
            if channel.is_late(now):
                channel.will_close = True

    def turn(self) -> None:
        wasyncore.loop(timeout=0.5, use_poll=True, map=self._map, count=1)

    def serve(self) -> None:
        """Serve until a signal comes or the parent process is gone, then finish what is being worked on."""
        stopping: list[int] = []

        def stop(number: int, frame: object) -> None:
            stopping.append(number)
            self.pull_trigger()

        on_stop(stop)
        parent = os.getppid()
        while not stopping and os.getppid() == parent:
            self.turn()
        wasyncore.dispatcher.close(self)  # listens no more
        end = time.monotonic() + SECONDS_TO_FINISH
        while self.active_channels and time.monotonic() < end:
            for channel in self.active_channels.values():
                channel.will_close |= channel.is_unfinished
            self.turn()
        for thread in threading.enumerate():  # those that send mails; the ones of waitress are daemons
            if not thread.daemon and thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


def serve(host: str, port: int) -> None:
    """Serve with as many processes as the settings say until SIGTERM or Ctrl-C. A process that dies is replaced.

    OSError: the address cannot be listened at.
    """
    from .wsgi import application

    tempfile.tempdir = settings.FILE_UPLOAD_TEMP_DIR  # for bodies on their way in, too
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most_files, 10 * MAX_CONNECTIONS), most_files))
    listening = listen(host, port)
    on_stop(_end)
    children: set[int] = set()
    try:
        while True:
            while len(children) < settings.WEB_PROCESSES:
                children.add(_start(listening, application))
            pid, status = os.wait()
            children.remove(pid)
            log.error("a web process ended (%s) and is replaced", os.waitstatus_to_exitcode(status))
            time.sleep(0.2)
    finally:
        for end in (lambda pid: os.kill(pid, signal.SIGTERM), lambda pid: os.waitpid(pid, 0)):
            for pid in children:
                with suppress(ProcessLookupError, ChildProcessError):  # Ctrl-C ends all at once
                    end(pid)


def listen(host: str, port: int) -> socket.socket:
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address, family=family, backlog=1024)


def on_stop(handler: Any) -> None:
    signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGINT, handler)


def _end(number: int, frame: object) -> None:
    on_stop(lambda *_: None)  # Ctrl-C comes from the terminal and from bin/run: the second must not cut the end short
    raise SystemExit


def _start(listening: socket.socket, application: WSGI) -> int:
    """Fork a process that serves; returns its id. What is loaded is shared between all."""
    if pid := os.fork():
        return pid
    try:
        Server(application, listening).serve()
    except BaseException:
        log.exception("a web process failed")
        os._exit(1)
    os._exit(0)


def without_body_after_head(application: WSGI) -> WSGI:
    """Django leaves it to the server to send no body after HEAD, and waitress to the application."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ["REQUEST_METHOD"] != "HEAD":
            return application(environ, start_response)
        del environ["wsgi.file_wrapper"]
        application(environ, start_response).close()
        return []

    return answer
