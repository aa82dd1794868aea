"""Annotators beside clients that send nothing, or a byte now and then."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from . import data
from .figures import SAVE, WHILE_OTHERS_WORK, Figure, benchmark, p50_p95, seconds
from .marks import Annotator
from .service import Service

IDLE, TRICKLING = 200, 50


@benchmark("slow")
def slow(service: Service) -> Iterator[Figure]:
    """In turns, so that what else the machine does falls on both."""
    annotator = Annotator(service, data.project(1000, name="Slow clients"), data.ANNOTATORS[0])
    alone, beside = [], []
    for _ in range(5):
        alone += [seconds(annotator.save) for _ in range(100)]
        with slow_clients(service.port):
            beside += [seconds(annotator.save) for _ in range(100)]
    usual, slowed = p50_p95(alone), p50_p95(beside)
    yield Figure("save one mark, one client, p50 / p95", usual, "ms", SAVE)
    yield Figure(
        f"  beside {IDLE} idle and {TRICKLING} trickling connections of somebody else", slowed, "ms", WHILE_OTHERS_WORK
    )
    yield Figure("  its p95 against the usual one", slowed[1] / usual[1], "times")


@contextmanager
def slow_clients(port: int) -> Iterator[None]:
    """All of one other address. A trickling one that the server closes is opened again."""
    over = threading.Event()
    idle, trickling = ([connect(port) for _ in range(number)] for number in (IDLE, TRICKLING))

    def trickle() -> None:
        while not over.wait(0.1):
            for number, client in enumerate(trickling):
                try:
                    client.send(b"G")
                except OSError:
                    client.close()
                    trickling[number] = connect(port)

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for client in idle + trickling:
            client.close()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
