"""Sending what webhooks are to be told, to nowhere but where they say.

A name is resolved once, and the connection made to the very address that was looked at, wherever the name leads a moment later.
Redirects are not followed, and proxies of the environment not used. No transaction waits for an answer.
"""

import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR, SOCK_STREAM, create_connection, getaddrinfo, socket
from threading import Timer
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from annotation_service.inputs import can_be_seen

from .webhooks import MAX_REASON, Delivery, is_public, look_at_projects

TIMEOUT = 15  # seconds of an attempt, in all
CONNECT, MOST_ADDRESSES = 5, 3  # seconds for each address of a name that is tried
LOOK = 10  # seconds between two looks at what is done
# A webhook that keeps the sender waiting is left alone for so many times as long, so that the others hardly wait for it.
REST = 3


class Sender:
    """What a worker sends, beside its jobs."""

    def __init__(self) -> None:
        self.resting: dict[int, float] = {}  # until when, by the key of a webhook
        self.next_look = 0.0

    def __call__(self) -> bool:
        """Try to send what is due longest. Returns whether there was something."""
        began = time.monotonic()
        if began >= self.next_look:
            self.next_look = began + LOOK
            look_at_projects()
        self.resting = {pk: until for pk, until in self.resting.items() if until > began}
        delivery = Delivery.claim(besides=self.resting)
        if delivery is None:
            return False
        began = time.monotonic()
        delivery.end(*attempt(delivery))
        took = time.monotonic() - began
        if took > 1:
            self.resting[delivery.webhook_id] = time.monotonic() + REST * took
        return True


def attempt(delivery: Delivery) -> tuple[int | None, str]:
    """The code of the answer, if there is one, and the beginning of its text or what went wrong."""
    timestamp = int(timezone.now().timestamp())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "annotation-service",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": delivery.webhook.signature(delivery.message_id, timestamp, delivery.body),
    }
    began = time.monotonic()
    try:
        return post(delivery.webhook.url, delivery.body.encode(), headers)
    except (OSError, HTTPException, ValueError) as error:  # ValueError: a name that none can be
        if time.monotonic() - began >= TIMEOUT:
            return None, f"There was no answer within {TIMEOUT} seconds."
        return None, str(error) or type(error).__name__


def post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
    """Raises what the network does, or `OSError` for an address that is not allowed."""
    parts = urlsplit(url)
    host, is_secure = parts.hostname or "", parts.scheme == "https"
    if not is_secure and not settings.WEBHOOK_PRIVATE_ADDRESSES:
        raise OSError("Only https is allowed.")
    port = parts.port or (443 if is_secure else 80)
    addresses = list(dict.fromkeys(str(found[4][0]) for found in getaddrinfo(host, port, type=SOCK_STREAM)))
    is_private = not all(map(is_public, addresses))
    if is_private and not settings.WEBHOOK_PRIVATE_ADDRESSES:
        # Which one is not told: it is a name of the network that nobody outside may read.
        raise OSError(f"{host} leads to a private address. An administrator can allow these.")
    link = _connected(addresses, port)
    link.settimeout(TIMEOUT)
    # Each piece of an answer may come in time, and the whole of it never.
    cut = Timer(TIMEOUT, lambda: _cut(link))
    cut.daemon = True
    try:
        if is_secure:
            link = _context().wrap_socket(link, server_hostname=host, do_handshake_on_connect=False)
        cut.start()
        if isinstance(link, ssl.SSLSocket):
            link.do_handshake()
        connection = HTTPSConnection(host, port, context=_context()) if is_secure else HTTPConnection(host, port)
        connection.sock = link
        connection.request("POST", f"{parts.path or '/'}{parts.query and '?'}{parts.query}", body, headers)
        answer = connection.getresponse()
        # Of what is not public nobody reads an answer by this way.
        text = b""
        if not is_private:
            with suppress(OSError, HTTPException):
                text = answer.read(4 * MAX_REASON)
        return answer.status, _readable(text)
    finally:
        cut.cancel()
        link.close()


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connected(addresses: list[str], port: int) -> socket:
    failed = OSError("The name leads nowhere.")
    for address in addresses[:MOST_ADDRESSES]:
        try:
            return create_connection((address, port), CONNECT)
        except OSError as error:
            failed = error
    raise failed


def _cut(link: socket) -> None:
    """Whoever waits for it gets an error. The method of `SSLSocket` would let them read on, without the cipher."""
    with suppress(OSError):
        socket.shutdown(link, SHUT_RDWR)


def _readable(text: bytes) -> str:
    return "".join(sign for sign in text.decode(errors="replace") if can_be_seen(sign) or sign == " ")[:MAX_REASON]
