"""People who type: at some speed, over a line that is more or less slow, and that may be cut while they do.

    @as_people_type(speed=60, latency=150)
    def test_nothing_is_lost(editor, typist):
        typist.type("Pump⏎")    # the connection is cut in the middle, for every second typist
        typist.mend()
        ...

`bin/test` has two such typists, `bin/soak` one for each speed and each latency, with and without the cut. Answers come in
any order.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import NamedTuple

import pytest
from playwright.sync_api import Page

from tests.soak import SOAK

SPEEDS = (30, 60, 120)  # milliseconds a key
LATENCIES = (0, 50, 150, 400)  # milliseconds from a request to its answer
KEYS = {"⏎": "Enter", "⇥": "Tab", "⇤": "Shift+Tab", "⌫": "Backspace"}


class Manner(NamedTuple):
    speed: int
    latency: int
    is_cut: bool

    def __str__(self) -> str:
        return f"{self.speed} ms a key, {self.latency} ms{' and a cut' if self.is_cut else ''}"


def as_people_type(speed: int, latency: int) -> pytest.MarkDecorator:
    """For a test that asks for ``typist``: with this speed and latency in the short form, with all in the long one."""
    manners = product(SPEEDS, LATENCIES) if SOAK else [(speed, latency)]
    typists = [Manner(*manner, is_cut) for manner in manners for is_cut in (False, True)]
    return pytest.mark.parametrize("typist", typists, ids=str, indirect=True)


class Line:
    """What lies between the browser and the server of the tests."""

    def __init__(self) -> None:
        self.latency = 0

    @contextmanager
    def slow(self, latency: int) -> Iterator[None]:
        """Every answer takes about so many milliseconds, some more than those after them."""
        self.latency = latency
        yield
        self.latency = 0

    def delay(self) -> float:
        """In seconds, before and after an answer is made."""
        return random.uniform(0.2, 0.8) * self.latency / 1000


line = Line()


class Typist:
    def __init__(self, page: Page, manner: Manner) -> None:
        self.page, self.manner = page, manner

    def type(self, text: str) -> None:
        """Type into whatever has the focus, with ⏎, ⇥, ⇤ and ⌫ as keys. If the line is to be cut, that happens in the middle."""
        for number, character in enumerate(text):
            if self.manner.is_cut and number == len(text) // 2:
                self.cut()
            if key := KEYS.get(character):
                self.page.keyboard.press(key, delay=self.manner.speed)
            else:
                self.page.keyboard.type(character, delay=self.manner.speed)

    def cut(self) -> None:
        self.page.context.set_offline(True)

    def mend(self) -> None:
        self.page.context.set_offline(False)
