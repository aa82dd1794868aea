"""Several at the same time, each in a thread with a connection of its own. An error of one fails the test."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from django.db import connection


@contextmanager
def running(*works):
    """All of them have begun, at the same moment; returns when they have ended. Yields what tells how each of them ended."""
    start = threading.Barrier(len(works))

    def run(work):
        try:
            start.wait()
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as threads:
        ends = [threads.submit(run, work) for work in works]
        yield ends
    for end in ends:
        end.result()


def at_once(*works):
    """What each of them gives."""
    with running(*works) as ends:
        pass
    return [end.result() for end in ends]


def for_each(function, values):
    """What a function gives for each value, all at the same time."""
    return at_once(*(partial(function, value) for value in values))
