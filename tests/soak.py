"""How much a test does: little in bin/test, much in bin/soak."""

import os

SOAK = bool(os.environ.get("SOAK"))


def amount(short: int, long: int) -> int:
    return long if SOAK else short
